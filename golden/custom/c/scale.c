/* The kernel in C of the operator that the case custom_op of the collection beside this repository
 * calls. */
#include "net_ops.h"

/* etgen:kernel refzoo::scale_add(Tensor x, Tensor y, float k) -> Tensor */
bool refzoo_scale_add(const etgen_tensor *x, const etgen_tensor *y, double k, const etgen_out *out)
{
    const float *a = (const float *)x->data, *b = (const float *)y->data;
    float *sum = (float *)out->data;
    int32_t i;

    for (i = 0; i < x->sizes[0] * x->sizes[1]; i++)
        sum[i] = a[i] * (float)k + b[i];
    return true;
}

/* Kernels of custom operators in C: a fixed-point FIR filter, and small ones that show what
 * arguments and results can be. etgen reads their declarations with --kernels=golden/custom/c/fir.c,
 * and declares the functions in NAME_ops.h; any model's header does. */
#include "filter_ops.h"

static int64_t sample(const int16_t *delay, int32_t n, const int16_t *x, int32_t i)
{
    return i < n ? delay[i] : x[i - n];
}

/* etgen:kernel fir::filter(Tensor x, Tensor taps, Tensor(a!) delay, int shift) -> Tensor */
bool fir_filter(const etgen_tensor *x, const etgen_tensor *taps, const etgen_out *delay,
    int64_t shift, const etgen_out *out)
{
    const int16_t *samples = (const int16_t *)x->data;
    const int16_t *tap = (const int16_t *)taps->data;
    int16_t *last = (int16_t *)delay->data;
    int16_t *result = (int16_t *)out->data;
    const int32_t n = delay->sizes[0];
    int32_t i, k;

    if (shift < 1 || shift > 31 || n != taps->sizes[0] - 1) {
        return false;
    }
    for (i = 0; i < x->sizes[0]; i++) {
        int64_t sum = (int64_t)1 << (shift - 1);
        for (k = 0; k <= n; k++) {
            sum += sample(last, n, samples, i + k) * tap[k];
        }
        sum >>= shift;
        result[i] = (int16_t)(sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum);
    }
    for (i = 0; i < n; i++) { /* ascending: what is read lies ahead of what is written */
        last[i] = (int16_t)sample(last, n, samples, x->sizes[0] + i);
    }
    return true;
}

/* etgen:kernel fir::range(Tensor x, int[] ends, float scale, str name, bool both=True, Tensor? bias=None) -> (Tensor, Tensor) */
bool fir_range(const etgen_tensor *x, const int64_t *ends, size_t ends_count, double scale,
    const char *name, bool both, const etgen_tensor *bias, const etgen_out *low,
    const etgen_out *high)
{
    const float *data = (const float *)x->data;
    float least = 0, most = 0, length = 0;
    int32_t i;

    if (ends_count != 2 || x->dtype != ETGEN_FLOAT32) {
        return false;
    }
    for (i = (int32_t)ends[0]; i < (int32_t)ends[1] && i < x->sizes[0]; i++) {
        const float v = data[i] + (bias != NULL ? ((const float *)bias->data)[i] : 0.0f);
        least = i == ends[0] || v < least ? v : least;
        most = i == ends[0] || v > most ? v : most;
    }
    while (*name++ != '\0') {
        length += 1;
    }
    *(float *)low->data = both ? least * (float)scale : 0.0f;
    *(float *)high->data = most * (float)scale * length;
    return true;
}

/* etgen:kernel fir::scale_(Tensor(a!) x, float by) -> () */
bool fir_scale(const etgen_out *x, double by)
{
    float *data = (float *)x->data;
    int32_t i;

    for (i = 0; i < x->sizes[0] * x->sizes[1]; i++) {
        data[i] *= (float)by;
    }
    return true;
}

/* etgen:kernel fir::square(Tensor x) -> Tensor */
bool fir_square(const etgen_tensor *x, const etgen_out *out)
{
    const float *in = (const float *)x->data;
    float *result = (float *)out->data;
    int32_t i;

    for (i = 0; i < x->sizes[0] * x->sizes[1]; i++) {
        result[i] = in[i] * in[i];
    }
    return true;
}

/* etgen:kernel fir::track(Tensor x, Tensor(a!) sum, Tensor(b!) most, float decay) -> (Tensor, Tensor) */
bool fir_track(const etgen_tensor *x, const etgen_out *sum, const etgen_out *most, double decay,
    const etgen_out *below, const etgen_out *is_new)
{
    const float *in = (const float *)x->data;
    float *s = (float *)sum->data, *m = (float *)most->data, *b = (float *)below->data;
    bool *n = (bool *)is_new->data;
    int32_t i;

    for (i = 0; i < x->sizes[0] * x->sizes[1]; i++) {
        const float decayed = s[i] * (float)decay;
        s[i] = decayed + in[i];
        n[i] = in[i] > m[i];
        m[i] = n[i] ? in[i] : m[i];
        b[i] = m[i] - s[i];
    }
    return true;
}

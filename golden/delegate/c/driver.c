/* The example's backend in C: the driver that the application links, as net_delegate.h declares it.
 * A driver keeps what it makes of a payload; this one has nothing to keep but that it was prepared. */
#include "net_delegate.h"

#include <stdlib.h>
#include <string.h>

static unsigned prepared;

static const etgen_blob *find(const etgen_blob *blobs, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(blobs[i].key, key) == 0) {
            return &blobs[i];
        }
    }
    return NULL;
}

bool ExampleNpu_init(const etgen_delegate *delegate)
{
    if (strcmp(delegate->backend, "ExampleNpu") != 0 || ((size_t)delegate->processed & 15u) != 0u) {
        return false;
    }
    prepared |= 1u << delegate->index;
    return true;
}

static size_t count(const etgen_out *t)
{
    size_t n = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        n *= (size_t)t->sizes[i];
    }
    return n;
}

bool ExampleNpu_execute(const etgen_delegate *delegate, const etgen_tensor *inputs,
    size_t inputs_count, const etgen_out *outputs, size_t outputs_count)
{
    const etgen_blob *spec = find(delegate->specs, delegate->specs_count, "offset");
    const etgen_blob *named = find(delegate->named, delegate->named_count, "bias");
    const float offset = spec ? (float)*(const unsigned char *)spec->data : 0.0f;
    const float *in = (const float *)inputs[0].data;
    float *out = (float *)outputs[0].data;
    char text[32] = "";
    size_t i;

    if (!(prepared >> delegate->index & 1u) || delegate->processed_size >= sizeof text
        || inputs[0].dtype != ETGEN_FLOAT32) {
        return false;
    }
    memcpy(text, delegate->processed, delegate->processed_size);
    if (strcmp(text, "index") == 0) {
        for (i = 0; i < count(&outputs[0]); i++) {
            out[i] = in[i] + (float)i + offset;
        }
        return inputs_count == 1 && outputs_count == 1;
    }
    if (strcmp(text, "rows") == 0) { /* the rows whose first number is above 0, rows last in memory */
        int64_t *told = (int64_t *)outputs[1].data;
        size_t rows = 0, at = 0;
        for (i = 0; i < (size_t)inputs[0].sizes[0]; i++) {
            rows += in[2 * i] > 0.0f;
        }
        for (i = 0; i < (size_t)inputs[0].sizes[0]; i++) {
            if (in[2 * i] > 0.0f) {
                out[at] = in[2 * i];
                out[rows + at++] = in[2 * i + 1];
            }
        }
        told[0] = 2;
        told[1] = i > 0 && in[0] == 9.0f ? 9 : (int64_t)rows;
        return inputs_count == 1 && outputs_count == 2 && outputs[0].sizes[1] == 4;
    }
    if (strncmp(text, "affine ", 7) != 0 || named == NULL || inputs_count != 2 || outputs_count != 2
        || named->size != count(&outputs[0]) * sizeof(float) || inputs[1].dtype != ETGEN_INT64) {
        return false;
    }
    for (i = 0; i < count(&outputs[0]); i++) {
        out[i] = in[i] * strtof(text + 7, NULL) + ((const float *)named->data)[i] + offset;
    }
    out = (float *)outputs[1].data;
    for (i = 0; i < count(&outputs[1]); i++) {
        out[i] = in[i] + (float)*(const int64_t *)inputs[1].data + offset;
    }
    return true;
}

/* What every file of the recorder uses: random numbers, and the text form of a
 * recorded call (README.md of golden/tools). Tensors are logically NCHW in the
 * text; those of CMSIS-NN are NHWC. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

static uint64_t seed = 88172645463325252u; /* of each file its own */

/* next returns a number in [lo, hi]. */
static int32_t next(int32_t lo, int32_t hi)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int32_t)(lo + (int64_t)((seed >> 11) % (uint64_t)((int64_t)hi - lo + 1)));
}

static int8_t *bytes(int32_t n)
{
    int8_t *x = malloc((size_t)n + 16);
    for (int32_t i = 0; i < n; i++) {
        x[i] = (int8_t)next(-128, 127);
    }
    return x;
}

static int32_t *words(int32_t n, int32_t lo, int32_t hi)
{
    int32_t *x = malloc(4 * (size_t)n + 16);
    for (int32_t i = 0; i < n; i++) {
        x[i] = next(lo, hi);
    }
    return x;
}

/* multiplier has its highest bit set, as exporters make them; now and then not. */
static int32_t multiplier(void)
{
    switch (next(0, 9)) {
    case 0:
        return next(1, INT32_MAX);
    case 1:
        return INT32_MAX;
    case 2:
        return -next(1, INT32_MAX);
    }
    return next(1 << 30, INT32_MAX);
}

static void op(const char *name) { printf("op %s\n", name); }

static void integer(const char *name, int64_t x) { printf("%s %lld\n", name, (long long)x); }

static void list(const char *name, int n, const int32_t *x)
{
    printf("%s [", name);
    for (int i = 0; i < n; i++) {
        printf("%s%d", i ? "," : "", (int)x[i]);
    }
    printf("]\n");
}

static void pair(const char *name, int32_t a, int32_t b) { list(name, 2, (int32_t[]){a, b}); }

static void sizes(const char *name, const char *dtype, int rank, const int32_t *size)
{
    printf("%s %s[", name, dtype);
    for (int i = 0; i < rank; i++) {
        printf("%s%d", i ? "," : "", (int)size[i]);
    }
    printf("] ");
}

static void hex(const void *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("%02x", ((const uint8_t *)x)[i]);
    }
}

/* plain writes a row-major tensor. */
static void plain(const char *name, const char *dtype, int width, int rank, const int32_t *size, const void *x)
{
    size_t n = (size_t)width;
    for (int i = 0; i < rank; i++) {
        n *= (size_t)size[i];
    }
    sizes(name, dtype, rank, size);
    hex(x, n);
    printf("\n");
}

static void vector(const char *name, int32_t n, const int32_t *x) { plain(name, "i32", 4, 1, &n, x); }

/* image writes an NHWC tensor as what it is logically, followed by "channels_last". */
static void image(const char *name, const cmsis_nn_dims *d, const int8_t *x)
{
    sizes(name, "i8", 4, (int32_t[]){d->n, d->c, d->h, d->w});
    for (int32_t n = 0; n < d->n; n++) {
        for (int32_t c = 0; c < d->c; c++) {
            for (int32_t i = 0; i < d->h * d->w; i++) {
                hex(&x[(n * d->h * d->w + i) * d->c + c], 1);
            }
        }
    }
    printf(" channels_last\n");
}

static void check(arm_cmsis_nn_status s, const char *what)
{
    if (s != ARM_CMSIS_NN_SUCCESS) {
        fprintf(stderr, "%s: status %d\n", what, (int)s);
        exit(1);
    }
}

/* scratch returns memory for a buffer of n bytes, never NULL. */
static cmsis_nn_context scratch(int32_t n)
{
    cmsis_nn_context c = {calloc(1, (size_t)n + 64), n};
    return c;
}


#endif

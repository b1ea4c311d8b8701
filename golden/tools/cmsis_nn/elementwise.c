#include <math.h>

#include "record.h"

/* Operands of n elements each; with channels > 0 other has only as many, one
 * for each channel of an image of n / channels pixels. */
static void operands(int32_t n, int32_t channels, const int8_t *a, const int8_t *b, int zeros, const int32_t *zero)
{
    if (channels > 0) {
        const cmsis_nn_dims d = {1, 1, n / channels, channels}, one = {1, 1, 1, channels};
        image("self", &d, a);
        image("other", &one, b);
    } else {
        plain("self", "i8", 1, 1, &n, a);
        plain("other", "i8", 1, 1, &n, b);
    }
    if (zeros) {
        integer("self_zero_point", zero[0]);
        integer("other_zero_point", zero[1]);
        integer("output_zero_point", zero[2]);
    }
}

static void result(int32_t n, int32_t channels, const int8_t *y)
{
    if (channels > 0) {
        const cmsis_nn_dims d = {1, 1, n / channels, channels};
        image("=", &d, y);
    } else {
        plain("=", "i8", 1, 1, &n, y);
    }
}

static void add(int32_t n, int32_t channels)
{
    int8_t *a = bytes(n), *b = bytes(n), *y = bytes(n);
    const int32_t zero[] = {next(-128, 127), next(-128, 127), next(-128, 127)};
    const int32_t m[] = {multiplier(), multiplier(), multiplier()}, s[] = {next(-3, 0), next(-3, 0), next(-20, -16)};
    const int32_t lo = next(-128, -60), hi = next(60, 127), each = channels ? channels : n;
    for (int32_t i = 0; i < n; i += each) {
        check(arm_elementwise_add_s8(a + i, b, -zero[0], m[0], s[0], -zero[1], m[1], s[1], 20, y + i, zero[2], m[2], s[2], lo, hi, each), "add");
    }
    op("quantized_add");
    operands(n, channels, a, b, 1, zero);
    integer("self_multiplier", m[0]);
    integer("self_shift", s[0]);
    integer("other_multiplier", m[1]);
    integer("other_shift", s[1]);
    integer("output_multiplier", m[2]);
    integer("output_shift", s[2]);
    integer("activation_min", lo);
    integer("activation_max", hi);
    result(n, channels, y);
}

static void mul(int32_t n, int32_t channels)
{
    int8_t *a = bytes(n), *b = bytes(n), *y = bytes(n);
    const int32_t zero[] = {next(-128, 127), next(-128, 127), next(-128, 127)};
    const int32_t m = multiplier(), s = next(-9, 1), each = channels ? channels : n;
    for (int32_t i = 0; i < n; i += each) {
        check(arm_elementwise_mul_s8(a + i, b, -zero[0], -zero[1], y + i, zero[2], m, s, -128, 127, each), "mul");
    }
    op("quantized_mul");
    operands(n, channels, a, b, 1, zero);
    integer("output_multiplier", m);
    integer("output_shift", s);
    result(n, channels, y);
}

/* ExecuTorch divides without CMSIS-NN. */
static void divide(int32_t n, int bits)
{
    const char *const dtype = bits == 8 ? "i8" : "i16";
    const int32_t most = (1 << (bits - 1)) - 1, zero[] = {next(-9, 9), next(-9, 9), next(-9, 9)};
    int32_t *a = words(n, -most - 1, most), *b = words(n, -20, 20);
    int16_t *narrow = malloc(6 * (size_t)n);
    const float scale = (float)next(1, 4000) / 16;
    for (int32_t i = 0; i < n; i++) {
        const int32_t d = b[i] - zero[1];
        const float q = d ? (float)(a[i] - zero[0]) / (float)d : 0;
        float y = roundf(q * scale) + (float)zero[2];
        y = y > (float)most ? (float)most : y < (float)(-most - 1) ? (float)(-most - 1) : y;
        narrow[i] = (int16_t)a[i], narrow[n + i] = (int16_t)b[i], narrow[2 * n + i] = (int16_t)y;
    }
    if (bits == 8) {
        for (int32_t i = 0; i < 3 * n; i++) {
            ((int8_t *)narrow)[i] = (int8_t)narrow[i];
        }
    }
    const char *const raw = (const char *)narrow;
    op("quantized_div");
    plain("self", dtype, bits / 8, 1, &n, raw);
    plain("other", dtype, bits / 8, 1, &n, raw + bits / 8 * n);
    integer("self_zero_point", zero[0]);
    integer("other_zero_point", zero[1]);
    integer("output_zero_point", zero[2]);
    printf("output_scale %.9g\n", (double)scale);
    plain("=", dtype, bits / 8, 1, &n, raw + 2 * bits / 8 * n);
}

static void extreme(int max, const int32_t *a_size, const int32_t *b_size)
{
    const cmsis_nn_dims ad = {a_size[0], a_size[1], a_size[2], a_size[3]}, bd = {b_size[0], b_size[1], b_size[2], b_size[3]};
    int32_t y_size[4], an = 1, bn = 1, yn = 1;
    for (int i = 0; i < 4; i++) {
        y_size[i] = a_size[i] > b_size[i] ? a_size[i] : b_size[i];
        an *= a_size[i], bn *= b_size[i], yn *= y_size[i];
    }
    const cmsis_nn_dims yd = {y_size[0], y_size[1], y_size[2], y_size[3]};
    int8_t *a = bytes(an), *b = bytes(bn), *y = bytes(yn);
    const cmsis_nn_context none = {NULL, 0};
    check((max ? arm_maximum_s8 : arm_minimum_s8)(&none, a, &ad, b, &bd, y, &yd), "extreme");
    op(max ? "maximum" : "minimum");
    plain("self", "i8", 1, 4, a_size, a);
    plain("other", "i8", 1, 4, b_size, b);
    plain("=", "i8", 1, 4, y_size, y);
}

/* The conversions are ExecuTorch's own as well. */
static void conversion(int32_t n, int bits)
{
    const char *const dtype = bits == 8 ? "i8" : "i16";
    const int32_t least = -(1 << (bits - 1)), most = -least - 1, zero = next(-90, 90);
    const double scale = next(1, 3000) / 1017.0;
    float *x = malloc(8 * (size_t)n), *back = x + n;
    int16_t *q = malloc(4 * (size_t)n);
    for (int32_t i = 0; i < n; i++) {
        x[i] = (float)next(-1000000, 1000000) / (bits == 8 ? 5000.0f : 10.0f);
        if (i % 4 == 0) { /* ties, as near as float32 gets to them */
            x[i] = ((float)(i % 64) - 31.5f) * (float)scale;
        }
        int32_t v = zero + (int32_t)nearbyintf(1.0f / (float)scale * x[i]);
        v = v < least ? least : v;
        v = v > most ? most : v;
        q[i] = (int16_t)v;
        back[i] = (float)(v - zero) * (float)scale;
    }
    if (bits == 8) {
        for (int32_t i = 0; i < n; i++) {
            ((int8_t *)q)[i] = (int8_t)q[i];
        }
    }
    for (int way = 0; way < 2; way++) {
        op(way ? "dequantize_per_tensor" : "quantize_per_tensor");
        if (way) {
            plain("input", dtype, bits / 8, 1, &n, q);
        } else {
            plain("input", "f32", 4, 1, &n, x);
        }
        printf("scale %.17g\n", scale);
        integer("zero_point", zero);
        integer("quant_min", least);
        integer("quant_max", most);
        printf("dtype %s\n", dtype);
        if (way) {
            plain("=", "f32", 4, 1, &n, back);
        } else {
            plain("=", dtype, bits / 8, 1, &n, q);
        }
    }
}

int main(void)
{
    for (int i = 0; i < 8; i++) {
        add(200, 0);
        mul(200, 0);
    }
    add(60, 5);
    mul(60, 5);
    for (int i = 0; i < 3; i++) {
        divide(150, 8);
        divide(150, 16);
        conversion(130, 8);
        conversion(130, 16);
    }
    for (int max = 0; max < 2; max++) {
        extreme(max, (int32_t[]){2, 3, 4, 5}, (int32_t[]){2, 3, 4, 5});
        extreme(max, (int32_t[]){2, 3, 4, 5}, (int32_t[]){1, 1, 1, 1});
        extreme(max, (int32_t[]){1, 3, 4, 5}, (int32_t[]){1, 3, 1, 5});
        extreme(max, (int32_t[]){1, 1, 4, 5}, (int32_t[]){2, 3, 4, 5});
        extreme(max, (int32_t[]){2, 3, 4, 1}, (int32_t[]){2, 3, 4, 5});
    }
    return 0;
}

#include "record.h"

static int32_t pooled(int32_t l, int32_t k, int32_t s, int32_t p, bool ceil)
{
    const int32_t span = l + 2 * p - k;
    int32_t n = span / s + 1 + (ceil && span % s != 0);
    return n - (ceil && (n - 1) * s >= l + p);
}

static void pool(bool max, bool ceil, int32_t n, int32_t c, int32_t h, int32_t w, int32_t kh, int32_t kw, int32_t sh, int32_t sw, int32_t ph, int32_t pw)
{
    const cmsis_nn_dims in = {n, h, w, c}, filter = {1, kh, kw, 1};
    const cmsis_nn_dims out = {n, pooled(h, kh, sh, ph, ceil), pooled(w, kw, sw, pw, ceil), c};
    int8_t *x = bytes(n * h * w * c), *y = bytes(n * out.h * out.w * c);
    const int32_t lo = max ? next(-128, -60) : -128, hi = max ? next(60, 127) : 127, zero = next(-128, 127);
    const cmsis_nn_pool_params p = {{sw, sh}, {pw, ph}, {lo, hi}};
    cmsis_nn_context ctx = scratch(arm_avgpool_s8_get_buffer_size(out.w, c));
    check((max ? arm_max_pool_s8 : arm_avgpool_s8)(&ctx, &p, &in, x, &filter, &out, y), "pool");
    op(max ? "quantized_max_pool2d" : "quantized_avg_pool2d");
    image("input", &in, x);
    pair("kernel_size", kh, kw);
    pair("stride", sh, sw);
    pair("padding", ph, pw);
    printf("ceil_mode %s\n", ceil ? "true" : "false");
    if (max) {
        pair("dilation", 1, 1);
        integer("input_zero_point", zero);
        integer("output_zero_point", zero);
        integer("activation_min", lo);
        integer("activation_max", hi);
    } else {
        integer("zero_point", zero);
        integer("multiplier", multiplier());
        integer("shift", next(-9, 3));
    }
    image("=", &out, y);
}

static void pad(bool last, const int32_t *size, const int32_t *pre, const int32_t *post)
{
    cmsis_nn_dims d[3];
    int32_t n = 1, total = 1, out[4];
    for (int i = 0; i < 4; i++) {
        out[i] = size[i] + pre[i] + post[i];
        n *= size[i], total *= out[i];
    }
    const int32_t *const from[] = {size, pre, post};
    for (int i = 0; i < 3; i++) {
        d[i] = (cmsis_nn_dims){from[i][0], from[i][1], from[i][2], from[i][3]};
    }
    int8_t *x = bytes(n), *y = bytes(total);
    const int8_t value = (int8_t)next(-128, 127);
    check(arm_pad_s8(x, y, value, &d[0], &d[1], &d[2]), "pad");
    op("pad");
    if (last) {
        image("input", &d[0], x);
    } else {
        plain("input", "i8", 1, 4, size, x);
    }
    list("pre_pad", 4, pre);
    list("post_pad", 4, post);
    integer("pad_value", value);
    if (last) {
        const cmsis_nn_dims od = {out[0], out[1], out[2], out[3]};
        image("=", &od, y);
    } else {
        plain("=", "i8", 1, 4, out, y);
    }
}

static void transpose(int rank, const int32_t *size, const uint32_t *perm)
{
    int32_t s[4] = {1, 1, 1, 1}, o[4] = {1, 1, 1, 1}, p[4], n = 1;
    for (int i = 0; i < rank; i++) {
        s[i] = size[i], o[i] = size[perm[i]], p[i] = (int32_t)perm[i];
        n *= size[i];
    }
    const cmsis_nn_dims in = {s[0], s[1], s[2], s[3]}, out = {o[0], o[1], o[2], o[3]};
    const cmsis_nn_transpose_params params = {rank, perm};
    int8_t *x = bytes(n), *y = bytes(n);
    check(arm_transpose_s8(x, y, &in, &out, &params), "transpose");
    op("transpose");
    plain("input", "i8", 1, rank, s, x);
    list("perm", rank, p);
    plain("=", "i8", 1, rank, o, y);
}

int main(void)
{
    for (int max = 0; max < 2; max++) {
        pool(max, false, 1, 5, 6, 7, 2, 2, 2, 2, 0, 0);
        pool(max, false, 2, 3, 7, 6, 3, 2, 1, 2, 1, 1);
        pool(max, false, 1, 8, 9, 5, 9, 5, 9, 5, 0, 0);
        pool(max, false, 1, 4, 5, 5, 3, 3, 1, 1, 1, 1);
    }
    pool(false, true, 1, 3, 7, 8, 3, 3, 2, 2, 1, 0);
    pool(false, true, 2, 4, 5, 6, 2, 3, 2, 2, 0, 1);
    pad(false, (int32_t[]){2, 3, 4, 5}, (int32_t[]){1, 0, 2, 1}, (int32_t[]){0, 1, 1, 0});
    pad(true, (int32_t[]){2, 3, 4, 5}, (int32_t[]){1, 0, 2, 1}, (int32_t[]){0, 1, 1, 0});
    pad(true, (int32_t[]){1, 4, 5, 1}, (int32_t[]){0, 1, 2, 0}, (int32_t[]){0, 3, 0, 0});
    transpose(4, (int32_t[]){2, 3, 4, 5}, (uint32_t[]){0, 3, 1, 2});
    transpose(4, (int32_t[]){2, 3, 4, 5}, (uint32_t[]){0, 2, 3, 1});
    transpose(4, (int32_t[]){2, 3, 4, 5}, (uint32_t[]){3, 1, 0, 2});
    transpose(4, (int32_t[]){1, 3, 4, 5}, (uint32_t[]){0, 1, 3, 2});
    transpose(3, (int32_t[]){4, 5, 6}, (uint32_t[]){2, 0, 1});
    transpose(3, (int32_t[]){1, 5, 6}, (uint32_t[]){0, 2, 1});
    transpose(2, (int32_t[]){5, 7}, (uint32_t[]){1, 0});
    return 0;
}

#include "record.h"

/* kind 0: dense, 1: depthwise, 2: transposed. */
static void convolution(int kind, int32_t n, int32_t in, int32_t per_in, int32_t m, int32_t h, int32_t w, int32_t kh, int32_t kw,
                        int32_t sh, int32_t sw, int32_t ph, int32_t pw, int32_t dh, int32_t dw, int32_t oph, int32_t opw)
{
    const int32_t out = kind == 1 ? in * m : m;
    const cmsis_nn_dims input = {n, h, w, in}, bias_dims = {1, 1, 1, out};
    cmsis_nn_dims filter = {out, kh, kw, per_in};
    if (kind == 1) {
        filter = (cmsis_nn_dims){1, kh, kw, out};
    }
    cmsis_nn_dims output = {n, (h + 2 * ph - dh * (kh - 1) - 1) / sh + 1, (w + 2 * pw - dw * (kw - 1) - 1) / sw + 1, out};
    if (kind == 2) {
        output.h = (h - 1) * sh - 2 * ph + kh + oph;
        output.w = (w - 1) * sw - 2 * pw + kw + opw;
    }
    int8_t *x = bytes(n * h * w * in), *wt = bytes(filter.n * kh * kw * filter.c), *y = bytes(n * output.h * output.w * out);
    int32_t *bias = next(0, 3) ? words(out, -20000, 20000) : NULL;
    int32_t *mult = words(out, 0, 0), *shift = words(out, -13, -7);
    for (int32_t i = 0; i < out; i++) {
        mult[i] = multiplier();
        if (next(0, 11) == 0) {
            shift[i] = next(-31, 2);
        }
    }
    const int32_t in_off = next(-127, 128), out_off = next(-128, 127), lo = next(-128, -60), hi = next(60, 127);
    const cmsis_nn_per_channel_quant_params quant = {mult, shift};
    const cmsis_nn_activation act = {lo, hi};
    const char *const names[] = {"quantized_conv2d", "quantized_depthwise_conv2d", "quantized_transpose_conv2d"};
    if (kind == 0) {
        const cmsis_nn_conv_params p = {in_off, out_off, {sw, sh}, {pw, ph}, {dw, dh}, act};
        cmsis_nn_context c = scratch(arm_convolve_wrapper_s8_get_buffer_size(&p, &input, &filter, &output));
        check(arm_convolve_wrapper_s8(&c, &p, &quant, &input, x, &filter, wt, &bias_dims, bias, &output, y), names[kind]);
    } else if (kind == 1) {
        const cmsis_nn_dw_conv_params p = {in_off, out_off, m, {sw, sh}, {pw, ph}, {dw, dh}, act};
        cmsis_nn_context c = scratch(arm_depthwise_conv_wrapper_s8_get_buffer_size(&p, &input, &filter, &output));
        check(arm_depthwise_conv_wrapper_s8(&c, &p, &quant, &input, x, &filter, wt, &bias_dims, bias, &output, y), names[kind]);
    } else {
        const cmsis_nn_transpose_conv_params p = {in_off, out_off, {sw, sh}, {pw, ph}, {opw, oph}, {dw, dh}, act};
        cmsis_nn_context c = scratch(arm_transpose_conv_s8_get_buffer_size(&p, &input, &filter, &output));
        cmsis_nn_context r = scratch(arm_transpose_conv_s8_get_reverse_conv_buffer_size(&p, &input, &filter));
        check(arm_transpose_conv_wrapper_s8(&c, &r, &p, &quant, &input, x, &filter, wt, &bias_dims, bias, &output, y), names[kind]);
    }
    op(names[kind]);
    image("input", &input, x);
    plain("weight", "i8", 1, 4, (int32_t[]){filter.n, kh, kw, filter.c}, wt);
    if (bias) {
        vector("bias", out, bias);
    } else {
        printf("bias none\n");
    }
    pair("stride", sh, sw);
    pair("padding", ph, pw);
    if (kind == 2) {
        pair("output_padding", oph, opw);
    }
    pair("dilation", dh, dw);
    if (kind == 1) {
        integer("depth_multiplier", m);
    }
    integer("input_offset", in_off);
    integer("output_offset", out_off);
    vector("requantize_multipliers", out, mult);
    vector("requantize_shifts", out, shift);
    integer("activation_min", lo);
    integer("activation_max", hi);
    image("=", &output, y);
}

int main(void)
{
    /*          kind n in per m  h  w kh kw sh sw ph pw dh dw oph opw */
    convolution(0, 1, 3, 3, 4, 6, 7, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0);
    convolution(0, 2, 5, 5, 6, 7, 6, 3, 2, 2, 1, 1, 0, 1, 1, 0, 0);
    convolution(0, 1, 4, 2, 6, 7, 8, 3, 3, 1, 2, 2, 1, 2, 1, 0, 0); /* groups, dilation */
    convolution(0, 1, 6, 1, 6, 5, 5, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0); /* a group for each channel */
    convolution(0, 1, 8, 8, 9, 4, 5, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0); /* 1x1 */
    convolution(0, 2, 7, 7, 5, 5, 6, 1, 1, 2, 2, 0, 0, 1, 1, 0, 0); /* 1x1 with a stride */
    convolution(0, 1, 3, 3, 5, 1, 17, 1, 5, 1, 2, 0, 2, 1, 1, 0, 0); /* 1xn */
    convolution(0, 1, 16, 16, 8, 9, 9, 5, 4, 3, 2, 2, 2, 1, 2, 0, 0);
    convolution(0, 1, 1, 1, 8, 9, 6, 5, 4, 2, 2, 2, 1, 1, 1, 0, 0);
    convolution(1, 1, 1, 1, 8, 11, 6, 10, 4, 2, 2, 5, 1, 1, 1, 0, 0); /* one channel makes all */
    convolution(1, 1, 8, 1, 1, 7, 6, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0);
    convolution(1, 1, 5, 1, 1, 8, 9, 3, 3, 2, 2, 0, 1, 1, 1, 0, 0);
    convolution(1, 1, 4, 1, 1, 9, 8, 2, 3, 1, 1, 0, 0, 1, 1, 0, 0);
    convolution(1, 1, 3, 1, 4, 6, 7, 3, 2, 2, 1, 1, 1, 1, 1, 0, 0); /* depth multiplier */
    convolution(1, 1, 4, 1, 2, 8, 8, 3, 3, 1, 1, 2, 2, 2, 2, 0, 0); /* dilation */
    convolution(1, 1, 33, 1, 1, 4, 5, 3, 3, 1, 2, 1, 1, 1, 1, 0, 0);
    convolution(2, 1, 3, 3, 4, 4, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1);
    convolution(2, 2, 5, 5, 3, 3, 4, 2, 3, 1, 2, 0, 0, 1, 1, 0, 0);
    convolution(2, 1, 4, 4, 2, 3, 3, 4, 3, 3, 3, 0, 1, 1, 1, 0, 1); /* two columns more, and CMSIS-NN takes the last one from the next row */
    convolution(2, 1, 17, 17, 3, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1, 0, 0); /* as a convolution of the reversed kernel */
    convolution(2, 1, 20, 20, 2, 3, 5, 4, 2, 2, 1, 1, 0, 1, 1, 0, 0);
    return 0;
}

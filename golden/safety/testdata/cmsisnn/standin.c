#include "arm_nnfunctions.h"

#include <stddef.h>

/* x * multiplier * 2^(shift - 31): doubled, rounded half up; then shifted right, rounded half
   away from zero. */
static int32_t requantize(int32_t x, int32_t multiplier, int32_t shift)
{
    const int64_t left = (int64_t)x * ((shift > 0) ? (int64_t)1 << shift : 1);
    const int64_t product = (int64_t)(int32_t)left * multiplier;
    const int32_t high = (int32_t)((product + ((int64_t)1 << 30)) >> 31);
    const int right = (shift < 0) ? -shift : 0;
    if (right == 0) {
        return high;
    }
    const int32_t mask = (int32_t)(((int64_t)1 << right) - 1);
    const int32_t rest = high & mask;
    const int32_t half = (mask >> 1) + (high < 0);
    return (high >> right) + (rest > half);
}

static int8_t limited(int32_t x, int32_t min, int32_t max)
{
    return (int8_t)((x < min) ? min : (x > max) ? max : x);
}

static arm_cmsis_nn_status convolve(const cmsis_nn_conv_params *p, int32_t multiplier,
    const cmsis_nn_per_channel_quant_params *scales, const cmsis_nn_dims *image, const int8_t *x,
    const cmsis_nn_dims *window, const int8_t *w, const int32_t *bias, const cmsis_nn_dims *result,
    int8_t *y)
{
    const int32_t each = (multiplier == 0) ? window->c : 1; /* channels that a result sees */
    const int32_t groups = image->c / each;
    for (int32_t n = 0; n < image->n; n++) {
        for (int32_t i = 0; i < result->h; i++) {
            for (int32_t j = 0; j < result->w; j++) {
                for (int32_t c = 0; c < result->c; c++) {
                    const int32_t first = c / (result->c / groups) * each;
                    int32_t sum = (bias != NULL) ? bias[c] : 0;
                    for (int32_t k = 0; k < window->h; k++) {
                        for (int32_t l = 0; l < window->w; l++) {
                            const int32_t row = i * p->stride.h + k * p->dilation.h - p->padding.h;
                            const int32_t col = j * p->stride.w + l * p->dilation.w - p->padding.w;
                            if (row < 0 || row >= image->h || col < 0 || col >= image->w) {
                                continue;
                            }
                            const int8_t *seen = x + ((n * image->h + row) * image->w + col) * image->c + first;
                            for (int32_t m = 0; m < each; m++) {
                                const int32_t at = (multiplier == 0)
                                    ? ((c * window->h + k) * window->w + l) * each + m
                                    : (k * window->w + l) * result->c + c;
                                sum += (seen[m] + p->input_offset) * w[at];
                            }
                        }
                    }
                    sum = requantize(sum, scales->multiplier[c], scales->shift[c]) + p->output_offset;
                    *y++ = limited(sum, p->activation.min, p->activation.max);
                }
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *ctx,
    const cmsis_nn_conv_params *params, const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window, const int8_t *w,
    const cmsis_nn_dims *each, const int32_t *bias, const cmsis_nn_dims *result, int8_t *y)
{
    if (ctx->buf == NULL || window->n != result->c || each->c != result->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    return convolve(params, 0, scales, image, x, window, w, bias, result, y);
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *ctx,
    const cmsis_nn_dw_conv_params *params, const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window, const int8_t *w,
    const cmsis_nn_dims *each, const int32_t *bias, const cmsis_nn_dims *result, int8_t *y)
{
    const cmsis_nn_conv_params p = {params->input_offset, params->output_offset, params->stride,
        params->padding, params->dilation, params->activation};
    if (ctx->buf == NULL || image->n != 1 || params->ch_mult * image->c != result->c ||
        window->c != result->c || each->c != result->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    return convolve(&p, params->ch_mult, scales, image, x, window, w, bias, result, y);
}

arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context *ctx,
    const cmsis_nn_fc_params *params, const cmsis_nn_per_tensor_quant_params *scale,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window, const int8_t *w,
    const cmsis_nn_dims *each, const int32_t *bias, const cmsis_nn_dims *result, int8_t *y)
{
    (void)ctx;
    if (window->c != result->c || each->c != result->c || image->n != result->n) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < image->n; i++) {
        for (int32_t c = 0; c < result->c; c++) {
            int32_t sum = (bias != NULL) ? bias[c] : 0;
            for (int32_t k = 0; k < window->n; k++) {
                sum += (x[i * window->n + k] + params->input_offset) *
                    (w[c * window->n + k] + params->filter_offset);
            }
            sum = requantize(sum, scale->multiplier, scale->shift) + params->output_offset;
            *y++ = limited(sum, params->activation.min, params->activation.max);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

/* The mean of each window, rounded half away from zero, or its largest element. */
static arm_cmsis_nn_status pool(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window,
    const cmsis_nn_dims *result, int8_t *y, int mean)
{
    if (ctx->buf == NULL || result->c != image->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t n = 0; n < image->n; n++) {
        for (int32_t i = 0; i < result->h; i++) {
            for (int32_t j = 0; j < result->w; j++) {
                for (int32_t c = 0; c < image->c; c++) {
                    int32_t sum = 0, count = 0, most = -128;
                    for (int32_t k = 0; k < window->h; k++) {
                        for (int32_t l = 0; l < window->w; l++) {
                            const int32_t row = i * params->stride.h + k - params->padding.h;
                            const int32_t col = j * params->stride.w + l - params->padding.w;
                            if (row < 0 || row >= image->h || col < 0 || col >= image->w) {
                                continue;
                            }
                            const int32_t v = x[((n * image->h + row) * image->w + col) * image->c + c];
                            sum += v;
                            count++;
                            most = (v > most) ? v : most;
                        }
                    }
                    const int32_t half = (sum > 0) ? count / 2 : -(count / 2);
                    *y++ = limited(mean ? (sum + half) / count : most, params->activation.min,
                        params->activation.max);
                }
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window,
    const cmsis_nn_dims *result, int8_t *y)
{
    return pool(ctx, params, image, x, window, result, y, 1);
}

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window,
    const cmsis_nn_dims *result, int8_t *y)
{
    return pool(ctx, params, image, x, window, result, y, 0);
}

arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *a, const int8_t *b, const int32_t a_offset,
    const int32_t a_multiplier, const int32_t a_shift, const int32_t b_offset,
    const int32_t b_multiplier, const int32_t b_shift, const int32_t left_shift, int8_t *y,
    const int32_t offset, const int32_t multiplier, const int32_t shift, const int32_t min,
    const int32_t max, const int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t u = requantize((a[i] + a_offset) * (1 << left_shift), a_multiplier, a_shift);
        const int32_t v = requantize((b[i] + b_offset) * (1 << left_shift), b_multiplier, b_shift);
        y[i] = limited(requantize(u + v, multiplier, shift) + offset, min, max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *a, const int8_t *b, const int32_t a_offset,
    const int32_t b_offset, int8_t *y, const int32_t offset, const int32_t multiplier,
    const int32_t shift, const int32_t min, const int32_t max, const int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t v = (a[i] + a_offset) * (b[i] + b_offset);
        y[i] = limited(requantize(v, multiplier, shift) + offset, min, max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

/* High half of the product, doubled, rounded half away from zero. */
static int32_t high(int32_t a, int32_t b)
{
    const int64_t product = (int64_t)a * b;
    const int64_t nudge = (product >= 0) ? (int64_t)1 << 30 : 1 - ((int64_t)1 << 30);
    return (a == b && a == INT32_MIN) ? INT32_MAX : (int32_t)((product + nudge) / ((int64_t)1 << 31));
}

/* x / 2^by, rounded half away from zero. */
static int32_t down(int32_t x, int by)
{
    const int32_t mask = (int32_t)(((int64_t)1 << by) - 1);
    return (x >> by) + ((x & mask) > (mask >> 1) + (x < 0));
}

/* e^x of x in units of 2^-26, at most zero, as a fraction of 2^31. */
static int32_t exponential(int32_t x)
{
    static const int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << 24;
    const int32_t rest = (x & (quarter - 1)) - quarter;
    const int32_t t = (int32_t)((uint32_t)rest << 5) + (1 << 28);
    const int32_t t2 = high(t, t);
    const int32_t sum = down(high(down(high(t2, t2), 2) + high(t2, t), 715827883) + t2, 1);
    int32_t result = 1895147668 + high(1895147668, t + sum);
    for (int i = 0; i < 7; i++) {
        if ((rest - x) & (1 << (24 + i))) {
            result = high(result, powers[i]);
        }
    }
    return (x == 0) ? INT32_MAX : result;
}

/* 1 / (1 + x) of a fraction of 2^31, by Newton's steps from 48/17 - 32/17 times its half. */
static int32_t inverse(int32_t x)
{
    const int64_t sum = (int64_t)x + INT32_MAX;
    const int32_t half = (int32_t)((sum + ((sum >= 0) ? 1 : -1)) / 2);
    int32_t y = 1515870810 + high(half, -1010580540);
    for (int i = 0; i < 3; i++) {
        y += high(y, (1 << 29) - high(half, y)) * 4;
    }
    return y * 2;
}

void arm_softmax_s8(const int8_t *x, const int32_t rows, const int32_t n, const int32_t multiplier,
    const int32_t shift, const int32_t diff_min, int8_t *y)
{
    for (int32_t r = 0; r < rows; r++, x += n, y += n) {
        int32_t most = -128;
        int32_t sum = 0;
        int leading = 0;
        for (int32_t i = 0; i < n; i++) {
            most = (x[i] > most) ? x[i] : most;
        }
        for (int32_t i = 0; i < n; i++) {
            if (x[i] - most >= diff_min) {
                sum += down(exponential(high((x[i] - most) * (1 << shift), multiplier)), 12);
            }
        }
        while (leading < 32 && !(((uint32_t)sum << leading) >> 31)) {
            leading++;
        }
        const int32_t scale = inverse((int32_t)(((uint32_t)sum << leading) - ((uint32_t)1 << 31)));
        for (int32_t i = 0; i < n; i++) {
            y[i] = -128;
            if (x[i] - most >= diff_min) {
                const int32_t e = exponential(high((x[i] - most) * (1 << shift), multiplier));
                y[i] = limited(down(high(scale, e), 35 - leading) - 128, -128, 127);
            }
        }
    }
}

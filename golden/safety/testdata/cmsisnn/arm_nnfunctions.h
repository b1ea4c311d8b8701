/* What etgen calls of Arm's CMSIS-NN, declared from its documentation: the functions of
   standin.c, which tests take for the library, compute by the formulas there. */
#ifndef ARM_NNFUNCTIONS_H
#define ARM_NNFUNCTIONS_H

#include <stdint.h>

typedef enum { ARM_CMSIS_NN_SUCCESS = 0, ARM_CMSIS_NN_ARG_ERROR = -1 } arm_cmsis_nn_status;

typedef struct { int32_t w; int32_t h; } cmsis_nn_tile;
typedef struct { void *buf; int32_t size; } cmsis_nn_context;
typedef struct { int32_t n; int32_t h; int32_t w; int32_t c; } cmsis_nn_dims;
typedef struct { int32_t *multiplier; int32_t *shift; } cmsis_nn_per_channel_quant_params;
typedef struct { int32_t multiplier; int32_t shift; } cmsis_nn_per_tensor_quant_params;
typedef struct { int32_t min; int32_t max; } cmsis_nn_activation;
typedef struct {
    int32_t input_offset;
    int32_t output_offset;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv_params;
typedef struct {
    int32_t input_offset;
    int32_t output_offset;
    int32_t ch_mult;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;
typedef struct {
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_activation activation;
} cmsis_nn_pool_params;
typedef struct {
    int32_t input_offset;
    int32_t filter_offset;
    int32_t output_offset;
    cmsis_nn_activation activation;
} cmsis_nn_fc_params;

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *ctx,
    const cmsis_nn_conv_params *params, const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window, const int8_t *w,
    const cmsis_nn_dims *each, const int32_t *bias, const cmsis_nn_dims *result, int8_t *y);
arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *ctx,
    const cmsis_nn_dw_conv_params *params, const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window, const int8_t *w,
    const cmsis_nn_dims *each, const int32_t *bias, const cmsis_nn_dims *result, int8_t *y);
arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context *ctx,
    const cmsis_nn_fc_params *params, const cmsis_nn_per_tensor_quant_params *scale,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window, const int8_t *w,
    const cmsis_nn_dims *each, const int32_t *bias, const cmsis_nn_dims *result, int8_t *y);
arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window,
    const cmsis_nn_dims *result, int8_t *y);
arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *image, const int8_t *x, const cmsis_nn_dims *window,
    const cmsis_nn_dims *result, int8_t *y);
arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *a, const int8_t *b, const int32_t a_offset,
    const int32_t a_multiplier, const int32_t a_shift, const int32_t b_offset,
    const int32_t b_multiplier, const int32_t b_shift, const int32_t left_shift, int8_t *y,
    const int32_t offset, const int32_t multiplier, const int32_t shift, const int32_t min,
    const int32_t max, const int32_t n);
arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *a, const int8_t *b, const int32_t a_offset,
    const int32_t b_offset, int8_t *y, const int32_t offset, const int32_t multiplier,
    const int32_t shift, const int32_t min, const int32_t max, const int32_t n);
void arm_softmax_s8(const int8_t *x, const int32_t rows, const int32_t n, const int32_t multiplier,
    const int32_t shift, const int32_t diff_min, int8_t *y);

#endif

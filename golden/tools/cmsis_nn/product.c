#include "record.h"

static void linear(int32_t batches, int32_t in, int32_t out)
{
    const cmsis_nn_dims id = {batches, 1, 1, in}, fd = {in, 1, 1, out}, bd = {1, 1, 1, out}, od = {batches, 1, 1, out};
    int8_t *x = bytes(batches * in), *w = bytes(in * out), *y = bytes(batches * out);
    int32_t *bias = next(0, 3) ? words(out, -20000, 20000) : NULL;
    const cmsis_nn_fc_params p = {next(-127, 128), next(0, 1) * next(-20, 20), next(-128, 127), {next(-128, -60), next(60, 127)}};
    const cmsis_nn_per_tensor_quant_params q = {multiplier(), next(-12, -7)};
    const cmsis_nn_context none = {NULL, 0};
    check(arm_fully_connected_s8(&none, &p, &q, &id, x, &fd, w, &bd, bias, &od, y), "linear");
    op("quantized_linear");
    plain("input", "i8", 1, 2, (int32_t[]){batches, in}, x);
    plain("weights", "i8", 1, 2, (int32_t[]){out, in}, w);
    if (bias) {
        vector("bias", out, bias);
    } else {
        printf("bias none\n");
    }
    printf("kernel_sum none\n");
    integer("input_offset", p.input_offset);
    integer("filter_offset", p.filter_offset);
    integer("output_offset", p.output_offset);
    list("requantize_multipliers", 1, &q.multiplier);
    list("requantize_shifts", 1, &q.shift);
    integer("activation_max", p.activation.max);
    integer("activation_min", p.activation.min);
    plain("=", "i8", 1, 2, (int32_t[]){batches, out}, y);
}

static void batch_matmul(int32_t b, int32_t m, int32_t n, int32_t k)
{
    const cmsis_nn_dims ld = {1, b, m, k}, rd = {1, b, n, k}, od = {1, b, m, n};
    int8_t *lhs = bytes(b * m * k), *rhs = bytes(b * n * k), *y = bytes(b * m * n);
    const cmsis_nn_bmm_params p = {false, false, {next(-127, 128), next(-127, 128), next(-128, 127), {-128, 127}}};
    const cmsis_nn_per_tensor_quant_params q = {multiplier(), next(-12, -7)};
    const cmsis_nn_context c = scratch(4 * n);
    check(arm_batch_matmul_s8(&c, &p, &q, &ld, lhs, &rd, rhs, &od, y), "batch_matmul");
    op("quantized_batch_matmul");
    plain("lhs", "i8", 1, 3, (int32_t[]){b, m, k}, lhs);
    integer("lhs_zero_point", p.fc_params.input_offset);
    plain("rhs_transposed", "i8", 1, 3, (int32_t[]){b, n, k}, rhs);
    integer("rhs_zero_point", p.fc_params.filter_offset);
    integer("output_zero_point", p.fc_params.output_offset);
    integer("output_multiplier", q.multiplier);
    integer("output_shift", q.shift);
    plain("=", "i8", 1, 3, (int32_t[]){b, m, n}, y);
}

int main(void)
{
    for (int i = 0; i < 4; i++) {
        linear(1, 64, 12);
        linear(3, 13, 7);
        linear(2, 5, 1);
        batch_matmul(2, 3, 4, 9);
        batch_matmul(1, 1, 6, 17);
    }
    return 0;
}

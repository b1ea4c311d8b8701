#include "record.h"

static void softmax(int32_t rows, int32_t size, int32_t spread)
{
    const int32_t mult = next(1 << 30, INT32_MAX), shift = next(17, 27);
    /* The least difference from the largest that still has a probability: what
     * exporters compute. */
    const double most = (double)(1 << 5) - 1, per = (double)(1u << 26) / ((double)mult / 2147483648.0 * (double)(1u << shift));
    const double steps = most * per;
    const int32_t diff_min = -(int32_t)(steps > 255 ? 255 : steps);
    int8_t *x = bytes(rows * size), *y = bytes(rows * size);
    for (int32_t i = 0; i < rows * size; i++) {
        x[i] = (int8_t)(x[i] / spread);
    }
    arm_softmax_s8(x, rows, size, mult, shift, diff_min, y);
    op("softmax");
    plain("input", "i8", 1, 2, (int32_t[]){rows, size}, x);
    integer("dim", next(0, 1) ? 1 : -1);
    integer("input_zero_point", next(-128, 127));
    integer("output_zero_point", -128);
    integer("input_multiplier", mult);
    integer("input_shift", shift);
    integer("diff_min", diff_min);
    plain("=", "i8", 1, 2, (int32_t[]){rows, size}, y);
}

int main(void)
{
    for (int i = 0; i < 12; i++) {
        softmax(3, 12, 1);
        softmax(2, 40, 1 + i);
        softmax(4, 1 + i, 3);
    }
    softmax(1, 500, 40);
    return 0;
}

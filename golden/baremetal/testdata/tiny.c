#include "tiny.h"

extern const float tiny_weights[15]; /* [3][4], then [3] of bias */

/* Not what a generated package has: here to see that start-up code works. */
static int32_t initialised = 41;
static int32_t cleared[5];

void tiny_reset(tiny_state *state)
{
	state->calls = 0;
}

tiny_status tiny_forward(const float *x, float scale, float *out, float *last, tiny_forward_sizes *sizes,
                         tiny_state *state, void *arena)
{
	float *row = arena;
	if (x == NULL || out == NULL) {
		return TINY_ERR_ARGUMENT;
	}
	if (sizes->batch < 1 || sizes->batch > 4) {
		return TINY_ERR_SHAPE;
	}
	if (initialised++ != 41 + cleared[4]++) {
		return TINY_ERR_ASSERT;
	}
	state->calls++;
	for (int32_t b = 0; b < sizes->batch; b++) {
		for (int i = 0; i < 4; i++) {
			row[i] = x[4 * b + i] / scale;
		}
		for (int o = 0; o < 3; o++) {
			float sum = tiny_weights[12 + o] * (float)state->calls;
			for (int i = 0; i < 4; i++) {
				sum += tiny_weights[4 * o + i] * row[i];
			}
			out[3 * b + o] = sum;
			if (sum > *last) {
				*last = sum;
			}
		}
	}
	return TINY_OK;
}

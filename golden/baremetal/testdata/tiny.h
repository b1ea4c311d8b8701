/* A package of the form that etgen generates, made by hand: every kind of
   argument, weights from a file, initialised and cleared variables. */
#ifndef TINY_H
#define TINY_H
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define TINY_ARENA_SIZE 16u
#define TINY_ARENA_ALIGN 16u
typedef enum { TINY_OK, TINY_ERR_ARGUMENT, TINY_ERR_SHAPE, TINY_ERR_ASSERT } tiny_status;
typedef struct { int32_t calls; } tiny_state;
typedef struct { int32_t batch; } tiny_forward_sizes;

void tiny_reset(tiny_state *state);

/* x: float32 [batch,4]; scale: float32; out: float32 [batch,3];
   last: float32 [1], holds the largest output so far. batch at most 4. */
tiny_status tiny_forward(const float *x, float scale, float *out, float *last, tiny_forward_sizes *sizes,
                         tiny_state *state, void *arena);
#endif

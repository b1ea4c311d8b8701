/* What runner.c and the models' glue share. */
#ifndef RUNNER_H
#define RUNNER_H

#include <stddef.h>
#include <stdint.h>

/* A model's function takes its arguments in one array, makes the call and
 * returns its status; took gets the nanoseconds of the call alone. */
typedef uint64_t runner_clock(void);
typedef int runner_model(void **args, int reset, runner_clock *clock, uint64_t *took);

extern runner_model *const runner_models[];
extern const uint32_t runner_count;

/* Memory filled with junk; *block is what to free. */
void *runner_aligned(size_t size, size_t align, void **block);

#endif

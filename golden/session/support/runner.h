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

/* Memory of the runner's own: filled with junk for a request's first call, after
 * that as the last call left it, as an application would keep it. Each bank is a
 * block of its own. */
enum { RUNNER_BANKS = 8 };
void *runner_arena(unsigned bank, size_t size, size_t align);

#endif

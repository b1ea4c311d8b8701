/* Models of the test: sum with state, one that crashes, one that hangs. */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

static int sum(void **args, int reset, runner_clock *clock, uint64_t *took)
{
	static int32_t state;
	uint64_t start = clock();
	const int32_t *x = args[0];
	int32_t *y = args[1], *out = args[2];
	if (reset) {
		state = 0;
	}
	state += *x;
	*y += 1;
	*out = state;
	*took = clock() - start + 7;
	return *x < 0 ? 2 : 0;
}

static int crash(void **args, int reset, runner_clock *clock, uint64_t *took)
{
	(void)args, (void)reset, (void)clock, (void)took;
	abort();
}

static int hang(void **args, int reset, runner_clock *clock, uint64_t *took)
{
	volatile int forever = 1;
	(void)args, (void)reset, (void)clock, (void)took;
	while (forever) {
	}
	return 0;
}

runner_model *const runner_models[] = {sum, crash, hang};
const uint32_t runner_count = 3;

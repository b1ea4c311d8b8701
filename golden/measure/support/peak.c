/* Prints the GFLOP/s of fused multiply-adds in registers on one core: the most
 * that any code here can reach in float32. A multiply-add is two operations. */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <time.h>

/* Chains are enough to hide the latency and few enough for the registers. */
#if defined(__AVX512F__)
enum { BYTES = 64, CHAINS = 16 };
#elif defined(__AVX__)
enum { BYTES = 32, CHAINS = 12 };
#elif defined(__aarch64__)
enum { BYTES = 16, CHAINS = 24 };
#else
enum { BYTES = 16, CHAINS = 12 };
#endif
enum { STEPS = 20000, ROUNDS = 300 };

typedef float vec __attribute__((vector_size(BYTES)));

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
	volatile float factor = 0.999f, term = 0.001f, sink;
	double best = 0;
	for (int round = 0; round < ROUNDS; round++) {
		vec x = (vec){0} + factor, y = (vec){0} + term, a[CHAINS], sum = {0};
		for (int k = 0; k < CHAINS; k++) {
			a[k] = y * (float)k;
		}
		double start = seconds();
		for (int i = 0; i < STEPS; i++) {
#pragma GCC unroll 32
			for (int k = 0; k < CHAINS; k++) {
				a[k] = a[k] * x + y;
			}
		}
		double took = seconds() - start;
		for (int k = 0; k < CHAINS; k++) {
			sum += a[k];
		}
		sink = sum[0];
		double speed = 2e-9 * STEPS * CHAINS * (double)(BYTES / sizeof(float)) / took;
		best = speed > best ? speed : best;
	}
	(void)sink;
	printf("%.6g\n", best);
	return 0;
}

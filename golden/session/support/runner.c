/* Reads requests from standard input, calls models, writes answers to standard
 * output: the C side of the protocol that session.go describes. */
#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runner.h"

enum { MODE_IN = 1, MODE_OUT = 2, MODE_INOUT = 3, JUNK = 0xA5, MAX_TIMES = 65536 };

struct argument {
	uint32_t mode;
	size_t size;
	unsigned char *given; /* what came in */
	unsigned char *data;  /* what the model gets: a block of exactly this size */
};

static void fail(const char *why)
{
	fprintf(stderr, "ERROR: runner: %s\n", why);
	exit(3);
}

static void *allocate(size_t size)
{
	void *p = malloc(size ? size : 1);
	if (!p) {
		fail("out of memory");
	}
	return p;
}

/* Whether the call is a request's first: what it writes to is full of junk. */
static int first_call;

void *runner_arena(unsigned bank, size_t size, size_t align)
{
	static void *blocks[RUNNER_BANKS];
	static size_t lengths[RUNNER_BANKS];
	void *block = blocks[bank];
	uintptr_t at;
	if (!block || lengths[bank] != size + align || first_call) {
		free(block);
		lengths[bank] = size + align;
		blocks[bank] = block = allocate(size + align);
		memset(block, JUNK, size + align);
	}
	at = (uintptr_t)block;
	return (unsigned char *)block + (align - (size_t)(at % align)) % align;
}

/* get reads n bytes; at the end of the input the program ends. */
static void get(void *to, size_t n)
{
	if (n && fread(to, 1, n, stdin) != n) {
		exit(0);
	}
}

static void put(const void *from, size_t n)
{
	if (n && fwrite(from, 1, n, stdout) != n) {
		fail("cannot write the answer");
	}
}

static uint64_t nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct argument get_argument(void)
{
	struct argument a;
	uint64_t size;
	get(&a.mode, sizeof a.mode);
	get(&size, sizeof size);
	a.size = (size_t)size;
	a.given = NULL;
	if (a.mode != MODE_OUT) {
		a.given = (unsigned char *)allocate(a.size);
		get(a.given, a.size);
	}
	a.data = (unsigned char *)allocate(a.size);
	return a;
}

static void put_block(const void *from, size_t n)
{
	uint64_t size = n;
	put(&size, sizeof size);
	put(from, n);
}

static void answer_request(uint32_t model, int reset, uint32_t repeat, uint64_t span, uint32_t count)
{
	struct argument *args = (struct argument *)allocate(count * sizeof *args);
	void **data = (void **)allocate(count * sizeof *data);
	static uint64_t times[MAX_TIMES];
	uint64_t start = nanoseconds();
	int32_t status = 0;
	uint32_t i, k;

	for (i = 0; i < count; i++) {
		args[i] = get_argument();
		data[i] = args[i].data;
	}
	if (model >= runner_count) {
		fail("no such model");
	}
	for (k = 0; k < MAX_TIMES && (k < repeat || nanoseconds() - start < span); k++) {
		for (i = 0; i < count; i++) {
			if (args[i].mode == MODE_OUT) {
				memset(args[i].data, JUNK, args[i].size);
			} else if (args[i].size) {
				memcpy(args[i].data, args[i].given, args[i].size);
			}
		}
		first_call = k == 0;
		status = (int32_t)runner_models[model](data, reset && k == 0, nanoseconds, &times[k]);
	}
	put(&status, sizeof status);
	put_block("", 0);
	put_block(times, k * sizeof *times);
	for (i = 0; i < count; i++) {
		if (args[i].mode != MODE_IN) {
			put_block(args[i].data, args[i].size);
		}
		free(args[i].given);
		free(args[i].data);
	}
	fflush(stdout);
	free(data);
	free(args);
}

int main(void)
{
	uint32_t head[3], count;
	uint64_t span;
	for (;;) {
		get(head, sizeof head);
		get(&span, sizeof span);
		get(&count, sizeof count);
		answer_request(head[0], (int)(head[1] & 1u), head[2], span, count);
	}
}

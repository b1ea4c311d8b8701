/* The four functions that gcc may call in freestanding code. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

/* May alias anything, as a char may. */
typedef uint32_t __attribute__((may_alias)) word;

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	uint8_t *t = to;
	const uint8_t *f = from;
	if ((((uintptr_t)t | (uintptr_t)f) & 3u) == 0) {
		for (; size >= 4; size -= 4, t += 4, f += 4) {
			*(word *)(void *)t = *(const word *)(const void *)f;
		}
	}
	while (size-- > 0) {
		*t++ = *f++;
	}
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	uint8_t *t = to;
	const uint8_t *f = from;
	if ((uintptr_t)t <= (uintptr_t)f) {
		/* Ascending is right for overlap this way round, word by word too. */
		if ((((uintptr_t)t | (uintptr_t)f) & 3u) == 0) {
			for (; size >= 4; size -= 4, t += 4, f += 4) {
				*(word *)(void *)t = *(const word *)(const void *)f;
			}
		}
		while (size-- > 0) {
			*t++ = *f++;
		}
		return to;
	}
	while (size-- > 0) {
		t[size] = f[size];
	}
	return to;
}

void *memset(void *to, int value, size_t size)
{
	uint8_t *t = to;
	const uint8_t byte = (uint8_t)value;
	if (((uintptr_t)t & 3u) == 0) {
		for (; size >= 4; size -= 4, t += 4) {
			*(word *)(void *)t = byte * 0x01010101u;
		}
	}
	while (size-- > 0) {
		*t++ = byte;
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const uint8_t *x = a, *y = b;
	for (; size > 0; size--, x++, y++) {
		if (*x != *y) {
			return *x - *y;
		}
	}
	return 0;
}

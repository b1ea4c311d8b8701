/* Text and exit over semihosting. */
#include "harness_support.h"

/* Operations and constants of Arm's semihosting specification. */
enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20 };
#define APPLICATION_EXIT 0x20026u

static uint32_t semihost(uint32_t operation, const void *argument)
{
#ifdef __riscv
	register uint32_t a0 __asm__("a0") = operation;
	register const void *a1 __asm__("a1") = argument;
	/* These three, of four bytes each and in one page, are the call. */
	__asm__ volatile(".option push\n .option norvc\n .balign 16\n"
	                 "slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n .option pop"
	                 : "+r"(a0) : "r"(a1) : "memory");
	return a0;
#else
	register uint32_t r0 __asm__("r0") = operation;
	register const void *r1 __asm__("r1") = argument;
	__asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
#endif
}

void harness_exit(int code)
{
	const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)code};
	(void)semihost(SYS_EXIT_EXTENDED, block);
	for (;;) {
	}
}

void harness_print(const char *text)
{
	(void)semihost(SYS_WRITE0, text);
}

static char *hex(char *to, uint32_t value, int digits)
{
	for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
		*to++ = "0123456789abcdef"[(value >> shift) & 15u];
	}
	return to;
}

void harness_print_hex(uint32_t value)
{
	char text[9];
	*hex(text, value, 8) = '\0';
	harness_print(text);
}

void harness_print_int(int32_t value)
{
	char text[12];
	char *at = text + sizeof text - 1;
	uint32_t rest = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
	*at = '\0';
	do {
		*--at = (char)('0' + rest % 10u);
		rest /= 10u;
	} while (rest != 0);
	if (value < 0) {
		*--at = '-';
	}
	harness_print(at);
}

void harness_print_bytes(const void *data, size_t size)
{
	const uint8_t *from = data;
	char text[2 * 32 + 2];
	while (size > 0) {
		char *to = text;
		for (int i = 0; i < 32 && size > 0; i++, size--) {
			to = hex(to, *from++, 2);
		}
		*to++ = '\n';
		*to = '\0';
		harness_print(text);
	}
}

void harness_fill(void *data, uint8_t value, size_t size)
{
	for (volatile uint8_t *to = data; size > 0; size--) {
		*to++ = value;
	}
}

int harness_filled(const void *data, uint8_t value, size_t size)
{
	for (const volatile uint8_t *at = data; size > 0; size--) {
		if (*at++ != value) {
			return 0;
		}
	}
	return 1;
}

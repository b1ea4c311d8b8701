/* From reset to main on a Cortex-M, and what happens on a fault. */
#include "harness_support.h"

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_limit[];

void harness_start(void);
void harness_fault(const uint32_t *frame);

/* Offsets in the system control block. */
enum {
	CCR = 0x14,
	CFSR = 0x28,
	HFSR = 0x2C,
	MMFAR = 0x34,
	BFAR = 0x38,
	MPU_CTRL = 0x94,
	MPU_RBAR = 0x9C,
	MPU_RASR = 0xA0
};

static volatile uint32_t *control(uint32_t offset)
{
	return (volatile uint32_t *)(0xE000ED00u + offset);
}

#ifndef __ARM_ARCH_8M_MAIN__
/* Access rights of a region of the memory protection unit. */
enum { NONE = 0, READ_ONLY = 6 };

/* Regions of higher number win where they overlap. */
static void protect(uint32_t region, uint32_t base, uint32_t log2_size, uint32_t rights)
{
	*control(MPU_RBAR) = base | 1u << 4 | region;
	*control(MPU_RASR) = rights << 24 | 1u << 17 | (log2_size - 1u) << 1 | 1u;
}
#endif

void harness_start(void)
{
	const uint32_t *from = data_load;
	for (uint32_t *to = data_start; to < data_end; to++) {
		*to = *from++;
	}
	for (uint32_t *to = bss_start; to < bss_end; to++) {
		*to = 0;
	}
	*control(CCR) |= 1u << 4;          /* integer division by zero faults */
#ifdef __ARM_FEATURE_MVE
	*control(CCR) |= 1u << 19;         /* loops that count by themselves */
	__asm__ volatile("dsb\n isb" ::: "memory");
#endif
#ifndef __ARM_ARCH_8M_MAIN__ /* which protects by other registers */
	protect(0, 0, 22, READ_ONLY);      /* flash, which the emulator would let us write */
	protect(1, 0, 12, NONE);           /* the vectors' page: null pointers */
	protect(2, 0x1F000000u, 24, NONE); /* below RAM, where an overflowing stack ends up */
	*control(MPU_CTRL) = 5u;           /* on; elsewhere the default map holds */
	__asm__ volatile("dsb\n isb" ::: "memory");
#endif
	harness_exit(harness_main());
}

static void line(const char *name, uint32_t value)
{
	harness_print("fault ");
	harness_print(name);
	harness_print(" ");
	harness_print_hex(value);
	harness_print("\n");
}

/* frame is r0-r3, r12, lr, pc, xpsr as the core pushed them, or as it failed to
   push them below the stack's limit. */
void harness_fault(const uint32_t *frame)
{
	if (frame < stack_limit) {
		harness_print("fault stack overflow\n");
	} else {
		line("pc", frame[6]);
		line("lr", frame[5]);
	}
	line("cfsr", *control(CFSR));
	line("hfsr", *control(HFSR));
	line("mmfar", *control(MMFAR));
	line("bfar", *control(BFAR));
	harness_exit(HARNESS_FAULT);
}

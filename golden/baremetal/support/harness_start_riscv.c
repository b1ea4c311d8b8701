/* From reset to main on RISC-V, and what happens on a trap. */
#include "harness_support.h"

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];

void harness_start(void);
void harness_fault(uint32_t cause, uint32_t pc, uint32_t value);

void harness_start(void)
{
	const uint32_t *from = data_load;
	for (uint32_t *to = data_start; to < data_end; to++) {
		*to = *from++;
	}
	for (uint32_t *to = bss_start; to < bss_end; to++) {
		*to = 0;
	}
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

void harness_fault(uint32_t cause, uint32_t pc, uint32_t value)
{
	line("cause", cause);
	line("pc", pc);
	line("value", value);
	harness_exit(HARNESS_FAULT);
}

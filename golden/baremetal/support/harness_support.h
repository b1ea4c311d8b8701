/* What a main program on the emulated board can use. */
#ifndef HARNESS_SUPPORT_H
#define HARNESS_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

enum { HARNESS_FAULT = 70 }; /* exit code of a fault */

/* The main program; its result is the emulator's exit code. */
int harness_main(void);

/* Ends the emulator. */
__attribute__((noreturn)) void harness_exit(int code);

/* Text to the emulator's standard output. */
void harness_print(const char *text);
void harness_print_hex(uint32_t value); /* 8 digits */
void harness_print_int(int32_t value);
void harness_print_bytes(const void *data, size_t size); /* hex, 32 bytes a line */

/* Sets, and checks for, size bytes of value. */
void harness_fill(void *data, uint8_t value, size_t size);
int harness_filled(const void *data, uint8_t value, size_t size);

/* Marks the stack below the caller's frame; then tells how many bytes of it were
   used since. Both must be called from the same function. */
void harness_paint_stack(void);
uint32_t harness_stack_used(void);

#endif

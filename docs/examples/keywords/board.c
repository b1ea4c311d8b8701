/* An emulated board, QEMU's mps2-an386. Another board has another of these files. */
#include "board.h"

/* The microphone: a recording, behind a header of 44 bytes. */
__asm__(".section .rodata.recording\n.balign 4\nrecording: .incbin \"words.wav\"\n"
        "recording_end:\n.text");
extern const int16_t recording[], recording_end[];

bool board_listen(int16_t *samples, int n)
{
    static const int16_t *next;
    if (!next) {
        next = recording + 22;
    }
    for (int i = 0; i < n; i++) {
        if (next == recording_end) {
            return false;
        }
        samples[i] = *next++;
    }
    return true;
}

static void semihosting(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_print(const char *text)
{
    semihosting(0x04, text); /* SYS_WRITE0 */
}

static void reset(void)
{
    extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];
    uint32_t *to, *from = data_load;

    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* the unit for floats */
    __asm__ volatile("dsb\n isb");
    for (to = data_start; to < data_end; to++) {
        *to = *from++;
    }
    for (to = bss_start; to < bss_end; to++) {
        *to = 0;
    }
    application();
    semihosting(0x18, (const void *)0x20026); /* SYS_EXIT, by ADP_Stopped_ApplicationExit */
    for (;;) {
    }
}

extern unsigned char stack_top[];
__attribute__((section(".vectors"), used)) static void *const vectors[2] = {stack_top, reset};

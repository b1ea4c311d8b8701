/* What C cannot say on RISC-V: the way from reset and from a trap into C, and the
   measure of the stack. */
	.option arch, +zicsr
	.section .vectors, "ax"

	.global reset
reset:
	la sp, stack_top
	la t0, trap
	csrw mtvec, t0
	j harness_start
	.balign 4
trap:
	csrr a0, mcause
	csrr a1, mepc
	csrr a2, mtval
	la sp, stack_top /* which may be what broke */
	j harness_fault

	.text

	/* void harness_paint_stack(void): all below the caller's frame */
	.global harness_paint_stack
harness_paint_stack:
	la t0, stack_limit
	li t1, 0x5AA55AA5
1:	bgeu t0, sp, 2f
	sw t1, 0(t0)
	addi t0, t0, 4
	j 1b
2:	ret

	/* uint32_t harness_stack_used(void) */
	.global harness_stack_used
harness_stack_used:
	la t0, stack_limit
	li t1, 0x5AA55AA5
1:	bgeu t0, sp, 2f
	lw t2, 0(t0)
	bne t2, t1, 2f
	addi t0, t0, 4
	j 1b
2:	sub a0, sp, t0
	ret

/* What C cannot say on a Cortex-M: the vector table, the way from reset and
   from a fault into C, and the measure of the stack. ARMv6-M code, so that
   it serves every core. */
	.syntax unified
	.thumb

	.section .vectors, "a", %progbits
	.word stack_top
	.word reset
	.rept 14 /* every exception is a fault here: no interrupt is ever enabled */
	.word fault
	.endr

	.text

	.global reset
	.thumb_func
	.type reset, %function
reset:
#if defined(__ARM_FP)
	/* Before any C, which may use the FPU's registers from its first line. */
	ldr r0, =0xE000ED88 /* CPACR: full access to coprocessors 10 and 11 */
	ldr r1, [r0]
	orr r1, r1, #(0xF << 20)
	str r1, [r0]
	dsb
	isb
#endif
	bl harness_start
	.size reset, . - reset

	/* The stack may be what broke, so the report starts on a fresh one. */
	.global fault
	.thumb_func
	.type fault, %function
fault:
	mov r0, sp
	ldr r1, =stack_top
	mov sp, r1
	bl harness_fault
	.size fault, . - fault

	/* void harness_paint_stack(void): all below the caller's frame */
	.global harness_paint_stack
	.thumb_func
	.type harness_paint_stack, %function
harness_paint_stack:
	ldr r0, =stack_limit
	ldr r1, =0x5AA55AA5
	mov r2, sp
1:	cmp r0, r2
	bhs 2f
	str r1, [r0]
	adds r0, #4
	b 1b
2:	bx lr
	.size harness_paint_stack, . - harness_paint_stack

	/* uint32_t harness_stack_used(void) */
	.global harness_stack_used
	.thumb_func
	.type harness_stack_used, %function
harness_stack_used:
	ldr r0, =stack_limit
	ldr r1, =0x5AA55AA5
	mov r2, sp
1:	cmp r0, r2
	bhs 2f
	ldr r3, [r0]
	cmp r3, r1
	bne 2f
	adds r0, #4
	b 1b
2:	subs r0, r2, r0
	bx lr
	.size harness_stack_used, . - harness_stack_used

	.section .rodata.tiny_weights, "a"
	.balign 4
	.global tiny_weights
tiny_weights:
	.incbin "tiny_weights.bin"

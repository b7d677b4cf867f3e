    .section .rodata
    .balign 64
    .global jitterscope_kernels_begin
    .global jitterscope_kernels_end
jitterscope_kernels_begin:
    .incbin JITTERSCOPE_KERNELS_FILE
jitterscope_kernels_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits

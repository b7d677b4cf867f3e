// Embeds a fat binary between jitterscope_NAME_begin and jitterscope_NAME_end; NAME is JITTERSCOPE_KERNELS.
#define PASTE_NAMES(name, end) jitterscope_##name##_##end
#define SYMBOL(name, end) PASTE_NAMES(name, end)
    .section .rodata
    .balign 64
    .global SYMBOL(JITTERSCOPE_KERNELS, begin)
    .global SYMBOL(JITTERSCOPE_KERNELS, end)
SYMBOL(JITTERSCOPE_KERNELS, begin):
    .incbin JITTERSCOPE_KERNELS_FILE
SYMBOL(JITTERSCOPE_KERNELS, end):
    .byte 0
    .section .note.GNU-stack, "", %progbits

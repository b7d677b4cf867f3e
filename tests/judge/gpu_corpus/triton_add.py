"""tanh(a) + b in Triton."""

import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(a, b, out, count, block: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    inside = place < count
    x = tl.load(a + place, mask=inside)
    y = tl.load(b + place, mask=inside)
    power = tl.exp(-2.0 * tl.abs(x))
    tanh = (1.0 - power) / (1.0 + power)
    tl.store(out + place, tl.where(x < 0, -tanh, tanh) + y, mask=inside)


def tanh_add(a, b):
    a, b = a.contiguous(), b.contiguous()
    out = torch.empty_like(a)
    _kernel[(triton.cdiv(a.numel(), 1024),)](a, b, out, a.numel(), block=1024)
    return out

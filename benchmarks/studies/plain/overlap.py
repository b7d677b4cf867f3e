#!/usr/bin/env python3
"""A batch copied to the GPU, a linear layer, and its result copied back, in pieces over streams: seconds, as JSON.

Both sides of the copies are pinned, and all of it waits behind a kernel that holds the GPU.
"""

import bursts
import torch

ROWS, WIDTH = 16 << 10, 1024
ARMS = {"one after the other": (1, 1)} | {f"{pieces} pieces, {streams} streams": (pieces, streams)
                                          for pieces, streams in ((2, 2), (4, 2), (4, 3), (8, 2), (8, 3))}


def make(value):
    if value is None:
        x, y = bursts.normal(ROWS, WIDTH), torch.empty(ROWS, WIDTH, device="cuda")
        weight, bias = bursts.normal(WIDTH, WIDTH), bursts.normal(WIDTH)
        return bursts.Held(lambda: torch.addmm(bias, x, weight.t(), out=y))
    pieces, count = value
    streams = [torch.cuda.Stream() for _ in range(count - 1)]
    rows = ROWS // pieces
    work = [(torch.randn(rows, WIDTH).pin_memory(), torch.empty(rows, WIDTH, device="cuda"),
             bursts.normal(WIDTH, WIDTH), bursts.normal(WIDTH), torch.empty(rows, WIDTH, device="cuda"),
             torch.empty(rows, WIDTH).pin_memory()) for _ in range(pieces)]

    def call():
        current = torch.cuda.current_stream()
        for stream in streams:
            stream.wait_stream(current)
        for i, (source, x, weight, bias, y, target) in enumerate(work):
            with torch.cuda.stream(([current] + streams)[i % count]):
                x.copy_(source, non_blocking=True)
                torch.addmm(bias, x, weight.t(), out=y)
                target.copy_(y, non_blocking=True)
        for stream in streams:
            current.wait_stream(stream)

    return bursts.Held(call)


bursts.print_times(make, ARMS | {"without copies": None})

#!/usr/bin/env python3
"""Sixteen products of their own operands on 1 to 16 streams: seconds of all sixteen by size and streams, as JSON.

All of them wait behind a kernel that holds the GPU, so that Python's time does not count.
"""

import bursts
import torch

LAUNCHES = 16
SIZES = (128, 512, 2048)
STREAMS = (1, 2, 4, 8, 16)


def make(value):
    m, count = value
    streams = [torch.cuda.Stream() for _ in range(count - 1)]  # beside the current one
    work = [(bursts.normal(m, 512, dtype=torch.float16), bursts.normal(512, 1024, dtype=torch.float16),
             torch.empty(m, 1024, dtype=torch.float16, device="cuda")) for _ in range(LAUNCHES)]

    def call():
        current = torch.cuda.current_stream()
        for stream in streams:
            stream.wait_stream(current)
        for i, (a, b, out) in enumerate(work):
            with torch.cuda.stream(([current] + streams)[i % count]):
                torch.mm(a, b, out=out)
        for stream in streams:
            current.wait_stream(stream)

    return bursts.Held(call)


bursts.print_times(make, {f"m={m} {count} stream{'s' * (count > 1)}": (m, count) for m in SIZES for count in STREAMS})

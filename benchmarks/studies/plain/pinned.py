#!/usr/bin/env python3
"""Copies to the GPU from pageable and from pinned memory: seconds by size and memory, as JSON.

A copy from pageable memory waits for the GPU and so cannot be recorded: Python's time, some microseconds for each call,
is in those times.
"""

import bursts
import torch

SIZES = {"4Ki": 1 << 12, "32Ki": 1 << 15, "256Ki": 1 << 18, "2Mi": 1 << 21, "16Mi": 1 << 24, "128Mi": 1 << 27}


def make(value):
    size, pinned = value
    source = torch.randn(size // 4)
    if pinned:
        source = source.pin_memory()
    target = torch.empty(size // 4, device="cuda")
    kind = bursts.Recorded if pinned else bursts.Looped
    return kind(lambda: target.copy_(source, non_blocking=True))


bursts.print_times(make, {f"{name} {memory}": (size, memory == "pinned")
                          for name, size in SIZES.items() for memory in ("pageable", "pinned")})

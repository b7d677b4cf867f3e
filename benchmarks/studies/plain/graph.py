#!/usr/bin/env python3
"""Launches of a kernel from Python, as one CUDA graph of them, and as one that is as large: seconds of all, as JSON.

By the number of launches and their size, each over and over as in a loop of a program. Python's time, some microseconds
for each launch, is in the eager ones.
"""

import bursts
import torch

SIZES = {"1Ki": 1 << 10, "256Ki": 1 << 18, "4Mi": 1 << 22}
SUBJECTS = [(1, "1Ki"), (10, "1Ki"), (100, "1Ki"), (1000, "1Ki"), (10, "256Ki"), (4, "4Mi")]
KINDS = {"eager": bursts.Looped, "graph": bursts.Replayed, "batched": bursts.Looped}


def make(value):
    name, launches, size = value
    pieces = 1 if name == "batched" else launches
    inputs = [bursts.normal(SIZES[size] * launches // pieces) for _ in range(pieces)]
    return KINDS[name](lambda: [torch.relu(x) for x in inputs])


bursts.print_times(make, {f"{launches}×{size} {name}": (name, launches, size)
                          for launches, size in SUBJECTS for name in KINDS})

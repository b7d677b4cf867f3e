#!/usr/bin/env python3
"""Launches of a kernel from Python and as one CUDA graph: seconds for each launch, as JSON.

By the kernel's size, in a row that fills a round; of the smallest also by the number of launches, from an idle GPU on.
Python's time, some microseconds for each launch, is in the eager ones.
"""

import bursts
import torch

SIZES = {"1Ki": 1 << 10, "16Ki": 1 << 14, "256Ki": 1 << 18, "4Mi": 1 << 22, "64Mi": 1 << 26}
LAUNCHES = (1, 10, 100, 1000)
KINDS = {"eager": bursts.Looped, "graph": bursts.Recorded}


def make(value):
    kind, count, launches = value
    x = bursts.normal(count)
    return kind(lambda: torch.relu(x), launches)


arms = {f"{size} {name}": (kind, count, None) for size, count in SIZES.items() for name, kind in KINDS.items()}
arms |= {f"{launches} {name}": (kind, SIZES["1Ki"], launches) for launches in LAUNCHES for name, kind in KINDS.items()}
bursts.print_times(make, arms)

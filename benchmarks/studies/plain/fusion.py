#!/usr/bin/env python3
"""relu and max pooling, as the study fusion has them: seconds of both by the way they are launched, as JSON.

Launched from Python, as one CUDA graph, compiled by torch.compile, and that in a graph. Python's time, some microseconds
for each launch, is in those without a graph.
"""

import bursts
import torch

KINDS = {"separate": (bursts.Looped, False), "graph": (bursts.Recorded, False), "fused": (bursts.Looped, True),
         "fused graph": (bursts.Recorded, True)}


def pooled(x):
    return torch.nn.functional.max_pool2d(torch.relu(x), 3, 2, 1, return_indices=True)


def make(value):
    kind, is_compiled = value
    x = bursts.normal(32, 64, 112, 112)
    function = torch.compile(pooled) if is_compiled else pooled
    return kind(lambda: function(x))


bursts.print_times(make, KINDS)

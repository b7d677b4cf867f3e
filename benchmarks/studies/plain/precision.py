#!/usr/bin/env python3
"""A fully connected layer in each data type: seconds by type, as JSON."""

import bursts
import torch

SIZE = 4096
TYPES = {"f32": torch.float32, "f64": torch.float64, "tf32": torch.float32, "bf16": torch.bfloat16,
         "f16": torch.float16}


def make(name):
    x = bursts.normal(SIZE, SIZE, dtype=TYPES[name])
    weight = bursts.normal(SIZE, SIZE, dtype=TYPES[name], scale=SIZE ** -0.5)
    bias = bursts.normal(SIZE, dtype=TYPES[name])
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"  # what counts is its state while the calls are recorded
    return bursts.Recorded(lambda: torch.nn.functional.linear(x, weight, bias))


bursts.print_times(make, {name: name for name in TYPES})

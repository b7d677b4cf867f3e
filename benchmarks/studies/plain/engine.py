#!/usr/bin/env python3
"""A convolution with cuDNN's engine as PyTorch's heuristic takes it, and as torch.backends.cudnn.benchmark does."""

import bursts
import torch


def make(benchmark):
    torch.backends.cudnn.benchmark = benchmark
    return bursts.Recorded(bursts.convolution(32, 64, 56, torch.contiguous_format))


bursts.print_times(make, {"pytorch": False, "autotune": True})

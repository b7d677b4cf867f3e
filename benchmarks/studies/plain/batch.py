#!/usr/bin/env python3
"""A convolution of growing batches: seconds of a launch by how many samples it takes, as JSON."""

import bursts
import torch


def make(samples):
    return bursts.Recorded(bursts.convolution(samples, 256, 14, torch.channels_last))


bursts.print_times(make, {f"×{1 << power}": 1 << power for power in range(9)})

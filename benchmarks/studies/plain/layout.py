#!/usr/bin/env python3
"""A convolution in both layouts: seconds by layout, as JSON."""

import bursts
import torch


def make(memory_format):
    return bursts.Recorded(bursts.convolution(32, 64, 56, memory_format))


bursts.print_times(make, {"nchw": torch.contiguous_format, "nhwc": torch.channels_last})

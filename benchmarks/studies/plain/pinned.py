#!/usr/bin/env python3
"""Copies to the GPU from host memory of each kind: seconds by size and memory, as JSON.

A copy from pageable memory waits for the GPU and so cannot be recorded, nor can one that pins its memory first: Python's
time, some microseconds for each call, is in those times. The mapped one is PyTorch's own kernel of an addition that
reads pinned memory.
"""

import bursts
import torch

SIZES = {"4Ki": 1 << 12, "64Ki": 1 << 16, "1Mi": 1 << 20, "16Mi": 1 << 24, "256Mi": 1 << 28}


def register(tensor):
    error = torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)
    assert int(error) == 0, error


def unregister(tensor):
    error = torch.cuda.cudart().cudaHostUnregister(tensor.data_ptr())
    assert int(error) == 0, error


class OnTheGpu:
    """Pinned memory as a kernel sees it: under the same address."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__cuda_array_interface__ = {"shape": tuple(tensor.shape), "typestr": "<f4", "version": 3,
                                         "data": (tensor.data_ptr(), False)}


def make(value):
    size, memory = value
    source = torch.randn(size // 4)
    if memory in ("pinned", "mapped"):
        source = source.pin_memory()
    if memory == "registered":
        register(source)
    target = torch.empty(size // 4, device="cuda")

    def copy():
        target.copy_(source, non_blocking=True)

    def pin_and_copy():
        register(source)
        copy()
        torch.cuda.current_stream().synchronize()
        unregister(source)

    if memory == "mapped":
        mapped = torch.as_tensor(OnTheGpu(source), device="cuda")
        return bursts.Recorded(lambda: torch.add(mapped, 0.0, out=target))
    if memory == "registered_anew":
        return bursts.Looped(pin_and_copy)
    return (bursts.Looped if memory == "pageable" else bursts.Recorded)(copy)


bursts.print_times(make, {f"{name} {memory}": (size, memory) for name, size in SIZES.items()
                          for memory in ("pageable", "pinned", "registered", "registered_anew", "mapped")})

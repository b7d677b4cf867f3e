"""A candidate that is a kernel of a CUDA file: cuda:FILE.cu:KERNEL,grid=…,block=…,x=f32[n],y=out:f32[n], as `run` takes it."""

from __future__ import annotations

import ctypes
import json
import math
import sys
from typing import Any, Callable

from ._judged_worker import _TORCH
from ._library import check, library, text_of


def with_case(text: str, case: dict[str, str]) -> str:
    """Puts a case's values in the place of {NAME}."""
    for name, value in case.items():
        text = text.replace("{" + name + "}", value)
    return text


def _shapes_of(buffers: list[dict[str, Any]], outputs: list[list[int]]) -> list[list[int]]:
    """The shape of each buffer: a kernel knows how many elements an output has, and the reference in which shape."""
    shapes, place = [], 0
    for buffer in buffers:
        if buffer["kind"] == "inout":
            raise ValueError(f"{buffer['name']} is inout, and the judge looks whether inputs are as they were; let the kernel "
                             f"read one buffer and write another, {buffer['name']}=out:{buffer['dtype']}[{buffer['count']}]")
        shape = [buffer["count"]]
        if buffer["kind"] == "output":
            if place < len(outputs) and math.prod(outputs[place]) == buffer["count"]:
                shape = outputs[place]
            place += 1
        shapes.append(shape)
    return shapes


def kernel_as_function(target: str, case: dict[str, str], outputs: list[list[int]]) -> Callable[..., Any]:
    """A function of tensors: a case's inputs are the kernel's input buffers, in their order, and its results are the output
    buffers. `outputs` are the shapes of the reference's. Raises ValueError where the two do not fit together."""
    torch, kernel = sys.modules["torch"], ctypes.c_void_p()
    text = with_case(target, case).encode()
    buffers = json.loads(text_of(lambda out: library().jitterscope_judge_open_kernel(text, ctypes.byref(kernel), out)))
    shapes = _shapes_of(buffers, outputs)
    wanted = [each for each in buffers if each["kind"] == "input"]

    def function(*arrays: Any) -> Any:
        if len(arrays) != len(wanted):
            raise ValueError(f"the kernel reads {len(wanted)} buffers, and the case has {len(arrays)} inputs")
        inputs, results, addresses = iter(arrays), [], []
        held = []  # a copy of a view must live until the kernel has been launched
        for buffer, shape in zip(buffers, shapes):
            dtype = getattr(torch, _TORCH[buffer["dtype"]])
            if buffer["kind"] == "output":
                results.append(torch.empty(shape, dtype=dtype, device="cuda"))
                addresses.append(results[-1].data_ptr())
                continue
            given = next(inputs)
            if given.dtype != dtype or given.numel() != buffer["count"]:
                raise ValueError(f"{buffer['name']} is {buffer['dtype']}[{buffer['count']}], and the input in its place is "
                                 f"{str(given.dtype).replace('torch.', '')}{list(given.shape)}")
            held.append(given.contiguous())
            addresses.append(held[-1].data_ptr())
        check(library().jitterscope_judge_launch(kernel, torch.cuda.current_stream().cuda_stream,
                                                 (ctypes.c_void_p * len(addresses))(*addresses)))
        return tuple(results)
    return function

"""Kernels of one's own, by their source."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any, Optional, Union

from ._command import Comparison, call, run
from ._errors import FailedError, UsageError
from ._result import Time

Sides = Union[int, str, "tuple[int, ...]"]
Argument = Union[int, float, str]


def _sides(name: str, value: Sides) -> str:
    if isinstance(value, (tuple, list)):
        if not 1 <= len(value) <= 3:
            raise UsageError(f"{name} has one to three sides, as 256 or (32, 8)")
        return "x".join(str(int(side)) for side in value)
    return str(value)


def _text(name: str, value: Argument) -> str:
    """A number as a kernel takes it: an int is an int of C, a float a float."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return repr(float(value))
    raise UsageError(f"{name}={value!r}: a kernel takes numbers, and buffers as \"f32[1Mi]\" or \"out:f32[1Mi]\"")


class Kernel:
    """A kernel of a CUDA source file, compiled for the GPU at hand, with how it is launched.

    >>> kernel = js.Kernel("mine.cu", "scale", n=1 << 20, a=2.5, x="f32[n]", y="out:f32[n]", block=256, grid="n/block")
    >>> kernel.measure(device="cuda").median
    >>> kernel.study("occupancy", device="cuda")

    The other arguments are the kernel's, in the order of its parameters, under any names: buffers "f32[COUNT]",
    "out:f32[COUNT]" and "inout:f32[COUNT]" of f64, f32, f16, bf16, i64 or i32, and numbers: an int, a float, or text with
    a type, as "u64:5" (a size_t) and "f64:2.5". Sizes may be computed of integer arguments: "n*4", "n/block" (rounded up).

    grid, block: blocks and threads in each, as numbers, tuples of up to three, or text; both have to be given. shared: bytes of dynamic shared
    memory. registers: at most so many a thread. fast_math: as nvcc's -use_fast_math. optimize: 0 to 3, as -Xptxas -O.
    min_blocks: as __launch_bounds__(threads of a block, min_blocks). architecture: 80 as code that was built for compute
    capability 8.0. reference: another kernel of the file with the same parameters, which measure(verify=True) and studies
    compare results with.
    """

    def __init__(self, file: Union[str, os.PathLike[str]], kernel: str, /, *, grid: Optional[Sides] = None,
                 block: Optional[Sides] = None, shared: Union[int, str] = 0, registers: int = 0, fast_math: bool = False,
                 optimize: int = 3, min_blocks: int = 0, architecture: int = 0,
                 reference: Optional[str] = None, **arguments: Argument) -> None:
        if grid is None or block is None:
            missing = " and ".join(name for name, value in (("grid", grid), ("block", block)) if value is None)
            raise UsageError(f"Kernel {kernel}: {missing} not given; block is the threads of each block, as block=256 or "
                             'block=(32, 8), and grid how many blocks there are, as grid=4096 or, of an argument n, grid="n/block"')
        words = [f"cuda:{os.fspath(file)}:{kernel}", f"grid={_sides('grid', grid)}", f"block={_sides('block', block)}"]
        if shared:
            words.append(f"shared={shared}")
        if registers:
            words.append(f"registers={registers}")
        if fast_math:
            words.append("fast_math=1")
        if optimize != 3:
            words.append(f"optimize={optimize}")
        if min_blocks:
            words.append(f"min_blocks={min_blocks}")
        if architecture:
            words.append(f"architecture={architecture}")
        if reference is not None:
            words.append(f"reference={reference}")
        words += [f"{name}={_text(name, value)}" for name, value in arguments.items()]
        self._operation = ",".join(words)

    @property
    def operation(self) -> str:
        """The operation as the command line takes it: jitterscope run OPERATION."""
        return self._operation

    def measure(self, **options: Any) -> Time:
        """As js.run: its flags as arguments."""
        measured = run(self._operation, **options)
        if isinstance(measured, Time):
            return measured
        if len(measured) > 1:
            raise UsageError(f"measure takes one kernel, and these are {len(measured)}: js.run(kernel.operation) times them all")
        failures = [each["failure"] for each in measured.record["results"] if each.get("failure")]
        raise FailedError(failures[0] if failures else "nothing was measured")

    def study(self, name: str, **options: Any) -> Comparison:
        """Tries a remedy: "occupancy" (other sizes of blocks) or "compiler" (fast math, registers, launch bounds)."""
        return Comparison(call("study", [name, self._operation], options))

    def __repr__(self) -> str:
        return f"Kernel({self._operation!r})"

"""Devices that are open in this process, and our stream as the current one of whoever launches on it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import threading
from typing import Any, Iterator, Optional

from ._errors import MissingError, UsageError
from ._library import check, library, text_of


class Stream:
    """The stream that callables are called on. CuPy, CUDA's own Python and others take it by `__cuda_stream__`."""

    def __init__(self, pointer: int, device: str) -> None:
        self.pointer = pointer  # a CUstream, 0 on a CPU
        self.device = device

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.pointer)

    def __repr__(self) -> str:
        return f"Stream(0x{self.pointer:x}, {self.device!r})"


class Device:
    """One that is open, with its instruments calibrated: 0.2 s once, for all measurements of a process."""

    def __init__(self, name: str) -> None:
        self.handle = ctypes.c_void_p()
        check(library().jitterscope_open(name.encode(), ctypes.byref(self.handle)))
        pointer = ctypes.c_void_p()
        check(library().jitterscope_stream(self.handle, ctypes.byref(pointer)))
        described = text_of(lambda out: library().jitterscope_describe(self.handle, out))
        self.name: str = json.loads(described)["id"]  # of "auto" what that is
        self.stream = Stream(pointer.value or 0, self.name)
        self._lock = threading.Lock()
        self._user: Optional[int] = None

    @property
    def ordinal(self) -> Optional[int]:
        """Number of the GPU; None of a CPU."""
        return int(self.name.partition(":")[2] or 0) if self.name.startswith("cuda") else None

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """One thread at a time uses it; the others wait."""
        if self._user == threading.get_ident():
            raise UsageError("a callable that is measured cannot measure itself; take js.measure out of it")
        with self._lock:
            self._user = threading.get_ident()
            try:
                yield
            finally:
                self._user = None


_open: dict[str, Device] = {}
_opening = threading.Lock()
_forked_from_gpu = False


def _after_fork() -> None:
    # The parent's devices are not this process's. CUDA itself cannot be used behind a fork any more.
    global _opening, _forked_from_gpu
    _forked_from_gpu = _forked_from_gpu or any(device.ordinal is not None for device in _open.values())
    _open.clear()
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def module(name: str) -> Any:
    """One that the program has imported; we import none of them."""
    return sys.modules.get(name)


def _torch_with_gpu() -> Any:
    torch = module("torch")
    # Another thread may be in the middle of importing it.
    cuda = getattr(torch, "cuda", None)
    return torch if cuda is not None and cuda.is_available() else None


def _gpu_of_jax() -> Optional[int]:
    """The ordinal of the GPU that JAX uses, where it has begun to."""
    backends = getattr(module("jax._src.xla_bridge"), "_backends", None)
    jax = module("jax")
    if not backends or jax is None or jax.default_backend() != "gpu":
        return None
    return int(jax.devices()[0].id)


def default_device() -> str:
    """The GPU that PyTorch uses now, else CuPy's, else JAX's, else the CPU."""
    # A process that works on the CPU alone has not begun with CUDA, though it could.
    torch = _torch_with_gpu()
    if torch is not None and torch.cuda.is_initialized():
        return f"cuda:{torch.cuda.current_device()}"
    cupy = module("cupy")
    if hasattr(cupy, "cuda") and cupy.cuda.is_available():
        return f"cuda:{cupy.cuda.runtime.getDevice()}"
    gpu = _gpu_of_jax()
    return "cpu" if gpu is None else f"cuda:{gpu}"


def open_device(name: Optional[str] = None) -> Device:
    name = default_device() if name is None else "cuda:0" if name in ("cuda", "gpu") else name
    if not isinstance(name, str):
        raise UsageError(f"device: a name as 'cuda:0' or 'cpu', not {name!r}")
    if _forked_from_gpu and name.startswith("cuda"):
        raise MissingError("CUDA cannot be used in a process that was forked from one that used it; start it by "
                           "multiprocessing's method 'spawn'")
    with _opening:
        if name not in _open:
            opened = Device(name)
            # Both names mean one device, with one queue.
            _open[name] = _open.setdefault(opened.name, opened)
        return _open[name]


def stream(device: Optional[str] = None) -> Stream:
    """The stream that callables are called on, for launches that must name one.

    device: as of js.measure. PyTorch and CuPy have it as their current stream while they are measured, so that only
    Numba and bare launches need this: `numba.cuda.external_stream(js.stream().pointer)`.
    """
    return open_device(device).stream


@contextlib.contextmanager
def current_stream(device: Device) -> Iterator[Any]:
    """Ours is the current stream of PyTorch and CuPy, behind what they have on theirs and before what comes there
    later. Yields PyTorch's object of it, or None."""
    with contextlib.ExitStack() as stack:
        ours = None
        cupy = module("cupy")
        if device.ordinal is not None and hasattr(cupy, "cuda"):
            stack.enter_context(cupy.cuda.Device(device.ordinal))
            cupy.cuda.get_current_stream().synchronize()
            stack.enter_context(cupy.cuda.ExternalStream(device.stream.pointer))
        torch = _torch_with_gpu()
        if device.ordinal is not None and torch is not None:
            theirs = torch.cuda.current_stream(device.ordinal)
            ours = torch.cuda.ExternalStream(device.stream.pointer, device=f"cuda:{device.ordinal}")
            ours.wait_stream(theirs)
            stack.callback(theirs.wait_stream, ours)
            stack.enter_context(torch.cuda.stream(ours))
        yield ours

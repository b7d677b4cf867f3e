"""Forks the judge's workers from a process that has imported what the reference imports: the import of PyTorch takes seconds.

It runs no code of a candidate and knows no key. A worker is forked twice: the process between enters new namespaces, which
only a process without threads can, and ends; then the worker is the judge's own child (src/judge/worker_start)."""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import socket
import sys
import tempfile
from typing import Any

from . import _judged_worker
from ._library import JudgedPlaceStruct, check, library

_LONGEST, _DESCRIPTORS = 64 * 1024, 3


def _import(modules: list[str]) -> None:
    """NumPy, too, if it is installed: a reference without PyTorch has its arrays. All these may be forked behind their
    import; of what else a file imports nobody knows it."""
    for name in [*modules, "numpy"]:
        with contextlib.suppress(Exception):
            if importlib.util.find_spec(name) is not None:
                importlib.import_module(name)


def _has_touched_gpu() -> bool:
    """A driver that is open cannot be used behind a fork."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink("/proc/self/fd/" + name).startswith("/dev/nvidia"):
                return True
    return False


def _received(judge: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """An order and its descriptors; nothing if the judge has ended."""
    space = socket.CMSG_SPACE(_DESCRIPTORS * array.array("i").itemsize)
    text, control, _, _ = judge.recvmsg(_LONGEST, space)
    descriptors = array.array("i")
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data)
    return (json.loads(text) if text else {}), list(descriptors)


def _become_worker(order: dict[str, Any], descriptors: list[int]) -> None:
    text = {name: order[name].encode() for name in ("folder", "user", "group", "mount")}
    place = JudgedPlaceStruct(*descriptors, *text.values(),
                              *(order[name] for name in ("data", "file", "descriptors", "core_seconds")))
    has = ctypes.c_int()
    check(library().jitterscope_judge_hold_back(ctypes.byref(place), ctypes.byref(has)))
    os.environ["HOME"] = os.environ["TMPDIR"] = order["folder"]
    if "triton" in sys.modules:
        os.environ["TRITON_HOME"] = order["folder"]  # it read the server's HOME as it was imported
    tempfile.tempdir = None
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # as in a process of its own; Python's own generator does so itself
    judge = socket.socket(fileno=0)
    judge.send(json.dumps({"has": has.value}).encode())
    judge.detach()


def _fork(order: dict[str, Any], descriptors: list[int]) -> int:
    """The worker's number; 0 in the worker."""
    wait, go = os.pipe()
    told, tell = os.pipe()
    between = os.fork()
    if between == 0:
        if order["namespaces"] and ctypes.CDLL(None).unshare(order["namespaces"]) != 0:
            os._exit(1)
        worker = os.fork()
        if worker == 0:
            os.close(go)
            if not os.read(wait, 1):  # until its parent has ended, whose end would be its own
                os._exit(1)
            return 0
        os.write(tell, str(worker).encode())
        os._exit(0)
    os.waitpid(between, 0)
    os.close(tell)
    text = os.read(told, 32)
    with contextlib.suppress(BrokenPipeError):
        os.write(go, b"x")
    for each in (wait, go, told, *descriptors):
        os.close(each)
    return int(text or -1)


def main(device: str, modules: list[str]) -> int:
    """`python3 -m jitterscope judged-fork-server cpu|cuda MODULE…`, which the judge starts."""
    judge = socket.socket(fileno=0)
    _import(modules)
    library()
    gc.freeze()  # a worker's collections leave alone what all share, which would be copied page by page
    judge.send(json.dumps({"ready": not _has_touched_gpu()}).encode())
    while True:
        order, descriptors = _received(judge)
        if not order:
            return 0
        worker = _fork(order, descriptors)
        if worker == 0:
            judge.detach()  # its number is the worker's own socket from now on
            _become_worker(order, descriptors)
            return _judged_worker.main(device)
        judge.send(json.dumps({"pid": worker}).encode())

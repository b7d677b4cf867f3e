"""libjitterscope.so through its C functions. It is opened when it is first needed, so that an import stays quick."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
from typing import Any, Callable

from ._errors import MissingError, raise_for

REASON_SIZE = 512
REPEAT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
RECORD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
                          ctypes.c_void_p)
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class CallableStruct(ctypes.Structure):
    """jitterscope_callable."""

    _fields_ = [("name", ctypes.c_char_p), ("launch", LAUNCH), ("repeat", REPEAT), ("record", RECORD),
                ("context", ctypes.c_void_p)]


class JudgedInputStruct(ctypes.Structure):
    """jitterscope_judged_input."""

    _fields_ = [("dtype", ctypes.c_char_p), ("family", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("dimensions", ctypes.c_size_t), ("below", ctypes.c_int64), ("scale", ctypes.c_double), ("index", ctypes.c_uint32)]


class JudgedPlaceStruct(ctypes.Structure):
    """jitterscope_judged_place."""

    _fields_ = [("socket", ctypes.c_int), ("errors", ctypes.c_int), ("memory", ctypes.c_int), ("folder", ctypes.c_char_p),
                ("user", ctypes.c_char_p), ("group", ctypes.c_char_p), ("options", ctypes.c_char_p), ("data", ctypes.c_int64),
                ("file", ctypes.c_int64), ("descriptors", ctypes.c_int64), ("core_seconds", ctypes.c_int64)]


def _path() -> str:
    named = os.environ.get("JITTERSCOPE_LIBRARY")
    path = pathlib.Path(named) if named else pathlib.Path(__file__).parent / "lib" / "libjitterscope.so"
    if not path.is_file():
        raise MissingError(f"{path} is not there: install the wheel, or set JITTERSCOPE_LIBRARY to libjitterscope.so")
    return str(path)


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    path = _path()
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise MissingError(f"{path} cannot be opened ({error}): it needs an x86-64 Linux with glibc 2.36 or newer") from error
    text = ctypes.POINTER(ctypes.c_void_p)
    pointer = ctypes.c_void_p
    judged = ctypes.POINTER(JudgedInputStruct)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "version": (ctypes.c_char_p, []),
        "last_error": (ctypes.c_char_p, []),
        "free": (None, [pointer]),
        "list_devices": (ctypes.c_int, [text]),
        "open": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(pointer)]),
        "close": (None, [pointer]),
        "describe": (ctypes.c_int, [pointer, text]),
        "stream": (ctypes.c_int, [pointer, ctypes.POINTER(pointer)]),
        "measure": (ctypes.c_int, [pointer, ctypes.c_char_p, ctypes.POINTER(CallableStruct), ctypes.c_size_t, PROGRESS,
                                   pointer, text]),
        "explain": (ctypes.c_int, [pointer, ctypes.c_char_p, ctypes.POINTER(CallableStruct), PROGRESS, pointer, text]),
        "show": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, text]),
        "plots": (ctypes.c_int, [ctypes.c_char_p, text]),
        "advise": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, text]),
        "judge_fill": (ctypes.c_int, [judged, ctypes.c_char_p, pointer, ctypes.c_size_t]),
        "judge_first_digest": (ctypes.c_int, [ctypes.c_char_p, pointer]),
        "judge_digest": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, pointer, ctypes.c_size_t, pointer]),
        "judge_hold_back": (ctypes.c_int, [ctypes.POINTER(JudgedPlaceStruct), ctypes.POINTER(ctypes.c_int)]),
        "judge_open_chain": (ctypes.c_int, [pointer, ctypes.c_size_t, ctypes.POINTER(pointer)]),
        "judge_add_input": (ctypes.c_int, [pointer, judged]),
        "judge_release": (ctypes.c_int, [pointer, pointer, ctypes.c_uint32]),
        "judge_fill_all": (ctypes.c_int, [pointer, pointer, ctypes.POINTER(pointer)]),
        "judge_keep": (ctypes.c_int, [pointer, pointer, ctypes.POINTER(pointer), ctypes.POINTER(ctypes.c_size_t), ctypes.c_size_t,
                                      pointer, ctypes.c_uint32]),
        "judge_evict": (ctypes.c_int, [pointer, pointer, ctypes.c_size_t]),
        "judge_open_kernel": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(pointer), text]),
        "judge_launch": (ctypes.c_int, [pointer, pointer, ctypes.POINTER(pointer)]),
    }
    for name, (result, arguments) in signatures.items():
        try:
            function = getattr(opened, "jitterscope_" + name)
        except AttributeError as error:
            raise MissingError(f"{path} is of another version than this module: it has no jitterscope_{name}; install one "
                               "wheel, and unset JITTERSCOPE_LIBRARY") from error
        function.restype, function.argtypes = result, arguments
    return opened


def check(status: int) -> None:
    """Raises what the thread's last call failed with."""
    if status == 0:
        return
    error = json.loads(library().jitterscope_last_error().decode())
    raise_for(status, error["message"])


def text_of(call: Callable[[Any], int]) -> str:
    """The text that a function writes to its last argument."""
    pointer = ctypes.c_void_p()
    check(call(ctypes.byref(pointer)))
    try:
        return ctypes.string_at(pointer).decode() if pointer.value else ""
    finally:
        library().jitterscope_free(pointer)


def version() -> str:
    """"0.1.0", or "0.1.0+g0321075ab" of a commit after it."""
    found: bytes = library().jitterscope_version()
    return found.decode()


def show(record: str, **page: Any) -> str:
    """A record as the command line prints it; page: width, details, top, findings."""
    known = {key: value for key, value in page.items() if value is not None}
    return text_of(lambda out: library().jitterscope_show(record.encode(), json.dumps(known).encode(), out))


def advise(measured: str, request: str) -> dict[str, Any]:
    """The record of advice with one more step: a remedy, by the record of its measurement."""
    found: dict[str, Any] = json.loads(text_of(lambda out: library().jitterscope_advise(measured.encode(),
                                                                                       request.encode(), out)))
    return found


def plots(record: str) -> list[dict[str, Any]]:
    """The plots of a record: id, title, caption and a specification of Vega-Lite each."""
    drawn: list[dict[str, Any]] = json.loads(text_of(lambda out: library().jitterscope_plots(record.encode(), out)))
    return drawn

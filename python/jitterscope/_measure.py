"""js.measure: a callable, called by the measuring loop through a function pointer."""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import signal
import sys
import threading
from typing import Any, Callable, Optional, Union

from ._device import Device, current_stream, open_device
from ._errors import UsageError
from ._library import LAUNCH, PROGRESS, REASON_SIZE, RECORD, REPEAT, CallableStruct, check, library, text_of
from ._live_line import LiveLine
from ._options import Words, check_name, check_progress, options_json
from ._result import Time
from ._returned_work import ReturnedWork

Progress = Callable[[dict[str, Any]], object]
Stop = Callable[[], bool]  # whether to end early, with what is known


def name_of(function: Callable[..., Any]) -> str:
    """As the table calls it."""
    name = getattr(function, "__qualname__", None) or getattr(type(function), "__name__", "callable")
    return str(name).replace("<locals>.", "")


def _sentence(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class _Interruption:
    """Ctrl-C while C code runs: at once within the callable, else when the loop next asks."""

    def __init__(self) -> None:
        self.inside = False
        self.pending = False
        self._is_ours = (threading.current_thread() is threading.main_thread()
                         and signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    def _handle(self, number: int, frame: Any) -> None:
        if self.inside:
            signal.default_int_handler(number, frame)
        self.pending = True

    def __enter__(self) -> _Interruption:
        if self._is_ours:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.pending and kind is None:
            raise KeyboardInterrupt


# PyTorch's latest recording on each GPU. It holds the pool of memory that the next one uses too: each pool of its own
# would stay reserved until memory is short.
_latest_capture: dict[int, Any] = {}


class _Calls:
    """The functions that the measuring loop calls for one callable. ctypes swallows exceptions: they are kept, the loop is told to
    stop, and they are raised when it has."""

    def __init__(self, name: str, function: Callable[[], Any], interruption: _Interruption, stream: Any,
                 ordinal: Optional[int]) -> None:
        self.function = function
        self.returned = ReturnedWork(name)
        self.ordinal = ordinal
        self.interruption = interruption
        self.stream = stream  # PyTorch's object of ours, or None
        self.error: Optional[BaseException] = None  # the latest
        self.stopped = False  # by what is no Exception: KeyboardInterrupt, SystemExit
        self.graphs: list[Any] = []  # PyTorch's, alive as long as ours that hold them

    def _attempt(self, work: Callable[[], Any], reason: int) -> int:
        if self.stopped or self.interruption.pending:
            return 1
        interruption = self.interruption
        try:
            interruption.inside = True
            work()
            interruption.inside = False
            return 0
        except BaseException as error:
            interruption.inside = False
            self.error = error
            self.stopped = not isinstance(error, Exception)
            text = _sentence(error).encode()[:REASON_SIZE - 1].decode(errors="ignore").encode()
            ctypes.memmove(reason, text + b"\0", len(text) + 1)
            return 1

    def launch(self, _stream: int, reason: int, _context: int) -> int:
        return self._attempt(self._call, reason)

    def _call(self) -> None:
        self._look_at(self.function())

    def _look_at(self, returned: Any) -> None:
        work = self.returned
        if type(returned) not in work.types_done:
            work.look_at(returned)
        if work.wait is not None:
            work.wait(returned)

    def repeat(self, _stream: int, launches: int, reason: int, _context: int) -> int:
        return self._attempt(lambda: self._call_in_a_row(launches), reason)

    def _call_in_a_row(self, launches: int) -> None:
        if self.returned.wait is not None:
            for _ in range(launches):
                self._call()
            return
        function = self.function
        for _ in itertools.repeat(None, launches - 1):  # as timeit does: its own 10 ns are in each call's time
            function()
        self._look_at(function())

    def record(self, _stream: int, graph: Any, reason: int, _context: int) -> int:
        return self._attempt(lambda: self._capture(graph), reason)

    def _capture(self, graph: Any) -> None:
        # PyTorch records itself: its allocator and its generators must know that they are recorded.
        torch = sys.modules["torch"]
        if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
            raise UsageError("this PyTorch does not give access to its recordings; install a newer one")
        capture = torch.cuda.CUDAGraph(keep_graph=True)
        latest = _latest_capture.get(self.ordinal or 0)
        capture.capture_begin(pool=None if latest is None else latest.pool(), capture_error_mode="thread_local")
        try:
            self.function()
        except BaseException:
            try:
                capture.capture_end()
            except Exception:
                pass  # of a recording that the callable spoilt: its own exception says more
            raise
        capture.capture_end()
        graph[0] = ctypes.c_void_p(capture.raw_cuda_graph())
        self.graphs.append(capture)
        _latest_capture[self.ordinal or 0] = capture


def _progress(interruption: _Interruption, listener: Optional[Progress], stop: Optional[Stop],
              errors: list[BaseException]) -> Any:
    def tell(text: Optional[bytes], _context: int) -> int:
        try:
            if listener is not None and text is not None:
                listener(json.loads(text))
        except BaseException as error:
            errors.append(error)
        return 1 if errors or interruption.pending or (stop is not None and stop()) else 0

    return PROGRESS(tell)


def _allocated(torch: Any) -> int:
    return int(torch.cuda.memory_stats().get("allocated_bytes.all.allocated", 0))


def bytes_of_one_call(function: Callable[[], Any], device: Device) -> Optional[int]:
    """The bytes that a call allocates through PyTorch, added up; None where PyTorch has no part in it."""
    with device.in_use(), current_stream(device) as stream:
        if stream is None:
            return None
        torch = sys.modules["torch"]
        before = _allocated(torch)
        function()
        allocated = _allocated(torch) - before
        stream.synchronize()
        return allocated


def _raise_what_happened(status: int, interruption: _Interruption, all_calls: list[_Calls],
                         listener_errors: list[BaseException]) -> None:
    """The program's own exceptions before the library's sentence about them."""
    if interruption.pending:
        raise KeyboardInterrupt
    for calls in all_calls:
        # A function that failed only while recorded was timed without a recording, and the record says so.
        if calls.error is not None and (status != 0 or calls.stopped):
            raise calls.error
    if listener_errors:
        raise listener_errors[0]
    check(status)


# Takes callables' structs, their progress and the place of the record; returns a status.
CallWithCallables = Callable[[Any, Any, Any], int]


def record_of_callables(functions: list[tuple[str, Callable[[], Any]]], device: Device, call: CallWithCallables,
                        progress: Optional[Progress] = None, stop: Optional[Stop] = None) -> dict[str, Any]:
    """The record of a C function that calls these callables, each with its name. Raises what they raise."""
    collects = gc.isenabled()
    with device.in_use(), current_stream(device) as stream, _Interruption() as interruption:
        all_calls = [_Calls(name, function, interruption, stream, device.ordinal) for name, function in functions]
        structs = (CallableStruct * len(functions))()
        pointers = []  # alive until the loop is done
        for struct, (name, _), calls in zip(structs, functions, all_calls):
            launch, repeat = LAUNCH(calls.launch), REPEAT(calls.repeat)
            record = RECORD() if stream is None else RECORD(calls.record)
            pointers += [launch, repeat, record]
            struct.name, struct.launch, struct.repeat, struct.record = name.encode(), launch, repeat, record
        listener_errors: list[BaseException] = []
        tell = _progress(interruption, progress, stop, listener_errors)
        # A kernel of Triton that is collected unloads its module, which spoils a recording; and rounds want no pauses.
        gc.disable()
        try:
            out = ctypes.c_void_p()
            status = call(structs, tell, ctypes.byref(out))
            text = ctypes.string_at(out).decode() if out.value else ""
            library().jitterscope_free(out)
            _raise_what_happened(status, interruption, all_calls, listener_errors)
            found: dict[str, Any] = json.loads(text)
            found.setdefault("notes", []).extend(
                f"{name} returns arrays of JAX, which are waited for, so the time includes the host's work."
                for (name, _), calls in zip(functions, all_calls) if calls.returned.wait is not None)
            return found
        finally:
            if collects:
                gc.enable()
            for calls in all_calls:
                calls.error = None  # its traceback holds this frame
                calls.graphs.clear()


def measure_record(functions: list[tuple[str, Callable[[], Any]]], device: Device, options: dict[str, Any],
                   title: str = "", progress: Optional[Progress] = None, command_line: str = "") -> dict[str, Any]:
    """The record of callables that are timed beside each other, each with its name. A page is headed by command_line."""
    headed = command_line or f"js.measure of {', '.join(name for name, _ in functions)}"
    request = json.dumps({"options": options, "title": title, "command_line": headed}).encode()
    return record_of_callables(
        functions, device,
        lambda structs, tell, out: library().jitterscope_measure(device.handle, request, structs, len(functions), tell,
                                                                 None, out), progress)


def measure(function: Callable[[], Any], *, device: Optional[str] = None, name: Optional[str] = None,
            cache: Words = "warm", load: Words = "burst", queue: str = "saturated", instrument: Optional[str] = None,
            precision: float = 0.005, time_limit: float = 1.5, sustained_time_limit: float = 10.0,
            minimum_rounds: int = 10, launches_per_round: Optional[int] = None,
            idle: tuple[float, float] = (0.01, 0.07), reference_clock: Optional[float] = None, kernels: bool = False,
            counters: Union[bool, Words] = False, seed: int = 1, progress: Optional[Progress] = None) -> Time:
    """How long one call of `function` takes on a device, with an interval and the conditions that it holds for.

    >>> time = js.measure(lambda: model(x))
    >>> print(time)                      # the command line's table
    >>> time.median, time.interval       # seconds

    The function takes no argument and puts its work on the current stream, as PyTorch and CuPy do by themselves; what
    it returns is dropped. Make its inputs before: only what the function does is timed. It is called once to load what
    is loaded lazily, three times or more to learn how long it takes, and then in rounds: five times at least, whatever
    the time limit, so that a call of ten seconds takes 50. Each further cache state or load adds two calls or more.

    device       "cuda:0", "cpu"; without it the GPU that PyTorch, CuPy or JAX uses now, else the CPU.
    name         what tables call it; without it the function's own name.
    cache        "warm", "cold", "dirty", or several: what the caches hold when a call begins.
    load         "burst" (short rounds with pauses), "sustained" (without pause until time and clock settle), or both.
    queue        "saturated" (the GPU always has the next call: its own time), "eager" (as a program launches: the
                 host's time where that is longer), "graph" (recorded once and replayed as a CUDA graph).
    instrument   "events", "graph", "cupti", "host"; without it what suits the duration.
    precision    stop at this half-width of the 95 % interval, relative: 0.005 is 0.5 %.
    time_limit, sustained_time_limit   seconds; stop then, whatever the precision.
    minimum_rounds, launches_per_round, seed   as of the command line.
    idle         seconds: the shortest and the longest pause before a round, drawn at random.
    reference_clock   hertz: also give the time at this clock.
    kernels      also trace the kernels of one call: `time.kernels`.
    counters     also read hardware counters of one call: True, or names, as "NAME,NAME" or a list.
    progress     called between rounds with a dict of what is known so far; without it a line of the terminal shows that
                 from the third second on.

    What the function raises arrives as it is, Ctrl-C too. A function that waits for the GPU, uses another stream or
    cannot be recorded is timed by what is possible, and `time.notes` and `time.findings` say what and why.
    """
    if not callable(function):
        raise UsageError(f"measure takes something to call, as lambda: f(x), and not {type(function).__name__}")
    asked = options_json(cache=cache, load=load, queue=queue, instrument=instrument, precision=precision,
                         time_limit=time_limit, sustained_time_limit=sustained_time_limit,
                         minimum_rounds=minimum_rounds, launches_per_round=launches_per_round, idle=idle,
                         reference_clock=reference_clock, kernels=kernels,
                         counters=counters, seed=seed)
    check_name(name)
    check_progress(progress)
    named = name_of(function) if name is None else name
    opened = open_device(device)
    with LiveLine(named) as live:
        record = measure_record([(named, function)], opened, asked, progress=live.tell if progress is None else progress)
    return Time(record, memory=bytes_of_one_call(function, opened))


def describe(device: Optional[str] = None) -> dict[str, Any]:
    """A device as it stands in records: name, processors, memory_total_bytes, libraries…"""
    opened = open_device(device)
    described: dict[str, Any] = json.loads(text_of(lambda out: library().jitterscope_describe(opened.handle, out)))
    return described


def devices() -> list[dict[str, Any]]:
    """The devices: id, name, and problem (empty, or why it cannot be used)."""
    listed: list[dict[str, Any]] = json.loads(text_of(library().jitterscope_list_devices))
    return listed

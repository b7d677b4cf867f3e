"""js.explain: which causes move the time of a callable of this process; of what is text, the command line's study."""

from __future__ import annotations

import json
import pathlib
import signal
import tempfile
import time
from typing import Any, Callable, Iterable, Optional, Union

from . import _command
from ._benchmark import Benchmark
from ._device import Device, open_device
from ._errors import Error, UsageError
from ._library import library
from ._measure import Progress, Stop, name_of, record_of_callables
from ._options import check_name, check_progress
from ._program import program
from ._result import Record
from ._targets import only_case, target_of

QUICK, FULL = 32.0, 180.0  # seconds
_MOST_OF_THE_TIME = 1 / 3  # for the fresh processes
_FEWEST_PROCESSES, _RUN_SECONDS = 3, 1.0  # a run takes 0.6 to 2 s beside its imports


def _in_fresh_processes(target: str, device: str, time_limit: float, imports: float, stop: Stop) -> list[dict[str, Any]]:
    """Records of a run each; `imports` are the seconds that each takes before it measures, at least."""
    count = max(_FEWEST_PROCESSES, min(8, round(time_limit / 18)))
    needed = _FEWEST_PROCESSES * (imports + _RUN_SECONDS)
    if needed > time_limit * _MOST_OF_THE_TIME:
        raise Error(f"{_FEWEST_PROCESSES} fresh processes would take {needed:.0f} of the {time_limit:.0f} seconds; "
                    f"a max_time of {needed / _MOST_OF_THE_TIME:.0f} seconds is enough for them")
    records: list[dict[str, Any]] = []
    began = time.monotonic()
    while len(records) < count and time.monotonic() - began < time_limit * _MOST_OF_THE_TIME and not stop():
        records.append(_command.call("run", [target], {"device": device, "cache": "warm", "load": "burst"}))
    return records


def _record_of_study(function: Callable[[], Any], device: Device, name: str, target: Any, factors: list[str],
                     time_limit: float, seed: int, progress: Optional[Progress], stop: Stop,
                     imports: float = 0.0) -> dict[str, Any]:
    """`target` is what fresh processes are given: text, or the function."""
    began = time.monotonic()
    request: dict[str, Any] = {"seed": seed, "command_line": f"js.explain of {name}", "factors": factors,
                               "program": program()}
    notes = []
    if not factors:
        if progress is not None:
            progress({"stage": "the same in fresh processes", "share": 0.0})
        try:
            with tempfile.TemporaryDirectory(prefix="jitterscope-") as folder:
                named = "python:" + target_of(target, pathlib.Path(folder), set())
                request["processes"] = _in_fresh_processes(named, device.name, time_limit, imports, stop)
        except Error as error:
            notes.append(f"How much processes differ was not asked: {error}.")
    request["time_limit_seconds"] = max(1.0, time_limit - (time.monotonic() - began))
    text = json.dumps(request).encode()
    record = record_of_callables(
        [(name, function)], device,
        lambda structs, tell, out: library().jitterscope_explain(device.handle, text, structs, tell, None, out), progress,
        stop)
    record["notes"] = record.get("notes", []) + notes
    return record


def explain_asked(text: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """Answers `jitterscope explain python:…`, which asks: {"callable", "device", "factors", "time_limit_seconds", "seed"}.

    The file's imports are part of the time limit, of which half is left to the study at least.
    """
    began = time.monotonic()
    asked = json.loads(text)
    stopped: list[int] = []  # by Ctrl-C, or by whoever asks: what is known by then is the answer
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: stopped.append(number))
    case = only_case(asked["callable"])
    imports = time.monotonic() - began
    device = open_device(asked["device"])
    limit = asked["time_limit_seconds"]
    time_limit = max(limit / 2, limit - (time.monotonic() - began))

    def show(now: dict[str, Any]) -> None:
        left = time_limit * (1 - now["share"])
        tell(f"{now['stage']}: {now['share']:.0%}, {left:.0f} s left")

    return _record_of_study(case.make(), device, case.name, asked["callable"], asked["factors"],
                            time_limit, asked["seed"], show, lambda: bool(stopped), imports)


def explain(*targets: Union[str, Callable[[], Any]], device: Optional[str] = None,
            factors: Union[str, Iterable[str], None] = None, quick: bool = False, max_time: Optional[float] = None,
            seed: int = 1, name: Optional[str] = None, progress: Optional[Progress] = None, **options: Any) -> Record:
    """Which causes move a time, by how much, and how sure that is: each is switched on and off while the rest stays.

    >>> print(js.explain(step))                        # a function without arguments, as js.measure takes it
    >>> js.explain(step, quick=True)                   # half a minute in place of three
    >>> js.explain("conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1")       # an operation or a network, two records
    >>> js.explain("monday.json", "tuesday.json")

    A function is called in this process, some thousand times. One at the top of a file is run in fresh processes, too,
    which shows how far they differ; of a lambda they cannot be had, and the record's notes say so. What a function reads
    and allocates is its own, so that input values, alignment, placement and the allocator are not tried.

    device     "cuda:0", "cpu"; without it the GPU that PyTorch, CuPy or JAX uses now, else the CPU.
    factors    only these: "idle,cache" or a list of them; `jitterscope explain --help` names all.
    max_time   seconds of the whole; 180, or 32 with `quick`.
    seed       of orders and idles.
    name       what tables call the function.
    progress   called with {"stage": …, "share": of the whole} while a function is explained.
    options    of what is text: flags of `jitterscope explain`, as only=….

    What the function raises arrives as it is, Ctrl-C too.
    """
    functions = [each for each in targets if not isinstance(each, str)]
    if not functions:
        asked = {"device": device, "factors": factors, "quick": quick, "max_time": max_time, "seed": seed, **options}
        return Record(_command.call("explain", [str(each) for each in targets], asked))
    function = functions[0]
    if isinstance(function, Benchmark):
        raise UsageError("explain takes a function to time, as `explain(attention(n=512))`, and not a benchmark")
    if not callable(function):
        raise UsageError(f"explain takes something to call, as lambda: f(x), or text, and not {type(function).__name__}")
    if len(targets) != 1:
        raise UsageError("explain takes one function; use js.compare to find which of several is faster")
    if options:
        raise UsageError(f"explain: {', '.join(options)} is not an option for a function")
    check_name(name)
    check_progress(progress)
    time_limit = (QUICK if quick else FULL) if max_time is None else max_time
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not 1 <= time_limit <= 3600:
        raise UsageError(f"max_time: 1 to 3600 seconds, not {time_limit!r}")
    if factors is not None and not isinstance(factors, Iterable):
        raise UsageError(f"factors: names as 'idle,cache' or a list of them, not {factors!r}")
    _command.refuse_in_worker("explain")
    listed = [] if factors is None else factors.split(",") if isinstance(factors, str) else list(factors)
    named = name_of(function) if name is None else name
    return Record(_record_of_study(function, open_device(device), named, function, listed, time_limit, seed, progress,
                                   lambda: False))

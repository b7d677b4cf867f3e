"""Conditions, in the words of the command line, as the C functions take them."""

from __future__ import annotations

import difflib
from typing import Any, Iterable, Optional, Union

from ._errors import UsageError

Words = Union[str, Iterable[str]]
CACHES = ["warm", "cold", "dirty", "produced"]
LOADS = ["burst", "sustained"]
QUEUES = ["saturated", "eager", "graph"]
INSTRUMENTS = ["events", "graph", "cupti", "host"]


def _word(name: str, word: Any, known: list[str]) -> str:
    if isinstance(word, str) and word in known:
        return word
    near = difflib.get_close_matches(str(word), known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; one of {', '.join(known)}"
    raise UsageError(f"{name}: there is no {word!r}{hint}")


def words(name: str, given: Words, known: list[str]) -> list[str]:
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
    if not listed:
        raise UsageError(f"{name}: at least one of {', '.join(known)}")
    return [_word(name, word, known) for word in listed]


def _number(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise UsageError(f"{name}: a number from {least:g} to {most:g}, not {value!r}")
    return float(value)


def _yes_or_no(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name}: True or False, not {value!r}")
    return value


def _pauses(idle: Any) -> tuple[float, float]:
    if not isinstance(idle, (tuple, list)) or len(idle) != 2:
        raise UsageError(f"idle: the shortest and the longest pause in seconds, as (0.01, 0.07), not {idle!r}")
    shortest, longest = (_number("idle", each, 0, 10) for each in idle)
    if shortest > longest:
        raise UsageError(f"idle: the shortest pause before the longest, as (0.01, 0.07), not {idle!r}")
    return shortest, longest


def _counter_names(counters: Any) -> list[str]:
    """Counters of the GPU's default set, or those that are named; several in one text stand between commas."""
    if counters is True:
        return []
    names = counters.split(",") if isinstance(counters, str) else list(counters) if isinstance(counters, Iterable) else []
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError(f'counters: True, or names as "dram__bytes.sum" or a list of them, not {counters!r}')
    return [name.strip() for name in names]


def check_name(name: Any) -> None:
    """Raises UsageError where tables cannot call a function so."""
    if name is not None and not isinstance(name, str):
        raise UsageError(f"name: what tables call the function, as text, not {name!r}")


def check_progress(progress: Any) -> None:
    """Raises UsageError where it cannot be told."""
    if progress is not None and not callable(progress):
        raise UsageError(f"progress: a function that is called with a dict, as print, not {progress!r}")


def options_json(*, cache: Words = "warm", load: Words = "burst", queue: str = "saturated",
                 instrument: Optional[str] = None, precision: float = 0.005, time_limit: float = 1.5,
                 sustained_time_limit: float = 10.0, minimum_rounds: int = 10,
                 launches_per_round: Optional[int] = None, idle: tuple[float, float] = (0.01, 0.07),
                 reference_clock: Optional[float] = None,
                 kernels: bool = False, counters: Union[bool, Words] = False, seed: int = 1) -> dict[str, Any]:
    """As "options" of jitterscope_measure; seconds and hertz."""
    options: dict[str, Any] = {
        "caches": words("cache", cache, CACHES),
        "loads": words("load", load, LOADS),
        "queue": _word("queue", queue, QUEUES),
        "precision": _number("precision", precision, 1e-6, 0.99),
        "time_limit_seconds": _number("time_limit", time_limit, 1e-3, 1e6),
        "sustained_time_limit_seconds": _number("sustained_time_limit", sustained_time_limit, 1e-3, 1e6),
        "minimum_rounds": int(_number("minimum_rounds", minimum_rounds, 1, 1e6)),
        "kernels": _yes_or_no("kernels", kernels),
        "seed": int(_number("seed", seed, 0, 2**53)),
    }
    options["shortest_idle_seconds"], options["longest_idle_seconds"] = _pauses(idle)
    if instrument is not None:
        options["instrument"] = _word("instrument", instrument, INSTRUMENTS)
    if launches_per_round is not None:
        options["launches_per_round"] = int(_number("launches_per_round", launches_per_round, 1, 200))
    if reference_clock is not None:
        options["reference_clock_hertz"] = _number("reference_clock", reference_clock, 1e6, 2e10)
    if counters is not False:
        options["counters"] = _counter_names(counters)
    return options

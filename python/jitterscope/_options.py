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
    listed = [given] if isinstance(given, str) else list(given)
    if not listed:
        raise UsageError(f"{name}: at least one of {', '.join(known)}")
    return [_word(name, word, known) for word in listed]


def _number(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise UsageError(f"{name}: a number from {least:g} to {most:g}, not {value!r}")
    return float(value)


def options_json(*, cache: Words = "warm", load: Words = "burst", queue: str = "saturated",
                 instrument: Optional[str] = None, precision: float = 0.005, time_limit: float = 1.5,
                 sustained_time_limit: float = 10.0, minimum_rounds: int = 10,
                 launches_per_round: Optional[int] = None, idle: tuple[float, float] = (0.01, 0.07),
                 reference_clock: Optional[float] = None,
                 kernels: bool = False, counters: Union[bool, list[str]] = False, seed: int = 1) -> dict[str, Any]:
    """As "options" of jitterscope_measure; seconds and hertz."""
    options: dict[str, Any] = {
        "caches": words("cache", cache, CACHES),
        "loads": words("load", load, LOADS),
        "queue": _word("queue", queue, QUEUES),
        "precision": _number("precision", precision, 1e-6, 0.99),
        "time_limit_seconds": _number("time_limit", time_limit, 1e-3, 1e6),
        "sustained_time_limit_seconds": _number("sustained_time_limit", sustained_time_limit, 1e-3, 1e6),
        "minimum_rounds": int(_number("minimum_rounds", minimum_rounds, 1, 1e6)),
        "kernels": bool(kernels),
        "seed": int(_number("seed", seed, 0, 2**53)),
    }
    shortest, longest = (_number("idle", each, 0, 10) for each in idle)
    if shortest > longest:
        raise UsageError(f"idle: the shortest and the longest pause, as (0.01, 0.07), not {idle!r}")
    options["shortest_idle_seconds"], options["longest_idle_seconds"] = shortest, longest
    if instrument is not None:
        options["instrument"] = _word("instrument", instrument, INSTRUMENTS)
    if launches_per_round is not None:
        options["launches_per_round"] = int(_number("launches_per_round", launches_per_round, 1, 200))
    if reference_clock is not None:
        options["reference_clock_hertz"] = _number("reference_clock", reference_clock, 1e6, 2e10)
    if counters is not False:
        options["counters"] = [] if counters is True else list(counters)
    return options

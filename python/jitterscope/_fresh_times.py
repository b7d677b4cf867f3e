"""What one fresh process finds of a function, to be compared with what others found: on a busy CPU, too."""

from __future__ import annotations

import gc
import itertools
import random
import resource
import time
from typing import Any, Callable, NamedTuple

from ._verdict import Found

_SECONDS = 0.4  # of rounds
_ROUND = 0.005  # of work
_FEWEST_ROUNDS = 3
_PAUSE = (0.01, 0.04)  # so that rounds do not beat with other programs' work
# The lowest tenth of the rounds: what other programs do to caches and cores only adds. Over 104 processes beside four
# others' work on two cores it varied by 0.8 to 5 %, the median by 1.1 to 7 %.
_SHARE = 0.1
_ALL_OF_IT = 0.95  # of a round's time: what its thread worked for, where it had a core to itself


class _Round(NamedTuple):
    seconds: float  # of one call
    worked: float  # by the clock of the thread, which stands while another has the core
    is_work: bool  # all of it: what is missing others took, and the thread did not wait for anything


def _rounds(function: Callable[[], Any], seconds: float) -> list[_Round]:
    draw = random.Random()
    began = time.perf_counter()
    function()
    launches = 1
    # Of a row as long as a round: one call alone, after others, holds what it made cold.
    while time.perf_counter() - began < _ROUND:
        launches *= 2
        began = time.perf_counter()
        for _ in itertools.repeat(None, launches):
            function()
    found: list[_Round] = []
    end = time.monotonic() + seconds
    while len(found) < _FEWEST_ROUNDS or time.monotonic() < end:
        time.sleep(draw.uniform(*_PAUSE))
        function()  # what the pause made cold
        before = resource.getrusage(resource.RUSAGE_THREAD)
        start, began_work = time.perf_counter(), time.thread_time()
        for _ in itertools.repeat(None, launches):
            function()
        worked, elapsed = time.thread_time() - began_work, time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_THREAD)
        was_held_up = after.ru_nivcsw > before.ru_nivcsw and after.ru_nvcsw == before.ru_nvcsw
        found.append(_Round(elapsed / launches, worked / launches, was_held_up or worked >= _ALL_OF_IT * elapsed))
    return found


def _low(values: list[float]) -> float:
    return sorted(values)[int(_SHARE * (len(values) - 1) + 0.5)]


_NUMBERS = list(range(0, 10**8, 5003))  # 20,000 objects, so that caches have a part in it


def _work_that_never_changes() -> int:
    return sum([number & 1023 for number in _NUMBERS])


def found_on_cpu(function: Callable[[], Any], seconds: float = _SECONDS) -> Found:
    """Of a function that has been called before. Nothing is said of work that other threads do for it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        rounds = _rounds(function, seconds)
        machine = _rounds(_work_that_never_changes, seconds / 4)
    finally:
        if collects:
            gc.enable()
    is_all = 2 * sum(each.is_work for each in rounds) >= len(rounds)
    worked = _low([each.worked for each in rounds])
    return Found(_low([each.seconds for each in rounds]), worked if is_all and worked > 0 else None,
                 _low([each.worked for each in machine]))

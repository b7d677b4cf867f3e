"""Times of a function in one fresh process, to be compared with those in others: on a busy CPU, too."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import random
import resource
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

from ._verdict import Found

_SECONDS = 0.4  # of rows and pauses
# A process that has slept is let alone for 3 ms or so; where others take its core within a row, it comes back to cold
# caches. With five programs sorting beside it on two cores, rows of 5 ms read 1 to 16 % more than alone, these -2 to 6.
_ROW = 0.001
_ROWS = 2  # behind each pause
_FEWEST = 3  # rows
_TURN = 0.005
_OTHERS = 0.02  # of the thread's work: what other threads and processes may have done beside it
_PAUSE = (0.005, 0.02)  # so that rows do not beat with other programs' work
# The lowest tenth of the rows: what other programs do to caches and cores only adds. Over 104 processes beside four
# others on two cores it varied by 0.7 to 5 %, the median by 1 to 7 %, and the median of wall times by 13 to 52 %.
_SHARE = 0.1
_ALL_OF_IT = 0.95  # of a row's time: what its thread worked for, where it had a core to itself


def _worked_by_others() -> float:
    """Seconds that other threads of this process have worked, and processes that it has started and waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() - time.thread_time() + children.ru_utime + children.ru_stime


class _Row(NamedTuple):
    """So many calls, one after the other."""

    launches: int
    elapsed: float
    worked: float  # by the clock of the thread, which stands while another has the core
    waits: int  # of its own will
    held_up: int  # times that another was given the core

    @property
    def length(self) -> float:
        """Without what others took, where that can be told."""
        return self.elapsed if self.waits else self.worked

    @property
    def is_work(self) -> bool:
        """All of it: what is missing others took, and the thread did not wait for anything."""
        return self.worked >= _ALL_OF_IT * self.elapsed or (self.held_up > 0 and self.waits == 0)


def _row(function: Callable[[], Any], launches: int) -> _Row:
    before = resource.getrusage(resource.RUSAGE_THREAD)
    start, began = time.perf_counter(), time.thread_time()
    for _ in itertools.repeat(None, launches):
        function()
    worked, elapsed = time.thread_time() - began, time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_THREAD)
    return _Row(launches, elapsed, worked, after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw)


def _launches_of_row(function: Callable[[], Any], seconds: float) -> tuple[int, bool]:
    """How many calls make a row, and whether one of them takes as long as several rows."""
    row = _row(function, 1)
    while row.length < _ROW / 2 and row.elapsed < seconds:
        row = _row(function, 2 * row.launches)
    return row.launches, row.length > 10 * _ROW


def _rows(function: Callable[[], Any], seconds: float) -> list[_Row]:
    draw = random.Random()
    launches, is_long = _launches_of_row(function, seconds)
    found: list[_Row] = []
    end = time.monotonic() + seconds
    while len(found) < _FEWEST or time.monotonic() < end:
        time.sleep(draw.uniform(*_PAUSE))
        if not is_long:
            _row(function, launches)  # the pause made caches cold
        found += [_row(function, launches) for _ in range(1 if is_long else _ROWS)]
    return found


def _low(values: list[float]) -> float:
    return sorted(values)[int(_SHARE * (len(values) - 1) + 0.5)]


_NUMBERS = list(range(0, 10**8, 5003))


def _work_that_never_changes() -> int:
    """Python's own loop over 20,000 objects. What looks up 2 MB in any order moved by 5 to 11 % with the load beside it, where
    functions of tests moved by 2, and a true 5 % was undecided for it."""
    return sum([number & 1023 for number in _NUMBERS])


@contextlib.contextmanager
def _on_core(core: Optional[int]) -> Iterator[None]:
    """The calling thread runs on this core; on any if there is none, or if it may not."""
    if core is None:
        yield
        return
    allowed = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, allowed)


class Turns:
    """Times a function that has been called before by turns: its process waits while the other of the pair has one.

    Both are on the same core then, if the function works in the calling thread alone (`is_alone`). Where each stayed on a core
    of its own, whose neighbour did other work or not, equal code differed by 5 to 20 % from pair to pair; so it is 0.3 to 4."""

    FEWEST = 6

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        others = _worked_by_others()
        worked = time.thread_time()
        self._launches, self._is_long = _launches_of_row(function, _SECONDS)
        self.is_alone = _worked_by_others() - others <= _OTHERS * (time.thread_time() - worked)

    def take(self, core: Optional[int] = None) -> float:
        """Seconds of a call: the lower quartile of rows, for other programs mostly add."""
        with _on_core(core):
            return self._take()

    def _take(self) -> float:
        collects = gc.isenabled()
        gc.disable()
        try:
            if not self._is_long:
                _row(self._function, self._launches)  # the other's turn made caches cold
            rows = [_row(self._function, self._launches)]
            end = time.monotonic() + _TURN - rows[0].elapsed
            while time.monotonic() < end:
                rows.append(_row(self._function, self._launches))
        finally:
            if collects:
                gc.enable()
        return sorted(each.length for each in rows)[len(rows) // 4] / self._launches


def found_on_cpu(function: Callable[[], Any], seconds: float = _SECONDS) -> Found:
    """Times a function that has been called before. Work that other threads do for it is not looked at."""
    collects = gc.isenabled()
    gc.disable()
    try:
        rows = _rows(function, seconds)
        machine = _rows(_work_that_never_changes, seconds / 4)
    finally:
        if collects:
            gc.enable()
    is_all = 2 * sum(each.is_work for each in rows) >= len(rows)
    worked = _low([each.worked / each.launches for each in rows])
    return Found(_low([each.elapsed / each.launches for each in rows]), worked if is_all and worked > 0 else None,
                 _low([each.worked / each.launches for each in machine]))

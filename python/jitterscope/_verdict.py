"""Whether code has become slower, from the times that fresh processes found before and now.

On a busy machine one process of ten reads 5 to 30 % more than the others, and now and then one reads less. Before and now
the ends are left out as Yuen (Biometrika 61, 1974) does, more of the slow one: other programs mostly add.
"""

from __future__ import annotations

import math
import statistics
from typing import Any, Callable, NamedTuple, Optional, Sequence

FEWEST = 6  # processes on a side
MOST_LOOKS = 6  # at one test, each with processes of its own beside those before
_FASTEST, _SLOWEST = 6, 3  # one of so many is left out
_MOST = 2 / 3  # of the processes
_CHANCE = 0.005  # of a verdict at one look where nothing changed; two looks have to agree
_CHANCE_OF_INTERVAL = 0.05


class Found(NamedTuple):
    """Times of a test in one fresh process, in seconds."""

    seconds: float
    # Time that the calling thread worked; None on a GPU, and where other threads work or it waits.
    worked_seconds: Optional[float] = None
    machine_seconds: Optional[float] = None  # of work that never changes; None on a GPU


class Verdict(NamedTuple):
    """A ratio of times, now over before, with its 95 % interval, and what it says: slower, faster, same, undecided."""

    ratio: float
    low: float
    high: float
    word: str
    machine: float = 1.0  # time of work that never changes, now over before; 1 where no difference is shown


class _Shift(NamedTuple):
    """The shift of logarithms from one group of processes to another."""

    value: float
    error: float  # one standard error
    freedom: float  # degrees of

    def half_width(self, chance: float) -> float:
        """Half the width of the interval that misses with this chance."""
        return _student_critical(chance, self.freedom) * self.error


def _student_critical(chance: float, freedom: float) -> float:
    """Two-sided: Fisher's expansion, within 7 % from two degrees of freedom on, where the chance is 0.005 or more."""
    z = statistics.NormalDist().inv_cdf(1 - chance / 2)
    terms = (z**3 + z, 5 * z**5 + 16 * z**3 + 3 * z, 3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z,
             79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z)
    return z + sum(term / (scale * freedom**power)
                   for power, (term, scale) in enumerate(zip(terms, (4, 96, 384, 92160)), 1))


class _Side(NamedTuple):
    mean: float
    error_squared: float
    freedom: float


def _side(logarithms: Sequence[float], fastest: int, slowest: int) -> _Side:
    """The mean without the ends, its error from all where the ends stand as the nearest that are left."""
    logarithms = sorted(logarithms)
    fast, slow = len(logarithms) // fastest, len(logarithms) // slowest
    kept = logarithms[fast:len(logarithms) - slow]
    winsorized = kept[:1] * fast + kept + kept[-1:] * slow
    middle = statistics.fmean(winsorized)
    squares = sum((each - middle)**2 for each in winsorized)
    return _Side(statistics.fmean(kept), squares / (len(kept) * (len(kept) - 1)), len(kept) - 1)


def _shift(before: Sequence[float], now: Sequence[float]) -> _Shift:
    """Welch's of both sides."""
    first, second = (_side([math.log(time) for time in times], _FASTEST, _SLOWEST) for times in (before, now))
    square = first.error_squared + second.error_squared
    if not square > 0:
        return _Shift(second.mean - first.mean, 0.0, first.freedom + second.freedom)
    freedom = square**2 / (first.error_squared**2 / first.freedom + second.error_squared**2 / second.freedom)
    return _Shift(second.mean - first.mean, math.sqrt(square), freedom)


def _shift_of_machine(before: Sequence[float], now: Sequence[float]) -> float:
    """The shift of the logarithm of the times of work that never changes; 0 where none is shown."""
    if min(len(before), len(now)) < FEWEST:
        return 0.0
    shift = _shift(before, now)
    return shift.value if abs(shift.value) > shift.half_width(_CHANCE) else 0.0


def verdict(before: Sequence[float], now: Sequence[float], margin: float, machine_before: Sequence[float] = (),
            machine_now: Sequence[float] = ()) -> Verdict:
    """From the seconds that each process found, of the work and of work that never changes; `FEWEST` of each side.

    Slower where the ratio lies beyond the margin and its interval of 99.5 % is above one; the same where the interval of
    95 % lies within the margin. A machine that is slower itself may or may not have slowed this work down: what is said
    holds in both cases.
    """
    return _verdict_of(_shift(before, now), margin, _shift_of_machine(machine_before, machine_now))


def verdict_of_pairs(logarithms: Sequence[float], margin: float) -> Verdict:
    """From the logarithm of the ratio that each pair of processes found, `FEWEST` of them; judged as above."""
    side = _side(logarithms, _FASTEST, _FASTEST)
    return _verdict_of(_Shift(side.mean, math.sqrt(side.error_squared), side.freedom), margin)


def _verdict_of(shift: _Shift, margin: float, machine: float = 0.0) -> Verdict:
    slower_by, faster_by = max(machine, 0.0), min(machine, 0.0)
    half, wide, limit = shift.half_width(_CHANCE_OF_INTERVAL), shift.half_width(_CHANCE), math.log1p(margin)
    low, high = shift.value - half - slower_by, shift.value + half - faster_by
    word = "undecided"
    if -limit <= low and high <= limit:
        word = "same"
    elif shift.value - slower_by >= max(limit, wide):
        word = "slower"
    elif shift.value - faster_by <= -max(limit, wide):
        word = "faster"
    return Verdict(math.exp(shift.value), math.exp(low), math.exp(high), word, math.exp(machine))


def _worked(found: Sequence[Found]) -> Optional[list[float]]:
    """The working times, if most processes know them; in a few a core may have been too busy to tell work from waiting."""
    times = [each.worked_seconds for each in found if each.worked_seconds is not None]
    return times if len(times) >= max(FEWEST, _MOST * len(found)) else None


def verdict_of_processes(before: Sequence[Found], now: Sequence[Found], margin: float) -> Verdict:
    """Judges by the time that threads worked, if that is all of it: it leaves out when other programs had their core."""
    first, second = _worked(before), _worked(now)
    if first is None or second is None:
        first, second = [each.seconds for each in before], [each.seconds for each in now]
    machine = [[each.machine_seconds for each in side if each.machine_seconds is not None] for side in (before, now)]
    return verdict(first, second, margin, *machine)


class Looks:
    """At one test: where its time lies beyond the margin, more processes are asked, and slower or faster is what two looks
    running say, of which the second alone, by what it has added, shows the same. Where processes come in two kinds (a copy of
    400 kB whose memory is given back each time, or not), a dozen by chance shows what the next dozen does not."""

    def __init__(self, margin: float, decide: Callable[[Sequence[Any]], Optional[Verdict]]) -> None:
        self.margin, self._decide = margin, decide
        self.now: list[Any] = []
        self.verdicts: list[Verdict] = []
        self._added: Optional[Verdict] = None  # of what the last look has added, alone

    @classmethod
    def at_processes(cls, before: Sequence[Found], margin: float) -> "Looks":
        """Compares with times that processes found before."""
        return cls(margin, lambda now: verdict_of_processes(before, now, margin) if min(len(now), len(before)) >= FEWEST else None)

    @classmethod
    def at_pairs(cls, margin: float) -> "Looks":
        """At logarithms of ratios that pairs found."""
        return cls(margin, lambda now: verdict_of_pairs(now, margin) if len(now) >= FEWEST else None)

    def look(self, found: Sequence[Any]) -> None:
        """Adds what more processes found."""
        self.now += found
        verdict_now = self._decide(self.now)
        if verdict_now is not None:
            self.verdicts.append(verdict_now)
            self._added = self._decide(found)

    @property
    def is_confirmed(self) -> bool:
        """Whether slower or faster was said twice."""
        words = [each.word for each in self.verdicts[-2:]]
        if len(words) < 2 or words[0] != words[1] or self._added is None:
            return False
        return words[0] == "slower" and self._added.low > 1 or words[0] == "faster" and self._added.high < 1

    @property
    def wants_more(self) -> bool:
        """Whether more processes may make it slower or faster."""
        if not self.verdicts or len(self.verdicts) >= MOST_LOOKS or self.is_confirmed:
            return False
        return abs(math.log(self.verdicts[-1].ratio)) >= math.log1p(self.margin)

    @property
    def verdict(self) -> Optional[Verdict]:
        """The last one; undecided where it was not said twice. None where there is nothing to compare."""
        if not self.verdicts:
            return None
        last = self.verdicts[-1]
        return last if self.is_confirmed or last.word == "same" else last._replace(word="undecided")

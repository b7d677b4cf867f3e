"""js.judge: a verdict on a function that may want to cheat, as `jitterscope judge` reaches it."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from ._command import call, refuse_in_worker
from ._errors import UsageError
from ._result import Record

Judged = Union[str, "os.PathLike[str]", Callable[..., Any]]


class Judgement(Record):
    """Verdicts on candidates against a reference. What is about one candidate is about the first."""

    @property
    def verdict(self) -> str:
        """faster, slower, same, undecided, wrong, invalid or refused, over all cases."""
        return str(self._first()["verdict"])

    @property
    def evidence(self) -> str:
        """One sentence: what is wrong, or why it is undecided; empty if there is nothing to say."""
        verdict = self.verdict
        said = [str(case.get("evidence", "")) for case in self._first()["cases"] if case["verdict"] == verdict]
        return said[0] if said else ""

    @property
    def ratio(self) -> float:
        """Time of the candidate over that of the reference: 0.5 is twice as fast. UsageError if it is not valid."""
        first = self._first()
        if "time_ratio" not in first:
            raise UsageError(f"there is no ratio: the candidate is {self.verdict}, {self.evidence}")
        return float(first["time_ratio"])

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of the ratio, over pairs of processes."""
        _ = self.ratio
        return (float(self._first()["time_ratio_low"]), float(self._first()["time_ratio_high"]))

    @property
    def ranks(self) -> dict[str, int]:
        """Places of the candidates that have one: 1 is the fastest; those that are not told apart share one."""
        return {each["candidate"]: int(each["rank"]) for each in self.record["candidates"] if "rank" in each}

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{each['candidate']}: {each['verdict']}" for each in self.record["candidates"])
        return f"<Judgement of {verdicts}>"

    def _first(self) -> dict[str, Any]:
        first: dict[str, Any] = self.record["candidates"][0]
        return first


def _target(judged: Judged) -> str:
    if isinstance(judged, (str, os.PathLike)):
        return os.fspath(judged)
    name, code = getattr(judged, "__qualname__", ""), getattr(judged, "__code__", None)
    if code is None or not name.isidentifier() or not os.path.isfile(code.co_filename):
        raise UsageError("judge takes FILE.py:make, or a make() at the top of a file: a process of its own loads it from there")
    return f"{os.path.abspath(code.co_filename)}:{name}"


def _flags(cases: Mapping[str, Sequence[Any]]) -> list[str]:
    return [f"--cases={name}={','.join(map(str, values))}" for name, values in cases.items()]


def judge(reference: Judged, *candidates: Judged, cases: Optional[Mapping[str, Sequence[Any]]] = None, processes: int = 8,
          quick: bool = False, margin: Union[float, str] = 0.01, **options: Any) -> Judgement:
    """Says whether candidates are right, and faster than a reference, though they may want to cheat.

    >>> js.judge("reference.py:make", "candidate.py:make", cases={"n": [256, 1024]}).verdict

    make(**case) of the reference returns its function and the inputs, `return function, [(n, n), (n,)]`; that of a
    candidate its function. Both are loaded in processes of their own, never in this one. `quick` takes three pairs of
    processes. Flags as of `jitterscope judge`.
    """
    refuse_in_worker("judge")
    if not candidates:
        raise UsageError("judge takes a reference and at least one candidate")
    asked: dict[str, Any] = {"quick": True} if quick else {"processes": processes}
    # Flags with a value of their own stand among the targets: each --cases is one parameter.
    targets = [_target(each) for each in (reference, *candidates)] + _flags(cases or {})
    text = margin if isinstance(margin, str) else f"{100 * margin:g}%"
    return Judgement(call("judge", targets, {**asked, "margin": text, **options}))

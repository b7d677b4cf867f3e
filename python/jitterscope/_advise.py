"""js.advise: remedies tried on a model as the program runs it, one on top of the other."""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Iterable, NamedTuple, Optional, Protocol, Sequence

from ._command import call
from ._device import Device, module, open_device
from ._errors import UsageError
from ._library import advise as judge
from ._measure import measure_record
from ._options import options_json
from ._result import Record


class Remedy(NamedTuple):
    """One thing to try."""

    study: str
    arm: str
    lines: list[str]  # of Python, with `model` and `batch`
    price: str = ""
    work: float = 1.0  # times the samples of the work as it is
    comes_last: bool = False  # how work is launched: written and made behind what is launched


class Built(NamedTuple):
    """Work with remedies applied, ready to be called."""

    call: Callable[[], Any]
    results: list[Any]  # numbers that the work computes, as lists or tensors: of the samples of the work as it is
    memory: Optional[float]  # bytes that a call takes at most, and the model's


class Work(Protocol):
    """The model that is to become faster: builds itself with remedies."""

    def remedies(self, goal: str) -> tuple[list[Remedy], list[dict[str, str]]]:
        """All that can be tried, and why each other study cannot: {"study": …, "reason": …}."""

    def build(self, taken: Sequence[Remedy]) -> Built: ...


def relative_error(results: list[Any], reference: list[Any]) -> Optional[float]:
    """L2 norm of the difference over that of the reference; None where there is nothing to compare, NaN where the
    results have another shape."""
    if not reference:
        return None
    if len(results) != len(reference):
        return math.nan
    difference = norm = 0.0
    for own, true in zip(results, reference):
        if hasattr(own, "double"):  # a tensor of PyTorch
            if own.shape != true.shape:
                return math.nan
            one, other = own.detach().double(), true.detach().double()
            difference += float(((one - other) ** 2).sum())
            norm += float((other ** 2).sum())
        else:
            difference += (own - true) ** 2
            norm += true ** 2
    return math.sqrt(difference / norm) if norm > 0 else math.sqrt(difference)


def _asked(remedy: Remedy, built: Built, now: Built, first: Built) -> dict[str, Any]:
    error = relative_error(built.results, first.results)
    is_wrong = error is not None and not math.isfinite(error)
    asked: dict[str, Any] = {"study": remedy.study, "arm": remedy.arm, "place": "In PyTorch", "lines": remedy.lines,
                             "price": remedy.price, "work": remedy.work, "is_wrong": is_wrong}
    if error is not None and not is_wrong:
        asked["relative_error"] = error
    if built.memory and now.memory:
        asked["memory_ratio"] = built.memory / now.memory / remedy.work
    return asked


class _Steps:
    """The record as it grows."""

    def __init__(self, device: Device, request: dict[str, Any], options: dict[str, Any]) -> None:
        self.device, self.request, self.options = device, request, options
        self.record: Optional[dict[str, Any]] = None

    def add(self, stage: str, builds: list[Built], remedies: list[dict[str, Any]]) -> None:
        names = ["before"] + [f"{each['study']} {each['arm']}" for each in remedies]
        measured = measure_record([(name, built.call) for name, built in zip(names, builds)], self.device,
                                  self.options, command_line=f"js.advise of {self.request['title']}")
        asked = {**self.request, "stage": stage, "remedies": remedies}
        if self.record is not None:
            asked["advice"] = self.record
        self.record = judge(json.dumps(measured), json.dumps(asked))

    def taken(self) -> set[tuple[str, str]]:
        listed = [] if self.record is None else self.record["recommendations"]
        return {(each["study"], each["arm"]) for each in listed}


def advise_work(work: Work, device: Device, *, title: str, goal: str, margin: float, tolerance: float,
                allow: Optional[Iterable[str]], time_limit: float) -> Record:
    """The steps of `jitterscope advise`, where the caller builds what is tried."""
    left, untried = work.remedies(goal)
    if allow is not None:
        allowed = set(allow)
        unknown = allowed - {each.study for each in left} - {each["study"] for each in untried}
        if unknown:
            raise UsageError(f"allow: there is no study {sorted(unknown)[0]!r} of a model")
        untried += [{"study": name, "reason": "not allowed"} for name in sorted({each.study for each in left} - allowed)]
        left = [each for each in left if each.study in allowed]
    notes = ["Measured in this process alone, so the intervals hold for this process."]
    request = {"title": title, "goal": goal, "margin": margin, "tolerance": tolerance, "untried": untried, "notes": notes}
    steps = _Steps(device, request, options_json(queue="eager", precision=margin / 2, time_limit=time_limit))
    first = work.build([])
    taken: list[Remedy] = []
    now = first
    while left:
        builds, tried = [now], []
        for remedy in left:
            try:
                built = work.build(_in_order([*taken, remedy]))
                built.call()
            except UsageError:
                raise
            except Exception as error:
                notes.append(f"{remedy.study} {remedy.arm} cannot be made: {type(error).__name__}: {_first_line(error)}")
                continue
            builds.append(built)
            tried.append(remedy)
        if not tried:
            break
        before = steps.taken()
        asked = [_asked(remedy, built, now, first) for remedy, built in zip(tried, builds[1:])]
        last = next((each for each in taken if each.comes_last), None)
        for each, remedy in zip(asked, tried):
            if last is not None and not remedy.comes_last:
                each["goes_before"] = last.study
        steps.add("step", builds, asked)
        new = steps.taken() - before
        if not new:
            break
        chosen = next(each for each in tried if (each.study, each.arm) in new)
        taken = _in_order([*taken, chosen])
        left = [each for each in left if each.study != chosen.study]
        now = builds[1 + tried.index(chosen)]
        builds.clear()
    if taken:
        whole = Remedy("all", "together", [], work=math.prod(each.work for each in taken))
        asked = [_asked(whole, now, first, first)]
        steps.add("together", [first, now], asked)
    if steps.record is None:
        raise UsageError("nothing can be tried on this: " + "; ".join(f"{each['study']}: {each['reason']}"
                                                                      for each in untried))
    return Record({**steps.record, "notes": notes})


def _in_order(remedies: list[Remedy]) -> list[Remedy]:
    return sorted(remedies, key=lambda each: each.comes_last)


def _first_line(error: BaseException) -> str:
    words = str(error).strip().splitlines()
    return words[0] if words else "no reason given"


def advise(subject: Any, *inputs: Any, goal: str = "latency", margin: float = 0.01, tolerance: float = 0.01,
           allow: Optional[Iterable[str]] = None, device: Optional[str] = None, time_limit: float = 1.5,
           **options: Any) -> Record:
    """Finds what makes a model faster: tries remedies on it, one on top of the other, and measures their sum.

    >>> print(js.advise(model, batch))
    >>> print(js.advise("resnet50:batch=64", device="cuda", budget="2m"))    # as `jitterscope advise`

    `subject` is a torch.nn.Module, whose forward pass on the inputs is timed without gradients and as a program calls
    it, Python's own time included; what it is stays as it is. Or text, for which the command line's advise runs, whose
    flags are arguments then. Tried are other data types (TF32, float16, bfloat16, autocast), channels last,
    torch.compile, a CUDA graph and, for the goal "throughput", larger batches.

    goal         "latency"; "throughput": the time for each sample; "memory": bytes at the peak, where that costs no time.
    margin       smallest gain that counts: 0.01 is 1 %.
    tolerance    largest relative error that a result may have that is taken, against the model as it is.
    allow        only remedies of these studies: precision, layout, fusion, graph, batch.
    time_limit   seconds for each remedy in each step.

    Gives a Record: print it; .record["recommendations"] has the lines to write, .plots the path from today to best.
    """
    if isinstance(subject, str):
        flags = {"goal": goal, "margin": f"{margin:%}", "tolerance": f"{tolerance:%}", "time_limit": time_limit,
                 "allow": None if allow is None else list(allow), "device": device, **options}
        return Record(call("advise", [subject, *map(str, inputs)], flags))
    if options:
        raise UsageError(f"advise of a model does not take {sorted(options)[0]!r}: that is a flag of the command line's")
    if goal not in ("latency", "throughput", "memory"):
        raise UsageError(f"goal: latency, throughput or memory, and not {goal!r}")
    torch = module("torch")
    if torch is None or not isinstance(subject, torch.nn.Module):
        raise UsageError("advise takes a torch.nn.Module and its inputs, or text such as \"resnet50:batch=64\"; which of two "
                         "functions is faster says js.compare")
    from ._torch_work import TorchWork
    opened = open_device(device)
    work = TorchWork(torch, subject, inputs, opened)
    return advise_work(work, opened, title=type(subject).__name__, goal=goal, margin=margin, tolerance=tolerance,
                       allow=allow, time_limit=time_limit)


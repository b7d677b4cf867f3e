"""Kernels of a convolution and their times, and when two records of them agree; shared by what compares them."""

import collections
import statistics
from typing import NamedTuple

from jitterscope_run import kernel_identities

REPETITIONS = 12
GPU_WORK = ("kernel", "gpu_memset", "gpu_memcpy")  # as kineto calls it
TOLERANCE = 0.02
TICK = 0.033  # microseconds; CUPTI's times are multiples of 32 ns
WAITED = 5.0  # microseconds: from one kernel to the next in a full queue takes 1 or 2


class Kernel(NamedTuple):
    name: str
    launches: float  # in one forward and backward pass
    microseconds: float  # median of all launches


def kernels_there(case):
    """PyTorch's kernels of a case, by their identity."""
    names = list(case["kernels"])
    kernels = [Kernel(n, facts["n"] / REPETITIONS, facts["med"]) for n, facts in case["kernels"].items()]
    return dict(zip(kernel_identities(names), kernels))


def summary(times):
    """As the file of reference has it for each kernel, from microseconds of its launches."""
    # Over an even number of launches the file's median is the upper one, as where a kernel runs twice in a pass, on
    # tensors of two sizes.
    return {"n": len(times), "med": statistics.median_high(times), "min": min(times), "max": max(times)}


def waits_of(events):
    """Microseconds from the end of the GPU's work before to the start of the work that starts at each time."""
    work = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") in GPU_WORK)
    waits, end = {}, None
    for start, stop in work:
        waits[start] = 0.0 if end is None else max(0.0, start - end)
        end = stop if end is None else max(end, stop)
    return waits


def compare(here, there):
    """([(name, launches here, launches there)] of those that differ, [(ours, theirs, identity)] of the others)"""
    differences, times = [], []
    for identity, theirs in there.items():
        ours = here.get(identity, Kernel(theirs.name, 0, 0.0))
        if ours.launches != theirs.launches:
            differences.append((theirs.name, ours.launches, theirs.launches))
        else:
            times.append((ours.microseconds, theirs.microseconds, identity))
    differences += [(here[identity].name, here[identity].launches, 0) for identity in here if identity not in there]
    return differences, times


def judge(ours, theirs):
    """"near", or "tick" where only CUPTI's clock may part the two, or "off"."""
    if abs(ours / theirs - 1) <= TOLERANCE:
        return "near"
    return "tick" if abs(ours - theirs) <= TICK else "off"


def judge_all(times):
    """How many were judged what, of tuples that begin with our time and theirs."""
    return collections.Counter(judge(ours, theirs) for ours, theirs, *_ in times)


def judged_cells(judged):
    """Of a row: those that are near of all, those a tick apart, the others."""
    total = judged.total()
    return f"{judged['near']} of {total} ({judged['near'] / max(1, total):.1%}) | {judged['tick']} | {judged['off']}"


def label(case):
    return f"{case['conv'][0]}→{case['conv'][1]} {case['dtype'][6:]}"

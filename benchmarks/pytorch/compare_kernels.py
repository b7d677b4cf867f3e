#!/usr/bin/env python3
"""Compares kernels and their times with those that PyTorch ran, from a file of reference.

    compare_kernels.py --jitterscope PATH [--device cuda] [--placements 1] conv_reference.json [FILE…]

Each case of a file holds the kernels of a convolution, forward and both gradients, by name, with their number over 12
repetitions and their median in microseconds, launched back to back. Prints Markdown: how many cases run the same
kernels, how many kernels are within 2 % of the reference, and the others, with the SM clock of their case here, and
there where the file says it (record_kernels.py --clock). Further files must hold the same cases, such as what
repeat_reference.py --output kept of this hour: they are compared with the same runs here.

--placements runs all cases so many times, each time with the operands in other memory (jitterscope run --placement),
and says how many kernels agree with themselves, how many of the others reach the reference's time in some placement,
and between which times each lies. Exit status 1 where a case runs other kernels, 3 where jitterscope could not run.
"""

import argparse
import collections
import itertools
import pathlib
import statistics
import sys
from typing import NamedTuple

import reference_cases
from jitterscope_run import give_up, kernel_identities, positive, run_json
from kernel_times import TICK, TOLERANCE, Kernel, compare, judge, judge_all, judged_cells, kernels_there, label

DIRECTIONS = ("fprop", "dgrad", "wgrad")
TYPES = {("torch.float32", True): "tf32", ("torch.float32", False): "f32", ("torch.float16", True): "f16",
         ("torch.float16", False): "f16", ("torch.bfloat16", True): "bf16", ("torch.bfloat16", False): "bf16"}
PASSES = 12  # as many as the reference has repetitions, or more until the pass is precise
# Forward and both gradients in turn, on the operands that they share, as PyTorch ran them: its host is slower than
# most of these kernels, so that the GPU waits before each of the three.
FLAGS = ["--in-sequence", "--queue", "eager", "--load", "burst", "--cache", "warm", "--min-rounds", str(PASSES),
         "--time-limit", "0.001", "--sustained-time-limit", "0.2", "--idle", "1,5", "--no-ceilings"]


def operations_of(case):
    (n, c, h, w), k, (r, s), stride, pad, dilation, groups, _ = case["conv"]
    shape = f"conv2d:n={n},c={c},h={h},w={w},k={k},r={r},s={s},stride={stride[0]}x{stride[1]}"
    shape += f",pad={pad[0]}x{pad[1]},dilation={dilation[0]}x{dilation[1]},groups={groups}"
    shape += f",dtype={TYPES[case['dtype'], case['tf32']]},layout={'nhwc' if case['channels_last'] else 'nchw'}"
    return [f"{shape},direction={direction}" for direction in DIRECTIONS]


def kernels_here(document):
    """Kernels of one forward and backward pass, by their identity."""
    found = collections.defaultdict(list)
    for call in document["sequence"]["calls"]:
        kernels = call.get("kernels", [])
        for identity, kernel in zip(kernel_identities([k["name"] for k in kernels]), kernels):
            found[identity].append(kernel["median_seconds"] * 1e6)
    # The upper median, as the file's is.
    return {identity: Kernel(identity, len(times), statistics.median_high(times)) for identity, times in found.items()}


def difference_text(name, ours, theirs):
    return f"{name[:100]}: {ours} launches, PyTorch {theirs:g}" if theirs else f"{name[:100]}: not run by PyTorch"


def run_case(options, case, placement):
    """(kernels by their identity, lines about calls that failed, the clock in megahertz)"""
    document = run_json([options.jitterscope, "run", *operations_of(case), "--device", options.device, *FLAGS,
                         "--placement", str(placement), "--json", "-"])
    sequence = document["sequence"]
    if sequence["iteration"]["rounds"] < PASSES:
        give_up(f"{label(case)}: {sequence['iteration']['rounds']} of {PASSES} passes ran within the time limit")
    failures = [f"{call['name']}: {call['failure']}" for call in sequence["calls"] if call.get("failure")]
    clock = sequence.get("clock_hertz")
    return kernels_here(document), failures, clock and clock * 1e-6


def clock_text(megahertz):
    return f"{megahertz:.0f}" if megahertz else "–"


def print_repeats(placements):
    """How many kernels take the same time in other memory."""
    print("| jitterscope with itself | kernels within 2 % | further off, but by at most a tick | the others |")
    print("| --- | --: | --: | --: |")
    for there, here in itertools.combinations(range(len(placements)), 2):
        judged = collections.Counter()
        for (ours, *_), (theirs, *_) in zip(placements[here], placements[there]):
            judged.update(judge_all(compare(ours, theirs)[1]))
        print(f"| placement {here} against {there} | {judged_cells(judged)} |")
    print()


class Time(NamedTuple):
    """Of one kernel, in microseconds."""
    ours: float
    theirs: float
    name: str
    case: dict
    placed: list  # ours in each placement
    clocks: str

    def judgement(self):
        return judge(self.ours, self.theirs)

    def is_reached(self):
        """Whether the reference's time lies between ours in all placements, 2 % more or less."""
        return min(self.placed) * (1 - TOLERANCE) <= self.theirs <= max(self.placed) * (1 + TOLERANCE)

    def row(self):
        between = f" {min(self.placed):.2f} to {max(self.placed):.2f} |" if len(self.placed) > 1 else ""
        return (f"| {self.name[:70]} | {label(self.case)} | {self.ours:.2f} |{between} {self.theirs:.2f} "
                f"| {self.ours / self.theirs:.3f} | {self.clocks} |")


def compare_case(case, runs):
    """([its times], lines about what differs), of one run in each placement."""
    here, failures, clock = runs[0]
    there = kernels_there(case)
    differences, times = compare(here, there)
    clocks = f"{clock_text(clock)} | {clock_text(case.get('clock_mhz'))}"
    found = []
    for ours, theirs, identity in times:
        placed = [kernels[identity].microseconds for kernels, *_ in runs if identity in kernels]
        found.append(Time(ours, theirs, there[identity].name, case, placed, clocks))
    return found, [f"- {case['conv']} {case['dtype']}: {text}"
                   for text in [*(difference_text(*each) for each in differences), *failures]]


def print_summary(times, equal, cases, placements):
    judged = judge_all(times)
    print("| what | equal | of |\n| --- | --: | --: |")
    print(f"| cases with the same kernels | {equal} | {cases} |")
    print(f"| kernels within 2 % of the reference | {judged['near']} ({judged['near'] / max(1, len(times)):.1%}) "
          f"| {len(times)} |")
    print(f"| further off, but by no more than {TICK} µs, one tick of CUPTI's clock | {judged['tick']} "
          f"| {len(times)} |")
    if placements > 1:
        reached = sum(time.judgement() == "off" and time.is_reached() for time in times)
        print(f"| further off, but reached in one of {placements} placements or between them | {reached} "
              f"| {len(times)} |")


def print_comparison(cases, placements):
    """Whether all cases ran the same kernels."""
    compared = [compare_case(case, runs) for case, *runs in zip(cases, *placements)]
    times = [time for found, _ in compared for time in found]
    equal = sum(not lines for _, lines in compared)
    print_summary(times, equal, len(cases), len(placements))
    between = ["in all placements, µs"] if len(placements) > 1 else []
    columns = ["here, µs", *between, "PyTorch, µs", "ratio", "MHz here", "MHz there"]
    print(f"\n| kernel | case | {' | '.join(columns)} |\n| --- | --- |{' --: |' * len(columns)}")
    for time in sorted(times, key=lambda time: -abs(time.ours / time.theirs - 1)):
        if time.judgement() == "off":
            print(time.row())
    print("\n".join(line for _, lines in compared for line in lines))
    return equal == len(cases)


def read_references(paths):
    """The cases of each file, which must be the same ones."""
    documents = [reference_cases.read(path)["layers"] for path in paths]
    problems = [[operations_of(case) for case in cases] for cases in documents]
    for path, others in zip(paths, problems):
        if others != problems[0]:
            give_up(f"{path} holds other cases than {paths[0]}")
    return documents


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--placements", type=positive, default=1, help="runs, each with the operands in other memory")
    parser.add_argument("references", nargs="+", metavar="reference")
    options = parser.parse_args()
    documents = read_references(options.references)
    placements = [[run_case(options, case, number) for case in documents[0]] for number in range(options.placements)]
    if options.placements > 1:
        print_repeats(placements)
    equal = []
    for path, cases in zip(options.references, documents):
        if len(documents) > 1:
            print(f"**{pathlib.Path(path).name}**\n")
        equal.append(print_comparison(cases, placements))
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())

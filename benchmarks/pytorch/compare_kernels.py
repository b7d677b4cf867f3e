#!/usr/bin/env python3
"""Compares kernels and their times with those that PyTorch ran, from a file of reference.

    compare_kernels.py --jitterscope PATH [--device cuda] conv_reference.json [FILE…]

Each case of a file holds the kernels of a convolution, forward and both gradients, by name, with their number
over 12 repetitions and their median in microseconds, launched back to back. Prints Markdown: how many cases run
the same kernels, how many kernels are within 2 % of the reference, and the others, with the SM clock of their case
here, and there where the file says it (record_kernels.py --clock). Further files must hold the same
cases, such as what repeat_reference.py --output kept of this hour: they are compared with the same runs here. Exit
status 1 where a case runs other kernels, 3 where jitterscope could not run.
"""

import argparse
import collections
import pathlib
import statistics
import sys

import reference_cases
from jitterscope_run import give_up, kernel_identities, run_json
from kernel_times import TICK, Kernel, compare, judge, kernels_there, label

DIRECTIONS = ("fprop", "dgrad", "wgrad")
TYPES = {("torch.float32", True): "tf32", ("torch.float32", False): "f32", ("torch.float16", True): "f16",
         ("torch.float16", False): "f16", ("torch.bfloat16", True): "bf16", ("torch.bfloat16", False): "bf16"}
# Forward and both gradients in turn, on the operands that they share, as PyTorch ran them: its host is slower than
# most of these kernels, so that the GPU waits before each of the three.
FLAGS = ["--in-sequence", "--queue", "eager", "--load", "burst", "--cache", "warm", "--min-rounds", "12", "--time-limit", "0.001",
         "--sustained-time-limit", "0.001", "--idle", "1,5", "--no-ceilings"]


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


def run_case(options, case):
    """(kernels by their identity, lines about calls that failed, the clock in megahertz)"""
    command = [options.jitterscope, "run", *operations_of(case), "--device", options.device, *FLAGS, "--json", "-"]
    document = run_json(command)
    failures = [f"{call['name']}: {call['failure']}" for call in document["sequence"]["calls"] if call.get("failure")]
    clock = document["sequence"].get("clock_hertz")
    return kernels_here(document), failures, clock and clock * 1e-6


def clock_text(megahertz):
    return f"{megahertz:.0f}" if megahertz else "–"


def print_comparison(cases, runs):
    """Whether all cases ran the same kernels."""
    equal, times, lines = 0, [], []
    for case, (here, failures, clock) in zip(cases, runs):
        differences, case_times = compare(here, kernels_there(case))
        texts = [difference_text(*each) for each in differences] + failures
        equal += not texts
        clocks = f"{clock_text(clock)} | {clock_text(case.get('clock_mhz'))}"
        times += [(ours, theirs, name, case, clocks) for ours, theirs, name in case_times]
        lines += [f"- {case['conv']} {case['dtype']}: {text}" for text in texts]
    judged = collections.Counter(judge(ours, theirs) for ours, theirs, *_ in times)
    print("| what | equal | of |\n| --- | --: | --: |")
    print(f"| cases with the same kernels | {equal} | {len(cases)} |")
    print(f"| kernels within 2 % of the reference | {judged['near']} ({judged['near'] / max(1, len(times)):.1%}) "
          f"| {len(times)} |")
    print(f"| further off, but by no more than {TICK} µs, one tick of CUPTI's clock | {judged['tick']} | {len(times)} |")
    print("\n| kernel | case | here, µs | PyTorch, µs | ratio | MHz here | MHz there |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for ours, theirs, name, case, clocks in sorted(times, key=lambda t: -abs(t[0] / t[1] - 1)):
        if judge(ours, theirs) == "off":
            print(f"| {name[:70]} | {label(case)} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.3f} | {clocks} |")
    print("\n".join(lines))
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
    parser.add_argument("references", nargs="+", metavar="reference")
    options = parser.parse_args()
    documents = read_references(options.references)
    runs = [run_case(options, case) for case in documents[0]]
    equal = []
    for path, cases in zip(options.references, documents):
        if len(documents) > 1:
            print(f"**{pathlib.Path(path).name}**\n")
        equal.append(print_comparison(cases, runs))
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())

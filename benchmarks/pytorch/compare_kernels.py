#!/usr/bin/env python3
"""Compares kernels and their times with those that PyTorch ran, from a file of reference.

    compare_kernels.py --jitterscope PATH [--device cuda] conv_reference.json

Each case of the file holds the kernels of a convolution, forward and both gradients, by name, with their number
over 12 repetitions and their median in microseconds, launched back to back. Prints Markdown: how many cases run
the same kernels, how many kernels are within 2 % of the reference, and the others. Exit status 1 where a case
runs other kernels, 3 where jitterscope could not run.
"""

import argparse
import collections
import statistics
import sys

import reference_cases
from jitterscope_run import kernel_identities, run_json
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


def compare_case(options, case):
    """(differences, [(ours, theirs, name)])"""
    command = [options.jitterscope, "run", *operations_of(case), "--device", options.device, *FLAGS, "--json", "-"]
    document = run_json(command)
    differences, times = compare(kernels_here(document), kernels_there(case))
    failures = [f"{call['name']}: {call['failure']}" for call in document["sequence"]["calls"] if call.get("failure")]
    return [difference_text(*each) for each in differences] + failures, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("reference")
    options = parser.parse_args()
    cases = reference_cases.read(options.reference)["layers"]
    equal, times, lines = 0, [], []
    for case in cases:
        differences, case_times = compare_case(options, case)
        equal += not differences
        times += [(ours, theirs, name, case) for ours, theirs, name in case_times]
        lines += [f"- {case['conv']} {case['dtype']}: {difference}" for difference in differences]
    judged = collections.Counter(judge(ours, theirs) for ours, theirs, *_ in times)
    print("| what | equal | of |\n| --- | --: | --: |")
    print(f"| cases with the same kernels | {equal} | {len(cases)} |")
    print(f"| kernels within 2 % of the reference | {judged['near']} ({judged['near'] / max(1, len(times)):.1%}) "
          f"| {len(times)} |")
    print(f"| further off, but by no more than {TICK} µs, one tick of CUPTI's clock | {judged['tick']} | {len(times)} |")
    print("\n| kernel | case | here, µs | PyTorch, µs | ratio |\n| --- | --- | --: | --: | --: |")
    for ours, theirs, name, case in sorted(times, key=lambda t: -abs(t[0] / t[1] - 1)):
        if judge(ours, theirs) == "off":
            print(f"| {name[:70]} | {label(case)} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.3f} |")
    print("\n".join(lines))
    return 0 if equal == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())

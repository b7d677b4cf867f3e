#!/usr/bin/env python3
"""Compares a network's forward convolutions in jitterscope's sequence with PyTorch's training run.

    compare_in_sequence.py --jitterscope PATH [--model resnet50] [--batch 64] [--steps 12] [--repeats 1]
                           [--placements 1]

Sets PyTorch's times, as record_training.py takes them, beside `jitterscope run MODEL --in-sequence`: how long the
kernels of a convolution run together, on both sides. A row says how first start to last end compare, which in PyTorch
holds the time that its GPU waits for the host between two kernels. jitterscope runs the sequence twice: on a full queue,
and each call when the one before has ended (--queue eager). What counts is the one that is as PyTorch's run was: where
its GPU waited for the host before most of the convolutions, the latter. With --repeats, PyTorch trains in so many
processes, its time is the median of theirs, and a row says how far one process is from the others, which is what the
errors of jitterscope are to be seen against. With --placements, what counts runs so many times, each time with the
operands in other memory (jitterscope run --placement), and has a row of errors for each. Prints Markdown. Exit status 1
where the median size of an error is over 1 % or the 90th percentile over 2 %, 3 where PyTorch, torchvision or
jitterscope could not run.
"""

import argparse
import pathlib
import statistics
import sys
import typing

import record_training
from jitterscope_run import give_up, positive, run_json

RECORDER = str(pathlib.Path(__file__).with_name("record_training.py"))
STATES = ("warm", "cold", "dirty", "produced")
FULL, EAGER = "in sequence, on a full queue", "in sequence, each call when the one before has ended"
QUEUES = {FULL: "saturated", EAGER: "eager"}
WITHOUT_TIMES_ALONE = ["--cache", "warm", "--time-limit", "0.001"]
WAITED = 5.0  # microseconds: from one kernel to the next in a full queue takes 1 or 2


class Here(typing.NamedTuple):
    """A convolution in jitterscope, in microseconds."""

    name: str
    kernels: float
    span: float
    alone: dict  # cache state: time


def sequence_there(options):
    """PyTorch's version, and microseconds of each forward convolution, kernels, spans, waits: lists for each process."""
    command = [sys.executable, RECORDER, "--model", options.model, "--batch", str(options.batch)]
    command += ["--steps", str(options.steps), "--device", options.device]
    # A process of its own for each: where memory lies differs from process to process, and times with it.
    records = [run_json(command, (0,)) for _ in range(options.repeats)]
    return records[0]["torch"], *([record[what] for record in records] for what in ("kernels", "spans", "waits"))


def against_itself(processes):
    """Errors of each process against the median of the others, over all convolutions."""
    errors = []
    for number, times in enumerate(processes):
        others = processes[:number] + processes[number + 1 :]
        errors += [time / statistics.median(other) - 1 for time, other in zip(times, zip(*others))]
    return errors


def sequence_here(options, queue, flags, placement=0):
    target = f"{options.model}:batch={options.batch},dtype=f16,layout=nhwc"
    command = [options.jitterscope, "run", target, "--in-sequence", "--device", options.device, "--queue", QUEUES[queue],
               *flags, "--placement", str(placement), "--no-ceilings", "--json", "-"]
    document = run_json(command, (0, 4))
    results = document["results"]
    calls = []
    for call in document["sequence"]["calls"]:
        operation = results[call["result"]]["operation"]
        if operation.startswith("conv2d:") and "direction=fprop" in operation and "time" in call:
            alone = {m["conditions"]["cache"]: m["time"]["median_seconds"] * 1e6
                     for m in results[call["result"]]["measurements"]}
            kernels = sum(kernel["median_seconds"] for kernel in call["kernels"]) * 1e6
            calls.append(Here(call["name"], kernels, call["time"]["median_seconds"] * 1e6, alone))
    return calls, document["sequence"].get("clock_hertz", 0.0)


def errors_of(here, there):
    if len(here) != len(there):
        give_up(f"PyTorch runs {len(there)} forward convolutions, jitterscope {len(here)}")
    return [ours.kernels / theirs - 1 for ours, theirs in zip(here, there)]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def print_convolutions(here, processes, there):
    print("| convolution | PyTorch, µs | in sequence, µs | error | alone: warm | cold | dirty | produced |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for ours, theirs, times in zip(here, there, zip(*processes)):
        span = f" ({min(times):.2f} to {max(times):.2f})" if len(times) > 1 else ""
        states = " | ".join(f"{ours.alone.get(state, float('nan')):.2f}" for state in STATES)
        print(f"| {ours.name} | {theirs:.2f}{span} | {ours.kernels:.2f} | {ours.kernels / theirs - 1:+.1%} | {states} |")


def medians(processes):
    return [statistics.median(times) for times in zip(*processes)]


def print_errors(rows):
    print("\n| against PyTorch | median error | median of its size | 90th percentile |\n| --- | --: | --: | --: |")
    for name, values in rows.items():
        sizes = [abs(value) for value in values]
        print(f"| {name} | {statistics.median(values):+.2%} | {statistics.median(sizes):.2%} | {quantile(sizes, 0.9):.2%} |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True)
    record_training.add_options(parser)
    parser.add_argument("--repeats", type=positive, default=1, help="processes in which PyTorch trains (default 1)")
    parser.add_argument("--placements", type=positive, default=1, help="runs, each with the operands in other memory")
    return parser.parse_args()


def main():
    options = parse()
    version, processes, spans, waits = sequence_there(options)
    there = medians(processes)
    full, clock = sequence_here(options, FULL, ["--time-limit", "0.3"])
    eager, eager_clock = sequence_here(options, EAGER, WITHOUT_TIMES_ALONE)
    rows = {FULL: errors_of(full, there), EAGER: errors_of(eager, there)}
    waited = sum(wait > WAITED for wait in medians(waits))
    counts = EAGER if 2 * waited > len(there) else FULL
    for placement in range(1, options.placements):
        moved, _ = sequence_here(options, counts, WITHOUT_TIMES_ALONE, placement)
        rows[f"{counts}, in placement {placement}"] = errors_of(moved, there)
    print(f"{options.model}, batch {options.batch}, f16, NHWC; PyTorch {version}; clock here {clock / 1e6:.0f} MHz, "
          f"eager {eager_clock / 1e6:.0f} MHz\n")
    print(f"PyTorch's GPU waited for its host before {waited} of {len(there)} of them, so what counts is: {counts}.\n")
    # The times alone are those of the first run.
    here = [each._replace(alone=alone.alone) for each, alone in zip(eager if counts == EAGER else full, full)]
    print_convolutions(here, processes, there)
    rows["first start to last end"] = [o.span / t - 1 for o, t in zip(here, medians(spans))]
    for state in STATES:
        rows[f"alone, {state}"] = [o.alone.get(state, float("nan")) / t - 1 for o, t in zip(here, there)]
    if len(processes) > 1:
        rows["PyTorch against itself"] = against_itself(processes)
        rows["PyTorch against itself, first start to last end"] = against_itself(spans)
    print_errors(rows)
    if len(processes) > 1:
        print(f"\nPyTorch's time is the median of {len(processes)} processes' (shortest to longest). Against itself: each "
              f"process against the median of the other{'s' if len(processes) > 2 else ''}, all of them together.")
    sizes = [abs(error) for error in rows[counts]]
    return 0 if statistics.median(sizes) <= 0.01 and quantile(sizes, 0.9) <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())

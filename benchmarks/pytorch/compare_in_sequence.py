#!/usr/bin/env python3
"""Compares a network's convolutions in jitterscope's sequence with PyTorch's training run.

    compare_in_sequence.py --jitterscope PATH [--model resnet50] [--batch 64] [--steps 12] [--pass forward]
                           [--repeats 1] [--placements 1]

Sets PyTorch's times, as record_training.py takes them, beside `jitterscope run MODEL --in-sequence`: how long the
kernels of a convolution run together, on both sides; with --pass backward those of each of its gradients. A row says
how first start to last end compare, which in PyTorch holds the time that its GPU waits for the host between two
kernels. jitterscope runs the sequence twice: on a full queue, and each call when the one before has ended (--queue
eager). What counts is, of each call, the one that is as PyTorch's run was: the latter where its GPU had waited for the
host before that. With --repeats, PyTorch trains in so many processes, its time is the median of theirs, and a row says
how far one process is from the others, which is what the errors of jitterscope are to be seen against. With
--placements, jitterscope runs both so many times, each time with the operands in other memory (jitterscope run
--placement), has rows of errors for each, and what counts is the median of their times. Prints Markdown. Exit status 1
where the median size of an error is over 1 % or the 90th percentile over 2 %, 3 where PyTorch, torchvision or
jitterscope could not run.
"""

import argparse
import itertools
import pathlib
import statistics
import sys
import typing

import record_training
from jitterscope_run import give_up, kernel_identities, positive, run_json
from kernel_times import TOLERANCE, WAITED

RECORDER = str(pathlib.Path(__file__).with_name("record_training.py"))
STATES = ("warm", "cold", "dirty", "produced")
FULL, EAGER = "in sequence, on a full queue", "in sequence, each call when the one before has ended"
DIRECTIONS = {"forward": (".fprop",), "backward": (".dgrad", ".wgrad")}
QUEUES = {FULL: "saturated", EAGER: "eager"}
AS_THERE = "in sequence, each as in PyTorch's run"
WITHOUT_TIMES_ALONE = ["--cache", "warm", "--time-limit", "0.001"]
SHOWN = 110  # characters of a kernel's name


class Here(typing.NamedTuple):
    """A convolution, or a gradient of one, in jitterscope, in microseconds."""

    name: str
    span: float
    alone: dict  # cache state: time
    parts: list  # name and time of each kernel

    def kernels(self):
        return sum(time for _, time in self.parts)


class There(typing.NamedTuple):
    """The same in PyTorch: name, time and wait before of each kernel."""

    parts: list

    def kernels(self):
        return sum(time for _, time, _ in self.parts)

    def wait(self):
        return self.parts[0][2]

    def span(self):
        return self.kernels() + sum(wait for _, _, wait in self.parts[1:])


def records_there(options):
    """PyTorch's version, and the kernels of all convolutions in their order: a list for each process."""
    command = [sys.executable, RECORDER, "--model", options.model, "--batch", str(options.batch)]
    command += ["--steps", str(options.steps), "--pass", options.one_pass, "--device", options.device]
    # A process of its own for each: where memory lies differs from process to process, and times with it.
    records = [run_json(command, (0,)) for _ in range(options.repeats)]
    return records[0]["torch"], [[kernel for each in record["convolutions"] for kernel in each] for record in records]


def split_as(here, kernels):
    """PyTorch's kernels as they belong to jitterscope's calls: there both gradients are one call."""
    if sum(len(each.parts) for each in here) != len(kernels):
        give_up(f"PyTorch runs {len(kernels)} kernels in a pass, jitterscope {sum(len(each.parts) for each in here)}")
    left = iter(kernels)
    return [There(list(itertools.islice(left, len(each.parts)))) for each in here]


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
    return convolutions_here(document, options.one_pass), document["sequence"].get("clock_hertz", 0.0)


def convolutions_here(document, one_pass):
    """Those of a pass, in their order."""
    found = []
    for call in document["sequence"]["calls"]:
        result = document["results"][call["result"]]
        if result["operation"].startswith("conv2d:") and call["name"].endswith(DIRECTIONS[one_pass]):
            if "time" not in call:
                give_up(f"{call['name']} has no time in sequence: {call.get('failure', 'its kernels were not seen')}")
            alone = {m["conditions"]["cache"]: m["time"]["median_seconds"] * 1e6 for m in result["measurements"]}
            parts = [(kernel["name"], kernel["median_seconds"] * 1e6) for kernel in call["kernels"]]
            found.append(Here(call["name"], call["time"]["median_seconds"] * 1e6, alone, parts))
    return found


def errors_of(here, there):
    return [ours.kernels() / theirs - 1 for ours, theirs in zip(here, there, strict=True)]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def print_convolutions(here, processes, there, waited):
    print("| convolution | PyTorch, µs | its GPU waited | in sequence, µs | error | alone: warm | cold | dirty "
          "| produced |")
    print("| --- | --: | --- | --: | --: | --: | --: | --: | --: |")
    for ours, theirs, times, has_waited in zip(here, there, zip(*processes), waited):
        span = f" ({min(times):.2f} to {max(times):.2f})" if len(times) > 1 else ""
        states = " | ".join(f"{ours.alone.get(state, float('nan')):.2f}" for state in STATES)
        print(f"| {ours.name} | {theirs:.2f}{span} | {'yes' if has_waited else 'no'} | {ours.kernels():.2f} "
              f"| {ours.kernels() / theirs - 1:+.1%} | {states} |")


def print_parts(here, there, errors):
    """The kernels of what is off by more than 2 %."""
    print(f"\n| kernels of those off by more than {TOLERANCE:.0%} | | PyTorch, µs | in sequence, µs |\n| --- | --- | --: | --: |")
    for ours, theirs, error in zip(here, there, errors):
        if abs(error) <= TOLERANCE:
            continue
        for (name, time), *same in zip(ours.parts, *(process.parts for process in theirs)):
            names = kernel_identities([name, same[0][0]])
            shown = names[0] if names[0] == names[1] else f"{names[0]}; PyTorch: {names[1]}"
            print(f"| {shown[:SHOWN]} | {ours.name} | {statistics.median(time for _, time, _ in same):.2f} | {time:.2f} |")


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


def run_placement(options, placement):
    """The convolutions of both queues, and their clocks."""
    # The times alone are those of the first run.
    alone = ["--time-limit", "0.3"] if placement == 0 else WITHOUT_TIMES_ALONE
    full, clock = sequence_here(options, FULL, alone, placement)
    eager, eager_clock = sequence_here(options, EAGER, WITHOUT_TIMES_ALONE, placement)
    return {FULL: full, EAGER: eager}, (clock, eager_clock)


def as_there(runs, waited):
    """Of each convolution the run whose queue was as PyTorch's."""
    return [(eager if has_waited else full)._replace(alone=full.alone)
            for full, eager, has_waited in zip(runs[FULL], runs[EAGER], waited, strict=True)]


def median_of(placements):
    """Of each convolution the times of its kernels in the middle of all placements."""
    return [same[0]._replace(parts=[(kernels[0][0], statistics.median(time for _, time in kernels))
                                    for kernels in zip(*(each.parts for each in same))],
                             span=statistics.median(each.span for each in same))
            for same in zip(*placements)]


def run_placements(options, runs, waited):
    """{row: its convolutions}, of which the last counts."""
    runs[AS_THERE] = as_there(runs, waited)
    placed = [runs[AS_THERE]]
    for placement in range(1, options.placements):
        moved, _ = run_placement(options, placement)
        moved[AS_THERE] = as_there(moved, waited)
        placed.append(moved[AS_THERE])
        runs |= {f"{name}, in placement {placement}": calls for name, calls in moved.items()}
    if options.placements > 1:
        runs[f"{AS_THERE}, median of {options.placements} placements"] = median_of(placed)
    return runs


def print_head(options, version, clocks, waited):
    print(f"{options.model}, {options.one_pass}, batch {options.batch}, f16, NHWC; PyTorch {version}; clock here "
          f"{clocks[0] / 1e6:.0f} MHz, eager {clocks[1] / 1e6:.0f} MHz\n")
    print(f"PyTorch's GPU waited for its host before {sum(waited)} of {len(waited)} of them. What counts is those as "
          "launched when the call before has ended, and the others on a full queue.\n")


def main():
    options = parse()
    version, records = records_there(options)
    runs, clocks = run_placement(options, 0)
    processes = [split_as(runs[FULL], kernels) for kernels in records]
    times = [[each.kernels() for each in process] for process in processes]
    spans = [[each.span() for each in process] for process in processes]
    there = medians(times)
    waited = [wait > WAITED for wait in medians([[each.wait() for each in process] for process in processes])]
    runs = run_placements(options, runs, waited)
    rows = {name: errors_of(calls, there) for name, calls in runs.items()}
    counted, here = list(runs.items())[-1]
    print_head(options, version, clocks, waited)
    print_convolutions(here, times, there, waited)
    rows["first start to last end"] = [o.span / t - 1 for o, t in zip(here, medians(spans))]
    for state in STATES:
        rows[f"alone, {state}"] = [o.alone.get(state, float("nan")) / t - 1 for o, t in zip(here, there)]
    if len(processes) > 1:
        rows["PyTorch against itself"] = against_itself(times)
        rows["PyTorch against itself, first start to last end"] = against_itself(spans)
    print_errors(rows)
    print_parts(here, list(zip(*processes)), rows[counted])
    if len(processes) > 1:
        print(f"\nPyTorch's time is the median of {len(processes)} processes' (shortest to longest). Against itself: each "
              f"process against the median of the other{'s' if len(processes) > 2 else ''}, all of them together.")
    sizes = [abs(error) for error in rows[counted]]
    return 0 if statistics.median(sizes) <= 0.01 and quantile(sizes, 0.9) <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())

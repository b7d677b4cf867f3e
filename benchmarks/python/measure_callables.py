#!/usr/bin/env python3
"""js.measure beside what others read of the same work, on an NVIDIA GPU: a Markdown table.

usage: measure_callables.py [--processes 6] [--only NAME,NAME] [--json FILE]

For a convolution and a product of PyTorch, a kernel of Triton, a compiled network, sums of CuPy, Numba and JAX and a
bare launch: the median over fresh processes of js.measure's time, the range over them, the same work by the command
line, the kernels' times as PyTorch's profiler (CUPTI) adds them up, one call more in a graph of PyTorch's and in
js.measure's, and how long one js.measure takes. Launches in a row have gaps that the sum of kernels has not, about 1 us
between kernels of one callable; those of a graph are shorter. Run it where the wheel is installed beside PyTorch.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import callables
import jitterscope as js

HERE = pathlib.Path(__file__).resolve().parent


def in_fresh_process(name):
    done = subprocess.run([sys.executable, HERE / "one_process.py", name], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"measure_callables: {name}: exit code {done.returncode}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def by_command_line(operation):
    """Seconds: the median over as many processes would be another experiment."""
    return js.run(operation, device="cuda", cache="warm", no_ceilings=True).median


def text(seconds):
    return "–" if seconds is None else f"{seconds * 1e6:.2f} µs"


def against(time, other):
    return "–" if other is None else f"{text(other)} ({time / other - 1:+.1%})"


def row(name, found, command_line):
    medians = [each["median"] for each in found]
    middle = statistics.median(medians)

    def others(what):
        known = [each[what] for each in found if each[what]]
        return statistics.median(known) if known else None

    return (f"| {name} | {text(middle)} | {(max(medians) - min(medians)) / middle:.2%} "
            f"| ±{statistics.median(each['precision'] for each in found):.2%} | {found[0]['instrument']} "
            f"| {against(middle, others('profiler'))} | {against(middle, others('graph'))} | {text(others('by_graph'))} | {found[0]['kernels']} "
            f"| {against(middle, command_line)} | {statistics.median(each['took'] for each in found):.2f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--only", default=",".join(callables.OPERATIONS))
    parser.add_argument("--json", help="also write what each process found")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    if not set(names) <= set(callables.OPERATIONS) or arguments.processes < 1:
        parser.error(f"--only: of {', '.join(callables.OPERATIONS)}; --processes: 1 at least")
    everything = {}
    print("| callable | js.measure | range | interval | instrument | profiler's kernels | in a graph of PyTorch's | js.measure's graph | kernels | command line | took |\n"
          "|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|")
    for name in names:
        found = [each for each in (in_fresh_process(name) for _ in range(arguments.processes)) if each]
        if not found:
            print(f"| {name} | failed | | | | | | | | | |")
            continue
        print(row(name, found, by_command_line(callables.OPERATIONS[name])), flush=True)
        everything[name] = found
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(everything), encoding="utf-8")
        for note in sorted({note for each in found for note in each["notes"]}):
            print(f"measure_callables: {name}: {note}", file=sys.stderr)
    if everything:
        print(f"\n{next(iter(everything.values()))[0]['device']}, jitterscope {js.version()}, {arguments.processes} processes.")
    return 0 if len(everything) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""js.measure on a CPU beside timeit: a Markdown table.

usage: measure_beside_timeit.py [--processes 8] [--json FILE]

For functions of 20 ns to 0.5 ms, in fresh processes: the median over processes of what timeit reads (the best of five, as
its command line prints, before and after) and of js.measure's time, each with the range over the processes, half the width
of the interval that js.measure prints, and in how many processes it holds the median over all. Both call a function
without arguments in a loop of Python's, whose 10 to 15 ns are in each time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import timeit

import jitterscope as js


def sort_of(count):
    numbers = list(range(count))
    return lambda: sorted(numbers)


# Each is made in its own process alone: what else is allocated moved the sum of 10,000 by 40 %.
WORK = {
    "pass": lambda: lambda: None,
    "sum of 100": lambda: lambda: sum(range(100)),
    "sum of 10,000": lambda: lambda: sum(range(10_000)),
    "sort of 100,000": lambda: sort_of(100_000),
}


def by_timeit(function):
    timer = timeit.Timer("function()", globals={"function": function})
    number, _ = timer.autorange()
    return min(timer.repeat(5, number)) / number


def in_this_process(name):
    function = WORK[name]()
    before = by_timeit(function)
    time = js.measure(function, device="cpu")
    return {"timeit": (before + by_timeit(function)) / 2, "median": time.median, "interval": time.interval}


def in_fresh_process(name):
    done = subprocess.run([sys.executable, __file__, "--one", name], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def text(seconds):
    return f"{seconds * 1e6:.4g} µs" if seconds >= 1e-6 else f"{seconds * 1e9:.3g} ns"


def row(name, found):
    others, own = [each["timeit"] for each in found], [each["median"] for each in found]
    middle = statistics.median(own)
    half = statistics.median((each["interval"][1] - each["interval"][0]) / 2 / each["median"] for each in found)
    held = sum(each["interval"][0] <= middle <= each["interval"][1] for each in found)
    return (f"| {name} | {text(statistics.median(others))} | {spread(others):.1%} | {text(middle)} | {spread(own):.1%} "
            f"| ± {half:.1%} | {held} of {len(found)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--json", help="write what each process found to this file")
    parser.add_argument("--one", choices=WORK, help="what one process finds of this function")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(in_this_process(arguments.one)))
        return
    found = {name: [] for name in WORK}
    for number in range(arguments.processes):
        for name in WORK:
            print(f"{number + 1}/{arguments.processes} {name}", file=sys.stderr)
            found[name].append(in_fresh_process(name))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file)
    print("| function | timeit, best of 5 | range | js.measure | range | its interval | holds the median |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, each in found.items():
        print(row(name, each))


if __name__ == "__main__":
    main()

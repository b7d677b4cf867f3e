#!/usr/bin/env python3
"""What `jitterscope compare` and `jitterscope gate` say of Python functions on a CPU that other programs use, too.

usage: measure_cpu_verdicts.py [--jitterscope PROGRAM] [--commands compare,gate] [--more 0.03] [--loops 1] [--cores 2]
                               [--same 8] [--slower 8] [--copies 1] [--minutes 60] [--seed 1] [--keep FILE] [--add FILE…]

Six functions are compared with themselves and with so much more work, and gated, each copy on cores of its own, beside
so many endless loops on them. A true 3 % is to be decided in 9 of 10 within 15 s, and the same code is to be called
another in at most 1 of 50. Prints a Markdown table. --keep writes a line for each verdict, and --add counts those of such
files as well.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

# The work of each grows as `size` does; 100 divides every number.
BENCH = '''
import json
import random
import re


def size(count, more):
    return round(count * (1 + more))


def work_of(more):
    draw = random.Random(1)
    numbers, lists = range(size(10_000, more)), [[draw.random() for _ in range(100)] for _ in range(size(100, more))]
    text = json.dumps([{"key": str(number), "value": number} for number in range(size(400, more))])
    words, small, data = "lorem ipsum dolor sit amet " * size(200, more), range(size(2_000, more)), bytes(size(400_000, more))
    return {"sum": lambda: sum(numbers), "sort": lambda: [sorted(each) for each in lists], "json": lambda: json.loads(text),
            "words": lambda: len(re.findall(r"\\w+", words)), "loop": lambda: [number * number for number in small],
            "copy": lambda: bytearray(data)}


for name, function in work_of(@MORE@).items():
    globals()[name + "_"] = function
'''
NAMES = ["sum", "sort", "json", "words", "loop", "copy"]


def bench_file(folder, more):
    folder.mkdir(exist_ok=True)
    file = folder / "bench.py"
    file.write_text(BENCH.replace("@MORE@", str(more)), encoding="utf-8")
    return file


def tool(arguments, words, folder):
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
    began = time.monotonic()
    done = subprocess.run([arguments.jitterscope, *words], cwd=folder, capture_output=True, text=True, check=False,
                          env=environment)
    if done.returncode not in (0, 1, 4):
        sys.exit(f"measure_cpu_verdicts: {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout, time.monotonic() - began


def verdict(output, seconds):
    comparison = json.loads(output)["comparisons"][0]
    return {"verdict": comparison["verdict"], **comparison["time_ratio"], "seconds": seconds}


def compared(arguments, folder, name, more, seed):
    files = [bench_file(folder / side, share) for side, share in (("before", 0.0), ("now", more))]
    words = ["compare", *(f"python:{file}:{name}_" for file in files), "--device", "cpu", "--seed", str(seed), "--json", "-"]
    return verdict(*tool(arguments, words, folder))


def gated(arguments, folder, name, more, seed):
    history = ["--history", str(folder / "history")]
    target = f"python:{bench_file(folder, 0.0)}:{name}_"
    tool(arguments, ["run", target, "--device", "cpu", "--seed", str(seed), "--save", name, *history], folder)
    bench_file(folder, more)
    said = verdict(*tool(arguments, ["gate", name, "--device", "cpu", "--seed", str(seed + 1), "--json", "-", *history], folder))
    tool(arguments, ["history", "rm", name, "--all", *history], folder)
    return said


def measure(arguments):
    """Verdicts, each a dict, until the time is over."""
    began = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.loops)]
    found = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            draw = random.Random(arguments.seed)
            asked = [(command, more) for command in arguments.commands.split(",")
                     for more, count in ((0.0, arguments.same), (arguments.more, arguments.slower)) for _ in range(count)]
            draw.shuffle(asked)
            for number, (command, more) in enumerate(asked):
                if time.monotonic() - began > 60 * arguments.minutes:
                    break
                name = draw.choice(NAMES)
                by = compared if command == "compare" else gated
                said = by(arguments, pathlib.Path(folder), name, more, draw.randrange(10**6))
                found.append({"command": command, "more": more, "name": name, **said})
                print(f"{number + 1}/{len(asked)}: {found[-1]}", file=sys.stderr, flush=True)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return found


def measure_in_copies(arguments):
    cores = sorted(os.sched_getaffinity(0))
    if arguments.copies * arguments.cores > len(cores):
        sys.exit(f"measure_cpu_verdicts: --copies: this machine has {len(cores)} cores")
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for number in range(arguments.copies):
            own = cores[number * arguments.cores:(number + 1) * arguments.cores]
            words = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--copies", "1", "--seed",
                     str(1000 * arguments.seed + number), "--keep", f"{folder}/{number}"]
            copies.append(subprocess.Popen(["taskset", "-c", ",".join(map(str, own)), *words], stdout=subprocess.DEVNULL))
        for copy in copies:
            copy.wait()
        return [each for number in range(arguments.copies) for each in read(f"{folder}/{number}")]


def read(file):
    path = pathlib.Path(file)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def row(command, more, said):
    words = [each["verdict"] for each in said]
    counts = " | ".join(str(words.count(word)) for word in ("slower", "faster", "same", "undecided"))
    middle = statistics.median(each["ratio"] for each in said) - 1
    half = statistics.median((each["high"] - each["low"]) / 2 for each in said)
    seconds = [each["seconds"] for each in said]
    return (f"| {command} | {more:+.0%} | {middle:+.2%} | {half:.2%} | {counts} | "
            f"{statistics.median(seconds):.1f} | {max(seconds):.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--commands", default="compare,gate")
    parser.add_argument("--more", type=float, default=0.03)
    parser.add_argument("--loops", type=int, default=1, help="endless loops beside each copy")
    parser.add_argument("--cores", type=int, default=2, help="of each copy")
    parser.add_argument("--same", type=int, default=8, help="of each command and copy")
    parser.add_argument("--slower", type=int, default=8)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="nothing begins later than this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="write each verdict to this file, as a line of JSON")
    parser.add_argument("--add", nargs="*", default=[])
    arguments = parser.parse_args()
    found = measure_in_copies(arguments) if arguments.copies > 1 else measure(arguments)
    if arguments.keep:
        pathlib.Path(arguments.keep).write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    for file in arguments.add:
        found += read(file)
    print("| command | work | change, median | half-width, median | slower | faster | same | undecided | s, median | s, most |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for command in arguments.commands.split(","):
        for more in (0.0, arguments.more):
            said = [each for each in found if each["command"] == command and each["more"] == more]
            if said:
                print(row(command, more, said))


if __name__ == "__main__":
    main()

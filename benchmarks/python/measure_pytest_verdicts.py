#!/usr/bin/env python3
"""What pytest's plug-in says of tests that did not change, and of tests with 5 % more work, beside other work on the CPU.

usage: measure_pytest_verdicts.py [--sessions 50] [--more 0.05] [--loops 1] [--processes 12] [--limit 2] [--json FILE]
                                  [--copies 1] [--minutes 60] [--against]

Keeps the times of seven tests once, and compares with them in so many sessions of pytest with the same work, and in as many
with a little more, while so many endless loops run beside them. With --against nothing is kept: each session times a
revision of a repository beside its own code, in pairs of processes that take turns. Prints a Markdown table: of 300
verdicts on what did not change none may be "slower" or "faster", and of those on a true 5 % 19 of 20 have to be "slower".
With --copies, so many measure at the same time, each with its loops on a core of its own and with times of its own to
compare with.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# The work of each grows as `size` does; 20 divides every number.
TESTS = '''
import json
import random
import re

from more_work import MORE


def size(count):
    return round(count * (1 + MORE))


def test_sum(gpu_benchmark):
    numbers = range(size(10_000))
    gpu_benchmark(lambda: sum(numbers), device="cpu")


def test_sort(gpu_benchmark):
    draw = random.Random(1)
    lists = [[draw.random() for _ in range(100)] for _ in range(size(100))]
    gpu_benchmark(lambda: [sorted(each) for each in lists], device="cpu")


def test_json(gpu_benchmark):
    text = json.dumps([{"key": str(number), "value": number} for number in range(size(400))])
    gpu_benchmark(lambda: json.loads(text), device="cpu")


def test_words(gpu_benchmark):
    text = "lorem ipsum dolor sit amet " * size(200)
    gpu_benchmark(lambda: len(re.findall(r"\\w+", text)), device="cpu")


def test_loop(gpu_benchmark):
    numbers = range(size(2_000))
    gpu_benchmark(lambda: [number * number for number in numbers], device="cpu")


def test_copy(gpu_benchmark):
    data = bytes(size(100_000))
    gpu_benchmark(lambda: bytearray(data), device="cpu")


# Above 128 KiB the C library may map new pages for each copy, or not, by what the process freed before: 5 % more bytes
# are not 5 % more work.
def test_mapped_copy(gpu_benchmark):
    data = bytes(size(400_000))
    gpu_benchmark(lambda: bytearray(data), device="cpu")
'''
# Each session's verdicts as it knows them, and not as its table prints them.
CONFTEST = '''
import json
import os
from jitterscope.pytest_plugin import benchmarks_of


def pytest_sessionfinish(session):
    benchmarks = benchmarks_of(session.config)
    if benchmarks is None:
        return  # in a fresh process
    said = {line.test: line.verdict._asdict() for line in benchmarks.lines if line.verdict}
    with open(os.environ["VERDICTS"], "w", encoding="utf-8") as file:
        json.dump(said, file)
'''


def session(folder, more, words):
    verdicts = folder / "verdicts.json"
    verdicts.unlink(missing_ok=True)
    (folder / "more_work.py").write_text(f"MORE = {more}\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "jitterscope.pytest_plugin", "-q", *words], cwd=folder,
                          env={**os.environ, "VERDICTS": str(verdicts), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                               "PYTHONDONTWRITEBYTECODE": "1"}, stdout=subprocess.PIPE, text=True, check=False)
    if not verdicts.exists():
        sys.exit(f"measure_pytest_verdicts: {done.stdout}")
    return json.loads(verdicts.read_text(encoding="utf-8"))


def commit_without_more(folder):
    (folder / "more_work.py").write_text("MORE = 0.0\n", encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=measure", "-c", "user.email=measure@localhost"]
    for words in (["init", "--quiet"], ["add", "test_work.py", "conftest.py", "more_work.py"],
                  ["commit", "--quiet", "--message", "without more work"]):
        subprocess.run([*git, *words], check=True)


def row(test, more, said):
    counts = collections.Counter(each["word"] for each in said)
    changes = [each["ratio"] - 1 for each in said]
    half = statistics.median((each["high"] - each["low"]) / 2 for each in said)
    words = " | ".join(str(counts[word]) for word in ("slower", "faster", "same", "undecided"))
    return f"| {test} | {more:+.0%} | {statistics.median(changes):+.2%} | {half:.2%} | {words} |"


def measure(arguments):
    """Verdicts by (test, more work)."""
    began = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.loops)]
    found = collections.defaultdict(list)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "test_work.py").write_text(TESTS, encoding="utf-8")
            (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
            processes = ["--gpu-benchmark-processes", arguments.processes]
            if arguments.against:
                commit_without_more(folder)
                other = ["--gpu-benchmark-against", "HEAD"]
            else:
                session(folder, 0.0, [*processes, "--gpu-benchmark-save", "before"])
                other = ["--gpu-benchmark-compare", "before"]
            compare = [*processes, *other, "--gpu-benchmark-fail", f"slower:{arguments.limit}%"]
            slower = arguments.sessions if arguments.slower_sessions is None else arguments.slower_sessions
            for number in range(max(arguments.sessions, slower)):
                for more, count in ((0.0, arguments.sessions), (arguments.more, slower)):
                    if number >= count or time.monotonic() - began > arguments.minutes * 60:
                        continue
                    print(f"{more:+.0%}: {number + 1}/{count}", file=sys.stderr, flush=True)
                    for test, verdict in session(folder, more, compare).items():
                        found[test.rpartition("::")[2], more].append(verdict)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return found


def measure_in_copies(arguments):
    """The same of so many processes like this one, each on a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    if arguments.copies > len(cores):
        sys.exit(f"measure_pytest_verdicts: --copies: this machine has {len(cores)} cores")
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        files = [pathlib.Path(name) / f"{number}.json" for number in range(arguments.copies)]
        copies = []
        for core, file in zip(cores, files):
            words = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--copies", "1", "--json", str(file)]
            copies.append(subprocess.Popen(["taskset", "-c", str(core), *words], stdout=subprocess.DEVNULL))
        for copy in copies:
            copy.wait()
        for file in files:
            for each in json.loads(file.read_text(encoding="utf-8")):
                found[each["test"], each["more"]] += each["verdicts"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=50, help="of each copy")
    parser.add_argument("--slower-sessions", type=int, help="those with more work (default: as many)")
    parser.add_argument("--more", type=float, default=0.05)
    parser.add_argument("--loops", type=int, default=1, help="endless loops beside the tests")
    parser.add_argument("--processes", default="12")
    parser.add_argument("--limit", default="2", help="percent")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="no session begins later than this")
    parser.add_argument("--against", action="store_true", help="compare with a revision, and not with kept times")
    parser.add_argument("--json", help="write all verdicts to this file")
    arguments = parser.parse_args()
    found = measure_in_copies(arguments) if arguments.copies > 1 else measure(arguments)
    if arguments.json:
        listed = [{"test": test, "more": more, "verdicts": said} for (test, more), said in found.items()]
        pathlib.Path(arguments.json).write_text(json.dumps(listed), encoding="utf-8")
    print("| test | work | change, median | half-width, median | slower | faster | same | undecided |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for (test, more), said in found.items():
        print(row(test, more, said))
    for more in (0.0, arguments.more):
        said = [each for (_, own), verdicts in found.items() if own == more for each in verdicts]
        if said:
            print(row("**all**", more, said))


if __name__ == "__main__":
    main()

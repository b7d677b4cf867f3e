"""Counts verdicts of `jitterscope judge --serve` on functions of which the right one is known: honest ones of equal work (A/A),
and ones that do twice the work, or half of it.

    PYTHONPATH=python JITTERSCOPE_LIBRARY=… JITTERSCOPE_PROGRAM=… python3 benchmarks/judge/count_verdicts.py --minutes 10

Rounds visit all pairs in random order until the time is over. It prints a line for each judgement and a row for
docs/evidence/judge.md: what was called wrong or invalid though it is honest, what was called faster or slower though the
work is the same, and what was called the opposite of what it is. Exit code 1 if any of these is there.
"""

import argparse
import collections
import json
import os
import random
import sys
import tempfile
import time

import jitterscope as js

# Plain Python, so that nothing but Python is needed and a call takes a third of a millisecond.
REFERENCE = """from array import array


def function(x, y):
    code = "d" if memoryview(x).format == "d" else "f"
    return array(code, [2.0 * a + b for a, b in zip(x, y)])


def make(n=4096):
    return function, [n, n], {"flops": 2 * n, "bytes": 12 * n}
"""
# name: what its times are to the reference's, and its source.
CANDIDATES = {
    "the same file": ("equal", REFERENCE),
    "other names": ("equal", """from array import array


def combined(first, second):
    kind = "d" if memoryview(first).format == "d" else "f"
    return array(kind, [2.0 * one + other for one, other in zip(first, second)])


def make(n=4096):
    return combined
"""),
    "a buffer of its own": ("unknown", """from array import array


def make(n=4096):
    out = array("f", bytes(4 * n))

    def function(x, y):
        for place, (a, b) in enumerate(zip(x, y)):
            out[place] = 2.0 * a + b
        return out
    return function
"""),
    "a thread that is joined": ("unknown", """import threading
from array import array


def make(n=4096):
    def function(x, y):
        out = []
        work = threading.Thread(target=lambda: out.append(array("f", [2.0 * a + b for a, b in zip(x, y)])))
        work.start()
        work.join()
        return out[0]
    return function
"""),
    "twice the work": ("slower", """from array import array


def make(n=4096):
    def function(x, y):
        array("f", [2.0 * a + b for a, b in zip(x, y)])
        return array("f", [2.0 * a + b for a, b in zip(x, y)])
    return function
"""),
}
# Against a reference that does the work twice.
SLOW_REFERENCE = REFERENCE.replace("    return array(code", "    array(code, [2.0 * a + b for a, b in zip(x, y)])\n    return array(code")
AGAINST_SLOW = {"half of the work": ("faster", REFERENCE)}
OPPOSITE = {"faster": "slower", "slower": "faster"}


def miss_of(expected: str, verdict: str) -> str:
    """Why a verdict is a miss; empty if it is none. Undecided is no miss: it says nothing that is false."""
    if verdict in ("wrong", "invalid", "refused"):
        return f"honest, called {verdict}"
    if expected == "equal" and verdict in OPPOSITE:
        return f"equal, called {verdict}"
    if expected in OPPOSITE and verdict in (OPPOSITE[expected], "same"):
        return f"{expected}, called {verdict}"
    return ""


def count(minutes: float, processes: int, quick: bool, seed: int):
    """Yields (name, expected, Judgement, seconds) until the time is over."""
    order = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        def written(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path
        options = {"quick": quick, "processes": processes or None}
        with js.Judge(written("reference.py", REFERENCE), **options) as judge, \
                js.Judge(written("slow_reference.py", SLOW_REFERENCE), **options) as judge_of_slow:
            visits = [(judge, *each) for each in CANDIDATES.items()] + [(judge_of_slow, *each) for each in AGAINST_SLOW.items()]
            end = time.monotonic() + 60.0 * minutes
            while True:
                order.shuffle(visits)
                for asked, name, (expected, source) in visits:
                    if time.monotonic() > end:
                        return
                    begin = time.monotonic()
                    judged = asked({"name": name, "source": source})
                    yield name, expected, judged, time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=0, help="pairs of each judgement; 0: as --quick or the default has it")
    parser.add_argument("--full", action="store_true", help="not --quick")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="writes each verdict to this file, a line each")
    flags = parser.parse_args()
    counts, misses, took, widths = collections.defaultdict(collections.Counter), collections.Counter(), [], []
    log = open(flags.json, "w", encoding="utf-8") if flags.json else None  # pylint: disable=consider-using-with
    for name, expected, judged, spent in count(flags.minutes, flags.processes, not flags.full, flags.seed):
        verdict, miss = judged.verdict, miss_of(expected, judged.verdict)
        counts[expected][verdict] += 1
        took.append(spent)
        ratio = judged.record["candidates"][0].get("time_ratio")
        if ratio and expected == "equal":
            widths.append(abs(ratio - 1.0))
        if miss:
            misses[miss] += 1
        said = f"{ratio:.3f}" if ratio else judged.evidence
        print(f"{name}: {verdict} {said} ({spent:.1f} s){'  MISS: ' + miss if miss else ''}", flush=True)
        if log:
            load = os.getloadavg()[0]
            log.write(json.dumps({"name": name, "expected": expected, "verdict": verdict, "ratio": ratio, "seconds": spent,
                                  "load": load, "evidence": judged.evidence}) + "\n")
            log.flush()
    if not took:
        print("no judgement fitted into the time", file=sys.stderr)
        return 1
    took.sort()
    widths.sort()
    said = {kind: ", ".join(f"{number} {word}" for word, number in sorted(counts[kind].items())) or "none" for kind in
            ("equal", "faster", "slower", "unknown")}
    close = sum(width <= 0.005 for width in widths)
    print(f"| {len(took)} | {said['equal']} | {close} of {len(widths)} | {said['faster']} | {said['slower']} | {said['unknown']} | "
          f"{', '.join(f'{number} {word}' for word, number in misses.items()) or 'none'} | {took[len(took) // 2]:.1f} s |")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How long each of jitterscope's studies takes, how exact it is, and whether plain PyTorch code finds the same.

usage: measure_studies.py [--jitterscope PROGRAM] [--device cuda] [--only NAME,NAME] [--records DIRECTORY] [--no-plain]

Each study runs on its own subject; then the script of its name in plain/, where there is one, times the same arms in
a fresh process, with PyTorch's events and graphs. Half-widths are of the ratio's 95 % interval, relative to the
ratio; a difference is how far jitterscope's ratio lies from PyTorch's. Prints two Markdown tables: a row for each
study, and one for each arm.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PLAIN = pathlib.Path(__file__).resolve().parent / "plain"
STUDIES = ["layout", "precision", "engine", "batch", "pinned", "allocator", "graph", "streams", "overlap", "synchronization",
           "fusion", "occupancy", "tiling", "waves", "access", "hierarchy", "priorities", "dependencies", "fragmentation",
           "compiler"]
LARGEST_DIFFERENCE = 0.05
MOST_SECONDS = 600


class Failure(Exception):
    """Why there is nothing to compare, in one line."""


def finish(command):
    """The exit code, what it printed and the last line of what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(str(error)) from error
    return done.returncode, done.stdout, (done.stderr.strip().splitlines() or ["it said nothing"])[-1]


def run_study(arguments, name, path):
    """The record of a study, and the seconds that it took."""
    command = [arguments.jitterscope, "study", name, "--device", arguments.device, "--json", str(path)]
    path.unlink(missing_ok=True)
    began = time.monotonic()
    code, _, said = finish(command)
    took = time.monotonic() - began
    if not path.exists():
        raise Failure(f"exit code {code}: {said}")
    record = json.loads(path.read_text(encoding="utf-8"))
    for lost in record["lost_processes"]:
        print(f"measure_studies: {name}: a process was lost: {lost}", file=sys.stderr)
    return record, took


def run_plain(name):
    """Seconds by arm."""
    code, printed, said = finish([sys.executable, str(PLAIN / f"{name}.py")])
    if code != 0:
        raise Failure(f"plain/{name}.py: exit code {code}: {said}")
    return json.loads(printed.splitlines()[-1])


def binary(count):
    for unit, factor in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)


def size_of(study, parameters):
    """What sets the operations of one study apart, as its plain script names it: of pinned, of graph, of streams."""
    size = parameters.get("bytes", parameters.get("count"))
    if size is not None:
        return binary(int(size)) + " "
    steps = parameters.get("steps", "")
    if study == "graph" and (launched := re.fullmatch(r"\[relu:count=(\d+),dtype=f32\]", steps)):
        return f"{parameters['lanes']}×{binary(int(launched[1]))} "
    rows = re.search(r"\[matmul:(m=\d+)", steps)
    return f"{rows[1]} " if rows else ""


def arms_of(record, plain):
    """(arm, jitterscope's ratio or its failure, PyTorch's ratio or None) of each comparison."""
    names = record["alternatives"]
    works = record.get("works") or [1.0] * len(names)
    arms = []
    for comparison in record["comparisons"]:
        alternative = comparison["alternative"]
        prefix = size_of(record["study"]["id"], comparison["first"]["parameters"])  # an arm may change the shape
        first, second = prefix + names[0], prefix + names[alternative]
        ratio = None
        if first in plain and second in plain:
            ratio = plain[second] / plain[first] * works[0] / works[alternative]
        if not comparison["second"].get("verification", {}).get("passed", True):
            second += " (WRONG RESULT)"
        arms.append((second, comparison.get("failure") or comparison["time_ratio"], ratio))
    return arms


def half_width(ratio):
    return (ratio["high"] - ratio["low"]) / 2 / ratio["ratio"]


def study_row(name, took, arms, problem):
    ratios = [ratio for _, ratio, _ in arms if isinstance(ratio, dict)]
    differences = [(ratio["ratio"] / plain - 1, arm) for arm, ratio, plain in arms if isinstance(ratio, dict) and plain]
    widest = f"±{max(map(half_width, ratios)):.2%}" if ratios else "–"
    worst, within = problem or "–", "–"
    if differences:
        difference, arm = max(differences, key=lambda each: abs(each[0]))
        worst = f"{difference:+.1%} ({arm})"
        within = "yes" if abs(difference) <= LARGEST_DIFFERENCE else "no"
    return f"| {name} | {took:.1f} s | {len(arms)} | {widest} | {worst} | {within} |"


def arm_row(name, arm, ratio, plain):
    plain_text = "–" if plain is None else f"{plain:.4f}"
    if not isinstance(ratio, dict):
        return f"| {name} | {arm} | failed: {ratio} | {plain_text} | – |"
    difference = "–" if plain is None else f"{ratio['ratio'] / plain - 1:+.1%}"
    return (f"| {name} | {arm} | {ratio['ratio']:.4f} ({ratio['low']:.4f} to {ratio['high']:.4f}) | {plain_text} "
            f"| {difference} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default=",".join(STUDIES))
    parser.add_argument("--records", type=pathlib.Path, help="keep the records, and PyTorch's times, there")
    parser.add_argument("--no-plain", action="store_true", help="without PyTorch: durations and half-widths alone")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    if not set(names) <= set(STUDIES):
        parser.error(f"--only: of {', '.join(STUDIES)}")
    failed, rows, about = False, [], None
    with tempfile.TemporaryDirectory() as temporary:
        directory = arguments.records or pathlib.Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        print("| study | took | arms | widest half-width | worst disagreement with plain PyTorch | within 5 %? |\n"
              "|---|--:|--:|--:|---|---|", flush=True)
        for name in names:
            plain, problem = {}, None
            try:
                record, took = run_study(arguments, name, directory / f"{name}.json")
            except Failure as failure:
                failed = True
                print(f"| {name} | failed: {failure} | | | | |", flush=True)
                continue
            if not arguments.no_plain and (PLAIN / f"{name}.py").exists():  # PyTorch has no kernels to change
                try:
                    plain = run_plain(name)
                    (directory / f"{name}-plain.json").write_text(json.dumps(plain, indent=1), encoding="utf-8")
                except Failure as failure:
                    failed, problem = True, str(failure)
            arms = arms_of(record, plain)
            print(study_row(name, took, arms, problem), flush=True)
            rows += [arm_row(name, *arm) for arm in arms]
            about = record
    if about:
        print("\n| study | arm | jitterscope's ratio | plain ratio | difference |\n|---|---|--:|--:|--:|")
        print("\n".join(rows))
        print(f"\n{about['device']['name']}, jitterscope {about['environment']['tool_version']}, "
              f"{about['processes_asked']} processes each.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How often `jitterscope gate` cries without a cause on a simulated GPU, and how often it misses 3 %.

usage: measure_gate.py [--jitterscope PROGRAM] [--gates 1000] [--preset h200] [--margin 2%] [--processes 8]

For each of so many operations, drawn at random: a baseline, a gate on the same GPU with other processes, and a gate on a
GPU that takes 3 % longer for everything. Prints a Markdown table: at most 1 % of the first gates may fail, and at most 5 %
of the second may pass.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

SLOWDOWN = 1.03
# Rates that are divided and times that are multiplied by it; a clock's share of a time stays what it is.
RATES = re.compile(r"_(flops_per_cycle|gb_per_s)$")
TIMES = ["l2_latency_us", "dram_latency_us", "kernel_floor_us", "block_cost_ns", "gap_us", "graph_gap_us"]


def operation(draw):
    """Kinds, sizes and lengths from some 2 to some 2000 µs."""
    dtype = draw.choice(["f32", "f16", "bf16"])
    kind = draw.choice(["add", "relu", "softmax", "layer_norm", "matmul", "conv2d"])
    if kind in ("add", "relu"):
        return f"{kind}:count={2 ** draw.uniform(16, 27):.0f},dtype={dtype}"
    if kind in ("softmax", "layer_norm"):
        return f"{kind}:rows={2 ** draw.uniform(8, 14):.0f},columns={2 ** draw.uniform(6, 12):.0f},dtype={dtype}"
    if kind == "matmul":
        m, n, k = (64 * round(2 ** draw.uniform(1, 6)) for _ in range(3))
        return f"matmul:m={m},n={n},k={k},dtype={dtype}"
    return (f"conv2d:n={draw.choice([1, 8, 32, 64])},c={draw.choice([32, 64, 128])},hw={draw.choice([7, 14, 28, 56])},"
            f"k={draw.choice([64, 128, 256])},rs=3,pad=1,dtype={dtype}")


def slower_preset(preset, presets, file):
    """The preset with every rate and every time of its kernels 3 % worse."""
    lines = [f'base = "{preset}"']
    table = None
    values = {}
    chain = [preset]
    while True:  # keys of the bases first, so that the preset's own lead
        text = (presets / f"{chain[0]}.toml").read_text()
        base = re.search(r'^base = "(\w+)"', text, re.MULTILINE)
        if not base:
            break
        chain.insert(0, base.group(1))
    for name in chain:
        for line in (presets / f"{name}.toml").read_text().splitlines():
            if heading := re.match(r"\[(\w+)\]", line):
                table = heading.group(1)
            elif value := re.match(r"(\w+) = ([0-9.]+)\s*(#.*)?$", line):
                key, number = value.group(1), float(value.group(2))
                if RATES.search(key):
                    values[table, key] = number / SLOWDOWN
                elif key in TIMES:
                    values[table, key] = number * SLOWDOWN
    for table in dict.fromkeys(table for table, _ in values):
        lines.append(f"[{table}]")
        lines += [f"{key} = {number:.9g}" for (own, key), number in values.items() if own == table]
    file.write_text("\n".join(lines) + "\n")


def tool(program, words):
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, env=environment)


def gates_of(arguments, folder, number):
    """Verdict and ratio of both gates; None for an operation that this GPU cannot run."""
    text = operation(random.Random(number))
    history = ["--history", str(folder / "history")]
    name = f"gate{number}"
    device = f"virtual:{arguments.preset}"
    saved = tool(arguments.jitterscope, ["run", text, "--device", device, "--cache", "warm", "--load", "burst", "--no-ceilings",
                                         "--processes", str(arguments.processes), "--seed", str(3 * number), "--save", name, *history])
    if saved.returncode not in (0, 4):
        sys.exit(f"measure_gate: {text}: {saved.stderr.strip()}")
    outcomes = []
    for seed, gated in enumerate([device, f"virtual:{folder / 'slower.toml'}"], start=1):
        done = tool(arguments.jitterscope, ["gate", name, "--device", gated, "--margin", arguments.margin, "--processes",
                                            str(arguments.processes), "--seed", str(3 * number + seed), "--json", "-", *history])
        if done.returncode not in (0, 1):
            sys.exit(f"measure_gate: {text}: {done.stderr.strip()}")
        comparison = json.loads(done.stdout)["comparisons"][0]
        outcomes.append((done.returncode, comparison["verdict"], comparison["time_ratio"], text))
    tool(arguments.jitterscope, ["history", "rm", name, "--all", *history])
    return outcomes


def row(name, outcomes, target):
    verdicts = [verdict for _, verdict, _, _ in outcomes]
    failed = sum(code == 1 for code, _, _, _ in outcomes)
    ratios = [ratio for _, _, ratio, _ in outcomes]
    middle = statistics.median(ratio["ratio"] for ratio in ratios)
    half = statistics.median((ratio["high"] - ratio["low"]) / 2 for ratio in ratios)
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("slower", "undecided", "same", "faster") if word in verdicts)
    return f"| {name} | {middle - 1:+.2%} | {half:.2%} | {counts} | {failed} of {len(outcomes)} ({failed / len(outcomes):.1%}) | {target} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--preset", default="h200")
    parser.add_argument("--presets", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "presets")
    parser.add_argument("--margin", default="2%")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--list-missed", action="store_true", help="each gate that let the slower GPU pass")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        slower_preset(arguments.preset, arguments.presets, folder / "slower.toml")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda number: gates_of(arguments, folder, number), range(1, arguments.gates + 1)))
    version = tool(arguments.jitterscope, ["--version"]).stdout.strip()
    print(f"virtual:{arguments.preset}, {version}, margin {arguments.margin}, {arguments.processes} processes on each side\n")
    print("| the code | change, median | half-width, median | verdicts | failed | must be |")
    print("|---|--:|--:|---|--:|---|")
    print(row("did not change", [same for same, _ in outcomes], "at most 1 %"))
    print(row("takes 3 % longer", [slower for _, slower in outcomes], "at least 95 %"))
    for _, (code, verdict, ratio, text) in outcomes if arguments.list_missed else []:
        if code == 0:
            print(f"missed: `{text}`: {verdict}, {ratio['ratio'] - 1:+.2%} ({ratio['low'] - 1:+.2%} to {ratio['high'] - 1:+.2%})")


if __name__ == "__main__":
    main()

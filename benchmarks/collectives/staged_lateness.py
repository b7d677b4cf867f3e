#!/usr/bin/env python3
"""Simulated clusters whose transfers and late ranks are known: what does `collectives` read, and whom does it call late?

usage: staged_lateness.py [--program build/release/bin/jitterscope] [--late 40] [--alike 20] [--seed 1]

Each cluster is drawn: 2 or 4 ranks, a size, a link, and of the late ones a rank that is late: by 5 to 500 µs on its GPU, or by
a host whose launches take 0.2 to 0.5 ms. Clocks of hosts are 3 s apart and drift by 50 ppm in all of them. Those that are alike have no late rank.
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

CLUSTER = """base = "h200"
[cluster]
ranks = {ranks}
seed = {seed}
clock_spread = 0.005
link_noise = 0.01
clock_offset_s = 3.0
clock_drift_ppm = 50
[[link]]
ranks = 8
latency_us = {latency}
bandwidth_gb_per_s = {bandwidth}
"""
STRAGGLER = """[[straggler]]
rank = {rank}
cause = "{cause}"
size_us = {size}
"""


def row_of(arguments, folder, draw, number, is_late):
    """Returns the truth and what was read."""
    ranks = draw.choice([2, 2, 4])
    truth = {"ranks": ranks, "bytes": 2 ** draw.randint(14, 24), "latency": draw.uniform(5, 30),
             "bandwidth": draw.uniform(50, 400), "rank": draw.randrange(ranks), "cause": draw.choice(["gpu", "host"]),
             "size": math.exp(draw.uniform(math.log(5), math.log(500)))}
    if truth["cause"] == "host":
        truth["size"] = draw.uniform(200, 500)
    text = CLUSTER.format(seed=number, **{key: truth[key] for key in ("ranks", "latency", "bandwidth")})
    if is_late:
        text += STRAGGLER.format(**{key: truth[key] for key in ("rank", "cause", "size")})
    file = folder / f"cluster{number}.toml"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [arguments.program, "collectives", "all_reduce", "--bytes", str(truth["bytes"]), "--local", str(ranks), "--device",
         f"virtual:{file}", "--communicators", "4", "--no-load", "--in-place", "no", "--seed", str(number), "--json", "-"],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{text}\n{done.stderr}")
    row = json.loads(done.stdout)["rows"][0]
    doublings = math.log2(ranks)
    truth["transfer"] = truth["latency"] * doublings + truth["bytes"] * row["bus_factor"] / truth["bandwidth"] / 1e3
    return truth, row


def proofs_hold(waiting):
    """Each rank that was delayed on purpose was seen."""
    return bool(waiting["proofs"]) and all(proof["holds"] for proof in waiting["proofs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/jitterscope")
    parser.add_argument("--late", type=int, default=40)
    parser.add_argument("--alike", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--details", action="store_true", help="a line for each cluster")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    counts = {"transfer": 0, "wait": 0, "rank": 0, "from_10_us": 0, "proven": 0, "alike": 0}
    far = on_gpu = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number in range(1, arguments.late + arguments.alike + 1):
            is_late = number <= arguments.late
            truth, row = row_of(arguments, folder, draw, number, is_late)
            transfer = row["times"][0]["time"]["median_seconds"] * 1e6
            waiting = row["waiting"]
            wait, late = waiting["median_seconds"] * 1e6, waiting.get("late_rank")
            is_right = {"transfer": abs(transfer / truth["transfer"] - 1) <= 0.01, "proven": proofs_hold(waiting)}
            if is_late:
                if truth["cause"] == "gpu":
                    on_gpu += 1
                    is_right["wait"] = abs(wait - truth["size"]) <= 1 + 0.02 * truth["size"]
                is_right["rank"] = late == truth["rank"]
                if truth["size"] >= 10:
                    far += 1
                    is_right["from_10_us"] = is_right["rank"]
            else:
                is_right["alike"] = late is None
            for key, value in is_right.items():
                counts[key] += value
            if arguments.details:
                print({**truth, "read_transfer": transfer, "read_wait": wait, "read_rank": late,
                       "wrong": [key for key, value in is_right.items() if not value]})
    every = arguments.late + arguments.alike
    print("| what | right | of |\n|---|--:|--:|")
    print(f"| transfer within 1 % | {counts['transfer']} | {every} |")
    print(f"| delays on purpose all seen | {counts['proven']} | {every} |")
    print(f"| the others' wait within 1 µs + 2 %, of a GPU that is late | {counts['wait']} | {on_gpu} |")
    print(f"| the late rank named | {counts['rank']} | {arguments.late} |")
    print(f"| of those late by 10 µs and more | {counts['from_10_us']} | {far} |")
    print(f"| no rank called late where all are alike | {counts['alike']} | {arguments.alike} |")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What recording costs a program: each workload with each recorder, in random order, several times.

usage: measure_recording.py [--program build/release/bin/jitterscope] [--rounds 6] [--seconds 8] [--only resnet-32,tiny]

Recorders: none; sensors (the watching process reads NVML, nothing records); empty (CUPTI's records are thrown away); light,
mixed (from 60 seconds on, since its first window without recording comes at second 35), full; whole (graphs by launch). The table has each program's smallest
and median step, over that of `none`, with the range over the rounds; two halves of `none` beside each other are the null.
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

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = {"resnet-256": ["resnet", "--batch", "256"], "resnet-32": ["resnet", "--batch", "32"], "tiny": ["tiny"],
             "graph": ["graph", "--nodes", "600"]}
RECORDERS = ["none", "none", "sensors", "empty", "light", "mixed", "full", "whole"]
# Programs that are measured leave NVLink multicast alone.
QUIET = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def build_empty_recorder(folder):
    library = folder / "libempty_recorder.so"
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", f"-I{cuda}/include", str(HERE / "empty_recorder.cpp"), "-o", str(library),
                    "-ldl"], check=True)
    return library


def run(workload, recorder, arguments, empty, folder, number):
    """One run; its line of JSON, with what was captured."""
    command = [sys.executable, str(HERE / "workloads.py"), *WORKLOADS[workload], "--seconds", str(arguments.seconds)]
    environment = {**os.environ, **QUIET}
    place = folder / f"{number}.capture"
    if recorder != "none":
        flags = {"light": ["--detail", "light"], "full": ["--detail", "full"], "whole": ["--detail", "light", "--graphs", "whole"]}
        command = [arguments.program, "capture", "-o", str(place), *flags.get(recorder, []), "--", *command]
    if recorder in ("sensors", "empty"):
        environment["JITTERSCOPE_RECORDER"] = str(empty)
        environment["EMPTY_RECORDER"] = "nothing" if recorder == "sensors" else "records"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"problem": (done.stderr or done.stdout).strip().splitlines()[-1:]}
    result = json.loads(lines[-1])
    if recorder not in ("none", "sensors", "empty"):
        shown = subprocess.run([arguments.program, "capture", "show", str(place), "--json", "-"], capture_output=True, text=True,
                               check=False)
        if shown.returncode == 0:
            device = json.loads(shown.stdout)["devices"][0]
            size = sum(file.stat().st_size for file in place.rglob("kernels.arrows"))
            result |= {"kernels": device["kernels"], "lost": device.get("lost", 0), "cost": device.get("cost"),
                       "bytes_per_kernel": size / max(1, device["kernels"])}
    return result


def ratios(results, base, key):
    middle = statistics.median(each[key] for each in base)
    values = [each[key] / middle - 1 for each in results]
    return f"{statistics.median(values):+.2%} ({min(values):+.2%} to {max(values):+.2%})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/jitterscope")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--json", help="every run's numbers")
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        empty = build_empty_recorder(folder)
        for workload in arguments.only.split(","):
            results = [[] for _ in RECORDERS]
            for _ in range(arguments.rounds):
                for index in random.sample(range(len(RECORDERS)), len(RECORDERS)):
                    if RECORDERS[index] == "whole" and workload != "graph" or RECORDERS[index] == "mixed" and arguments.seconds < 60:
                        continue
                    result = run(workload, RECORDERS[index], arguments, empty, folder, len(runs))
                    runs.append({"workload": workload, "recorder": RECORDERS[index], **result})
                    if "problem" not in result:
                        results[index].append(result)
            print(f"\n{workload}\n\n| recorder | smallest step, µs | over none | median step over none | kernels | lost | B/kernel |")
            print("|---|--:|--:|--:|--:|--:|--:|")
            for index, recorder in enumerate(RECORDERS):
                if not results[index] or not results[0]:
                    continue
                last = results[index][-1]
                print(f"| {'none again' if index == 1 else recorder} | "
                      f"{statistics.median(each['least_us'] for each in results[index]):.2f} | "
                      f"{ratios(results[index], results[0], 'least_us')} | {ratios(results[index], results[0], 'median_us')} | "
                      f"{last.get('kernels', '')} | {last.get('lost', '')} | "
                      + (f"{last['bytes_per_kernel']:.1f} |" if "bytes_per_kernel" in last else " |"), flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(runs), encoding="utf-8")
    for problem in [each for each in runs if "problem" in each][:5]:
        print(f"{problem['workload']}, {problem['recorder']}: {problem['problem']}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What recording costs a program: each workload with each recorder, in random order, several times.

usage: measure_recording.py [--program build/release/bin/jitterscope] [--rounds 6] [--seconds 8] [--only resnet-32,graph]
       [--recorders none,empty,light]

Recorders: none; sensors (the watching process reads NVML, nothing records); empty, callbacks, calls (CUPTI's records are
thrown away, see empty_recorder.cpp); light, full; whole (graphs by launch); ended (recording ends after a millisecond, so that
what remains is what CUPTI leaves behind); turns (1.3 s with recording and 0.7 without, in turn, in one process). The table has each program's smallest and median
step, over that of `none`, with the range over the rounds; two halves of `none` beside each other are the null.
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
WORKLOADS = {"launches": ["launcher", "launches", "SECONDS"], "graph": ["launcher", "graph", "SECONDS", "600"],
             "resnet-32": ["resnet", "--batch", "32"], "resnet-256": ["resnet", "--batch", "256"]}
RECORDERS = ["none", "none", "sensors", "empty", "callbacks", "calls", "light", "full", "whole", "ended", "turns"]
EMPTY = {"sensors": "nothing", "empty": "records", "callbacks": "callbacks", "calls": "calls"}
FLAGS = {"light": ["--detail", "light"], "full": ["--detail", "full"], "whole": ["--detail", "light", "--graphs", "whole"],
         "ended": ["--duration", "0.001s"]}
# The recorder alone, without a watching process, which has no windows as short as these.
TURNS = "detail=1,first_full_ms=3000,full_every_ms=2000,full_for_ms=0,off_for_ms=700,audit_after_ms=1000000"
# Programs that are measured leave NVLink multicast alone.
QUIET = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def build(folder):
    """Compiles the recorder that throws away, and the program that launches."""
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    subprocess.run(["g++", "-O2", "-std=c++17", "-shared", "-fPIC", f"-I{cuda}/include", str(HERE / "empty_recorder.cpp"), "-o",
                    str(folder / "libempty_recorder.so"), "-ldl"], check=True)
    subprocess.run([f"{cuda}/bin/nvcc", "-O2", "-arch=native", str(HERE / "launcher.cu"), "-o", str(folder / "launcher"), "-ldl"],
                   check=True)


def run(workload, recorder, arguments, folder, number):
    """One run; its line of JSON, with what was captured."""
    program, *rest = WORKLOADS[workload]
    seconds = str(arguments.seconds if recorder != "turns" else 20)
    rest = [seconds if each == "SECONDS" else each for each in rest]
    command = ([str(folder / program), *rest] if program == "launcher" else
               [sys.executable, str(HERE / "workloads.py"), program, *rest, "--seconds", seconds])
    environment = {**os.environ, **QUIET}
    place = folder / f"{number}.capture"
    if recorder == "turns":
        library = str(pathlib.Path(arguments.program).resolve().parent / "libjitterscope_recorder.so")
        environment |= {"JITTERSCOPE_CAPTURE": str(place), "JITTERSCOPE_CAPTURE_SETTINGS": TURNS, "LD_PRELOAD": library,
                        "CUDA_INJECTION64_PATH": library}
        place.mkdir()
    elif recorder != "none":
        command = [arguments.program, "capture", "-o", str(place), *FLAGS.get(recorder, []), "--", *command]
    if recorder in EMPTY:
        environment["JITTERSCOPE_RECORDER"] = str(folder / "libempty_recorder.so")
        environment["EMPTY_RECORDER"] = EMPTY[recorder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"problem": (done.stderr or done.stdout).strip().splitlines()[-1:]}
    result = json.loads(lines[-1])
    if recorder != "none" and recorder not in EMPTY:
        shown = subprocess.run([arguments.program, "capture", "show", str(place), "--json", "-"], capture_output=True, text=True,
                               check=False)
        # `show` prints turns and ends with code 5: no watching process wrote their capture.json.
        devices = json.loads(shown.stdout)["devices"] if shown.stdout else []
        if devices:
            device = devices[0]
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
    parser.add_argument("--recorders", default=",".join(dict.fromkeys(RECORDERS)))
    parser.add_argument("--json", help="every run's numbers")
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        build(folder)
        for workload in arguments.only.split(","):
            results = [[] for _ in RECORDERS]
            for _ in range(arguments.rounds):
                for index in random.sample(range(len(RECORDERS)), len(RECORDERS)):
                    recorder = RECORDERS[index]
                    if recorder == "turns" and results[index] or recorder == "whole" and workload != "graph" or recorder not in arguments.recorders.split(","):
                        continue
                    result = run(workload, recorder, arguments, folder, len(runs))
                    runs.append({"workload": workload, "recorder": recorder, **result})
                    if "problem" not in result:
                        results[index].append(result)
            for result in results[RECORDERS.index("turns")]:
                if cost := result.get("cost"):
                    print(f"\n{workload}, with recording and without in turn, time: {cost['ratio']:+.2%} "
                          f"({cost['low']:+.2%} to {cost['high']:+.2%}), {cost['windows']} windows; "
                          f"with and with {cost.get('null_ratio') or 0:+.2%}")
            print(f"\n{workload}\n\n| recorder | smallest step, µs | over none | median step over none | kernels | lost | B/kernel |")
            print("|---|--:|--:|--:|--:|--:|--:|")
            for index, recorder in enumerate(RECORDERS):
                if not results[index] or not results[0] or recorder == "turns":
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

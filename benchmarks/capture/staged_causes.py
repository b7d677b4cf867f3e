#!/usr/bin/env python3
"""Programs whose steps vary for a reason that is known, captured: what does `capture show` name first?

usage: staged_causes.py [--program build/release/bin/jitterscope] [--rounds 3] [--steady 5] [--seconds 10] [--only power,input]
                        [--keep FOLDER]

The programs are those of workloads.py. That the GPU idles is not counted, since it is so in all steps, nor that the first step
loads kernels: the first of the other things that are named counts. The steady program has no cause.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CAUSES = {"power": r"The clock", "neighbour": r"another process", "copies": r"overlap with copies",
          "input": r"idles .* while the program makes no call to CUDA", "allocation": r"memory (is|was) taken or given back", "steady": r""}
QUIET = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def findings(program, workload, seconds, folder):
    """What was found, first things first."""
    place = folder / f"{workload}.capture"
    detail = "full" if workload in ("input", "allocation") else "light"
    command = [program, "capture", "-o", str(place), "--detail", detail, "--", sys.executable, str(HERE / "workloads.py"), workload,
               "--seconds", str(seconds)]
    done = subprocess.run(command, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False)
    shown = subprocess.run([program, "capture", "show", str(place)], capture_output=True, text=True, check=False,
                           env={**os.environ, "COLUMNS": "1000"})
    if done.returncode != 0 or shown.returncode != 0:
        return [(done.stderr + shown.stderr).strip().splitlines()[-1]], ""
    lines = [line.replace("**", "") for line in shown.stdout.splitlines() if re.match(r"\d+\. ", line)]
    return lines, shown.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/jitterscope")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steady", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default=",".join(CAUSES))
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the captures in which something else came first")
    parser.add_argument("--screens", help="a file for all that was shown")
    arguments = parser.parse_args()
    print("| program | named first | of | what came first |\n|---|--:|--:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for workload in arguments.only.split(","):
            rounds, right, first = arguments.steady if workload == "steady" else arguments.rounds, 0, []
            for number in range(rounds):
                lines, screen = findings(arguments.program, workload, arguments.seconds, pathlib.Path(folder))
                if arguments.screens:
                    with open(arguments.screens, "a", encoding="utf-8") as file:
                        file.write(f"=== {workload}\n{screen}\n")
                lines = [line for line in lines if not re.search("The GPU idles|less than|of the first 7 steps", line)]
                if workload == "steady":
                    is_right = not lines
                else:
                    is_right = bool(lines) and re.search(CAUSES[workload], lines[0]) is not None
                right += is_right
                place = pathlib.Path(folder) / f"{workload}.capture"
                if place.exists() and arguments.keep and not is_right:
                    shutil.move(place, arguments.keep / f"{workload}-{number}.capture")
                shutil.rmtree(place, ignore_errors=True)
                first.append(lines[0] if lines else "nothing")
            print(f"| {workload} | {right} | {rounds} | {' / '.join(dict.fromkeys(first))} |", flush=True)


if __name__ == "__main__":
    main()

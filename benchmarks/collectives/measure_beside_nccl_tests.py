#!/usr/bin/env python3
"""The same collectives by jitterscope and by nccl-tests, in turns: how far does each differ from itself, and from the other?

usage: measure_beside_nccl_tests.py --nccl-tests FOLDER [--program build/release/bin/jitterscope] [--collectives all_reduce]
                                    [--ranks 2] [--rounds 6] [--bytes 1Ki..1Gi*4] [--dtype bf16] [--json FILE]
                                    [--options "--quick --no-waits --in-place no"]

FOLDER has nccl-tests' programs, built with MPI=1: one process for each GPU. Both record their collectives in graphs (-G).
Prints a Markdown table: times out of place, each tool's fastest and its range over the rounds (slowest over fastest, less
one), and the median of ours over the fastest of theirs.
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

PROGRAMS = {"all_reduce": "all_reduce_perf", "all_gather": "all_gather_perf", "reduce_scatter": "reduce_scatter_perf",
            "broadcast": "broadcast_perf", "reduce": "reduce_perf", "all_to_all": "alltoall_perf",
            "send_recv": "sendrecv_perf"}
TYPES = {"bf16": "bfloat16", "f16": "half", "f32": "float", "f64": "double"}
QUIET = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1",
         "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(command):
    done = subprocess.run(command, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def sizes_of(text):
    """Bytes: those of "1Ki..1Gi*4"."""
    units = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
    first, rest = text.split("..")
    last, factor = rest.split("*")
    size, end = (int(each[:-2]) * units[each[-2:]] for each in (first, last))
    while size <= end:
        yield size
        size *= int(factor)


def theirs(arguments, collective):
    """Microseconds out of place by size in bytes. Each size in a run of its own: in a run of several, each iteration takes
    another part of buffers that are as large as the largest size (src/common.cu, `shift`), and 16 MiB take 72.9 in place of
    75.9 us. Ours keeps its buffers, as a program does with one gradient."""
    found = {}
    for size in sizes_of(arguments.bytes):
        text = run(["mpirun", "-n", str(arguments.ranks), "--oversubscribe", *variables(),
                    str(arguments.nccl_tests / PROGRAMS[collective]), "-b", str(size), "-e", str(size), "-d",
                    TYPES[arguments.dtype], "-g", "1", "-G", "20", "-n", "20", "-w", "5"])
        for line in text.splitlines():
            cells = line.split()
            if len(cells) > 8 and cells[0].isdigit() and cells[1].isdigit():
                found[int(cells[0])] = float(cells[5])
        if size not in found:
            sys.exit(f"nccl-tests printed no line of {size} bytes:\n{text[-2000:]}")
    return found


def variables():
    """What mpirun hands on to its ranks."""
    return [word for name in QUIET for word in ("-x", f"{name}={QUIET[name]}")]


def ours(arguments, collective):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "record.json"
        run([arguments.program, "collectives", collective, "--bytes", arguments.bytes, "--dtype", arguments.dtype,
             "--local", str(arguments.ranks), *arguments.options.split(), "--json", str(file)])
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return {row["bytes"]: row["times"][0]["time"]["median_seconds"] * 1e6 for row in rows if row["times"]}


def spread(times):
    return max(times) / min(times) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nccl-tests", type=pathlib.Path, required=True)
    parser.add_argument("--program", default="build/release/bin/jitterscope")
    parser.add_argument("--collectives", default="all_reduce")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--bytes", default="1Ki..1Gi*4")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--options", default="--quick --no-waits --in-place no", help="of jitterscope collectives")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    found = {}
    print("| collective | bytes | ours, µs | range | theirs, µs | range | ours over their fastest |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for collective in arguments.collectives.split(","):
        sides = {"ours": collections.defaultdict(list), "theirs": collections.defaultdict(list)}
        for number in range(arguments.rounds):
            print(f"{collective}: round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
            for side, measure in (("ours", ours), ("theirs", theirs)):
                for size, time in measure(arguments, collective).items():
                    sides[side][size].append(time)
        found[collective] = sides
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(found), encoding="utf-8")
        for size in sorted(sides["ours"].keys() & sides["theirs"].keys()):
            own, other = sides["ours"][size], sides["theirs"][size]
            print(f"| {collective} | {size} | {min(own):.4g} | {spread(own):.2%} | {min(other):.4g} | {spread(other):.1%} "
                  f"| {statistics.median(own) / min(other):.4f} |", flush=True)


if __name__ == "__main__":
    main()

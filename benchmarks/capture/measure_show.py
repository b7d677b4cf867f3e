#!/usr/bin/env python3
"""Makes a capture of many kernels, and measures what `capture show` takes to read and analyse it.

usage: measure_show.py [--program build/release/bin/jitterscope] [--kernels 10000000]     (needs pyarrow and numpy)
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy
import pyarrow

SHAPES, LAUNCHES = 162, 2208  # of a recorded training step of ResNet-50
BATCH = 1 << 16


def write_stream(path, columns):
    """Writes columns as the recorder does: batches of 64 Ki rows, compressed by zstd."""
    table = pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})
    schema = pyarrow.schema([pyarrow.field(field.name, field.type, nullable=False) for field in table.schema])
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(str(path), schema, options=options) as stream:
        for batch in table.cast(schema).to_batches(max_chunksize=BATCH):
            stream.write_batch(batch)


def make_capture(folder, kernels):
    """A training of as many kernels, 1 % noise, an idle of 20 µs between its steps."""
    random = numpy.random.default_rng(1)
    process = folder / "p4711-1764300000000"
    process.mkdir(parents=True)
    step = random.integers(0, SHAPES, LAUNCHES).astype(numpy.uint32)
    lengths = random.uniform(2_000, 200_000, SHAPES)
    launch = numpy.resize(step, kernels)
    duration = (lengths[launch] * (1 + 0.01 * random.standard_normal(kernels))).astype(numpy.int64) // 32 * 32
    gaps = numpy.where(numpy.arange(kernels) % LAUNCHES == 0, 20_000, 800)
    start = 1_764_300_000_000_000_000 + numpy.cumsum(duration + gaps) - duration
    same = lambda value, kind: numpy.full(kernels, value, kind)
    write_stream(process / "kernels.arrows", {
        "start": start, "duration": duration, "launch": launch, "correlation": same(0, numpy.uint32),
        "stream": same(7, numpy.uint32), "device": same(0, numpy.uint8), "graph": same(0, numpy.uint32),
        "node": same(0, numpy.uint64)})
    ones = numpy.ones(SHAPES, numpy.uint32)
    write_stream(process / "launches.arrows", {
        "id": numpy.arange(SHAPES, dtype=numpy.uint32), "name": [f"kernel_{i}" for i in range(SHAPES)],
        **{name: ones for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x", "cluster_y",
                                   "cluster_z", "registers", "static_shared", "dynamic_shared", "local_memory")},
        "audit": numpy.zeros(SHAPES, numpy.uint8)})
    (process / "process.json").write_text(json.dumps({"pid": 4711, "begin": int(start[0]), "command": ["train"], "problem": ""}))
    return sum(file.stat().st_size for file in process.iterdir()) / kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/jitterscope")
    parser.add_argument("--kernels", type=int, default=10_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "made.capture"
        bytes_each = make_capture(folder, arguments.kernels)
        began = time.perf_counter()
        child = subprocess.run([os.path.abspath(arguments.program), "capture", "show", str(folder)], stdout=subprocess.PIPE,
                               text=True, check=True)
        seconds = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(child.stdout.split("\n\n")[0])
    print(f"| kernels | bytes each | show, s | memory, MB |\n|--:|--:|--:|--:|\n"
          f"| {arguments.kernels} | {bytes_each:.1f} | {seconds:.1f} | {memory:.0f} |")


if __name__ == "__main__":
    main()

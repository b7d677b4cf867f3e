#!/usr/bin/env python3
"""Records times of products, and of some other operations, on a GPU: what simulated GPUs are fitted to and held to.

usage: record_times.py [--jitterscope PROGRAM] [--device cuda] [--output products.json] [--kinds products,others]

One process of jitterscope times them all, warm and cold, in bursts, and traces their kernels behind all times: two and a
half minutes on an H200. The file has a line for each operation, so that another recording compares by `diff`.
tests/data/simulation/h200.json is such a recording, of an H200 with build ae47ce9, 27 November 2026.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

FLAGS = ["--load", "burst", "--cache", "warm,cold", "--min-rounds", "10", "--precision", "1", "--time-limit", "0.8",
         "--idle", "5,30", "--no-ceilings", "--kernels"]
TYPES = ["f32", "tf32", "f16", "bf16"]


def product(m, n, k, dtype, more=""):
    return f"matmul:m={m},n={n},k={k}{more},dtype={dtype}"


def products():
    square = [4, 16, 64, 100, 256, 384, 512, 768, 1000, 1024, 1536, 2048, 4096]
    listed = [product(side, side, side, dtype) for dtype in TYPES for side in square]
    listed += [product(side, side, side, "f64") for side in (4, 64, 256, 512, 1024, 2048)]
    listed += [product(8192, 8192, 8192, "bf16")]
    # Few rows, as of a network that answers one question.
    listed += [product(m, n, k, dtype) for dtype in ("f32", "bf16") for m in (1, 2, 8, 32)
               for n, k in ((1024, 1024), (4096, 1024), (1000, 4096), (4096, 4096))]
    listed += [product(m, n, k, dtype) for dtype in ("tf32", "f16") for m in (1, 32)
               for n, k in ((1024, 1024), (4096, 4096))]
    # Long sums of few elements: pieces of a sum run beside each other.
    listed += [product(side, side, k, dtype) for dtype in ("f32", "bf16") for side in (64, 256)
               for k in (4096, 16384, 65536)]
    listed += [product(128, 128, 16384, dtype) for dtype in ("tf32", "f16", "f64")]
    # Short sums, and tall and broad results.
    listed += [product(m, n, k, dtype) for dtype in ("f32", "tf32", "bf16")
               for m, n, k in ((4096, 4096, 16), (4096, 4096, 64), (16384, 64, 64), (64, 16384, 256), (8192, 512, 512))]
    listed += [product(1024, 1024, 1024, dtype, f",{turned}=1") for dtype in ("f32", "bf16") for turned in ("ta", "tb")]
    listed += [product(m, n, k, dtype, f",batch={batch}") for dtype in ("f32", "bf16")
               for batch, m, n, k in ((16, 64, 64, 64), (128, 128, 128, 128), (8, 512, 512, 512), (96, 197, 64, 197))]
    listed += [f"linear:n={n},in={inner},out={outer},dtype={dtype}" for dtype in ("f32", "tf32", "bf16")
               for n, inner, outer in ((2, 512, 1000), (32, 2048, 1000), (256, 1024, 1024), (4096, 768, 3072))]
    return listed


def convolution(n, c, hw, k, rs, stride, direction, dtype, layout):
    return (f"conv2d:n={n},c={c},hw={hw},k={k},rs={rs},stride={stride},pad={rs // 2},dtype={dtype},layout={layout},"
            f"direction={direction}")


def others():
    layers = [(3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (128, 28, 128, 3, 1), (256, 14, 256, 3, 1), (512, 7, 512, 3, 1),
              (256, 56, 512, 1, 2)]
    listed = [convolution(n, *layer, "fprop", dtype, layout) for dtype, layout in (("tf32", "nchw"), ("f16", "nhwc"))
              for n in (2, 32) for layer in layers]
    listed += [convolution(2, *layer, "fprop", "f32", "nchw") for layer in layers[1:5:3]]
    listed += [convolution(n, *layers[3], direction, "tf32", "nchw") for n in (2, 32) for direction in ("dgrad", "wgrad")]
    listed += [f"attention:batch={batch},heads={heads},queries={queries},dim=64{causal},dtype={dtype}"
               for dtype in ("f32", "f16")
               for batch, heads, queries, causal in ((1, 8, 128, ""), (2, 12, 197, ""), (4, 16, 1024, ",causal=1"))]
    listed += [f"add:count={count}" for count in (64, 16384, 262144)]
    listed += ["softmax:rows=128,columns=1000", "layer_norm:rows=512,columns=768", "batch_norm:n=2,c=64,hw=56",
               "max_pool:n=2,c=64,hw=112,window=3,stride=2,pad=1", "copy:bytes=1024"]
    return listed


def microseconds(seconds):
    return None if seconds is None else float(f"{seconds * 1e6:.5g}")


def reading(measurement):
    time = measurement["time"]
    values = {"us": microseconds(time.get("median_seconds")), "low_us": microseconds(time.get("low_seconds")),
              "high_us": microseconds(time.get("high_seconds")), "instrument": measurement["instrument"]}
    if "clock" in measurement:
        values["clock_mhz"] = round(measurement["clock"]["median_hertz"] / 1e6)
    return values


def recorded(result):
    """What is kept of one operation's result."""
    kept = {"operation": result["operation"]}
    if result.get("failure"):
        return kept | {"failure": result["failure"]}
    for measurement in result["measurements"]:
        kept[measurement["conditions"]["cache"]] = reading(measurement)
    kept |= {name: result[name] for name in ("provider", "algorithm") if result.get(name)}
    kernels = [[kernel["name"][:120], microseconds(kernel.get("median_seconds"))] for kernel in result.get("kernels", [])]
    return kept | ({"kernels": kernels} if kernels else {})


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="build/release/bin/jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("products.json"))
    parser.add_argument("--kinds", default="products,others")
    return parser.parse_args()


def main():
    options = parse_arguments()
    operations = [text for kind in options.kinds.split(",") for text in {"products": products, "others": others}[kind]()]
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "record.json"
        command = [options.jitterscope, "run", *operations, "--device", options.device, *FLAGS, "--json", str(record)]
        # Operations that failed, precision that was not reached, a tracer that is missing: the record says so.
        status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if not record.exists():
            sys.exit(f"record_times: jitterscope run ended with {status} and wrote no record")
        document = json.loads(record.read_text())
    device = document["device"]
    header = {"device": device["name"], "processors": device.get("processors"), "properties": device.get("properties"),
              "libraries": {library["name"]: library["version"] for library in device.get("libraries", [])
                            if library.get("version")},
              "tool": document["environment"]["tool_version"], "time": document["environment"]["time"],
              "command": "benchmarks/simulation/record_times.py", "flags": " ".join(FLAGS)}
    lines = ",\n".join(json.dumps(recorded(result)) for result in document["results"])
    options.output.write_text(json.dumps(header, indent=1)[:-2] + f',\n "points": [\n{lines}\n]}}\n')
    failed = sum(1 for result in document["results"] if result.get("failure"))
    print(f"{options.output}: {len(document['results'])} operations, of which {failed} failed")


if __name__ == "__main__":
    main()

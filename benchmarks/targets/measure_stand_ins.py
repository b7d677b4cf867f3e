#!/usr/bin/env python3
"""How near the stand-ins for PyTorch's kernels come to the copy bandwidth of the same GPU: one Markdown table.

    python3 benchmarks/targets/measure_stand_ins.py --jitterscope build/release/bin/jitterscope

Bytes are those that an operation must move at least, each input read and each output written once. Batch
normalization in training reads x twice, since a channel's mean must be known before its first output.
"""
import argparse
import json
import subprocess
import sys

import tables

TARGET = 0.9
COPY = "copy:bytes=2Gi"
ELEMENTS = "512Mi"
DTYPES = ("f32", "f16", "bf16")
ACTIVATIONS = ("relu", "relu6", "sigmoid", "tanh", "silu", "gelu")
LAYERS = (
    *(f"{kind}:count={ELEMENTS}" for kind in ("add", "mul", *ACTIVATIONS)),
    *(f"{kind}_backward:count={ELEMENTS}" for kind in ACTIVATIONS),
    *(f"{kind}:count=256Mi" for kind in ("sgd", "momentum", "adam", "adamw")),
    *(f"{kind}:n=256,c=64,hw=112,window=3,stride=2,pad=1,layout={layout},pass={one_pass}"
      for kind in ("max_pool", "avg_pool") for layout in ("nchw", "nhwc") for one_pass in ("forward", "backward")),
    *(f"softmax:rows={rows},columns={columns},pass={one_pass}"
      for rows, columns in (("2Mi", 128), ("512Ki", 1000), ("64Ki", 8192), ("8Ki", 50257))
      for one_pass in ("forward", "backward")),
    *(f"layer_norm:rows={rows},columns={columns},pass={one_pass}"
      for rows, columns in (("512Ki", 768), ("128Ki", 4096)) for one_pass in ("forward", "backward")),
    *(f"bias_add:n=256,c=256,hw=56,layout={layout}" for layout in ("nchw", "nhwc")),
    *(f"embedding:count=512Ki,rows=50257,columns=768,pass={one_pass}" for one_pass in ("forward", "backward")),
    *(f"batch_norm:n=256,c=64,hw=112,layout={layout},pass={one_pass}"
      for layout in ("nchw", "nhwc") for one_pass in ("forward", "backward", "inference")),
)


def measure(jitterscope, device, operations):
    """Results of `jitterscope run` in the order of the operations, warm and in bursts."""
    command = [jitterscope, "run", *operations, "--device", device, "--json", "-"]
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if finished.returncode not in (0, 4, 5):  # 4: less precise than asked, 5: one of them failed
        raise SystemExit(f"{' '.join(command[:2])}: exit status {finished.returncode}")
    return json.loads(finished.stdout)["results"]


def row(result, copy_rate):
    """Operation, provider, time, rate, its share and whether that is enough."""
    if result.get("failure"):
        return [result["operation"], result["failure"], *[tables.NOT_MEASURED] * 4]
    seconds = result["measurements"][0]["time"]["median_seconds"]
    rate = result["minimum_bytes"] / seconds
    met = rate >= TARGET * copy_rate
    return [result["operation"], result["provider"], tables.microseconds(seconds), f"{rate * 1e-12:.3f}",
            tables.percent(rate / copy_rate, 1), tables.verdict(met)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="f64,f32,f16,bf16 or some of them")
    parser.add_argument("--only", default="", help="operations that begin with this")
    arguments = parser.parse_args()
    copy = measure(arguments.jitterscope, arguments.device, [COPY])[0]
    copy_rate = copy["minimum_bytes"] / copy["measurements"][0]["time"]["median_seconds"]
    operations = [f"{layer},dtype={dtype}" for layer in LAYERS if layer.startswith(arguments.only)
                  for dtype in arguments.dtypes.split(",")]
    results = measure(arguments.jitterscope, arguments.device, operations)
    print(f"Copying moves {copy_rate * 1e-12:.3f} TB/s (read and written).\n")
    print(tables.table(["operation", "provider", "time (us)", "TB/s", "of the copy", f"{TARGET:.0%} or more"],
                       [row(result, copy_rate) for result in results], left_columns=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

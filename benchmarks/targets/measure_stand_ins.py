#!/usr/bin/env python3
"""What jitterscope's plain kernels for layers reach of the copy bandwidth of the same GPU: one Markdown table.

    python3 benchmarks/targets/measure_stand_ins.py --jitterscope build/release/bin/jitterscope

Bytes are those that an operation must move: each input read and each output written once. Batch normalization in
training reads x twice, and backward dy as well, since a channel's sums must be known before its first output: that
counts 3 tensors forward and 5 backward, of which the shares of the copy bandwidth are 67 % and 60 % counted once.
Of batch normalization only bf16 is a stand-in: cuDNN runs the other types.

Prints each line as it is known. Exit status: 0 measured, 2 usage, 3 jitterscope could not run.
"""
import argparse
import json
import sys

import jitterscope_runs
import measure_targets
import processes
import tables

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
    # Over whole planes, as classifiers end; as many as take no less memory than the others.
    *(f"avg_pool:n=2048,c=2048,hw=7,window=7,layout={layout},pass={one_pass}"
      for layout in ("nchw", "nhwc") for one_pass in ("forward", "backward")),
    *(f"softmax:rows={rows},columns={columns},pass={one_pass}"
      for rows, columns in (("2Mi", 128), ("512Ki", 1000), ("64Ki", 8192), ("8Ki", 50257))
      for one_pass in ("forward", "backward")),
    *(f"layer_norm:rows={rows},columns={columns},pass={one_pass}"
      for rows, columns in (("512Ki", 768), ("128Ki", 4096)) for one_pass in ("forward", "backward")),
    *(f"bias_add:n=256,c=256,hw=56,layout={layout}" for layout in ("nchw", "nhwc")),
    *(f"embedding:count=512Ki,rows=50257,columns=768,pass={one_pass}" for one_pass in ("forward", "backward")),
    "embedding:count=512Ki,rows=4Mi,columns=768,pass=forward",  # of which few rows are looked up twice
    *(f"batch_norm:n=256,c=64,hw=112,layout={layout},pass={one_pass}"
      for layout in ("nchw", "nhwc") for one_pass in ("forward", "backward", "inference")),
)


# Reads and writes of whole tensors over those that are counted once.
MOVED = {"forward": 3 / 2, "backward": 5 / 3}
STAND_IN_NORMS = ("bf16",)
LIMIT_SECONDS = 300
AT_ONCE = 12  # in a process: its start takes as long as a few of them
COULD_NOT_RUN = 3


def operations_of(layer, dtypes):
    is_norm = layer.startswith("batch_norm:")
    return [f"{layer},dtype={dtype}" for dtype in dtypes if not is_norm or dtype in STAND_IN_NORMS]


def measure(arguments, operations):
    """Results of `jitterscope run` in the order of the operations, warm and in bursts."""
    command = [arguments.jitterscope, "run", *operations, "--device", arguments.device, "--cache", "warm",
               "--load", "burst", "--provider", "builtin", "--no-ceilings", "--json", "-"]
    finished = processes.run(command, LIMIT_SECONDS, (0, 4, 5))  # 4: less precise than asked, 5: one of them failed
    if not finished.stdout:
        raise processes.ProcessFailed(f"jitterscope wrote no result: {processes.tail(finished.stderr)}")
    return json.loads(finished.stdout)["results"]


def bytes_moved(operation, result):
    is_norm = operation.startswith("batch_norm:")
    one_pass = operation.partition("pass=")[2].partition(",")[0]
    return result["minimum_bytes"] * (MOVED.get(one_pass, 1) if is_norm else 1)


def rate_of(operation, result):
    """(seconds, bytes in a second)"""
    seconds = jitterscope_runs.reading(result)["seconds"]
    return seconds, bytes_moved(operation, result) / seconds


def row(operation, result, copy_rate):
    """Operation, provider, time, rate and its share."""
    if result.get("failure"):
        return [operation, result["failure"], *[tables.NOT_MEASURED] * 3]
    seconds, rate = rate_of(operation, result)
    return [operation, result.get("provider", ""), tables.microseconds(seconds), f"{rate * 1e-12:.3f}",
            tables.percent(rate / copy_rate, 1)]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope", type=measure_targets.executable)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="f64,f32,f16,bf16 or some of them")
    parser.add_argument("--only", default="", help="operations that begin with this")
    return parser.parse_args(arguments)


def print_table(arguments):
    _, copy_rate = rate_of(COPY, measure(arguments, [COPY])[0])
    print(f"Copying moves {copy_rate * 1e-12:.3f} TB/s (read and written).\n")
    print(tables.table(["operation", "provider", "time (us)", "TB/s", "of the copy"], [], left_columns=2), flush=True)
    layers = [layer for layer in LAYERS if layer.startswith(arguments.only)]
    operations = [each for layer in layers for each in operations_of(layer, arguments.dtypes.split(","))]
    for begin in range(0, len(operations), AT_ONCE):
        some = operations[begin : begin + AT_ONCE]
        for operation, result in zip(some, measure(arguments, some)):
            print(tables.line(row(operation, result, copy_rate)), flush=True)


def main(arguments):
    try:
        print_table(parse(arguments))
    except (processes.ProcessFailed, ValueError) as error:  # a value: no JSON, or a copy without a time
        print(f"measure_stand_ins.py: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

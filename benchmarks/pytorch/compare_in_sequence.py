#!/usr/bin/env python3
"""Compares a network's forward convolutions in jitterscope's sequence with PyTorch's training run.

    compare_in_sequence.py --jitterscope PATH [--model resnet50] [--batch 64] [--steps 12]

Trains torchvision's network in f16, channels_last, under torch.profiler, takes each forward convolution's kernels of
every step (CUPTI, first start to last end), and sets their medians beside `jitterscope run MODEL --in-sequence`.
Prints Markdown. Exit status 1 where the median size of an error is over 1 % or the 90th percentile over 2 %, 3 where
PyTorch, torchvision or jitterscope could not run.
"""

import argparse
import collections
import json
import statistics
import sys
import tempfile

from jitterscope_run import give_up, import_torch, run_json


def train(options, path):
    torch = import_torch()
    try:
        import torchvision
    except ImportError as error:
        give_up(f"{error}: the networks are torchvision's; pip install torchvision")
    torch.cuda.set_device(torch.device(options.device).index or 0)
    torch.manual_seed(1)
    network = getattr(torchvision.models, options.model)().cuda().half().to(memory_format=torch.channels_last).train()
    x = torch.randn(options.batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (options.batch,), device="cuda")

    def step():
        network.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(network(x), labels).backward()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        for _ in range(options.steps):
            step()
        torch.cuda.synchronize()
    profile.export_chrome_trace(path)
    return torch.__version__


def forward_convolutions(path, steps):
    """Microseconds of each forward convolution, by its place in a step: one value for each step."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    calls = sorted((e for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::cudnn_convolution"),
                   key=lambda e: e["ts"])
    launches = {e["args"]["correlation"]: e for e in events
                if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    spans = collections.defaultdict(list)
    for kernel in (e for e in events if e.get("cat") in ("kernel", "gpu_memset")):
        launch = launches.get(kernel["args"].get("correlation"))
        if launch is None:
            continue
        for number, call in enumerate(calls):
            inside = call["tid"] == launch["tid"] and call["ts"] <= launch["ts"] <= call["ts"] + call["dur"]
            if inside:
                spans[number].append((kernel["ts"], kernel["ts"] + kernel["dur"]))
                break
    per_step = len(calls) // steps
    times = [[] for _ in range(per_step)]
    for number, kernels in spans.items():
        times[number % per_step].append(max(end for _, end in kernels) - min(start for start, _ in kernels))
    return times


def sequence_here(options):
    target = f"{options.model}:batch={options.batch},dtype=f16,layout=nhwc"
    command = [options.jitterscope, "run", target, "--in-sequence", "--device", options.device, "--time-limit", "0.3",
               "--no-ceilings", "--json", "-"]
    document = run_json(command, (0, 4))
    results = document["results"]
    calls = []
    for call in document["sequence"]["calls"]:
        operation = results[call["result"]]["operation"]
        if operation.startswith("conv2d:") and "direction=fprop" in operation and "time" in call:
            alone = {m["conditions"]["cache"]: m["time"]["median_seconds"] * 1e6
                     for m in results[call["result"]]["measurements"]}
            calls.append((call["name"], call["time"]["median_seconds"] * 1e6, alone))
    return calls, document["sequence"].get("clock_hertz", 0.0)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", required=True)
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N, for both sides")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        version = train(options, file.name)
        there = [statistics.median(times) for times in forward_convolutions(file.name, options.steps)]
    here, clock = sequence_here(options)
    if len(here) != len(there):
        give_up(f"PyTorch runs {len(there)} forward convolutions, jitterscope {len(here)}")
    errors = [ours / theirs - 1 for (_, ours, _), theirs in zip(here, there)]
    print(f"{options.model}, batch {options.batch}, f16, NHWC; PyTorch {version}; clock here {clock / 1e6:.0f} MHz\n")
    print("| convolution | PyTorch, µs | in sequence, µs | error | alone: warm | cold | dirty | produced |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for (name, ours, alone), theirs, error in zip(here, there, errors):
        states = " | ".join(f"{alone.get(s, float('nan')):.2f}" for s in ("warm", "cold", "dirty", "produced"))
        print(f"| {name} | {theirs:.2f} | {ours:.2f} | {error:+.1%} | {states} |")
    print("\n| against PyTorch | median error | median of its size | 90th percentile |\n| --- | --: | --: | --: |")
    rows = {"in sequence": errors}
    for state in ("warm", "cold", "dirty", "produced"):
        rows[f"alone, {state}"] = [a.get(state, float("nan")) / t - 1 for (_, _, a), t in zip(here, there)]
    for name, values in rows.items():
        sizes = [abs(value) for value in values]
        print(f"| {name} | {statistics.median(values):+.2%} | {statistics.median(sizes):.2%} | {quantile(sizes, 0.9):.2%} |")
    sizes = [abs(error) for error in errors]
    return 0 if statistics.median(sizes) <= 0.01 and quantile(sizes, 0.9) <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())

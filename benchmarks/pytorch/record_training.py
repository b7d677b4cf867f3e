#!/usr/bin/env python3
"""Records how long each convolution takes while PyTorch trains a network, by torch.profiler.

    record_training.py [--model resnet50] [--batch 64] [--steps 12] [--pass forward] [--device cuda]

Trains torchvision's network in f16, channels_last, and takes each convolution's kernels of every step (CUPTI): the
forward ones, or with --pass backward those of both gradients, in the order in which they run. Prints JSON: the version
of PyTorch, and as "convolutions", by the place in a step, of each kernel the name and in microseconds the medians of
how long it takes and of how long the GPU had done nothing before. So waits of a convolution can be told from its work:
in one process the two kernels of conv1 took 159 us from the first start to the last end, and in another 202. Exit
status 3 where PyTorch, torchvision or a GPU is missing.
"""

import argparse
import collections
import json
import statistics
import tempfile

from jitterscope_run import give_up, import_torch, positive
from kernel_times import waits_of

# What runs the convolutions of a pass.
OPERATORS = {"forward": "aten::cudnn_convolution", "backward": "aten::convolution_backward"}


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


def read_events(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def convolutions(events, operator, steps):
    """Kernels of each call of the operator by its place in a step, in their order: one list for each step."""
    calls = sorted((e for e in events if e.get("cat") == "cpu_op" and e["name"] == operator), key=lambda e: e["ts"])
    launches = {e["args"]["correlation"]: e for e in events
                if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    kernels_of = collections.defaultdict(list)
    for kernel in (e for e in events if e.get("cat") in ("kernel", "gpu_memset")):
        launch = launches.get(kernel["args"].get("correlation"))
        if launch is None:
            continue
        for number, call in enumerate(calls):
            inside = call["tid"] == launch["tid"] and call["ts"] <= launch["ts"] <= call["ts"] + call["dur"]
            if inside:
                kernels_of[number].append(kernel)
                break
    per_step = len(calls) // steps
    places = [[] for _ in range(per_step)]
    for number, kernels in kernels_of.items():
        places[number % per_step].append(sorted(kernels, key=lambda kernel: kernel["ts"]))
    return places


def medians_of(steps, waits):
    """[name, time, wait] of each kernel of a convolution."""
    return [[same[0]["name"], statistics.median(kernel["dur"] for kernel in same),
             statistics.median(waits[kernel["ts"]] for kernel in same)] for same in zip(*steps)]


def add_options(parser):
    """What is trained, which the comparison must know as well."""
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=positive, default=64)
    parser.add_argument("--steps", type=positive, default=12)
    parser.add_argument("--pass", dest="one_pass", choices=OPERATORS, default="forward")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        version = train(options, file.name)
        events = read_events(file.name)
    places, waits = convolutions(events, OPERATORS[options.one_pass], options.steps), waits_of(events)
    print(json.dumps({"torch": version, "convolutions": [medians_of(steps, waits) for steps in places]}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Whether advice holds: js.advise of a network, its lines applied in plain PyTorch, and `jitterscope advise` layer by layer.

usage: advise_model.py [resnet50|bert-layer] [--batch 64] [--allow precision,layout,graph] [--budget 5m]
                       [--jitterscope PROGRAM] [--no-layers]

The network as a program calls it, forward in float32. What js.advise measures for all remedies together is compared with
the same lines run by PyTorch alone and timed by CUDA events, and with what the command line foretells from the layers.
"""

import argparse
import copy
import json
import random
import statistics
import subprocess
import sys
import time

import torch

import jitterscope as js
from host_after_rest import stay_awake

SUBJECTS = {"resnet50": "resnet50:batch={batch},dtype=f32,direction=fprop",
            "bert-layer": "bert-base:batch={batch},layers=1,dtype=f32,direction=fprop"}
ROUNDS = 40
CALLS = 5
MOST_DIFFERENCE = 0.03


def network(name, batch):
    """The model, its input, and which of the subject's layers it has."""
    if name == "resnet50":
        import torchvision
        return torchvision.models.resnet50(weights=None), torch.randn(batch, 3, 224, 224, device="cuda"), None
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertLayer
    return BertLayer(BertConfig(attn_implementation="sdpa")), torch.randn(batch, 128, 768, device="cuda"), "^encoder"


def with_lines(lines, model, batch):
    """A call of the model with the lines that were advised, as a program would write them."""
    written = {"torch": torch, "model": copy.deepcopy(model), "batch": batch}
    before = [line for line in lines if "graph" not in line]
    exec("\n".join(before), written)
    model, batch = written["model"], written["batch"]
    for _ in range(3):  # a program has run before it records
        model(batch)
    torch.cuda.synchronize()
    if len(before) == len(lines):
        return lambda: model(batch)
    exec("\n".join(line for line in lines if "graph" in line), written)
    return written["graph"].replay


def seconds_of(call):
    """By CUDA events around calls in a row, from a GPU that rested. The host does not sleep meanwhile, which would slow it
    for more than 100 ms, and the calls of the first 10 ms are left out."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stay_awake(random.uniform(0.02, 0.05))
    warm = time.monotonic() + 0.01
    call()
    while time.monotonic() < warm:
        call()
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3 / CALLS


def ratio_by_events(first, second):
    ratios = []
    for _ in range(ROUNDS):
        pair = [first, second]
        random.shuffle(pair)
        times = {id(call): seconds_of(call) for call in pair}
        ratios.append(times[id(second)] / times[id(first)])
    return statistics.median(ratios)


def measured_ratio(record):
    together = record.get("together")
    if not together:
        return None
    return (together["totals"] or together["comparisons"])[0]["time_ratio"]["ratio"]


def by_layers(arguments, only):
    command = [arguments.jitterscope, "advise", SUBJECTS[arguments.network].format(batch=arguments.batch), "--device", "cuda",
               "--allow", arguments.allow, "--budget", arguments.budget, "--json", "-"]
    command += ["--only", only] if only else []
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"advise_model: {' '.join(command)}: exit code {finished.returncode}")
    return js.Record(json.loads(finished.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="?", default="resnet50", choices=SUBJECTS)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--allow", default="precision,layout,graph")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--no-layers", action="store_true", help="without the command line's advice")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cudnn.allow_tf32 = False  # as dtype=f32 means it
    model, batch, only = network(arguments.network, arguments.batch)
    model = model.eval().cuda()
    began = time.monotonic()
    whole = js.advise(model, batch, allow=arguments.allow.split(","))
    took = time.monotonic() - began
    print(whole, flush=True)
    measured = measured_ratio(whole.record)
    if measured is None:
        sys.exit("advise_model: nothing was taken")
    lines = [line for each in whole.record["recommendations"] for line in each["lines"]]
    print(f"{arguments.network}, batch {arguments.batch}: js.advise took {took:.0f} s and measures {measured:.4f} of the time")
    with torch.no_grad():
        by_events = ratio_by_events(with_lines([], model, batch), with_lines(lines, model, batch))
    difference = measured / by_events - 1
    print(f"its lines in plain PyTorch, by CUDA events: {by_events:.4f}; js.advise {difference:+.1%} beside it "
          f"({'within' if abs(difference) <= MOST_DIFFERENCE else 'not within'} {MOST_DIFFERENCE:.0%})", flush=True)
    if not arguments.no_layers:
        del model, batch
        torch.cuda.empty_cache()
        began = time.monotonic()
        layers = by_layers(arguments, only)
        took = time.monotonic() - began
        print(layers)
        foretold = measured_ratio(layers.record)
        print(f"`jitterscope advise` of the layers took {took:.0f} s and measures "
              + (f"{foretold:.4f}: {foretold / measured - 1:+.1%} beside the whole" if foretold else "nothing"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

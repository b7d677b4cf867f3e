#!/usr/bin/env python3
"""js.advise of a network of torchvision beside `jitterscope advise` of the same: whether layers foretell the model.

usage: advise_model.py [NETWORK] [--batch 64] [--allow precision,layout,graph] [--budget 5m] [--jitterscope PROGRAM]

Prints what js.advise finds on the model itself, forward in float32 as a program calls it, and what the command line finds
layer by layer, and by how much the two sums differ.
"""

import argparse
import json
import subprocess
import sys

import torch
import torchvision

import jitterscope as js


def ratio_of(record):
    together = record.get("together")
    if not together:
        return None
    listed = together["totals"] or together["comparisons"]
    return listed[0]["time_ratio"]["ratio"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="?", default="resnet50")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--allow", default="precision,layout,graph")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--jitterscope", default="jitterscope")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cudnn.allow_tf32 = False  # as dtype=f32 means it
    model = getattr(torchvision.models, arguments.network)(weights=None).eval().cuda()
    batch = torch.randn(arguments.batch, 3, 224, 224, device="cuda")
    whole = js.advise(model, batch, allow=arguments.allow.split(","))
    print(whole, flush=True)
    del model, batch
    torch.cuda.empty_cache()
    subject = f"{arguments.network}:batch={arguments.batch},dtype=f32,direction=fprop"
    command = [arguments.jitterscope, "advise", subject, "--device", "cuda", "--allow", arguments.allow, "--budget",
               arguments.budget, "--json", "-"]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"advise_model: {' '.join(command)}: exit code {finished.returncode}")
    by_layers = js.Record(json.loads(finished.stdout))
    print(by_layers)
    sums = ratio_of(whole.record), ratio_of(by_layers.record)
    if None in sums:
        sys.exit("advise_model: one of them took nothing")
    print(f"the model {sums[0]:.4f}, its layers {sums[1]:.4f} of the time before: {sums[1] / sums[0] - 1:+.1%}")


if __name__ == "__main__":
    main()

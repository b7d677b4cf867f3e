#!/usr/bin/env python3
"""Whether js.loss_scaling skips the steps that torch.amp.GradScaler skips, on torchvision's ResNet-18.

usage: grad_scaler.py [--steps 100] [--device cuda]

Both train the same network on the same data from the same seed, with the loss as it is and a thousand times as large.
Prints a Markdown table: steps skipped and the scale at the end. Exit code 1 where they differ.
"""

import argparse
import copy
import sys

import torch
import torchvision

import jitterscope as js

RATE, MOMENTUM = 1e-5, 0.9
SCALES = [2.0**16, 2.0**24, "dynamic"]


def work(device):
    torch.manual_seed(1)
    network = torchvision.models.resnet18(num_classes=10).to(device)
    images = torch.randn(8, 32, 3, 64, 64, device=device)
    labels = torch.randint(10, (8, 32), device=device)

    def loss_times(factor):
        return lambda model, step: factor * torch.nn.functional.cross_entropy(model(images[step % 8]), labels[step % 8])

    return network, loss_times


def by_grad_scaler(network, loss, asked, steps, device):
    """Steps skipped, and the scale at the end."""
    model = copy.deepcopy(network).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    if asked == "dynamic":
        scaler = torch.amp.GradScaler(device)
    else:  # GradScaler has no static scale: one that neither grows nor shrinks within these steps
        scaler = torch.amp.GradScaler(device, init_scale=asked, growth_factor=1.0 + 1e-9, backoff_factor=1.0 - 1e-9)
    skipped = 0
    for step in range(steps):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            value = loss(model, step)
        scaler.scale(value).backward()
        scaler.unscale_(optimizer)
        skipped += int(sum(found.item() for found in scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()) > 0)
        scaler.step(optimizer)
        scaler.update()
    return skipped, scaler.get_scale()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    torch.backends.cudnn.deterministic = True
    network, loss_times = work(arguments.device)
    differ = False
    print("| loss | scale | skipped: js.loss_scaling | GradScaler | scale at the end | GradScaler's |\n|--:|---|--:|--:|--:|--:|")
    for factor in (1.0, 1000.0):
        loss = loss_times(factor)
        arms = js.loss_scaling(network, loss, steps=arguments.steps, scales=SCALES, rate=RATE).arms
        for asked, arm in zip(SCALES, arms):
            skipped, scale = by_grad_scaler(network, loss, asked, arguments.steps, arguments.device)
            differ = differ or skipped != arm.skipped or abs(scale / arm.scale - 1) > 1e-5
            print(f"| x{factor:g} | {arm.name} | {arm.skipped} | {skipped} | {arm.scale:g} | {scale:g} |", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs many layers of one kind in PyTorch, forward and backward, and records what it ran, for verify-pytorch.

    record_layers.py convolutions --output FOLDER [--seed 7] [--device cuda]
    jitterscope verify-pytorch convolutions --trace FOLDER/trace.json --log FOLDER/frontend.log

convolutions are drawn from the seed: types, layouts, groups, strides, dilations, sizes of one; with transposed and
one-dimensional ones. products, rows (few rows and a bias) and norms (and attention) are lists. frontend.log is there
where cudnn-frontend ran anything. Exit status 3 where PyTorch or a GPU is missing.
"""

import argparse
import os
import pathlib
import random

from jitterscope_run import import_torch

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class Layers:
    """Runs modules and functions of PyTorch, each on random tensors, and their gradients."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def type(self, name):
        return getattr(self.torch, TYPES[name])

    def tensor(self, *shape, dtype="f32", last=False):
        values = self.torch.randn(*shape, device=self.device, dtype=self.type(dtype))
        if last:
            values = values.to(memory_format=self.torch.channels_last)
        return values.requires_grad_()

    def backward(self, y):
        y.backward(self.torch.randn_like(y))

    def module(self, module, *shape, dtype="f32", last=False):
        module = module.to(self.device, self.type(dtype))
        if last:
            module = module.to(memory_format=self.torch.channels_last)
        self.backward(module(self.tensor(*shape, dtype=dtype, last=last)))


def drawn_convolution(draw):
    """Parameters of a convolution, or None where the window is larger than its input."""
    groups = draw.choice([1, 1, 1, 1, 2, 4, 8])
    c = groups * draw.choice([1, 3, 4, 8, 16, 24, 32, 40, 64, 100])
    k = groups * draw.choice([1, 2, 8, 12, 16, 32, 64, 96])
    if draw.random() < 0.15:  # depthwise
        groups, k = c, c * draw.choice([1, 1, 2])
    size = draw.choice([1, 5, 7, 14, 28, 33, 56, 80]), draw.choice([7, 14, 15, 28, 56])
    window = draw.choice([(1, 1), (3, 3), (3, 3), (5, 5), (2, 2), (7, 7), (1, 3), (3, 1), (4, 4)])
    stride = draw.choice([(1, 1), (1, 1), (2, 2), (2, 1), (4, 4)])
    pad = draw.choice([(0, 0), (1, 1), (window[0] // 2, window[1] // 2), (2, 2)])
    dilation = draw.choice([(1, 1), (1, 1), (1, 1), (2, 2)])
    shape = draw.choice([1, 2, 3, 8, 16, 32, 64]), c, *size
    if any(s + 2 * p < d * (w - 1) + 1 for s, p, d, w in zip(size, pad, dilation, window)):
        return None
    return shape, (c, k, window, stride, pad, dilation, groups, draw.random() < 0.3)


def convolutions(layers, draw):
    nn = layers.torch.nn
    for _ in range(90):
        dtype = draw.choice(["f32", "f32", "f32", "f16", "f16", "bf16", "f64"])
        last, drawn = draw.random() < 0.5, drawn_convolution(draw)
        if drawn is not None:
            layers.module(nn.Conv2d(*drawn[1]), *drawn[0], dtype=dtype, last=last)
    transposed = [(8, 64, 32, 14, 3, 2, 1, 1, "f32", False), (8, 64, 32, 14, 2, 2, 0, 1, "f16", True),
                  (4, 512, 256, 32, 2, 2, 0, 1, "bf16", True), (2, 32, 32, 20, 4, 2, 1, 1, "f16", False),
                  (2, 32, 32, 20, 4, 2, 1, 4, "f16", True), (1, 16, 8, 9, 3, 1, 1, 1, "f32", True)]
    for n, c, k, size, window, stride, pad, groups, dtype, last in transposed:
        module = nn.ConvTranspose2d(c, k, window, stride, pad, 0, groups)
        layers.module(module, n, c, size, size, dtype=dtype, last=last)
    layers.module(nn.Conv1d(80, 128, 3, padding=1), 4, 80, 1500)
    layers.module(nn.Conv1d(128, 128, 5, padding=2, groups=4), 4, 128, 300, dtype="f16")


def products(layers, _):
    torch, tensor = layers.torch, layers.tensor
    for rows, size, out, bias, dtype in [(64, 1024, 1000, True, "f32"), (64, 1024, 1000, True, "f16"),
                                         (1024, 768, 3072, True, "bf16"), (1024, 3072, 768, True, "bf16"),
                                         (7, 33, 5, True, "f16"), (7, 33, 5, False, "f16"),
                                         (256, 4096, 11008, False, "bf16"), (64, 64, 64, True, "f64"),
                                         (1000, 8, 2, True, "f32"), (31, 4100, 77, True, "bf16")]:
        layers.module(torch.nn.Linear(size, out, bias), rows, size, dtype=dtype)
    for dtype in ("f32", "f16", "bf16"):
        def drawn(*shape, dtype=dtype):
            return tensor(*shape, dtype=dtype)
        layers.backward(drawn(8, 64, 128) @ drawn(8, 128, 32))
        layers.backward(drawn(2, 12, 128, 64) @ drawn(2, 12, 128, 64).transpose(-1, -2))
        layers.backward(drawn(100, 200).t() @ drawn(100, 50))
        layers.backward(drawn(5, 100, 200) @ drawn(200, 50))
        layers.backward(drawn(200, 50) @ drawn(5, 50, 17))
        layers.backward(torch.addmm(drawn(60), drawn(33, 40), drawn(40, 60)))
        layers.backward(torch.einsum("bhid,bhjd->bhij", drawn(2, 4, 64, 32), drawn(2, 4, 64, 32)))
        layers.backward(drawn(1, 1) @ drawn(1, 1))


def rows(layers, _):
    for dtype in TYPES:
        for size, out in ((512, 10), (512, 1000), (4096, 4096), (768, 768), (100, 7)):
            for count in (1, 2, 5):
                layers.module(layers.torch.nn.Linear(size, out), count, size, dtype=dtype)


def norms(layers, _):
    nn = layers.torch.nn
    for n, c, size, dtype, last in [(32, 64, 56, "f32", False), (32, 64, 56, "f32", True), (1, 3, 5, "f32", False),
                                    (2, 1000, 1, "f32", False), (8, 64, 28, "f64", False)]:
        layers.module(nn.BatchNorm2d(c), n, c, size, size, dtype=dtype, last=last)
    layers.module(nn.BatchNorm1d(100), 8, 100, 50)
    attend = nn.functional.scaled_dot_product_attention
    for batch, heads, queries, keys, size, dtype, causal in [
            (4, 12, 128, 128, 64, "f16", False), (4, 12, 128, 128, 64, "bf16", True),
            (2, 8, 1024, 1024, 128, "bf16", True), (2, 8, 77, 77, 80, "f16", False),
            (2, 8, 100, 33, 64, "f16", False), (1, 1, 17, 17, 8, "f16", False), (2, 4, 64, 64, 256, "bf16", False)]:
        q = layers.tensor(batch, queries, heads, size, dtype=dtype).transpose(1, 2)
        k, v = (layers.tensor(batch, keys, heads, size, dtype=dtype).transpose(1, 2) for _ in range(2))
        layers.backward(attend(q, k, v, is_causal=causal))


KINDS = {"convolutions": convolutions, "products": products, "rows": rows, "norms": norms}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--output", required=True, type=pathlib.Path, help="a folder")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    # Before torch is imported: its libraries read their environment when they are loaded.
    os.environ["CUDNN_FRONTEND_LOG_INFO"] = "1"
    os.environ["CUDNN_FRONTEND_LOG_FILE"] = str(options.output / "frontend.log")
    torch = import_torch()
    torch.cuda.set_device(torch.device(options.device).index or 0)
    torch.manual_seed(options.seed)
    layers = Layers(torch, options.device)

    def run():
        KINDS[options.kind](layers, random.Random(options.seed))
        torch.cuda.synchronize()

    run()  # engines are chosen and kernels loaded
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        run()
    profile.export_chrome_trace(str(options.output / "trace.json"))


if __name__ == "__main__":
    main()

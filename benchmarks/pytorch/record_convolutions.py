#!/usr/bin/env python3
"""Runs convolutions in PyTorch, forward and backward, and keeps cudnn-frontend's log of their plans.

    record_convolutions.py conv_reference.json LOG

The file lists cases as compare_kernels.py reads them. The log is what compare_engines.py compares with.
"""

import json
import os
import sys


def run(torch, case):
    shape, k, kernel, stride, pad, dilation, groups, bias = case["conv"]
    dtype = getattr(torch, case["dtype"].removeprefix("torch."))
    layout = torch.channels_last if case["channels_last"] else torch.contiguous_format
    torch.backends.cudnn.allow_tf32 = case["tf32"]
    torch.backends.cudnn.benchmark = case["benchmark"]
    layer = torch.nn.Conv2d(shape[1], k, kernel, stride, pad, dilation, groups, bool(bias))
    layer = layer.to("cuda", dtype).to(memory_format=layout)
    x = torch.randn(shape, device="cuda", dtype=dtype).to(memory_format=layout).requires_grad_()
    y = layer(x)
    y.backward(torch.randn_like(y))
    torch.cuda.synchronize()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ["CUDNN_FRONTEND_LOG_INFO"] = "1"
    os.environ["CUDNN_FRONTEND_LOG_FILE"] = sys.argv[2]
    import torch

    with open(sys.argv[1], encoding="utf-8") as file:
        for case in json.load(file)["layers"]:
            run(torch, case)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs convolutions in PyTorch, forward and backward, and keeps cudnn-frontend's log of their plans.

    record_convolutions.py conv_reference.json LOG

The file lists cases as compare_kernels.py reads them. The log is what compare_engines.py compares with. It does not
say whether fp32 could become TF32, so a file whose cases differ in that is refused. Exit status 3 where PyTorch or a
GPU is missing.
"""

import os
import sys

import reference_cases
from jitterscope_run import give_up, import_torch


def run(torch, case):
    layer, x = reference_cases.layer_of(torch, case)
    y = layer(x)
    y.backward(torch.randn_like(y))
    torch.cuda.synchronize()


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    cases = reference_cases.read(sys.argv[1])["layers"]
    single = {case["tf32"] for case in cases if case["dtype"] == "torch.float32"}
    if len(single) > 1:
        give_up(f"{sys.argv[1]} has fp32 cases with TF32 and without: give each a file, and so a log, of its own")
    # Before torch is imported: its libraries read their environment when they are loaded.
    os.environ["CUDNN_FRONTEND_LOG_INFO"] = "1"
    os.environ["CUDNN_FRONTEND_LOG_FILE"] = sys.argv[2]
    torch = import_torch()
    for case in cases:
        run(torch, case)
    if single == {False}:
        print("TF32 was off: compare_engines.py --float f32")


if __name__ == "__main__":
    main()

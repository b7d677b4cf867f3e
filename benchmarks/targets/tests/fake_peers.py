"""Stands in for peers.py: the same call and document, made-up times, no GPU. FAKE_TOOL_FAILS: a tool that fails."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import peers  # noqa: E402
import problems  # noqa: E402
import torch_work  # noqa: E402

OVERHEAD = {"cupti": 0.0, "do_bench": 2.5e-6, "do_bench_cudagraph": 0.3e-6, "torch_benchmark": 6e-6, "events": 4e-6}


def make_tool(name):
    def tool(work):
        if name == os.environ.get("FAKE_TOOL_FAILS"):
            raise RuntimeError("CUDA error: out of memory\nmore lines")
        return {"seconds": work + OVERHEAD[name]}
    return tool


def make_work(name):
    spin = problems.spin_of_name(name)
    return spin[0] * 1e-9 + 0.5e-6 if spin else 100e-6


peers.TOOLS = {name: make_tool(name) for name in OVERHEAD}
torch_work.make = make_work
torch_work.describe = lambda: {"gpu": "NVIDIA H200", "python": "3.12", "torch": "2.11", "cuda": "13.0",
                               "cudnn": "91900", "triton": "3.6", "cupy": "14"}
if __name__ == "__main__":
    sys.exit(peers.main(sys.argv[1:]))

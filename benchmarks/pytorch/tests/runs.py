"""Runs a script of the folder above on a PyTorch and a jitterscope that are made up."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
JITTERSCOPE = str(FOLDER / "stand_in_jitterscope.py")
sys.path.insert(0, str(FOLDER.parent))


def run(script, *arguments, **environment):
    """(exit status, what was printed, what was said on stderr)"""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(FOLDER / "stand_in"), "PYTHONDONTWRITEBYTECODE": "1",
                       "STAND_IN_PROCESSES": f"{folder}/processes", **environment}
        command = [sys.executable, str(FOLDER.parent / script), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def write_reference(path, **changes):
    """What the stand-in of PyTorch runs, but for these kernels: {name: (launches, microseconds)}."""
    kernels = {"void pad<float, 4>(float*)": (24, 4.0), "gemm_fprop": (12, 100.0), "gemm_dgrad": (12, 50.0),
               "Memset (Device)": (12, 0.8), "gemm_wgrad": (12, 80.0), **changes}
    case = {"conv": [[32, 3, 224, 224], 64, [7, 7], [2, 2], [3, 3], [1, 1], 1, False], "dtype": "torch.float16",
            "channels_last": True, "benchmark": False, "tf32": True,
            "kernels": {name: {"n": n, "med": time, "min": time, "max": time} for name, (n, time) in kernels.items()}}
    document = {"torch": "2.11.0", "cudnn": 91900, "gpu": "NVIDIA H200", "layers": [case]}
    path.write_text(json.dumps(document), encoding="utf-8")


def table_rows(markdown):
    """Cells of each row by what its first one says."""
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in markdown.splitlines() if line[:1] == "|"]
    return {first: rest for first, *rest in rows}

#!/usr/bin/env python3
"""Compiles pinned.cu, which stands beside this file, and runs it: seconds by size and kind of memory, as JSON."""

import os
import pathlib
import subprocess
import sys
import tempfile

CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
SOURCE = pathlib.Path(__file__).resolve().with_suffix(".cu")

with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / "pinned"
    try:
        subprocess.run([str(CUDA / "bin/nvcc"), "-O2", "-std=c++17", "-arch=native", str(SOURCE), "-o", str(program)],
                       check=True)
        sys.exit(subprocess.run([str(program)], check=False).returncode)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"pinned.cu cannot be compiled: {error} (CUDA_HOME names the toolkit)")

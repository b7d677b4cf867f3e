#!/usr/bin/env python3
"""Compiles allocator.c, which stands beside this file, and runs it: seconds by size and allocator, as JSON.

In C, because Python takes as long for a call as the driver does. PyTorch's own allocator has no counterpart here: it is
reached from Python alone.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
SOURCE = pathlib.Path(__file__).resolve().with_suffix(".c")

with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / "allocator"
    try:
        subprocess.run(["cc", "-O2", f"-I{CUDA}/include", str(SOURCE), "-o", str(program), f"-L{CUDA}/lib64/stubs", "-lcuda"],
                       check=True)
        sys.exit(subprocess.run([str(program)], check=False).returncode)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"allocator.c cannot be compiled: {error} (CUDA_HOME names the toolkit)")

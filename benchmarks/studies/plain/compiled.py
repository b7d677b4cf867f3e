"""Compiles a program that stands beside its script, and runs it."""

import os
import pathlib
import subprocess
import sys
import tempfile

CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


def run(source, *options):
    """Ends this process with the program's exit code. `options` are those of nvcc, which compiles C as well."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / source.stem
        try:
            subprocess.run([str(CUDA / "bin/nvcc"), "-O2", *options, str(source), "-o", str(program)], check=True)
            sys.exit(subprocess.run([str(program)], check=False).returncode)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"{source.name} cannot be compiled: {error} (CUDA_HOME names the toolkit)")

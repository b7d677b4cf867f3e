#!/usr/bin/env python3
"""Compiles allocator.c, which stands beside this file, and runs it: seconds by size and allocator, as JSON.

In C, because Python takes as long for a call as the driver does. PyTorch's own allocator has no counterpart here: it is
reached from Python alone.
"""

import pathlib

import compiled

compiled.run(pathlib.Path(__file__).resolve().with_suffix(".c"), f"-L{compiled.CUDA}/lib64/stubs", "-lcuda")

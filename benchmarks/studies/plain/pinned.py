#!/usr/bin/env python3
"""Compiles pinned.cu, which stands beside this file, and runs it: seconds by size and kind of memory, as JSON."""

import pathlib

import compiled

compiled.run(pathlib.Path(__file__).resolve().with_suffix(".cu"), "-std=c++17", "-arch=native")

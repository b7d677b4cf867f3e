"""The program `jitterscope` that comes with the module."""

from __future__ import annotations

import os
import pathlib
import sys

from ._errors import MissingError


def program() -> str:
    """Path of the program `jitterscope`."""
    named = os.environ.get("JITTERSCOPE_PROGRAM")
    path = pathlib.Path(named) if named else pathlib.Path(__file__).parent / "bin" / "jitterscope"
    if not path.is_file():
        raise MissingError(f"{path} is not there: install the wheel, or set JITTERSCOPE_PROGRAM to the program")
    return str(path)


def environment() -> dict[str, str]:
    """The program's environment: the Python that runs `python:…`, and the place of this module."""
    folder = str(pathlib.Path(__file__).resolve().parent.parent)
    paths = [folder] + [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != folder]
    return {**os.environ, "JITTERSCOPE_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(paths)}

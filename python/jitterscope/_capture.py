"""js.capture: another program, run with a recorder in it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
from typing import Optional, Sequence, Union

from ._errors import FailedError, UsageError
from ._program import program

_OWN_FAILURE = 125


@dataclasses.dataclass(frozen=True)
class Capture:
    """The capture that js.capture made."""

    folder: Optional[pathlib.Path]
    """The capture's folder, with a capture.json and tables that pyarrow reads; None if the program never used CUDA."""
    exit_code: int
    """The program's own, as a shell has it: 128 + N where signal N ended it."""


def _new_folder(name: str) -> pathlib.Path:
    """NAME.capture, or the first NAME-2.capture, NAME-3.capture, … that is not there."""
    folder, number = pathlib.Path(f"{name}.capture"), 1
    while folder.exists():
        number += 1
        folder = pathlib.Path(f"{name}-{number}.capture")
    return folder


def capture(command: Sequence[Union[str, os.PathLike[str]]], *, folder: Optional[Union[str, os.PathLike[str]]] = None,
            detail: str = "mixed", graphs: str = "node", start_after: Union[float, str, None] = None,
            duration: Union[float, str, None] = None, ranges: Optional[str] = None, calls: bool = False,
            require: bool = False) -> Capture:
    """Runs a program, unmodified, and records what its work on GPUs does and when: all that `jitterscope capture` does.

    >>> made = js.capture(["python3", "train.py"], detail="light", duration=60)
    >>> kernels = pyarrow.ipc.open_stream(next(made.folder.glob("p*/kernels.arrows"))).read_all()

    The program has this process's streams, environment and working directory. It is recorded from `start_after` seconds
    after its first use of CUDA on, for `duration` seconds. With `ranges` it is recorded while its own ranges (NVTX) of
    this name go on, and both may count them: "100steps". `detail`: light, mixed or full; `graphs`: node or whole.
    `calls=True`: calls of cuDNN, cuBLASLt and cuBLAS too, which `jitterscope run FOLDER` runs again.
    `folder` is new, or empty; by default it is named after the program. FailedError where jitterscope itself fails, or
    `require=True` asks for more than was captured: the sentence is on standard error.
    """
    if isinstance(command, (str, bytes, os.PathLike)):
        raise UsageError(f"capture takes a program with its arguments as a list, as {str(command).split()}")
    words = [os.fspath(word) for word in command]
    if not words:
        raise UsageError("capture takes a program with its arguments as a list, and this one is empty")
    for name, value, known in (("detail", detail, ("light", "mixed", "full")), ("graphs", graphs, ("node", "whole"))):
        if value not in known:
            raise UsageError(f"capture: {name} is one of {', '.join(known)}, and not {value!r}")
    where = pathlib.Path(folder) if folder is not None else _new_folder(pathlib.Path(words[0]).name or "program")
    asked = [program(), "capture", "-o", str(where), "--detail", detail, "--graphs", graphs]
    if ranges is not None:
        asked += ["--ranges", ranges]
    for flag, extent in (("--start-after", start_after), ("--duration", duration)):
        if extent is None:
            continue
        if not isinstance(extent, str):
            if not 0 <= extent < float("inf"):
                raise UsageError(
                    f"capture: {flag[2:].replace('-', '_')} is a number of seconds from 0 on, and not {extent}")
            extent = f"{extent}s"
        asked += [flag, extent]
    if calls:
        asked.append("--calls")
    if require:
        asked.append("--require")
    process = subprocess.Popen([*asked, "--", *words])
    interrupted = False
    while True:
        try:
            exit_code = process.wait()
            break
        except KeyboardInterrupt:  # the program has it, too, and ends as it likes
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
    if exit_code == _OWN_FAILURE:
        raise FailedError(f"the capture of {words[0]} failed; standard error says why")
    return Capture(where if where.is_dir() else None, exit_code)

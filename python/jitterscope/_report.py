"""Pages of records, which the program writes."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Iterable

from ._errors import raise_for
from ._program import environment, program


def write_report(records: Iterable[dict[str, Any]], *flags: str) -> None:
    """`jitterscope report` of them, with its flags."""
    with tempfile.TemporaryDirectory(prefix="jitterscope-") as folder:
        files = []
        for number, record in enumerate(records):
            files.append(pathlib.Path(folder) / f"{number}.json")
            files[-1].write_text(json.dumps(record), encoding="utf-8")
        run = subprocess.run([program(), "report", *map(os.fspath, files), *flags], stderr=subprocess.PIPE, text=True,
                             check=False, env=environment())
    if run.returncode != 0:
        said = run.stderr.strip().splitlines() or [f"jitterscope report ended with exit code {run.returncode}"]
        prefix = "jitterscope: "
        raise_for(run.returncode, said[-1][len(prefix):] if said[-1].startswith(prefix) else said[-1])

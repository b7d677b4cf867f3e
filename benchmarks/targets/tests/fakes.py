"""Runs measure_targets.py on fakes, and gives what it wrote."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
from unittest import mock

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import measure_targets  # noqa: E402

JITTERSCOPE = FOLDER / "fake_jitterscope.py"
PEERS = (sys.executable, str(FOLDER / "fake_peers.py"))


def measure(*arguments, environment=None, peers=PEERS):
    """(exit status, targets.json, targets.md, what was printed)"""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, environment or {}), \
            contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        output = pathlib.Path(folder) / "made" / "here"
        status = measure_targets.main(["--jitterscope", str(JITTERSCOPE), "--output", str(output), *arguments], peers)
        raw = json.loads((output / "targets.json").read_text(encoding="utf-8"))
        markdown = (output / "targets.md").read_text(encoding="utf-8")
        assert sorted(path.name for path in output.iterdir()) == ["targets.json", "targets.md"]
    return status, raw, markdown, printed.getvalue()


def summary(markdown):
    """(measured, met) by what, from the first table."""
    rows = {}
    for line in markdown.split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 4:
            rows[cells[0]] = (cells[2], cells[3])
    return rows

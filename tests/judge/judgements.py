"""Small judgements by the program, for the tests beside this file."""

import json
import os
import subprocess
import sys

HONEST = ("same", "faster", "slower", "undecided")


def judge(*words, quick=True, **flags):
    """The record (empty if there is none), the exit code and what was said of a judgement with one pair."""
    words = [os.environ["JITTERSCOPE_PROGRAM"], "judge", *words, "--processes", "1", "--json", "-"]
    if quick:  # its processes are forked; without it they are executed
        words.append("--quick")
    for name, value in flags.items():
        words += ["--" + name.replace("_", "-"), str(value)]
    environment = {**os.environ, "JITTERSCOPE_PYTHON": sys.executable}
    run = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    return (json.loads(run.stdout) if run.stdout else {}), run.returncode, run.stderr

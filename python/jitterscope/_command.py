"""All that the command line does: the program that comes with the module is run, and its record read."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, NoReturn, Optional, Union

from ._errors import MissingError, UsageError, exit_code_of, raise_for
from ._program import environment, program
from ._result import Record, Time
from ._targets import target_of
from ._text import change_with_interval
from ._times import Times, result_of

# Exit codes of a program that did its work: a requested check failed, the precision was not reached, or a candidate is invalid.
_WITH_RECORD = {0, 1, 4, 5, 6}
# Set by a worker: a file that it loads, and that compares as it is loaded, would start workers without end.
in_worker = False


def refuse_in_worker(function: str) -> None:
    """Raises UsageError where a worker's file calls what starts workers."""
    if in_worker:
        raise UsageError(f"{function} is called as the file is loaded, which each of its processes does; put the call under "
                         "`if __name__ == '__main__':`")


def main() -> NoReturn:
    """The command line: this process becomes the program."""
    os.environ.setdefault("JITTERSCOPE_PYTHON", sys.executable)
    try:
        path = program()
    except MissingError as error:
        print(f"jitterscope: {error}", file=sys.stderr)
        sys.exit(exit_code_of(error))
    if os.path.exists(sys.argv[0]) and os.path.samefile(path, sys.argv[0]):
        print("jitterscope: JITTERSCOPE_PROGRAM names this script, which would start itself for ever; unset it", file=sys.stderr)
        sys.exit(3)
    os.execv(path, [path, *sys.argv[1:]])


def _flags(options: dict[str, Any]) -> list[str]:
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif name == "vary":
            varied = value.items() if isinstance(value, dict) else [text.split("=", 1) for text in value]
            for key, values in varied:
                listed = values if isinstance(values, str) else ",".join(map(str, values))
                flags += [flag, f"{key}={listed}"]
        elif isinstance(value, (list, tuple)):
            flags += [flag, ",".join(map(str, value))]
        else:
            flags += [flag, str(value)]
    return flags


def call(command: str, targets: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """The record that a command writes. Its live line goes to this program's standard error."""
    for name in ("json", "csv", "csv_launches", "continue", "dry_run", "top", "findings", "details"):
        if name in options:
            raise UsageError(f"{command}: {name} is not an option here; the result has everything: record, text(), save()")
    for target in targets:
        if not isinstance(target, (str, os.PathLike)):
            raise UsageError(f"{command} takes text or paths, as 'matmul:m=512,n=512,k=512', and not {type(target).__name__}; a "
                             "function is timed by js.measure")
    words = [program(), command, *targets, *_flags(options), "--json", "-"]
    with tempfile.TemporaryFile() as complaints:
        live = sys.stderr is not None and sys.stderr.isatty()
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=None if live else complaints, check=False,
                             env=environment())
        complaints.seek(0)
        said = complaints.read().decode(errors="replace").strip().splitlines()
    if run.returncode in _WITH_RECORD and run.stdout.strip():
        record: dict[str, Any] = json.loads(run.stdout)
        return record
    sentence = said[-1] if said else f"jitterscope {command} ended with exit code {run.returncode}"
    raise_for(run.returncode, sentence.removeprefix("jitterscope: ") if hasattr(str, "removeprefix") else sentence)
    raise AssertionError  # raise_for has raised


def run(*targets: str, **options: Any) -> Union[Time, Times]:
    """Times operations, networks, files: all that `jitterscope run` does, its flags as arguments.

    >>> js.run("resnet50:batch=32", cache=["warm", "cold"], device="cuda")
    >>> js.run("conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1", kernels=True)

    Gives a Time of one operation, Times of several, and of one that a network calls several times. Both have `median` and
    `interval`: of a network those of all its calls, where `result[0]` has those of one call; of what is several operations
    or a sweep none, so that one has to be taken: `isinstance(result, js.Times)` and `result[0]`.
    """
    return result_of(call("run", list(targets), options))


class Comparison(Record):
    """Which of several is faster, the others against the first."""

    @property
    def ratio(self) -> float:
        """Time of the second over the first's, of the first condition: 1.1 is +10 %. Of networks that of all calls;
        UsageError of several operations that make no whole, and where one has layers that the other lacks."""
        return float(self._first()["time_ratio"]["ratio"])

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of the ratio, over processes."""
        time = self._first()["time_ratio"]
        return (float(time["low"]), float(time["high"]))

    @property
    def verdict(self) -> str:
        """faster, slower, same or undecided: of the second; of a gate over all that it compared."""
        if self.record.get("baseline"):
            return self._verdict_of_gate()
        return str(self._first()["verdict"])

    def __repr__(self) -> str:
        """Short: a table of all of it is what str() gives."""
        names = ", ".join(map(str, self.record.get("alternatives", [])))
        try:
            low, high = self.interval
        except UsageError:
            return f"<Comparison of {names}>"
        return (f"<Comparison of {names}: {self.verdict}, "
                f"{change_with_interval(self.ratio, low, high)}>")

    def _first(self) -> dict[str, Any]:
        """The total of networks, or the only comparison."""
        totals: list[dict[str, Any]] = self.record.get("totals", [])
        compared: list[dict[str, Any]] = self.record["comparisons"]
        if not compared:
            raise UsageError("there is no ratio: nothing was compared")
        left_out = [each for each in self.record.get("left_out", []) if each["alternative"] in (0, 1)]
        if left_out:
            raise UsageError(f"there is no ratio of the whole: {left_out[0]['layers']} of {left_out[0]['of']} layers of "
                             f"{self.record['alternatives'][left_out[0]['alternative']]} have no counterpart; "
                             "record['totals'] has those in common")
        failures = [each["failure"] for each in compared if each["alternative"] == 1 and each.get("failure")]
        if failures:
            raise UsageError(f"there is no ratio: {failures[0]}")
        if totals:
            return totals[0]
        first = compared[0]["first"]["conditions"]
        beside = [each for each in compared if each["alternative"] == 1
                  and all(each["first"]["conditions"][key] == first[key] for key in ("cache", "load"))]
        if len(beside) > 1:
            raise UsageError(f"these are {len(beside)} operations whose times do not add up: take one, as "
                             "record['comparisons'][0]['time_ratio']")
        return compared[0]

    def _verdict_of_gate(self) -> str:
        """As the command's exit code has it: what is slower counts before all else."""
        compared: list[dict[str, Any]] = self.record["comparisons"]
        failures = [each["failure"] for each in compared if each.get("failure")]
        cases = self.record.get("totals") or [each for each in compared if not each.get("failure")]
        verdicts = [str(each["verdict"]) for each in cases]
        for verdict in ("slower", "undecided", "faster", "same"):
            if verdict != "slower" and failures:
                raise UsageError(f"there is no verdict: {failures[0]}")
            if verdict in verdicts:
                return verdict
        raise UsageError("there is no verdict: nothing was compared")


def _is_function(asked: Any) -> bool:
    """"module:function" is one; "matmul:m=512,…", the name of a network and a file are what the command line takes."""
    return not isinstance(asked, str) or (":" in asked and not re.match(r"chain:|cuda:|\w+:\w+=", asked))


def compare(*asked: Any, processes: int = 8, device: Optional[str] = None, **options: Any) -> Comparison:
    """Which is faster, in fresh processes in which they alternate: the process is the unit of each interval.

    >>> js.compare(old, new, processes=8)
    >>> js.compare("bench:old", "bench:new", cache="cold", margin="2%")
    >>> js.compare("matmul:m=512,n=512,k=512", vary={"dtype": ["f32", "f16"]})

    Functions at the top of a file, other callables that pickle, "module:function", "FILE:FUNCTION", or benchmarks: what
    is timed is a call without arguments, or what a benchmark returns. Or operations, networks and files of layers; or
    files of records, of which nothing is measured anew. Flags as of `jitterscope compare`.
    """
    refuse_in_worker("compare")
    if device is not None:
        options["device"] = device
    if asked and not any(map(_is_function, asked)):
        of_records = all(pathlib.Path(each).suffix == ".json" for each in asked)
        return Comparison(call("compare", list(asked), options if of_records else {"processes": processes, **options}))
    if len(asked) < 2:
        raise UsageError("compare takes two functions or more")
    with tempfile.TemporaryDirectory(prefix="jitterscope-") as folder:
        taken: set[str] = set()
        targets = ["python:" + target_of(each, pathlib.Path(folder), taken) for each in asked]
        record = call("compare", targets, {"processes": processes, **options})
    # The head of a page: the command had files of this function's that are gone.
    record["environment"]["command_line"] = f"js.compare of {', '.join(record['alternatives'])}"
    return Comparison(record)


def study(name: str, *targets: str, **options: Any) -> Comparison:
    """Tries a remedy's variants beside each other: all that `jitterscope study` does, its flags as arguments.

    >>> print(js.study("layout", "conv2d:n=32,c=256,hw=14,k=256,rs=3,pad=1,dtype=f16", device="cuda"))
    >>> js.study("pinned", device="cuda")        # on the study's own subject

    `jitterscope list studies` has their names. Gives a Comparison: print it for the answer; its ratio is the second
    arm's over the first's, and .record["study"]["answers"] has the sentences. Scales of the loss are js.loss_scaling's.
    """
    if name == "loss-scaling":
        raise UsageError("study: js.loss_scaling(make) trains with each scale of the loss")
    return Comparison(call("study", [name, *targets], options))


def gate(name: str, **options: Any) -> Comparison:
    """Measures again what js.run(…, save=name) kept, and compares: all that `jitterscope gate` does.

    >>> js.run("softmax:rows=4096,columns=4096", save="main")
    >>> js.gate("main", margin="2%").verdict

    Slower is a verdict and no error. Its ratio is of what was measured now over the baseline.
    """
    return Comparison(call("gate", [name], options))

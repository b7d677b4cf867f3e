"""js.judge: a verdict on a function that may want to cheat, as `jitterscope judge` reaches it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any, Callable, Mapping, NoReturn, Optional, Sequence, Type, Union

from ._command import _flags as command_flags
from ._command import call, refuse_in_worker
from ._errors import FailedError, UsageError, raise_for
from ._kernel import Kernel
from ._program import environment, program
from ._result import Record

Judged = Union[str, "os.PathLike[str]", Callable[..., Any], Kernel]


class Judgement(Record):
    """Verdicts on candidates against a reference. What is about one candidate is about the first."""

    @property
    def verdict(self) -> str:
        """faster, slower, same, undecided, wrong, invalid or refused, over all cases."""
        return str(self._first()["verdict"])

    @property
    def evidence(self) -> str:
        """One sentence: what is wrong, or why it is undecided; empty if there is nothing to say."""
        verdict = self.verdict
        said = [str(case.get("evidence", "")) for case in self._first()["cases"] if case["verdict"] == verdict]
        return said[0] if said else ""

    @property
    def ratio(self) -> float:
        """Time of the candidate over that of the reference: 0.5 is twice as fast. UsageError if it is not valid."""
        first = self._first()
        if "time_ratio" not in first:
            raise UsageError(f"there is no ratio: the candidate is {self.verdict}, {self.evidence}")
        return float(first["time_ratio"])

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of the ratio, over pairs of processes."""
        _ = self.ratio
        return (float(self._first()["time_ratio_low"]), float(self._first()["time_ratio_high"]))

    @property
    def ranks(self) -> dict[str, int]:
        """Places of the candidates that have one: 1 is the fastest; those that are not told apart share one."""
        return {each["candidate"]: int(each["rank"]) for each in self.record["candidates"] if "rank" in each}

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{each['candidate']}: {each['verdict']}" for each in self.record["candidates"])
        return f"<Judgement of {verdicts}>"

    def _first(self) -> dict[str, Any]:
        first: dict[str, Any] = self.record["candidates"][0]
        return first


def _target(judged: Judged) -> str:
    if isinstance(judged, (str, os.PathLike)):
        return os.fspath(judged)
    if isinstance(judged, Kernel):
        return judged.operation
    name, code = getattr(judged, "__qualname__", ""), getattr(judged, "__code__", None)
    if code is None or not name.isidentifier() or not os.path.isfile(code.co_filename):
        raise UsageError("judge takes FILE.py:make, or a make() at the top of a file: a process of its own loads it from there")
    return f"{os.path.abspath(code.co_filename)}:{name}"


def _flags(cases: Mapping[str, Sequence[Any]]) -> list[str]:
    return [f"--cases={name}={','.join(map(str, values))}" for name, values in cases.items()]


def judge(reference: Judged, *candidates: Judged, cases: Optional[Mapping[str, Sequence[Any]]] = None, processes: int = 8,
          quick: bool = False, margin: Union[float, str] = 0.01, **options: Any) -> Judgement:
    """Says whether candidates are right, and faster than a reference, though they may want to cheat.

    >>> js.judge("reference.py:make", "candidate.py:make", cases={"n": [256, 1024]}).verdict

    make(**case) of the reference returns its function and the inputs, `return function, [(n, n), (n,)]`; that of a
    candidate its function. Both are loaded in processes of their own, never in this one. `quick` takes four pairs of
    processes. Flags as of `jitterscope judge`.
    """
    refuse_in_worker("judge")
    if not candidates:
        raise UsageError("judge takes a reference and at least one candidate")
    asked: dict[str, Any] = {"quick": True} if quick else {"processes": processes}
    # Flags with a value of their own stand among the targets: each --cases is one parameter.
    targets = [_target(each) for each in (reference, *candidates)] + _flags(cases or {})
    text = margin if isinstance(margin, str) else f"{100 * margin:g}%"
    return Judgement(call("judge", targets, {**asked, "margin": text, **options}))


class Judge:
    """A judge that stays: its processes are started, and have loaded the reference, before anybody asks.

    >>> with js.Judge("reference.py", quick=True) as judge:
    ...     for source in candidates:
    ...         reward = judge(source).verdict == "faster"

    Or `js.Judge(socket="judge.socket")` for one that `jitterscope judge reference.py --serve judge.socket` serves.
    """

    def __init__(self, reference: Optional[Judged] = None, *, cases: Optional[Mapping[str, Sequence[Any]]] = None,
                 socket: Optional[Union[str, "os.PathLike[str]"]] = None, quick: bool = False,  # pylint: disable=redefined-outer-name
                 processes: Optional[int] = None, margin: Union[float, str] = 0.01, start_seconds: float = 120.0, **options: Any) -> None:
        if (reference is None) == (socket is None):
            raise UsageError("Judge takes a reference, for which it starts a judge, or the socket of one that is there")
        refuse_in_worker("Judge")
        self._server: Optional["subprocess.Popen[bytes]"] = None
        self._folder: Optional["tempfile.TemporaryDirectory[str]"] = None
        self._number = 0
        self._received = b""
        if reference is None:
            assert socket is not None
            self._connection = _connected(os.fspath(socket))
            return
        self._folder = tempfile.TemporaryDirectory(prefix="jitterscope-")
        path = os.path.join(self._folder.name, "judge")
        text = margin if isinstance(margin, str) else f"{100 * margin:g}%"
        asked = {"quick": quick, "processes": processes, "margin": text, "serve": path, **options}
        self._complaints = open(os.path.join(self._folder.name, "stderr"), "w+b")  # pylint: disable=consider-using-with
        self._server = subprocess.Popen(  # pylint: disable=consider-using-with
            [program(), "judge", _target(reference), *_flags(cases or {}), *command_flags(asked)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._complaints, env=environment())
        try:
            self._connection = self._wait_for(path, time.monotonic() + start_seconds)
        except BaseException:
            self.close()
            raise

    def __call__(self, *candidates: Union[Judged, Mapping[str, str]]) -> Judgement:
        """Judges candidates: files, functions at the top of one, sources as text of several lines, or {"name": …, "source":
        …}. Several are ranked. Raises what the judge refuses; a candidate that fails has a verdict, and raises nothing."""
        if not candidates:
            raise UsageError("a judge takes at least one candidate")
        self._number += 1
        request = {"id": self._number, "candidates": [_asked(each) for each in candidates]}
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            reply = json.loads(self._line())
        except ConnectionError:
            self._raise_ended()
        if "record" not in reply:
            raise_for(int(reply.get("exit_code", 5)), str(reply.get("error", "the judge refused")))
        return Judgement(reply["record"])

    def close(self) -> None:
        """Ends a judge that this object has started, and what it runs."""
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None
            self._complaints.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def _line(self) -> bytes:
        while b"\n" not in self._received:
            part = self._connection.recv(1 << 16)
            if not part:
                self._raise_ended()
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _raise_ended(self) -> NoReturn:
        if self._server is None:
            raise FailedError("the judge has ended before it answered")
        status = self._server.wait()
        self._complaints.seek(0)
        said = self._complaints.read().decode(errors="replace").strip().splitlines()
        sentence = said[-1] if said else f"the judge ended with exit code {status}"
        raise_for(status, sentence[len("jitterscope: "):] if sentence.startswith("jitterscope: ") else sentence)
        raise AssertionError  # raise_for has raised

    def _wait_for(self, path: str, end: float) -> socket.socket:
        assert self._server is not None
        while time.monotonic() < end:
            if self._server.poll() is not None:
                self._raise_ended()
            if os.path.exists(path):
                return _connected(path)
            time.sleep(0.02)
        raise FailedError("the judge is not ready yet; give it longer by start_seconds")


def _connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise UsageError(f"no judge serves {path}: {error.strerror or error}") from error
    return connection


def _asked(candidate: Union[Judged, Mapping[str, str]]) -> Union[str, dict[str, str]]:
    if isinstance(candidate, Mapping):
        return dict(candidate)
    if isinstance(candidate, str) and "\n" in candidate:
        return {"source": candidate}
    target = _target(candidate)
    # The judge has a folder of its own.
    if target.startswith("cuda:"):
        kind, file, kernel = (target + "::").split(":", 2)
        return f"{kind}:{os.path.abspath(file)}:{kernel[:-2]}"
    place, colon, name = target.rpartition(":")
    return f"{os.path.abspath(place)}:{name}" if colon and not target.endswith(".py") else os.path.abspath(target)

"""Starts a process, limits its time, and keeps what it said and how much memory it held."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

POLL_SECONDS = 0.005
SECONDS_TO_END = 3.0  # after SIGTERM, before SIGKILL
TAIL_CHARACTERS = 600
MEMORY_FIELDS = ("VmHWM", "RssAnon", "RssFile", "RssShmem")


class ProcessFailed(Exception):
    """One sentence: what failed, how, and the end of its stderr."""


@dataclass
class Finished:
    command: list
    status: int
    seconds: float
    stdout: str
    stderr: str
    peak_memory_bytes: int = 0
    # Largest value seen of each field of /proc/PID/status, of the process itself.
    memory_bytes: dict = field(default_factory=dict)


def tail(text):
    text = text.strip()
    return text if len(text) <= TAIL_CHARACTERS else "…" + text[-TAIL_CHARACTERS:]


def read_memory(pid):
    """Bytes by field; empty where the process has ended or there is no /proc."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return {}
    values = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in MEMORY_FIELDS:
            values[name] = int(value.split()[0]) * 1024
    return values


def end(process):
    """Ends the process and what it started: it leads a process group of its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        until = time.monotonic() + SECONDS_TO_END
        while number == signal.SIGTERM and time.monotonic() < until:
            # WNOWAIT leaves it for wait4, which tells its memory.
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(POLL_SECONDS)


def watch(process, limit_seconds):
    """Waits; returns (timed out, ru_maxrss in bytes, memory by field)."""
    memory = {}
    until = time.monotonic() + limit_seconds
    while time.monotonic() < until:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return False, usage.ru_maxrss * 1024, memory
        for name, value in read_memory(process.pid).items():
            memory[name] = max(value, memory.get(name, 0))
        time.sleep(POLL_SECONDS)
    end(process)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return True, usage.ru_maxrss * 1024, memory


def run(command, limit_seconds, accepted=(0,)):
    """Runs to the end. Raises ProcessFailed when it cannot start, runs too long, or ends with another status."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        start = time.monotonic()
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                       start_new_session=True)
        except OSError as error:
            raise ProcessFailed(f"{command[0]} cannot be started: {error.strerror}") from error
        try:
            timed_out, peak, memory = watch(process, limit_seconds)
        except BaseException:
            end(process)
            raise
        seconds = time.monotonic() - start
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", errors="replace"))
    if timed_out:
        raise ProcessFailed(f"{' '.join(command)} was ended after {limit_seconds:.0f} s; stderr: {tail(texts[1])}")
    if process.returncode not in accepted:
        raise ProcessFailed(f"{' '.join(command)} ended with {process.returncode}; stderr: {tail(texts[1])}")
    # ru_maxrss counts the starting process too, until exec; it stands in only where there is no VmHWM to read.
    peak = memory.get("VmHWM", peak)
    return Finished(command, process.returncode, seconds, texts[0], texts[1], peak, memory)

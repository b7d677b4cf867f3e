"""Starts the tool on several ranks, and finds all processes that belong to them."""

import json
import os
import shutil
import signal
import subprocess
import time
import uuid

QUICK = ["relu:count=1Mi", "--device", "virtual:h200", "--cache", "warm", "--processes", "2", "--time-limit", "0.1"]
# Long enough for whatever is to happen in its middle.
LONG = ["relu:count=1Mi", "--device", "virtual:h200", "--cache", "warm", "--processes", "2", "--time-limit", "1e5",
        "--precision", "0.0001", "--min-rounds", "1000000"]
# No test may wait for ever; it is no bound on how long anything takes.
HANGS = 240


class Job:
    """`command` in an environment of its own, by which its processes are known."""

    def __init__(self, command, **environment):
        self.mark = f"JITTERSCOPE_TEST_JOB={uuid.uuid4()}"
        name, value = self.mark.split("=")
        allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        stdin=subprocess.DEVNULL, start_new_session=True,
                                        env={**os.environ, **allow, name: value, **environment})

    def processes(self, word=None):
        """Those of the job that run, or those whose second argument is this word."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if self.mark.encode() not in file.read().split(b"\0"):
                        continue
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().decode().split("\0")
                with open(f"/proc/{entry}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:  # it has just ended, or is another user's
                continue
            if state != "Z" and (word is None or len(words) > 1 and words[1] == word):
                found.append(int(entry))
        return sorted(found)

    def wait_for(self, word, count):
        """Waits until that many processes of this kind run; their ids."""
        end = time.monotonic() + HANGS
        while time.monotonic() < end and self.process.poll() is None:
            if len(found := self.processes(word)) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError(f"there are not {count} processes `{word}`: {self.end()}")

    def end(self):
        """The exit code and both outputs. A job that hangs fails, and so does one that leaves a process."""
        try:
            output, errors = self.process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            left = self.processes()
            self.kill()
            raise AssertionError(f"the job hangs: {left}") from None
        end = time.monotonic() + 30
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        if left:
            self.kill()
            raise AssertionError(f"processes are left: {left}")
        return self.process.returncode, output, errors

    def kill(self):
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.communicate()


def launchers(tool, count, words):
    """How each launcher that is here starts the tool on this many ranks: name and command."""
    found = {"--local": [tool, *words, "--local", str(count)]}
    if mpirun := shutil.which("mpirun.openmpi"):
        found["Open MPI"] = [mpirun, "--oversubscribe", "-n", str(count), tool, *words]
    if mpiexec := shutil.which("mpiexec.hydra"):
        found["MPICH"] = [mpiexec, "-n", str(count), tool, *words]
    return found


def record_in(text):
    """The record that a job wrote to its standard output."""
    return json.loads(text)

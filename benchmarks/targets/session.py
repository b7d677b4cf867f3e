"""One call of measure_targets.py: what it runs, how long it may take, and how a failure is kept."""

import json
import pathlib
import sys
import tempfile
import time

import processes

LEAST_SECONDS = 5.0  # A process that gets less than this would only be ended.


class OutOfTime(Exception):
    """The time limit of the whole call leaves nothing for this."""


class Session:
    def __init__(self, jitterscope, peers, quick=False, limit_seconds=530.0):
        self.jitterscope = str(jitterscope)
        self.peers = [str(word) for word in peers]
        self.quick = quick
        self._until = time.monotonic() + limit_seconds

    def seconds_left(self):
        return self._until - time.monotonic()

    def run(self, command, limit_seconds, accepted=(0,)):
        left = self.seconds_left()
        if left < LEAST_SECONDS:
            raise OutOfTime("no time was left in this call")
        return processes.run(command, min(limit_seconds, left), accepted)

    def run_with_json(self, command, limit_seconds, accepted=(0,)):
        """Runs `command --json FILE`; returns the process and the document."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "document.json"
            finished = self.run([*command, "--json", path], limit_seconds, accepted)
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise processes.ProcessFailed(f"{' '.join(finished.command)} left no JSON: {error}; stderr: "
                                              f"{processes.tail(finished.stderr)}") from error
        return finished, document

    def say(self, text):
        print(f"[{self.seconds_left():4.0f} s left] {text}", file=sys.stderr, flush=True)

    def attempt(self, what, work):
        """What work() returns, or {"failed": why}: one failure must not cost the rest of the table."""
        self.say(what)
        try:
            return work()
        except (processes.ProcessFailed, OutOfTime, ValueError) as error:
            sentence = str(error)
        except Exception as error:  # noqa: BLE001: a document of another shape than expected, say
            sentence = f"{type(error).__name__}: {error}"
        self.say(f"{what} failed: {sentence}")
        return {"failed": sentence}

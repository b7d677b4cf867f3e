"""Progress of a measurement, in one line of the terminal that is gone in the end, as on the command line."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from ._text import time_text

_BEGINS_AFTER = 2.0  # seconds: a shorter measurement needs no line
_ERASED = "\r\x1b[K"


class LiveLine:
    """While it is entered; nothing where the standard error is no terminal.

    Until the first round is done a thread says how long it has been, so that a call of a minute is no silence. After it
    the measuring loop tells, between rounds: nothing wakes within one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._terminal = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
        self._began = time.monotonic()
        self._told = threading.Event()
        self._waiting = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> LiveLine:
        if self._terminal is not None:
            self._waiting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_waiting()
        if self._terminal is not None and time.monotonic() - self._began > _BEGINS_AFTER:
            self._write("")

    def tell(self, now: dict[str, Any]) -> None:
        """Shows what is known behind a round."""
        self._stop_waiting()
        if time.monotonic() - self._began > _BEGINS_AFTER:
            rounds = f"{now['rounds']} round{'s' if now['rounds'] != 1 else ''}"
            precision = f" ± {now['precision']:.2%}" if "precision" in now else ""
            self._write(f"{self._name}: {now['cache']} {now['load']}, {rounds}, {time_text(now['median_seconds'])}{precision}, "
                        f"{now['time_left_seconds']:.0f} s left at most")

    def _stop_waiting(self) -> None:
        self._told.set()
        if self._waiting.ident is not None:
            self._waiting.join()

    def _wait(self) -> None:
        pause = _BEGINS_AFTER
        while not self._told.wait(pause):
            self._write(f"{self._name}: called for {time.monotonic() - self._began:.0f} s, no round is done yet")
            pause = 1.0

    def _write(self, line: str) -> None:
        if self._terminal is None:
            return
        try:
            self._terminal.write(_ERASED + line[:100])
            self._terminal.flush()
        except (OSError, ValueError):
            self._terminal = None  # closed: the measurement goes on

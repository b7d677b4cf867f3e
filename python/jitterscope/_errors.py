"""Errors as exceptions: one sentence each, with what to do about it."""

from __future__ import annotations


class Error(Exception):
    """An error of jitterscope itself. An exception of a callable arrives as it is, and is none of these."""


class UsageError(Error, ValueError):
    """The request cannot be understood, or cannot exist."""


class MissingError(Error, RuntimeError):
    """A device or a library is not there."""


class FailedError(Error, RuntimeError):
    """The work failed while it ran."""


for _each in (Error, UsageError, MissingError, FailedError):
    _each.__module__ = "jitterscope"  # as programs name them, in tracebacks too

INTERRUPTED = 130
_KINDS: dict[int, type[Error]] = {2: UsageError, 3: MissingError, 5: FailedError}


def raise_for(exit_code: int, message: str) -> None:
    """Raises what an exit code of the command line stands for."""
    if exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    raise _KINDS.get(exit_code, FailedError)(message)


def exit_code_of(error: Error) -> int:
    return next((code for code, kind in _KINDS.items() if isinstance(error, kind)), 5)

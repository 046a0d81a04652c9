"""On the command line, output of the user's own code goes to stderr: stdout is for the answer, which may be JSON."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_thread = threading.local()
_kept: int | None = None
"""Standard output as it was, once it is kept for one answer."""


@contextmanager
def own_code_runs() -> Iterator[None]:
    """Mark this thread as running the user's code until the block ends."""
    before = getattr(_thread, "is_inside", False)
    _thread.is_inside = True
    try:
        yield
    finally:
        _thread.is_inside = before


def keep_stdout() -> None:
    """Keep standard output for `write_answer`: what else writes there, by whatever way (a descriptor, a process), writes to stderr."""
    global _kept  # noqa: PLW0603 — the process has one
    if isinstance(sys.stdout, AnswersOnly):  # the command line's own process
        _kept = os.dup(1)
        os.dup2(2, 1)


def write_answer(text: str) -> None:
    """Write the one answer to standard output."""
    if _kept is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with open(_kept, "w", encoding="utf-8") as stdout:
        stdout.write(text)


class AnswersOnly:
    """Standard output without what the user's own code prints."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to stdout, or to stderr while the user's own code runs."""
        return (sys.stderr if getattr(_thread, "is_inside", False) else self._stream).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

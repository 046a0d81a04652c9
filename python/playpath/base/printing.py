"""On the command line, output of the user's own code goes to stderr: stdout is for the answer, which may be JSON."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_thread = threading.local()


@contextmanager
def own_code_runs() -> Iterator[None]:
    """Mark this thread as running the user's code until the block ends."""
    before = getattr(_thread, "is_inside", False)
    _thread.is_inside = True
    try:
        yield
    finally:
        _thread.is_inside = before


class AnswersOnly:
    """Standard output without what the user's own code prints."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to stdout, or to stderr while the user's own code runs."""
        return (sys.stderr if getattr(_thread, "is_inside", False) else self._stream).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

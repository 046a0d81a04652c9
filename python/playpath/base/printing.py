"""What the user's own code prints on the command line goes to stderr: stdout holds the answer, which may be JSON."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_thread = threading.local()


@contextmanager
def own_code_runs() -> Iterator[None]:
    """This thread runs the user's code until the block ends."""
    before = getattr(_thread, "is_inside", False)
    _thread.is_inside = True
    try:
        yield
    finally:
        _thread.is_inside = before


class AnswersOnly:
    """Standard output, without what own code writes to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to stdout, or where own code runs to stderr."""
        return (sys.stderr if getattr(_thread, "is_inside", False) else self._stream).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

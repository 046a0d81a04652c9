"""SIGTERM and SIGHUP as a way out that cleans up, as Ctrl-C is."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the main thread (SystemExit) where nobody handles them; as they were afterwards."""

    def raise_exit(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    changed = []
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, raise_exit)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)

"""SIGTERM and SIGHUP exit with cleanup, as Ctrl-C does; Ctrl-C can be postponed, or ignored once when it comes too late."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the main thread (SystemExit) unless they have handlers; restore them afterwards."""

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


@contextmanager
def hold_ctrl_c() -> Iterator[None]:
    """Postpone Ctrl-C to the end of the block; processes started in it inherit the blocked signal.

    Blocking the signal is not enough: a library's thread that does not block it may receive it, and Python then interrupts the
    main thread.
    """
    received = False

    def remember(*_: object) -> None:
        nonlocal received
        received = True

    previous = signal.getsignal(signal.SIGINT)
    can_handle = threading.current_thread() is threading.main_thread() and previous is not None
    if can_handle:
        signal.signal(signal.SIGINT, remember)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if can_handle:
            signal.signal(signal.SIGINT, previous)
        if received:
            signal.raise_signal(signal.SIGINT)


def spare_next_ctrl_c() -> None:
    """Ignore the next Ctrl-C but not the one after it: for a command that is about to finish its work and end."""

    def restore(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)

    signal.signal(signal.SIGINT, restore)

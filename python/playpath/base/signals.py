"""SIGTERM and SIGHUP as a way out that cleans up, as Ctrl-C is; and a Ctrl-C that comes too late for what it is meant for."""

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


@contextmanager
def hold_ctrl_c() -> Iterator[None]:
    """Let a Ctrl-C wait for the end of the block; processes started in it inherit a blocked one.

    Blocking it is not enough: a library's thread that does not may take the signal, and Python interrupts the main thread.
    """
    heard = False

    def hear(*_: object) -> None:
        nonlocal heard
        heard = True

    as_it_was = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and as_it_was is not None
    if mine:
        signal.signal(signal.SIGINT, hear)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if mine:
            signal.signal(signal.SIGINT, as_it_was)
        if heard:
            signal.raise_signal(signal.SIGINT)


def spare_next_ctrl_c() -> None:
    """Ignore the next Ctrl-C, and hear the one after it: for a command that does the rest of its work, and ends."""

    def hear_the_next(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)

    signal.signal(signal.SIGINT, hear_the_next)

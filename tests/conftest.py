"""What the tests of both folders share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

_HEARD = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}


@pytest.fixture(autouse=True)
def _signals_are_heard() -> Iterator[None]:
    """Under nohup, or in a shell's background, tests ignore SIGHUP or Ctrl-C, and so would the programs that they start."""
    ignored = [number for number in _HEARD if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, _HEARD[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)

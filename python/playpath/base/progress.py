"""Progress over many sessions, each of which may take minutes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playpath.base.engine import Watch

Progress = Callable[[float, int], None]
"""Called with the number of sessions done, parts of sessions included, and the number in all."""


class Pulse:
    """Counts finished sessions and the played shares of those under way. Sessions may run in several threads.

    Args:
        progress: Called by the thread that calls `count` and `report_running`.
        total: Sessions in all.
        done: Sessions that an earlier run has played.
    """

    def __init__(self, progress: Progress, total: int, done: int = 0) -> None:
        self._progress, self._total = progress, total
        self._done = done
        self._shown = 0.0
        self._parts: dict[int, float] = {}

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """The callback by which the engine reports progress while this thread plays a session."""
        own = threading.get_ident()

        def watch(played_s: float, expected_s: float) -> None:
            self._parts[own] = min(played_s / expected_s, 1.0)

        try:
            yield watch
        finally:
            self._parts.pop(own, None)

    def count(self, _: Any) -> None:
        """Count a session that has ended."""
        self._done += 1
        self._shown = max(self._shown, self._done)
        self._progress(self._done, self._total)

    def report_running(self) -> None:
        """Report the sessions under way, if at least a tenth of one was played since the last report."""
        done = round(self._done + sum(list(self._parts.values())), 1)
        if done > self._shown:
            self._shown = done
            self._progress(done, self._total)

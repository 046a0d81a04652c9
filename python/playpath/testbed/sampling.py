"""Time series of the server's sockets, 20 times a second, in the columns of `struct tcp_info`."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from playpath.testbed.sockdiag import COLUMNS, Diag, SocketInfo

INTERVAL = 0.05


@dataclass
class Flow:
    """One connection as sampled: a list per column."""

    name: str
    cc: str = ""
    columns: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def last(self, column: str) -> float:
        """Newest value; 0 before the first."""
        values = self.columns.get(column)
        return values[-1] if values else 0.0

    def mean(self, column: str) -> float | None:
        """Mean over the samples."""
        values = self.columns.get(column)
        return sum(values) / len(values) if values else None


class Sampler(threading.Thread):
    """Samples the sockets of a namespace whose local port is in `ports` (port → name of its flows) until `stop`."""

    def __init__(self, namespace: str, ports: dict[int, str]) -> None:
        super().__init__(name="sampler", daemon=True)
        self._diag = Diag(namespace)
        self._ports = ports
        self._start = time.monotonic()
        self._stopping = threading.Event()
        self._flows: dict[tuple[tuple[str, int], tuple[str, int]], Flow] = {}
        self._counts: dict[str, int] = defaultdict(int)

    def run(self) -> None:
        """The thread."""
        due = time.monotonic()
        while not self._stopping.is_set():
            self.sample()
            due = max(due + INTERVAL, time.monotonic())
            self._stopping.wait(due - time.monotonic())

    def sample(self) -> None:
        """Look once."""
        now = time.monotonic() - self._start
        for found in self._diag.sockets():
            # Whoever asks from the server's own namespace whether it listens is no flow of the run.
            is_local = found.peer[0].startswith("127.")
            if found.local[1] in self._ports and not is_local and "snd_cwnd" in found.info:
                self._take(now, found)

    def _take(self, now: float, found: SocketInfo) -> None:
        key = (found.local, found.peer)
        if key not in self._flows:
            name = self._ports[found.local[1]]
            self._counts[name] += 1
            number = self._counts[name]
            self._flows[key] = Flow(name if number == 1 else f"{name}.{number}")
        flow = self._flows[key]
        flow.cc = found.cc
        flow.columns["time_s"].append(now)
        for column in COLUMNS:
            flow.columns[column].append(found.info.get(column, 0))

    def stop(self) -> list[Flow]:
        """End and return the flows, in the order of appearance."""
        self._stopping.set()
        if self.is_alive():
            self.join()
        self._diag.close()
        return list(self._flows.values())

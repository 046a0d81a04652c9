"""Time series of the server's sockets: `struct tcp_info` by sock_diag, every 50 ms or at the scenario's sampling interval."""

import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from playpath.real.testbed.sockdiag import COLUMNS, Diag, SocketInfo

INTERVAL = 0.05
Address = tuple[str, int]


@dataclass
class Flow:
    """The samples of a connection, or subflow: a list per column."""

    name: str
    """For example `video`, and `video.2` for the second connection."""
    path: str
    local: Address
    peer: Address
    """`local` and `peer`: addresses of the server and of the client."""
    cc: str = ""
    """The socket's congestion control, without the suffix of the run."""
    columns: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    counts: Mapping[str, float] = field(default_factory=dict)
    """Counts of the server that cannot be observed on the path: `sent_packets`, `rtt_sum_ms`, `rtt_samples` for QUIC; else empty."""

    def last(self, column: str) -> float:
        values = self.columns.get(column)
        return values[-1] if values else 0.0

    def mean(self, column: str) -> float | None:
        values = self.columns.get(column)
        return sum(values) / len(values) if values else None


class Sampler(threading.Thread):
    """Samples the sockets of a namespace until `stop`.

    Args:
        ports: Server ports to sample → name of the flow.
        paths: Addresses of the server → name of the path.
        start: Time zero of the series, on the monotonic clock.
        interval: Seconds between two samples.
    """

    def __init__(
        self,
        namespace: str,
        ports: Mapping[int, str],
        paths: Mapping[str, str] | None = None,
        start: float | None = None,
        interval: float = INTERVAL,
    ) -> None:
        super().__init__(name="sampler", daemon=True)
        self._diag = Diag(namespace)
        self._ports = ports
        self._paths = paths or {}
        self._start = time.monotonic() if start is None else start
        self._interval = interval
        self._stopping = threading.Event()
        self._flows: dict[tuple[Address, Address], Flow] = {}
        self._counts: dict[tuple[str, str], int] = defaultdict(int)

    def run(self) -> None:
        due = self._start
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            self.sample()
            due = max(due + self._interval, time.monotonic())

    def sample(self) -> None:
        now = time.monotonic() - self._start
        for found in self._diag.sockets():
            # Connections from the server's own namespace, which only check whether it listens, are not flows of the run.
            is_local = found.peer[0].startswith("127.")
            if found.local[1] in self._ports and not is_local and "snd_cwnd" in found.info:
                self._take(now, found)

    def _take(self, now: float, found: SocketInfo) -> None:
        key = (found.local, found.peer)
        if key not in self._flows:
            self._flows[key] = self._new(found)
        flow = self._flows[key]
        flow.cc = found.cc.split(".")[0]
        flow.columns["time_s"].append(now)
        for column in COLUMNS:
            flow.columns[column].append(found.info.get(column, 0))

    def _new(self, found: SocketInfo) -> Flow:
        name, path = self._ports[found.local[1]], self._paths.get(found.local[0], "")
        self._counts[name, path] += 1
        number = self._counts[name, path]
        return Flow(name if number == 1 else f"{name}.{number}", path, found.local, found.peer)

    def stop(self) -> list[Flow]:
        self._stopping.set()
        if self.is_alive():
            self.join()
        self._diag.close()
        return list(self._flows.values())

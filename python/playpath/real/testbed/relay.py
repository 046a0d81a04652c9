"""The relay pair of a run: `playpath-relay` on both sides of the emulated paths, between nginx and the player.

Striping over TCP, not MPTCP: one ordinary kernel connection per path, the project's own schedulers above (docs/manual/relay.md).
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from playpath.real.testbed import controls, programs
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.errors import MissingToolError, TestbedError
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import Told
from playpath.real.testbed.server import PORT as WEB_PORT
from playpath.results.measured import PathCounts, Sides, Subflow, Switches

if TYPE_CHECKING:
    from playpath.scenario import resolved


PORT = 7070
"""Where the relay beside the web server listens, on every path."""
PLAYER_PORT = 7071
"""Where the relay beside the player listens, on the loopback device."""
_PATIENCE = 2.0
_SUMS = ("path_switches", "switches_from_open_path", "path_choices", "reinjections")

Sum = dict[str, Any]
"""A `Subflow` while it is added up."""


def program() -> str:
    """Path of `playpath-relay`."""
    return programs.find("playpath-relay")


class Relay:
    """Both ends, running.

    Parameters
    ----------
    bed : Testbed
        A connection goes over each of its paths.
    origin_port : int
        Of the web server.
    scheduler : str or mapping
        Name, or the resolved entry with its parameters.
    cc : str
        What the kernel calls the congestion control of the server's connections.
    options : mapping of str to str
        Further options of both ends, without the dashes.

    Attributes
    ----------
    address : str
        Where the player connects, in the client's namespace.
    """

    address = f"127.0.0.1:{PLAYER_PORT}"

    def __init__(
        self,
        bed: Testbed,
        origin_port: int,
        *,
        scheduler: str | Mapping[str, Any] = "dft",
        cc: str = "cubic",
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._bed = bed
        self._folder = bed.folder
        common = ["--scheduler", scheduler_text(scheduler)]
        bridge = [] if bed.bridge is None else ["--agent", str(bed.bridge)]
        for key, value in (options or {}).items():
            common += [f"--{key}", value]
        listen = [word for end in bed.ends for word in ("--listen", f"{end.server_address}:{PORT}")]
        server = [*listen, "--origin", f"127.0.0.1:{origin_port}", "--cc", cc, *bridge, *common]
        paths = [
            word
            for end in bed.ends
            for word in ("--path", f"{end.name}={end.server_address}:{PORT},from={end.client_address}")
        ]
        client = ["--listen", self.address, *paths, "--cc", "reno", *common]
        self.server = self._start("server", server)
        self.client = self._start("client", client)
        for child in (self.server, self.client):
            wait_until_ready(child)

    def _start(self, side: str, arguments: list[str]) -> Child:
        files = ["--log", str(self._folder / f"relay-{side}.jsonl"), "--summary", str(self._summary(side))]
        command = [program(), side, *arguments, *files]
        # A coupled control is told by playpath-bpf which connections belong together.
        with contextlib.suppress(MissingToolError):
            command = ["env", f"PLAYPATH_BPF={controls.loader()}", *command]
        return self._bed.start(f"relay-{side}", side, command, is_pillar=True)

    def _summary(self, side: str) -> Path:
        return self._folder / f"relay-{side}.json"

    def words(self) -> str:
        """What both ends complained of, in one line; empty if nothing."""
        said = {child.name: child.words() for child in (self.server, self.client)}
        return "; ".join(f"{name}: {words}" for name, words in said.items() if words)

    def end(self) -> dict[str, Told]:
        """End both and return their summaries by side."""
        found = {}
        # Side by side, so that what the player has closed ends in order on both.
        for child in (self.client, self.server):
            child.process.terminate()
        for side, child in (("client", self.client), ("server", self.server)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(_PATIENCE)
            child.end()
            try:
                found[side] = json.loads(self._summary(side).read_text())
            except (OSError, ValueError):
                raise TestbedError(f"relay-{side} left no summary: {child.words() or 'it was killed'}") from None
        return found

    def switches(self) -> list[Sides]:
        """The server's changes of path: `time_s`, `from`, `to`, `reason`, RTT and rate of both."""
        lines = (self._folder / "relay-server.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == "switch"]


def start(bed: Testbed, sender: resolved.Sender, cc: str, origin_port: int = WEB_PORT) -> Relay:
    """A relay for the resolved entry of a sender; its connections use `cc`."""
    buffers = {
        option: size
        for option, size in (
            ("send-buffer", sender.get("send_buffer")),
            ("receive-buffer", sender.get("receive_buffer")),
        )
        if size is not None
    }
    return Relay(bed, origin_port, scheduler=sender["scheduler"], cc=cc, options=buffers)


def scheduler_text(scheduler: str | Mapping[str, Any]) -> str:
    """As the relay's command line has it.

    >>> scheduler_text({"name": "tr-sty", "rtt_flip": True, "rate": "window"})
    'tr-sty:rtt_flip=true,rate=window'
    """
    if isinstance(scheduler, str):
        return scheduler
    given = [f"{k}={str(v).lower()}" for k, v in scheduler.items() if k != "name"]
    return ":".join([str(scheduler["name"]), ",".join(given)]) if given else str(scheduler["name"])


def path_counts(summaries: Mapping[str, Told], switches: Sequence[Sides], video_mbps: float | None) -> PathCounts:
    """How the connections used the paths."""
    server, client = (summaries[side]["sessions"] for side in ("server", "client"))
    counts = sums(server)
    counts["hol_blocking_time_s"] = sum(s["hol_blocking_time_s"] for s in client)
    counts["max_out_of_order_bytes"] = max((s["max_out_of_order_bytes"] for s in client), default=0)
    if video_mbps:
        counts["switches"] = told_switches(switches, video_mbps)
    return counts


def sums(levels: Sequence[Mapping[str, int]]) -> PathCounts:
    """What can be added up over connections."""
    return cast("PathCounts", {name: sum(level[name] for level in levels) for name in _SUMS})


def told_switches(switches: Sequence[Sides], video_mbps: float) -> Switches:
    """What the record predicts underflows from (crates/record, `predicts_underflow`)."""
    sides: list[Sides] = [
        {"from_srtt_ms": s["from_srtt_ms"], "from_mbps": s["from_mbps"], "to_srtt_ms": s["to_srtt_ms"]}
        for s in switches
    ]
    return {"video_mbps": video_mbps, "sides": sides}


def subflows_of(summaries: Mapping[str, Told]) -> list[Subflow]:
    """What was measured of each path, without what the network knows."""
    rows: dict[str, Sum] = {}
    for session in summaries["server"]["sessions"]:
        for row in session["subflows"]:
            known = {"path": row["path"], "cc": row["cc"].split(".")[0], "delivered_bytes": 0}
            _add(rows.setdefault(row["path"], known | dict.fromkeys(_COUNTS, 0)), row)
    for session in summaries["client"]["sessions"]:
        for row in session["subflows"]:
            if row["path"] in rows:
                rows[row["path"]]["delivered_bytes"] += row["received_bytes"]
    return [cast("Subflow", row) for row in rows.values()]


_COUNTS = (
    "sent_packets", "retransmitted_packets", "rto_count", "reinjections", "mean_rtt_ms", "min_rtt_ms", "failures",
    "penalties",
)  # fmt: skip


def _add(row: Sum, other: Told) -> None:
    """Counts are added up; of RTTs the latest session with samples counts."""
    for name in _COUNTS:
        if name.endswith("_ms"):
            row[name] = other[name] or row[name]
        else:
            row[name] += other[name]


def wait_until_ready(child: Child, patience: float = 5.0) -> None:
    """Until it has said its first line."""
    deadline = time.monotonic() + patience
    while b"\n" not in child.output.read_bytes():
        child.check()
        if time.monotonic() > deadline:
            raise TestbedError(f"{child.name} is not ready after {patience} s: {child.words()}")
        time.sleep(0.01)

"""The project's own endpoint as the server of a run: `playpath-serve`, the simulator's TCP, MPTCP and QUIC (docs/manual/wire.md).

Over TCP its device is in the server's namespace, behind the ends of the emulated paths, and that namespace forwards packets:
`10.77.N.1` is the kernel's end of path N, `10.78.N.1` the endpoint's address on it. Over QUIC it is a UDP socket on `10.77.0.1`.
"""

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, cast

from playpath.base.engine import number
from playpath.real.testbed import mptcp, namespaces, programs
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.carriers import Carried, Carrier, VideoAddress
from playpath.real.testbed.emulator import PathEnds
from playpath.real.testbed.errors import MissingToolError, TestbedError
from playpath.real.testbed.programs import JsonObject
from playpath.real.testbed.sampling import INTERVAL, Flow
from playpath.real.testbed.senders import Sending, largest, of_the_client, translate, usual_quic, without_effect
from playpath.real.testbed.server import PORT, Server
from playpath.real.testbed.signalling import REPORTS, Signalling
from playpath.results.measured import PathCounts, Sides, Subflow
from playpath.scenario import resolved

_DEVICE = "wire0"
_OF_THE_QUIC_CLIENT = (
    "ack_every", "ack_later", "max_ack_delay", "stream_window", "max_stream_window", "connection_window", "certificate_bytes", "tls",
)  # fmt: skip
_NO_CLIENT = "rfc"
"""The default of `client`, which is no real one."""
_LARGEST_DATAGRAM = 1472
"""UDP payload of a packet of 1500 bytes."""
_PATIENCE = 5.0


def program() -> str:
    return programs.find("playpath-serve")


def address_on(end: PathEnds) -> str:
    """The endpoint's address on a path.

    >>> address_on(PathEnds("wifi", "down0", "up0", "10.77.0.1", "10.77.0.2"))
    '10.78.0.1'
    """
    first, _, *rest = end.server_address.split(".")
    return ".".join([first, "78", *rest])


class OwnServer(Server):
    """`playpath-serve`, started and ready."""

    port = PORT

    def __init__(self, bed: Testbed, arguments: Sequence[str]) -> None:
        self.www = bed.folder / "www"
        self.www.mkdir(exist_ok=True)
        self.access_log = bed.folder / "access.log"
        self._record = bed.folder / "serve-record.json"
        files = ["--access-log", str(self.access_log), "--record", str(self._record)]
        mtu = str(bed.mtu)
        # Generated and fetched files are in the cache, reached by symbolic links (media.link_into).
        command = [program(), str(self.www), "--follow-links", "--port", str(PORT), "--mtu", mtu]
        self.child = bed.start("serve", "server", [*command, *files, *arguments], is_pillar=True, realtime=True)
        self.child.wait_until_ready()

    def startup_report(self) -> JsonObject:
        """What it reported when it was ready."""
        return json.loads(self.child.output.read_text().splitlines()[0])

    def end(self) -> JsonObject:
        """End it and return its record: `connections`, `start_ns`, `left_out`."""
        self.child.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.process.wait(_PATIENCE)
        self.child.end()
        try:
            record: JsonObject = json.loads(self._record.read_text())
        except (OSError, ValueError):
            raise TestbedError(f"serve left no record: {self.child.words() or 'it was killed'}") from None
        return record


class _Own(Carrier):
    """The common part of all transports: everything except for the server's location."""

    world = "wire"

    def __init__(self) -> None:
        super().__init__()
        self._server: OwnServer | None = None
        self._interval = INTERVAL

    def check(self, scenario: resolved.Document, sender: resolved.Sender) -> None:
        program()
        self._sender = dict(sender)
        self._traffic = [group for group in scenario.get("traffic") or [] if group["kind"] != "udp"]
        self._interval = min(INTERVAL, _seconds(scenario))

    def translate(self, sender: resolved.Sender) -> Sending:
        """All settings of the sender apply, those of its client do not; the client's kernel gets those that concern both ends.

        The server's namespace, whose kernel sends the cross traffic, gets the traffic's settings, and so does the client where the
        sender has none (QUIC).
        """
        first: resolved.Sender = self._traffic[0] if self._traffic else {}
        sysctls = translate(first).sysctls if first else {}
        warnings = without_effect(
            "client and certificate are real ones in the wire world", *self._of_the_client(sender)
        )
        return Sending("own", {}, sysctls, warnings, (), of_the_client({**first, **sender}))

    def _of_the_client(self, sender: resolved.Sender) -> tuple[Mapping[str, Any], dict[str, object]]:
        """A sender's settings, and the keys among them that are not the server's, with the values that are in force."""
        linux = {"profile": "linux", "delayed_ack": "linux", "window_tuning": True, "tls": "full"}
        return sender, linux | largest(sender)

    def _start(
        self, bed: Testbed, where: Sequence[str], described: Mapping[str, float], signalling: Signalling
    ) -> OwnServer:
        """Start it; figures of the video that the player does not report are set at the start, as in the simulator."""
        file = bed.folder / "sender.json"
        file.write_text(json.dumps({key: value for key, value in self._sender.items() if key != "paths"}))
        arguments = ["--sender", str(file), "--sample", f"{round(self._interval * 1e9)} ns"]
        arguments += ["--idle-timeout", "600 s", *where, *signalling.server_data_options]
        if signalling.reports:
            arguments += ["--reports", str(bed.folder / REPORTS)]
        if not signalling.requests and described.get("video_kbps"):
            arguments += ["--playout-buffer", f"{round(described['playout_buffer_bytes'])} B"]
            arguments += ["--video-rate", f"{described['video_kbps']:.3f} kbit/s"]
        self._server = OwnServer(bed, arguments)
        return self._server

    def words(self) -> str:
        return self._server.child.words() if self._server is not None else ""

    def _end(self, start: float) -> tuple[list[JsonObject], float, list[str]]:
        """End it and return its connections, the offset to add to their times, and warnings for the record.

        A player may open a connection and not use it; a connection without a request is not a flow.
        """
        assert self._server is not None
        record = self._server.end()
        if record["write_errors"]:
            raise TestbedError(f"{record['write_errors']} packets of the server could not be sent")
        used = [found for found in record["connections"] if found["requests"]]
        doubts = [
            f"client data not believed: {found['client_data_doubt']}" for found in used if found["client_data_doubt"]
        ]
        return used, record["start_ns"] * 1e-9 - start, doubts[:1]  # one warning is enough, as in the simulator


class Wire(_Own):
    """The project's own TCP over one path, or its MPTCP over several; with `has_tls` over TLS, and with `has_http2` over HTTP/2."""

    def __init__(self, *, has_tls: bool = False, has_http2: bool = False) -> None:
        super().__init__()
        self.has_tls = has_tls
        self.has_http2 = has_http2

    def check(self, scenario: resolved.Document, sender: resolved.Sender) -> None:
        """Require its program, and for several paths a client with MPTCP."""
        super().check(scenario, sender)
        several = len(sender.get("paths") or scenario["path"]) > 1
        if several and not mptcp.schedulers():
            raise MissingToolError("this kernel has no MPTCP (CONFIG_MPTCP), which the client needs over several paths")

    def prepare(self, bed: Testbed) -> None:
        """Let the server's namespace forward, and a client with several paths join announced addresses."""
        namespaces.write_sysctls(bed.server, {"net.ipv4.ip_forward": "1"})
        if len(bed.ends) > 1:
            mptcp.accept_paths(bed.client)

    def serve(
        self, bed: Testbed, sending: Sending, described: Mapping[str, float], signalling: Signalling
    ) -> tuple[OwnServer, str]:
        """Start it on its own device, to which the client has a route over each path."""
        where = ["--tun", _DEVICE, *(word for end in bed.ends for word in ("--address", address_on(end)))]
        where += ["--no-mptcp"] if len(bed.ends) == 1 else []
        where += ["--name", address_on(bed.ends[0])] if self.has_tls else []
        where += ["--no-http2"] if self.has_tls and not self.has_http2 else []
        server = self._start(bed, where, described, signalling)
        for end in bed.ends:
            way = ("dev", end.client_device, "src", end.client_address)
            namespaces.run_ip("-n", bed.client, "route", "replace", address_on(end), *way)
        return server, "own"

    def collector(self, bed: Testbed) -> str:
        """The endpoint itself, which accepts reports on any connection."""
        return f"{address_on(bed.ends[0])}:{PORT}"

    def open(self, bed: Testbed, port: int, control: str) -> VideoAddress:
        """The endpoint's first address; the other paths join."""
        assert self._server is not None
        protocol = "tcp" if len(bed.ends) == 1 else "mptcp"
        key = self._server.startup_report()["spki"] if self.has_tls else ""
        return VideoAddress(f"{address_on(bed.ends[0])}:{PORT}", protocol, {PORT: "video"}, key)

    def close(self, bed: Testbed, flows: Sequence[Flow], described: Mapping[str, float], start: float) -> Carried:
        """End it; return the time series of its connections, and how they used the paths."""
        used, shift, doubts = self._end(start)
        names = {address_on(end): end.name for end in bed.ends}
        kbps = described.get("video_kbps")
        fallen = [found for found in used if found["fallback"]]
        return Carried(
            paths=_path_counts(used, kbps / 1000 if kbps else None) if len(bed.ends) > 1 else {},
            subflows=_subflows(used, names) if len(bed.ends) > 1 else [],
            warnings=[*([f"{len(fallen)} MPTCP connections fell back to plain TCP"] if fallen else []), *doubts],
            flows=_flows(used, names, shift),
        )


class WireQuic(_Own):
    """The project's own QUIC with HTTP/3 over one path, on a UDP socket of the server's kernel.

    Args:
        client: The scenario's name for the player's QUIC client.
    """

    def __init__(self, client: str) -> None:
        super().__init__()
        self._client = client

    def _of_the_client(self, sender: resolved.Sender) -> tuple[Mapping[str, Any], dict[str, object]]:
        asked: Mapping[str, Any] = sender["transport"]
        usual = usual_quic(asked["stack"], asked["client"])
        here = {key: usual[key] for key in _OF_THE_QUIC_CLIENT}
        if asked["client"] != _NO_CLIENT:
            here["client"] = self._client
        if asked["datagram_bytes"] > _LARGEST_DATAGRAM:
            here["datagram_bytes"] = _LARGEST_DATAGRAM
        return asked, here

    def serve(
        self, bed: Testbed, sending: Sending, described: Mapping[str, float], signalling: Signalling
    ) -> tuple[OwnServer, str]:
        """Start it at the server's end of the path, whose address is also its name."""
        address = bed.ends[0].server_address
        where = ["--transport", "quic", "--address", address, "--name", address]
        return self._start(bed, where, described, signalling), "own"

    def collector(self, bed: Testbed) -> str:
        return f"{bed.ends[0].server_address}:{PORT}"

    def open(self, bed: Testbed, port: int, control: str) -> VideoAddress:
        """The address of its socket, which has a self-signed certificate."""
        assert self._server is not None
        return VideoAddress(self.collector(bed), "quic", {PORT: "video"}, self._server.startup_report()["spki"])

    def close(self, bed: Testbed, flows: Sequence[Flow], described: Mapping[str, float], start: float) -> Carried:
        """End it; return the time series of its connections."""
        used, shift, doubts = self._end(start)
        names = {end.server_address: end.name for end in bed.ends}
        flows = _flows(used, names, shift)
        for flow, path in zip(flows, (path for found in used for path in found["paths"]), strict=True):
            flow.counts = path["counts"]
        return Carried(warnings=doubts, flows=flows)


def _seconds(scenario: resolved.Document) -> float:
    interval = (scenario.get("run") or {}).get("sample_interval")
    return number(interval) if interval else INTERVAL


def _flows(connections: Sequence[JsonObject], names: Mapping[str, str], shift: float) -> list[Flow]:
    """Flows in the sampler's format, one for each path of each connection."""
    flows: list[Flow] = []
    counts: dict[str, int] = {}
    for connection in connections:
        for path in connection["paths"]:
            name = names[path["local"][0]]
            counts[name] = counts.get(name, 0) + 1
            label = "video" if counts[name] == 1 else f"video.{counts[name]}"
            flow = Flow(label, name, tuple(path["local"]), tuple(path["remote"]), path["cc"])
            flow.columns.update(path["columns"])
            flow.columns["time_s"] = [time + shift for time in path["columns"]["time_s"]]
            flows.append(flow)
    return flows


def _path_counts(connections: Sequence[JsonObject], video_mbps: float | None) -> PathCounts:
    """How the connections used the paths."""
    levels = [connection["level"] for connection in connections if connection["level"]]
    counts = cast("PathCounts", {name: sum(level[name] for level in levels) for name in _SUMS})
    if video_mbps:
        switches = [switch for connection in connections for switch in connection["switches"]]
        # The record predicts underflows from these (crates/record, `predicts_underflow`).
        sides: list[Sides] = [
            {"from_srtt_ms": s["from_srtt_ms"], "from_mbps": s["from_mbps"], "to_srtt_ms": s["to_srtt_ms"]}
            for s in switches
        ]
        counts["switches"] = {"video_mbps": video_mbps, "sides": sides}
    return counts


def _subflows(connections: Sequence[JsonObject], names: Mapping[str, str]) -> list[Subflow]:
    """The endpoint's measurements of each path, without those of the network."""
    rows: dict[str, dict[str, Any]] = {}
    for connection in connections:
        for path in connection["paths"]:
            counts = path["counts"]
            name = names[path["local"][0]]
            row = rows.setdefault(name, {"path": name, "cc": path["cc"], **dict.fromkeys(_COUNTS, 0)})
            row |= {key: row[key] + (counts.get(key) or 0) for key in _COUNTS}
            row["delivered_bytes"] = row.get("delivered_bytes", 0) + counts["acked_bytes"]
            least = [rtt for rtt in (row.get("min_rtt_ms"), counts["min_rtt_ms"]) if rtt is not None]
            row["min_rtt_ms"] = min(least, default=None)
    for row in rows.values():
        total, samples = row.pop("rtt_sum_ms"), row.pop("rtt_samples")
        row["mean_rtt_ms"] = total / samples if samples else None
    return [cast("Subflow", row) for row in rows.values()]


_SUMS = ("path_switches", "switches_from_open_path", "path_choices", "reinjections")
_COUNTS = (
    "sent_packets", "retransmitted_packets", "rto_count", "reinjections", "failures", "penalties", "rtt_sum_ms", "rtt_samples",
)  # fmt: skip

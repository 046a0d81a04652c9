"""Gathers what sampler, player, traffic and emulator measured in a session on the kernel; the engine makes the record from it, as it
does for the simulator (crates/record).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypedDict, cast

from playpath.base import engine
from playpath.real.testbed.bed import IP_AND_TCP_HEADER
from playpath.real.testbed.emulator import DIRECTIONS
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players import Played
from playpath.real.testbed.programs import JsonObject
from playpath.real.testbed.sampling import Address, Flow
from playpath.results import measured as measured_types
from playpath.results.measured import PathCounts, Subflow
from playpath.results.recorded import LinkRecord

Columns = dict[str, list[float]]

_INFINITE_SSTHRESH = 0x7FFF_FFFF
_NO_MIN_RTT = 0xFFFF_FFFF
IP_AND_UDP_HEADER = 28
_UNPACED = (1 << 64) - 1


class InvalidLinkError(TestbedError):
    """The emulator was too late, or packets were lost outside it: the run does not count, and may be repeated."""


@dataclass
class Measured:
    played: Played | None
    """None without a video."""
    sampled: list[Flow]
    traffic: list[JsonObject]
    """The result of `CrossTraffic.stop`."""
    start_s: float
    """The run's start on the monotonic clock."""
    elapsed_s: float
    is_multipath: bool
    """Whether the video's flows are subflows of one another."""
    report: JsonObject = field(default_factory=dict)
    """The emulator's."""
    paths: PathCounts = field(default_factory=lambda: cast("PathCounts", {}))
    """The carrier's information about how the connections used the paths."""
    datagram_ports: Mapping[str, int] = field(default_factory=dict)
    """Names and server ports of datagram sources."""
    video_ports: tuple[int, ...] = ()
    """Server ports whose sockets carry the video."""
    subflows: list[Subflow] = field(default_factory=list)
    """The carrier's measurements of each path; if empty, they come from the sampled sockets."""


def record(measured: Measured, warnings: Iterable[str]) -> tuple[engine.Figures, dict[str, Columns]]:
    """The record's figures of the run, and the time series by name."""
    report, played = measured.report, measured.played
    if not report.get("valid"):
        problems = "; ".join(report.get("problems", [])) or "it left no report"
        raise InvalidLinkError(f"the link did not behave as configured, so the run does not count: {problems}")
    flows = _Flows(measured)
    measurements = flows.measurements()
    ends = [flow["end_s"] for flow in measurements if flow["is_measured"]] or [measured.elapsed_s]
    late = _lateness_ms(report)
    links = [_link(link, late.get(link["name"])) for link in report["links"]]
    found = engine.record(
        {
            "sessions": list(_sessions(measured)),
            "flows": measurements,
            "paths": _paths(measured) if measured.is_multipath and played else None,
            "links": links,
            "bottleneck": _fullest(links, flows.paths()),
            "active_s": played.elapsed_s if played else max(ends),
            "read_bytes": (played.body_bytes if played.read_bytes is None else played.read_bytes) if played else None,
            "cut_at_s": played.cut_at_s if played else None,
            "warnings": [*warnings, *(played.warnings if played else []), *report["warnings"]],
        }
    )
    return found, _once([*flows.series(), *_link_series(report, measured.start_s), *_player_series(measured)])


def _fullest(links: Sequence[LinkRecord], paths: Set[str]) -> int:
    """Which link to the client has the longest queue: of those that paths share and the ones of `paths`, or of all."""
    used = [
        number
        for number, link in enumerate(links)
        if link["name"].endswith("/down")
        and (not paths or link["name"].startswith("link.") or link["name"][5:-5] in paths)
    ]
    return max(used, key=lambda number: links[number]["mean_queue_packets"])


def _once(series: Iterable[tuple[str, Columns]]) -> dict[str, Columns]:
    """The time series by name. Two with the same name are a broken invariant: one would overwrite the other."""
    found: dict[str, Columns] = {}
    for name, columns in series:
        assert name not in found, f"two time series have the name {name}"
        found[name] = columns
    return found


def _sessions(measured: Measured) -> Iterator[measured_types.MeasuredSession]:
    """Every video session, the main one first."""
    if played := measured.played:
        yield {"name": "video", "start_s": 0.0, "events": played.events, "reported": played.reported}
    for source in measured.traffic:
        if session := source["session"]:
            yield {"name": source["name"], "start_s": session["start_s"], "events": session["events"]}


def _paths(measured: Measured) -> PathCounts:
    """Path counts of the carrier and of the emulator: switches between paths in the order of the data, and of all data packets."""
    changes = [entry for entry in measured.report.get("switches", []) if entry["server_port"] in measured.video_ports]
    seen: PathCounts = {
        "path_switches": sum(entry["count"] for entry in changes),
        "wire_switches": sum(entry["on_the_wire"] for entry in changes),
    }
    return {**seen, **measured.paths}


def _player_series(measured: Measured) -> Iterator[tuple[str, Columns]]:
    if measured.played and measured.played.series:
        yield "player", measured.played.series
    for source in measured.traffic:
        if source["session"]:
            yield f"player.{source['name']}", source["session"]["series"]


class _Counts(TypedDict):
    """Counts that can be summed over subflows."""

    wire_bytes: int
    sent_packets: int
    dropped_packets: int
    retransmitted_packets: int
    rto_count: int
    rtt_sum_ms: float
    rtt_samples: int


_OWN = ("sent_packets", "rtt_sum_ms", "rtt_samples")
"""Counts that the server of an encrypted flow keeps itself."""


def _sum(parts: Iterable[_Counts]) -> _Counts:
    total = Counter[str]()
    for part in parts:
        total.update(cast("dict[str, int]", part))
    return cast("_Counts", dict(total))


class _Flows:
    """All flows of a run: sampled ones with their subflows, and datagram flows."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._groups: dict[str, list[Flow]] = defaultdict(list)
        for flow in measured.sampled:
            self._groups[flow.name].append(flow)
        played = measured.played
        connections = played.connections if played else []
        self._connections = {entry["port"]: entry for entry in connections}
        self._traffic = {entry["name"]: entry for entry in measured.traffic}
        self._counted = _counted(measured.report)
        self._datagrams = {
            flow["server_port"]: flow for flow in measured.report.get("flows", []) if flow["protocol"] == "udp"
        }

    def _is_video(self, name: str) -> bool:
        """Whether a flow carries the main session."""
        return name not in self._traffic and name.rsplit(".", 1)[0] not in self._traffic

    def _is_measured(self, name: str) -> bool:
        return self._measured.played is None or self._is_video(name)

    def paths(self) -> set[str]:
        """The paths that measured flows are known to use."""
        return {flow.path for flow in self._measured.sampled if flow.path and self._is_measured(flow.name)}

    def measurements(self) -> list[measured_types.Flow]:
        """The measurements of each flow, those of the video first."""
        video = [name for name in self._groups if self._is_video(name)]
        others = [name for name in self._groups if not self._is_video(name)]
        found = [self._measured_flow(name) for name in [*video, *others]]
        found += [self._of_datagrams(entry) for entry in self._measured.traffic if self._is_datagrams(entry["name"])]
        for flow in found:
            flow["is_measured"] = self._is_measured(flow["name"])
        return found

    def _is_datagrams(self, name: str) -> bool:
        entry = self._traffic[name]
        return name not in self._groups and entry["start_s"] is not None and not entry["session"]

    def _measured_flow(self, name: str) -> measured_types.Flow:
        flows = self._groups[name]
        start, end, read = self._span(name, flows)
        acked = sum(int(flow.last("bytes_acked")) for flow in flows)
        rtts = [rtt for rtt in (flow.last("min_rtt") for flow in flows) if rtt < _NO_MIN_RTT]
        entry = {
            "name": name,
            "cc": flows[0].cc,
            "start_s": start,
            "end_s": max(end, start),
            "is_open": True,
            "read_bytes": acked if read is None else read,
            "min_rtt_ms": min(rtts) / 1000 if rtts else None,
            **_sum([self._counts(flow) for flow in flows]),
        }
        if self._measured.is_multipath and self._is_video(name):
            seen = [self._subflow(flow) for flow in flows]
            wire = {row["path"]: row["wire_bytes"] for row in seen}
            known: list[Subflow] = [{**row, "wire_bytes": wire.get(row["path"], 0)} for row in self._measured.subflows]
            entry["subflows"] = known or seen
        return cast("measured_types.Flow", entry)

    def _span(self, name: str, flows: Sequence[Flow]) -> tuple[float, float, int | None]:
        """Start, end and bytes read, from the receiving program if it knows them."""
        connection = self._connections.get(flows[0].peer[1])
        if connection is not None:
            return connection["start_s"], connection["end_s"], connection["read_bytes"]
        source = self._traffic.get(name)
        if source is not None and source["start_s"] is not None and source["end_s"] is not None:
            return source["start_s"], source["end_s"], source["read_bytes"]
        times = [time for flow in flows for time in (flow.columns["time_s"][0], flow.columns["time_s"][-1])]
        return min(times), max(times), None

    def _counts(self, flow: Flow) -> _Counts:
        """Counts that can be summed over subflows: the emulator's, if it saw the flow."""
        counted = self._counted.get((flow.local, flow.peer))
        sent = int(flow.last("data_segs_out"))
        rtts = flow.columns["rtt"]
        return {
            "wire_bytes": counted["arrived_bytes"]
            if counted
            else int(flow.last("bytes_sent")) + sent * IP_AND_TCP_HEADER,
            "sent_packets": counted["data_packets"] if counted else sent,
            "dropped_packets": counted["dropped_data_packets"] if counted else 0,
            "retransmitted_packets": int(flow.last("total_retrans")),
            "rto_count": int(flow.last("total_rto")),
            "rtt_sum_ms": counted["rtt_sum_ms"] if counted else sum(rtts) / 1000,
            "rtt_samples": counted["rtt_samples"] if counted else len(rtts),
            # For an encrypted flow the emulator knows only sizes.
            **cast("_Counts", {key: flow.counts[key] for key in _OWN if key in flow.counts}),
        }

    def _subflow(self, flow: Flow) -> Subflow:
        counts = self._counts(flow)
        samples = counts["rtt_samples"]
        return {
            "path": flow.path,
            "cc": flow.cc,
            "delivered_bytes": int(flow.last("bytes_acked")),
            "wire_bytes": counts["wire_bytes"],
            "sent_packets": counts["sent_packets"],
            "retransmitted_packets": counts["retransmitted_packets"],
            "rto_count": counts["rto_count"],
            "mean_rtt_ms": counts["rtt_sum_ms"] / samples if samples else None,
            "min_rtt_ms": flow.last("min_rtt") / 1000,
        }

    def _of_datagrams(self, source: JsonObject) -> measured_types.Flow:
        """The flow of a datagram source: what arrived is known, and nothing is retransmitted."""
        counted = self._datagrams.get(self._measured.datagram_ports.get(source["name"], 0))
        start, end = source["start_s"], source["end_s"]
        assert start is not None, "a source that has not begun has no flow"
        assert end is not None
        return {
            "name": source["name"],
            "cc": "none",
            "start_s": start,
            "end_s": end,
            "is_open": True,
            "read_bytes": source["read_bytes"],
            "wire_bytes": round(source["read_bytes"] * _wire_share(counted)),
            "sent_packets": counted["data_packets"] if counted else 0,
            "dropped_packets": counted["dropped_data_packets"] if counted else 0,
        }

    def series(self) -> Iterator[tuple[str, Columns]]:
        """Series such as `flow.video`, or `flow.video/wifi` with several paths, with the simulator's columns."""
        for flow in self._measured.sampled:
            path = f"/{flow.path}" if len(self._groups[flow.name]) > 1 else ""
            yield f"flow.{flow.name}{path}", _columns(flow)


def _wire_share(counted: JsonObject | None) -> float:
    """Ratio of packet bytes to payload bytes of datagrams. The emulator keeps counting until the test bed is torn down, while reading
    ends with the run, so its sums cannot be used directly; its sizes can.
    """
    arrived = counted["data_packets"] - counted["dropped_data_packets"] if counted else 0
    size = counted["arrived_bytes"] / arrived if counted and arrived > 0 else 0.0
    return size / (size - IP_AND_UDP_HEADER) if size > IP_AND_UDP_HEADER else 1.0


def _columns(flow: Flow) -> Columns:
    """Convert the kernel's columns to those of the simulator."""
    get = flow.columns
    times, acked = get["time_s"], get["bytes_acked"]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    gained = [later - earlier for earlier, later in pairwise(acked)]
    rates = [bytes * 8e-6 / gap if gap > 0 else 0.0 for bytes, gap in zip(gained, gaps, strict=True)]
    return {
        "time_s": list(times),
        "snd_cwnd": list(get["snd_cwnd"]),
        "snd_ssthresh": [math.inf if value >= _INFINITE_SSTHRESH else value for value in get["snd_ssthresh"]],
        "rtt_ms": [value / 1000 for value in get["rtt"]],
        "min_rtt_ms": [math.nan if value >= _NO_MIN_RTT else value / 1000 for value in get["min_rtt"]],
        "delivery_rate_mbps": [value * 8e-6 for value in get["delivery_rate"]],
        "pacing_rate_mbps": [math.nan if value >= _UNPACED else value * 8e-6 for value in get["pacing_rate"]],
        **{name: list(get[name]) for name in ("unacked", "sacked", "lost", "retrans", "total_retrans")},
        "goodput_mbps": [0.0, *rates] if times else [],
    }


def _counted(report: JsonObject) -> dict[tuple[Address, Address], JsonObject]:
    """The emulator's counts of each flow, by the server's and the client's address."""
    return {
        ((flow["server"], flow["server_port"]), (flow["client"], flow["client_port"])): flow
        for flow in sorted(report.get("flows", []), key=lambda flow: flow["protocol"] == "tcp")
    }


def _link(report: JsonObject, lateness_ms: float | None) -> LinkRecord:
    link: LinkRecord = {
        "name": report["name"],
        "utilisation": report["utilisation"],
        "offered_packets": report["offered_packets"],
        "delivered_packets": report["delivered_packets"],
        "dropped_packets": report["dropped_packets"],
        "marked_packets": report["ce_marked_packets"],
        "mean_queue_packets": report["mean_queue_packets"],
        "sd_queue_packets": report["sd_queue_packets"],
        "mean_lateness_ms": lateness_ms,
    }
    if report.get("rewritten_packets") is not None:
        link["rewritten_packets"] = report["rewritten_packets"]
    if report.get("classes"):
        link["classes"] = report["classes"]
    return link


def _lateness_ms(report: JsonObject) -> dict[str, float]:
    """Mean lateness of each direction of a path (ms), by the name of its first link."""
    return {
        f"path.{path['name']}/{direction}": path[direction]["lateness_us"]["mean"] / 1e3
        for path in report.get("paths", [])
        for direction in DIRECTIONS
    }


def _link_series(report: JsonObject, start_s: float) -> Iterator[tuple[str, Columns]]:
    """Series such as `link.path.wifi/down`, with times relative to the run's start; the emulator started earlier."""
    shift = report.get("start_ns", 0) * 1e-9 - start_s
    for name, columns in report.get("series", {}).items():
        first = next((i for i, time in enumerate(columns["time_s"]) if time + shift >= 0), len(columns["time_s"]))
        kept = {column: values[first:] for column, values in columns.items()}
        yield f"link.{name}", kept | {"time_s": [time + shift for time in kept["time_s"]]}

"""The record of a session on the kernel, in the simulator's words: what sampler, player, traffic and emulator measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from playpath.testbed.bed import IP_AND_TCP_HEADER
from playpath.testbed.errors import TestbedError
from playpath.testbed.players import Played
from playpath.testbed.sampling import Address, Flow

_INFINITE_SSTHRESH = 0x7FFF_FFFF
_NO_MIN_RTT = 0xFFFF_FFFF
IP_AND_UDP_HEADER = 28
_UNPACED = (1 << 64) - 1


class InvalidLinkError(TestbedError):
    """The emulator was too late, or packets were lost beside it: the run does not count, and may be repeated."""


@dataclass
class Measured:
    """What a run has left.

    Attributes
    ----------
    played : Played or None
        None without a video.
    sampled : list of Flow
    traffic : list of dict
        As CrossTraffic.stop gives it.
    report : dict
        The emulator's.
    start_s : float
        The run's start on the monotonic clock.
    elapsed_s : float
        From the run's start to its end.
    is_multipath : bool
        Whether the video's flows are subflows of one another.
    datagram_ports : mapping of str to int
        Names and server ports of datagram sources.
    video_ports : tuple of int
        Server ports whose sockets carry the video.
    subflows : list of dict
        What the carrier knows of each path; empty: the sampled sockets tell.
    """

    played: Played | None
    sampled: list[Flow]
    traffic: list[dict[str, Any]]
    start_s: float
    elapsed_s: float
    is_multipath: bool
    report: Mapping[str, Any] = field(default_factory=dict)
    extra_metrics: Mapping[str, float | None] = field(default_factory=dict)
    datagram_ports: Mapping[str, int] = field(default_factory=dict)
    video_ports: tuple[int, ...] = ()
    subflows: list[dict[str, Any]] = field(default_factory=list)


def record(measured: Measured, warnings: Iterable[str]) -> dict[str, Any]:
    """`metrics`, `sessions`, `flows`, `links`, `events`, `warnings`, `series`."""
    report = measured.report
    if not report.get("valid"):
        problems = "; ".join(report.get("problems", [])) or "it left no report"
        raise InvalidLinkError(f"the link was not what was asked for, so the run does not count: {problems}")
    flows = _Flows(measured)
    links = [_link(link) for link in report["links"]]
    records = flows.records()
    own = [entry for entry in records if flows.is_video(entry["name"])] if measured.played else records
    played = measured.played
    sessions = _sessions(measured)
    metrics: dict[str, float | None] = dict(played["metrics"]) if played else {}
    metrics |= _fairness(sessions)
    metrics |= flows.transport_metrics(own)
    if measured.is_multipath and played:
        metrics |= _multipath(measured)
    bottleneck = next(link for link in links if link["name"].startswith("path."))
    metrics |= {name: bottleneck[name] for name in ("mean_queue_packets", "sd_queue_packets")}
    warned = [*warnings, *(played["warnings"] if played else []), *report["warnings"]]
    return {
        "metrics": metrics,
        "sessions": sessions,
        "flows": records,
        "links": links,
        "events": played["events"] if played else [],
        "warnings": warned + _doubts(own, records, links),
        "series": flows.series() | _link_series(report, measured.start_s) | _player_series(measured),
    }


def _sessions(measured: Measured) -> list[dict[str, Any]]:
    """Every video session, the main one first."""
    found = []
    if measured.played:
        found.append({"name": "video", "start_s": 0.0, "metrics": dict(measured.played["metrics"])})
    for source in measured.traffic:
        if source["session"]:
            session = source["session"]
            found.append({"name": source["name"], "start_s": session["start_s"], "metrics": session["metrics"]})
    return found


def _fairness(sessions: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Jain's index over the mean video rates, if several sessions compete; one that got nothing counts as 0."""
    rates = [float(session["metrics"].get("mean_rate_kbps") or 0.0) for session in sessions]
    squares = sum(rate * rate for rate in rates)
    if len(rates) < 2 or squares == 0:
        return {}
    return {"jain_index": sum(rates) ** 2 / (len(rates) * squares)}


_SEEN_FROM_INSIDE = (
    "hol_blocking_time_s",
    "max_out_of_order_bytes",
    "switches_from_open_path",
    "path_choices",
    "switches_underflow_predicted",
    "switches_discard_predicted",
)
"""Metrics that take the scheduler's, the receiver's or the player's own knowledge: null where the carrier does not tell them."""


def _multipath(measured: Measured) -> dict[str, float | None]:
    """The simulator's metrics of several paths; what nothing here can see has no value."""
    changes = {entry["server_port"]: entry["count"] for entry in measured.report.get("switches", [])}
    return {
        "path_switches": float(sum(changes.get(port, 0) for port in measured.video_ports)),
        "reinjections": None,
        **dict.fromkeys(_SEEN_FROM_INSIDE),
        **measured.extra_metrics,
    }


def _doubts(
    own: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]
) -> list[str]:
    """What makes a result say less than it seems to, as the simulator says it."""
    doubts = []
    if all(not entry["retransmitted_packets"] for entry in own) and all(
        (link["mean_queue_packets"] or 0.0) < 0.01 for link in links
    ):
        doubts.append("no packet was lost and no queue filled: the path does not tell the senders apart")
    doubts += [f"flow {entry['name']} delivered nothing" for entry in records if not entry["goodput_mbps"]]
    return doubts


def _player_series(measured: Measured) -> dict[str, dict[str, list[float]]]:
    series = {}
    if measured.played and measured.played.get("series"):
        series["player"] = measured.played["series"]
    for source in measured.traffic:
        if source["session"]:
            series[f"player.{source['name']}"] = source["session"]["series"]
    return series


class _Flows:
    """All flows of a run: sampled ones with their subflows, and datagrams."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._groups: dict[str, list[Flow]] = defaultdict(list)
        for flow in measured.sampled:
            self._groups[flow.name].append(flow)
        played = measured.played
        connections = played.get("connections", []) if played else []
        self._connections = {entry["port"]: entry for entry in connections}
        self._traffic = {entry["name"]: entry for entry in measured.traffic}
        self._counted = _counted(measured.report)
        self._datagrams = {
            flow["server_port"]: flow for flow in measured.report.get("flows", []) if flow["protocol"] == "udp"
        }

    def is_video(self, name: str) -> bool:
        """Whether a flow carries the main session."""
        return name not in self._traffic and name.rsplit(".", 1)[0] not in self._traffic

    def records(self) -> list[dict[str, Any]]:
        """A record for each, those of the video first."""
        video = [name for name in self._groups if self.is_video(name)]
        others = [name for name in self._groups if not self.is_video(name)]
        records = [self._record(name) for name in [*video, *others]]
        return records + [self._of_datagrams(e) for e in self._measured.traffic if self._is_datagrams(e["name"])]

    def _is_datagrams(self, name: str) -> bool:
        entry = self._traffic[name]
        return name not in self._groups and entry["start_s"] is not None and not entry["session"]

    def _record(self, name: str) -> dict[str, Any]:
        flows = self._groups[name]
        start, end, read = self._span(name, flows)
        seconds = max(end - start, 1e-9)
        total = _sum(self._subflow(flow, seconds) for flow in flows)
        entry = {
            "name": name,
            "cc": flows[0].cc,
            "goodput_mbps": (read if read is not None else total["acked"]) * 8e-6 / seconds,
            "throughput_mbps": total["wire_bytes"] * 8e-6 / seconds,
            "sent_packets": int(total["sent"]),
            "retransmitted_packets": int(total["retransmitted"]),
            "rto_count": int(total["rto"]),
            "loss_ratio": total["dropped"] / total["sent"] if total["sent"] else 0.0,
            "mean_rtt_ms": total["rtt_sum_ms"] / total["rtt_samples"] if total["rtt_samples"] else None,
            "min_rtt_ms": min(flow.last("min_rtt") for flow in flows) / 1000,
            "start_s": start,
            "end_s": end,
            "subflows": [],
        }
        if self._measured.is_multipath and self.is_video(name):
            rows = [self._subflow_record(flow, seconds, total["acked"]) for flow in flows]
            wire = {row["path"]: row["throughput_mbps"] for row in rows}
            known = [row | {"throughput_mbps": wire.get(row["path"], 0.0)} for row in self._measured.subflows]
            entry["subflows"] = known or rows
        return entry

    def _span(self, name: str, flows: Sequence[Flow]) -> tuple[float, float, int | None]:
        """Begin, end, and bytes read, where the program at the far end knows them."""
        told = self._connections.get(flows[0].peer[1])
        if told is not None:
            return told["start_s"], told["end_s"], told["read_bytes"]
        source = self._traffic.get(name)
        if source is not None and source["start_s"] is not None:
            return source["start_s"], source["end_s"], source["read_bytes"]
        times = [time for flow in flows for time in (flow.columns["time_s"][0], flow.columns["time_s"][-1])]
        return min(times), max(times), None

    def _subflow(self, flow: Flow, seconds: float) -> dict[str, float]:
        """Sums that can be added up over subflows."""
        counted = self._counted.get((flow.local, flow.peer), {})
        sent = flow.last("data_segs_out")
        rtts = flow.columns["rtt"]
        return {
            "acked": flow.last("bytes_acked"),
            "wire_bytes": counted.get("arrived_bytes", flow.last("bytes_sent") + sent * IP_AND_TCP_HEADER),
            "sent": counted.get("data_packets", sent),
            "dropped": counted.get("dropped_data_packets", 0),
            "retransmitted": flow.last("total_retrans"),
            "rto": flow.last("total_rto"),
            "rtt_sum_ms": counted.get("rtt_sum_ms", sum(rtts) / 1000),
            "rtt_samples": counted.get("rtt_samples", len(rtts)),
        }

    def _subflow_record(self, flow: Flow, seconds: float, acked: float) -> dict[str, Any]:
        own = self._subflow(flow, seconds)
        return {
            "path": flow.path,
            "cc": flow.cc,
            "goodput_mbps": own["acked"] * 8e-6 / seconds,
            "throughput_mbps": own["wire_bytes"] * 8e-6 / seconds,
            "share": own["acked"] / acked if acked else 0.0,
            "sent_packets": int(own["sent"]),
            "retransmitted_packets": int(own["retransmitted"]),
            "rto_count": int(own["rto"]),
            "reinjections": None,
            "mean_rtt_ms": own["rtt_sum_ms"] / own["rtt_samples"] if own["rtt_samples"] else None,
            "min_rtt_ms": flow.last("min_rtt") / 1000,
            "failures": None,
            "penalties": None,
        }

    def _of_datagrams(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """A source of datagrams: what arrived is known, nothing is sent again."""
        start, end = source["start_s"], source["end_s"]
        seconds = max(end - start, 1e-9)
        counted = self._datagrams.get(self._measured.datagram_ports.get(source["name"], 0), {})
        sent = int(counted.get("data_packets", 0))
        goodput = source["read_bytes"] * 8e-6 / seconds
        return {
            "name": source["name"],
            "cc": "none",
            "goodput_mbps": goodput,
            "throughput_mbps": goodput * _wire_share(counted),
            "sent_packets": sent,
            "retransmitted_packets": 0,
            "rto_count": 0,
            "loss_ratio": counted.get("dropped_data_packets", 0) / sent if sent else 0.0,
            "mean_rtt_ms": 0.0,
            "min_rtt_ms": 0.0,
            "start_s": start,
            "end_s": end,
            "subflows": [],
        }

    def transport_metrics(self, own: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
        """Of the measured flows together, over the time that the session was active."""
        names = {entry["name"] for entry in own}
        played = self._measured.played
        ends = [entry["end_s"] for entry in own] or [self._measured.elapsed_s]
        seconds = float(played["elapsed_s"]) if played else max(ends)
        parts = [self._subflow(flow, seconds) for name in names for flow in self._groups.get(name, [])]
        total = _sum(parts)
        read = sum(entry["goodput_mbps"] * (entry["end_s"] - entry["start_s"]) for entry in own) / 8e-6
        if played:
            read = played.get("read_bytes", played["body_bytes"])
        return {
            "goodput_mbps": read * 8e-6 / seconds if seconds else 0.0,
            "throughput_mbps": total["wire_bytes"] * 8e-6 / seconds if seconds else 0.0,
            "retransmitted_packets": float(total["retransmitted"]),
            "rto_count": float(total["rto"]),
            "loss_ratio": total["dropped"] / total["sent"] if total["sent"] else 0.0,
            "mean_rtt_ms": total["rtt_sum_ms"] / total["rtt_samples"] if total["rtt_samples"] else None,
        }

    def series(self) -> dict[str, dict[str, list[float]]]:
        """`flow.video`, under several paths `flow.video/wifi`, in the simulator's columns."""
        return {
            f"flow.{flow.name}" + (f"/{flow.path}" if len(self._groups[flow.name]) > 1 else ""): _columns(flow)
            for flow in self._measured.sampled
        }


def _wire_share(counted: Mapping[str, Any]) -> float:
    """Bytes of a datagram's packet for each of its payload. The emulator's sums go on until the test bed is taken down, what was read
    ends with the run: only sizes can be taken from both.
    """
    arrived = counted.get("data_packets", 0) - counted.get("dropped_data_packets", 0)
    size = counted.get("arrived_bytes", 0) / arrived if arrived > 0 else 0.0
    return size / (size - IP_AND_UDP_HEADER) if size > IP_AND_UDP_HEADER else 1.0


def _sum(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for part in parts:
        for key, value in part.items():
            total[key] += value
    return total


def _columns(flow: Flow) -> dict[str, list[float]]:
    """The columns of the simulator's probe, from those of the kernel."""
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


def _counted(report: Mapping[str, Any]) -> dict[tuple[Address, Address], dict[str, Any]]:
    """The emulator's own counts of each flow, by the server's and the client's end."""
    return {
        ((flow["server"], flow["server_port"]), (flow["client"], flow["client_port"])): flow
        for flow in report.get("flows", [])
        if flow["protocol"] == "tcp"
    }


_LINK_COLUMNS = (
    "utilisation",
    "offered_packets",
    "delivered_packets",
    "dropped_packets",
    "mean_queue_packets",
    "sd_queue_packets",
)


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    columns = {column: link[column] for column in _LINK_COLUMNS}
    return {"name": link["name"], "marked_packets": link["ce_marked_packets"]} | columns


def _link_series(report: Mapping[str, Any], start_s: float) -> dict[str, dict[str, list[float]]]:
    """`link.path.wifi/down`, on the run's clock: the emulator's began earlier."""
    shift = report.get("start_ns", 0) * 1e-9 - start_s
    series = {}
    for name, columns in report.get("series", {}).items():
        first = next((i for i, time in enumerate(columns["time_s"]) if time + shift >= 0), len(columns["time_s"]))
        kept = {column: values[first:] for column, values in columns.items()}
        series[f"link.{name}"] = kept | {"time_s": [time + shift for time in kept["time_s"]]}
    return series

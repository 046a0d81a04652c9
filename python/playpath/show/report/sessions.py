"""Traced sessions for the report's script: their complete series, packed, and their events."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from playpath.base import engine
from playpath.base.engine import Switch
from playpath.base.quantity import MBPS, measure
from playpath.results.packets import Window, check_window, has_packets, trimmed
from playpath.results.record import Columns, Session
from playpath.show.report import html

_COLUMNS = {
    "flow.": ("snd_cwnd", "rtt_ms", "unacked", "sacked", "lost", "retrans", "goodput_mbps"),
    "link.": ("queue_packets",),
    "player": ("buffer_level_s",),
    "packets.": ("path", "offset", "bytes", "kind"),
    "acks.": ("path", "acked", "window", "receive_window"),
    "sacks.": ("path", "from", "until"),
    "drops.": ("path", "offset", "cause"),
}
# Offsets in a stream need eight bytes: four hold them exactly only up to 16 MB.
_LONG = {"time_s", "offset", "acked", "window", "receive_window", "from", "until"}
_EVENTS = ("session_started", "segment_decision", "segment_downloaded", "playback_started", "stall_start", "stall_end",
           "finished")  # fmt: skip
_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_TRACE_BINS = 600
_COMPRESSION = 6  # level 9 saves another 1 % and takes five times as long
_MAX_SWITCHES = 500  # with a scheduler that decides for every packet, single switches are not worth showing

Place = tuple[int, int, int]


def sessions_section(
    sessions: Mapping[str, Session],
    order: Sequence[str],
    resolved: Mapping[str, Any],
    *,
    why: str = "",
    bands: pl.DataFrame | None = None,
    seeds: int = 1,
    window: Window | None = None,
) -> str:
    """Strips, reasons, charts, packets and events of one traced session of each sender; empty if nothing was traced.

    Args:
        order: Senders; the first ones are shown initially.
        resolved: The scenario with every default.
        why: Why this seed is shown.
        bands: Result of `playpath.results.bands.bands`, over `seeds` seeds.
        window: Begin and end, in seconds, of the part that is shown packet by packet.
    """
    shown = [sessions[name] for name in order if name in sessions and sessions[name].series]
    if not shown:
        return ""
    if window is not None and not any(has_packets(session, window) for session in shown):
        check_window(shown[0], window)
    shown = [trimmed(session, window) for session in shown]
    packed = _Arrays()
    senders = [str(entry["name"]) for entry in resolved.get("sender") or []]
    packets = {entry["name"]: _packet_bytes(entry) for entry in resolved.get("sender") or []}
    header = {
        "sessions": [_session(session, packets.get(session.sender, 0), packed) for session in shown],
        "places": [senders.index(s.sender) if s.sender in senders else i for i, s in enumerate(shown)],
        "bands": [] if bands is None else _bands(bands, packed),
        "seeds": seeds,
        "window": window,
        "need": measure((resolved.get("video") or {}).get("rate"), MBPS),
        "has_video": resolved.get("video") is not None,
        "paths": [_path(path) for path in resolved.get("path") or []],
        "traces": [_trace(path) for path in resolved.get("path") or []],
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    block = gzip.compress(struct.pack("<I", len(text)) + text + packed.content(), _COMPRESSION, mtime=0)
    body = (
        "<div id='sessions-place'><noscript><p>Sessions are drawn by this page's script, and need JavaScript.</p></noscript>"
        f"</div>\n<script type='text/plain' id='sessions'>{base64.b64encode(block).decode()}</script>"
    )
    return html.section("One session", body, note=f"Seed {shown[0].seed}{why}.", anchor="session")


def _packet_bytes(sender: Mapping[str, Any]) -> int:
    """Bytes of a full packet of this sender, as its transport counts the window; 0 if its transport does not say."""
    return int(sender.get("mss") or sender["transport"].get("datagram_bytes", 0))


def _session(session: Session, packet_bytes: int, packed: _Arrays) -> dict[str, object]:
    switches = {flow: listed for flow, listed in _switches(session).items() if len(listed) <= _MAX_SWITCHES}
    record = {
        "metrics": session.metrics,
        "events": [event for event in session.events if event["event"] in _EVENTS],
        "window_events": session.window_events,
        "path_switches": switches,
    }
    series = {name: found for name, columns in session.series.items() if (found := _series(name, columns, packed))}
    return {
        "sender": session.sender,
        "seed": session.seed,
        "packet_bytes": packet_bytes,
        "record": record,
        "series": series,
    }


def _series(name: str, columns: Columns, packed: _Arrays) -> dict[str, Place]:
    wanted = next((columns_ for prefix, columns_ in _COLUMNS.items() if name.startswith(prefix)), ())
    if "time_s" not in columns or not any(column in columns for column in wanted):
        return {}
    stored = [column for column in ("time_s", *wanted) if column in columns]
    return {column: packed.add(columns[column], 8 if column in _LONG else 4) for column in stored}


def _switches(session: Session) -> dict[str, list[Switch]]:
    switches: dict[str, list[Switch]] = {}
    for name, columns in session.series.items():
        if name.startswith("switches."):
            rows = zip(*(columns[key] for key in ("time_s", "from", "to", "reason")), strict=True)
            switches[name.removeprefix("switches.")] = [
                {"time_s": float(at), "from": str(left), "to": str(to), "reason": str(why)}
                for at, left, to, why in rows
            ]
    return switches


def _bands(frame: pl.DataFrame, packed: _Arrays) -> list[dict[str, object]]:
    return [
        {
            "sender": sender,
            "series": series,
            "column": column,
            "times": packed.add(group["time_s"].to_numpy(), 8),
            "low": packed.add(group["low"].to_numpy(), 4),
            "high": packed.add(group["high"].to_numpy(), 4),
        }
        for (sender, series, column), group in frame.partition_by(
            "sender", "series", "column", as_dict=True, maintain_order=True
        ).items()
    ]


class _Arrays:
    """Stores arrays one after the other, equal ones once. The bytes of an array are arranged in planes, which compress better."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._places: dict[bytes, Place] = {}
        self._end = 0

    def add(self, values: np.ndarray, size: int) -> Place:
        """Add an array of numbers of `size` bytes and return its position."""
        numbers = np.ascontiguousarray(values, dtype=f"<f{size}")
        part = numbers.view(np.uint8).reshape(-1, size).T.tobytes()
        key = part + bytes([size])
        if key not in self._places:
            self._places[key] = (self._end, len(numbers), size)
            self._parts.append(part)
            self._end += len(part)
        return self._places[key]

    def content(self) -> bytes:
        return b"".join(self._parts)


def _path(path: Mapping[str, Any]) -> dict[str, object]:
    return {"name": path["name"], "rate_mbps": measure(path.get("rate"), MBPS), "rtt_ms": measure(path.get("rtt"), _MS)}


def _trace(path: Mapping[str, Any]) -> dict[str, object] | None:
    """A path's capacity over time, if it is given by a trace that is played from its beginning."""
    trace = path.get("trace")
    if not trace or not isinstance(trace.get("content"), str) or path.get("start") not in (None, "0 s"):
        return None
    preview = engine.preview_trace(trace["content"], None, _TRACE_BINS)
    return {"period_s": preview["period_s"], "bins_mbps": [float(f"{rate:.4g}") for rate in preview["bins_mbps"]]}

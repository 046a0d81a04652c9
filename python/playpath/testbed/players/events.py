"""Playback events of a real player, and the figures that follow from them: the definitions of `crates/video/src/metrics.rs`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any


class EventLog:
    """Events in the order of time, in the record's words."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, event: str, at_s: float, **more: Any) -> None:
        """Append. A time before the last event's is taken for the last one's: sources are read a moment apart."""
        last = self.events[-1]["time_s"] if self.events else 0.0
        self.events.append({"event": event, **more, "time_s": round(max(at_s, last), 6)})

    def times(self, event: str) -> list[float]:
        """When it happened."""
        return [float(e["time_s"]) for e in self.events if e["event"] == event]

    def metrics(self, played_s: float, elapsed_s: float) -> dict[str, float | None]:
        """Figures of the session. `played_s`: media time that was shown."""
        started = self.times("playback_started")
        stalls = [e["frozen_s"] for e in self.events if e["event"] == "stall_end"]
        stalled = float(sum(stalls))
        watched = stalled + played_s
        # A segment that was fetched again, in another quality, is shown as it came last.
        segments = list({e["segment"]: e for e in self.events if e["event"] == "segment_downloaded"}.values())
        media_s = sum(e["media_duration_s"] for e in segments)
        rates = [e["representation"] for e in segments]
        found: dict[str, float | None] = {
            "startup_delay_s": started[0] if started else elapsed_s,
            "stall_count": float(len(stalls)),
            "stall_time_s": stalled,
            "stall_ratio": stalled / watched if watched > 0 else None,
            "stalls_per_minute": len(stalls) / (watched / 60) if watched > 0 else None,
            "discarded_pictures": float(sum(e["count"] for e in self.events if e["event"] == "pictures_discarded")),
            "underflow_events": float(len(self.times("underflow_start"))),
            "played_s": played_s,
        }
        if segments:
            weighted = sum(e["rate_mbps"] * e["media_duration_s"] for e in segments)
            found["mean_rate_kbps"] = 1000 * weighted / media_s
            found["switches"] = float(sum(a != b for a, b in pairwise(rates)))
        return found

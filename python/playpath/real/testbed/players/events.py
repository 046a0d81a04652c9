"""Playback events of a real player, in the format of a record; the engine computes the figures from them."""

from collections.abc import Mapping
from typing import Any, cast

from playpath.results.recorded import EventRecord


class EventLog:
    """Events in order of time. It also keeps the media clock: positions that a player does not report follow from its stalls."""

    def __init__(self) -> None:
        self.events: list[EventRecord] = []
        self._stalled_since: float | None = None
        self._started: float | None = None
        self._stalled_s = 0.0

    def add(self, event: str, at_s: float, **more: Any) -> None:
        """Append an event. A time before the last event's is set to the last one's, since sources are read a moment apart."""
        last = self.events[-1]["time_s"] if self.events else 0.0
        self.events.append(cast("EventRecord", {"event": event, **more, "time_s": round(max(at_s, last), 6)}))

    def begin(self, at_s: float, described: Mapping[str, float]) -> None:
        """Record that the viewer pressed play."""
        self.add("session_started", at_s, media_duration_s=described["duration_s"], media_rate_mbps=None)

    def times(self, event: str) -> list[float]:
        return [float(e["time_s"]) for e in self.events if e["event"] == event]

    @property
    def has_started(self) -> bool:
        """Whether the first frame was shown."""
        return self._started is not None

    @property
    def is_stalled(self) -> bool:
        """Whether playback, once started, has stopped."""
        return self._stalled_since is not None

    def stands_still(self, at_s: float, position_s: float | None = None) -> None:
        """Record that playback has stopped at `at_s`, unless it had stopped before."""
        if self._stalled_since is None:
            position_s = self._position(at_s) if position_s is None else position_s
            self._stalled_since = at_s
            self.add("underflow_start", at_s, position_s=position_s)
            self.add("stall_start", at_s, since_s=at_s, position_s=position_s)

    def underflows(self, at_s: float) -> None:
        """Record that the buffer ran empty but was refilled before the picture stopped."""
        self.add("underflow_start", at_s, position_s=self._position(at_s))
        self.add("underflow_end", at_s)

    def moves(self, at_s: float) -> None:
        """Record that playback started or resumed at `at_s`."""
        if self._started is None:
            self._started = at_s
            self.add("playback_started", at_s)
        elif self._stalled_since is not None:
            frozen_s = round(at_s - self._stalled_since, 6)
            self._stalled_s += frozen_s
            self._stalled_since = None
            self.add("underflow_end", at_s)
            self.add("stall_end", at_s, frozen_s=frozen_s)

    def finish(self, at_s: float, reason: str, played_s: float, displayed: int = 0) -> None:
        """Record the end of the session. `played_s` is the media time shown, `displayed` the number of frames shown."""
        discarded = sum(e["count"] for e in self.events if e["event"] == "pictures_discarded")
        self.add(
            "finished",
            at_s,
            reason=reason,
            startup_s=at_s if self._started is None else self._started,
            media_played_s=played_s,
            media_discarded_s=0.0,
            clock_stopped_s=self._stalled_s,
            pictures_shown=displayed,
            pictures_discarded=discarded,
        )

    def _position(self, at_s: float) -> float:
        return 0.0 if self._started is None else max(0.0, at_s - self._started - self._stalled_s)

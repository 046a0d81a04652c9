"""What a run leaves, typed: the parts of a record.

Made from the engine's declarations by `make reference`; do not edit.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class FlowRecord(TypedDict):
    """One flow, cross traffic too."""

    name: str
    """Name."""

    cc: str
    """Congestion control of the server."""

    goodput_mbps: float
    """Payload read by the client, Mbit/s."""

    throughput_mbps: float
    """Wire bytes that arrived at the client, Mbit/s."""

    sent_packets: int
    """Data packets sent, retransmissions included."""

    retransmitted_packets: int
    """Data packets sent again."""

    rto_count: int
    """Retransmission timeouts."""

    loss_ratio: float
    """Data packets dropped, share of those sent."""

    mean_rtt_ms: NotRequired[float | None]
    """Mean of the RTT samples; null without one."""

    min_rtt_ms: NotRequired[float | None]
    """Smallest RTT; null without a sample."""

    start_s: float
    """When the flow opened."""

    end_s: float
    """When it ended, or the run."""

    subflows: list[SubflowRecord]
    """One for each path under MPTCP; empty otherwise."""

    frames: NotRequired[FrameRecord | None]
    """Of a source of frames."""


class SubflowRecord(TypedDict):
    """One path of an MPTCP flow. What a world cannot see has no value."""

    path: str
    """Name of the path."""

    cc: str
    """Congestion control of the server."""

    goodput_mbps: float
    """Payload that the subflow's TCP delivered in order at the client, reinjected copies included, Mbit/s."""

    throughput_mbps: float
    """Wire bytes that arrived at the client over the path, Mbit/s."""

    share: float
    """Share of the payload that all subflows delivered."""

    sent_packets: int
    """Data packets sent, retransmissions included."""

    retransmitted_packets: int
    """Data packets that the subflow's TCP sent again."""

    rto_count: int
    """Retransmission timeouts."""

    reinjections: NotRequired[int | None]
    """Segments given to it that another subflow carries, too."""

    mean_rtt_ms: NotRequired[float | None]
    """Mean of the RTT samples; null without one."""

    min_rtt_ms: NotRequired[float | None]
    """Smallest RTT sample; null without one."""

    failures: NotRequired[int | None]
    """Times that it was taken for potentially failed."""

    penalties: NotRequired[int | None]
    """Times that its window was halved for holding up the connection."""


class FrameRecord(TypedDict):
    """Delays of the frames of a source, from the picture to its last byte at the client's application. One that had
    not arrived by the end counts with the time for which it had waited.
    """

    count: int
    """Frames taken."""

    p50_ms: float
    """Half of them took at most this long."""

    p99_ms: float
    """99 of 100."""

    p999_ms: float
    """999 of 1000."""

    over_50ms: float
    """Share that took longer than 50 ms."""

    over_100ms: float
    """Share that took longer than 100 ms."""


class LinkRecord(TypedDict):
    """One direction of a link."""

    name: str
    """Name."""

    utilisation: float
    """Share of the capacity used."""

    offered_packets: int
    """Packets handed to the link."""

    delivered_packets: int
    """Packets that came out."""

    dropped_packets: dict[str, int]
    """Drops by cause."""

    marked_packets: int
    """Congestion marks."""

    mean_queue_packets: float
    """Time-weighted mean of the queue."""

    sd_queue_packets: float
    """Time-weighted standard deviation of the queue."""

    rewritten_packets: NotRequired[int | None]
    """Packets whose ECN field it cleared or wrote anew; only of a hop that does so."""

    classes: NotRequired[dict[str, ClassRecord]]
    """By class of the queue, `low_latency` and `classic`; only of a queue that tells them apart."""

    mean_lateness_ms: NotRequired[float | None]
    """How much later than due it handed packets over, on the mean; only of the ways of a path on the wall clock."""


class ClassRecord(TypedDict):
    """One class of a queue that keeps several."""

    arrived_packets: int
    """Packets handed to the class."""

    sent_packets: int
    """Packets sent on."""

    sent_bytes: int
    """Their bytes."""

    dropped_packets: int
    """Packets dropped, by the limit or by the management."""

    marked_packets: int
    """Congestion marks."""

    mean_wait_ms: NotRequired[float | None]
    """Mean time in the queue of those sent on; null without one."""

    longest_wait_ms: float
    """The longest."""


class SessionRecord(TypedDict):
    """One video session."""

    name: str
    """Name; "video" is the main one."""

    start_s: float
    """When the viewer pressed play."""

    metrics: dict[str, float | None]
    """The viewer's figures, as in [`Record::metrics`]; those of a session that the end of the run cut are up to
    there."""


class WindowEvent(TypedDict):
    """Something that a congestion control was told, and its window before and after; in the record of a traced
    run.
    """

    time_s: float
    """When."""

    path: int
    """Number of the subflow's path, 0 for plain TCP."""

    event: str
    """What: loss, ecn, early_retransmit, rto, undo, window_set (validation or a scheduler), phase (on an ACK)."""

    cwnd_before: float
    """Congestion window in packets."""

    cwnd_after: float
    """The same after the event: after a loss what holds when its repair is over."""

    phase: str
    """The phase after it, in the control's own words."""


EventRecord = TypedDict(
    "EventRecord",
    {
        "event": Literal[
            "session_started",
            "connected",
            "request_sent",
            "first_byte",
            "buffer_filled",
            "playback_started",
            "underflow_start",
            "underflow_end",
            "stall_start",
            "stall_end",
            "clock_shifted",
            "pictures_discarded",
            "segment_decision",
            "segment_downloaded",
            "request_abandoned",
            "host",
            "request_failed",
            "switch",
            "live_latency",
            "speed_changed",
            "viewer_came",
            "seek_start",
            "seek_end",
            "unseen",
            "packets_judged",
            "finished",
        ],
        "time_s": float,
        "media_duration_s": NotRequired[float],
        "media_rate_mbps": NotRequired[float | None],
        "connection": NotRequired[int],
        "request": NotRequired[int],
        "body_bytes": NotRequired[int],
        "kind": NotRequired[str],
        "segment": NotRequired[int],
        "representation": NotRequired[int],
        "position_s": NotRequired[float],
        "since_s": NotRequired[float],
        "frozen_s": NotRequired[float],
        "by_s": NotRequired[float],
        "first": NotRequired[int],
        "count": NotRequired[int],
        "cause": NotRequired[str],
        "rate_mbps": NotRequired[float],
        "buffer_level_s": NotRequired[float],
        "estimate_mbps": NotRequired[float | None],
        "reason": NotRequired[str],
        "download_time_s": NotRequired[float],
        "is_late": NotRequired[bool],
        "vmaf": NotRequired[float],
        "ssimplus": NotRequired[float],
        "ssim": NotRequired[float],
        "host": NotRequired[int],
        "is_timeout": NotRequired[bool],
        "from": NotRequired[int],
        "to": NotRequired[int],
        "latency_s": NotRequired[float],
        "speed": NotRequired[float],
        "leaves_after_s": NotRequired[float | None],
        "patience_s": NotRequired[float | None],
        "from_s": NotRequired[float],
        "to_s": NotRequired[float],
        "is_buffered": NotRequired[bool],
        "waited_s": NotRequired[float],
        "bytes": NotRequired[int],
        "packets": NotRequired[int],
        "late": NotRequired[int],
        "overflowed": NotRequired[int],
        "startup_s": NotRequired[float],
        "media_played_s": NotRequired[float],
        "media_discarded_s": NotRequired[float],
        "clock_stopped_s": NotRequired[float],
        "pictures_shown": NotRequired[int],
        "pictures_discarded": NotRequired[int],
        "seeking_s": NotRequired[float],
        "gained_s": NotRequired[float],
    },
)
"""One entry of a playback log; which fields it has depends on `event`."""

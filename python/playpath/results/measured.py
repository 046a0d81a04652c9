"""What a world other than the simulator measures of a run, typed: the engine makes the record of it.

Made from the engine's declarations by `make reference`; do not edit.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from playpath.results.recorded import EventRecord, LinkRecord


class MeasuredSession(TypedDict):
    """A video session."""

    name: NotRequired[str]
    """Name; "video" is the main one."""

    start_s: NotRequired[float]
    """When the viewer pressed play."""

    events: NotRequired[list[EventRecord]]
    """Its playback log, closed; empty where nobody watches (a plain download)."""

    told: NotRequired[dict[str, float | None]]
    """Figures of the player's own, by the metric's name."""


class Flow(TypedDict):
    """A flow."""

    name: NotRequired[str]
    """Name."""

    cc: NotRequired[str]
    """Congestion control of the server."""

    is_measured: NotRequired[bool]
    """It carries the main session, or there is none: it counts for the run's metrics."""

    start_s: NotRequired[float]
    """When it opened."""

    end_s: NotRequired[float]
    """When it ended, or the run."""

    is_open: NotRequired[bool]
    """It was open until the end of the run."""

    read_bytes: NotRequired[int]
    """Payload that the client's application has read."""

    wire_bytes: NotRequired[int]
    """Wire bytes that arrived at the client."""

    sent_packets: NotRequired[int]
    """Data packets sent, retransmissions included."""

    dropped_packets: NotRequired[int]
    """Data packets that a link dropped."""

    retransmitted_packets: NotRequired[int]
    """Data packets sent again."""

    rto_count: NotRequired[int]
    """Retransmission timeouts."""

    rtt_sum_ms: NotRequired[float]
    """Sum of the RTT samples."""

    rtt_samples: NotRequired[int]
    """Their number."""

    min_rtt_ms: NotRequired[float | None]
    """The smallest."""

    subflows: NotRequired[list[Subflow]]
    """One for each path under MPTCP; empty otherwise."""


class Subflow(TypedDict):
    """One path of an MPTCP flow. What a world cannot see has no value."""

    path: NotRequired[str]
    """Name of the path."""

    cc: NotRequired[str]
    """Congestion control of the server."""

    delivered_bytes: NotRequired[int]
    """Payload that the subflow's TCP delivered in order, reinjected copies included."""

    wire_bytes: NotRequired[int]
    """Wire bytes that arrived at the client."""

    sent_packets: NotRequired[int]
    """Data packets sent, retransmissions included."""

    retransmitted_packets: NotRequired[int]
    """Data packets sent again."""

    rto_count: NotRequired[int]
    """Retransmission timeouts."""

    reinjections: NotRequired[int | None]
    """Segments given to it that another subflow carries, too."""

    mean_rtt_ms: NotRequired[float | None]
    """Mean of the RTT samples."""

    min_rtt_ms: NotRequired[float | None]
    """The smallest."""

    failures: NotRequired[int | None]
    """Times that it was taken for potentially failed."""

    penalties: NotRequired[int | None]
    """Times that its window was halved for holding up the connection."""


class PathCounts(TypedDict):
    """What connections over several paths did with them, summed up. What a world cannot see has no value."""

    path_switches: NotRequired[int | None]

    wire_switches: NotRequired[int | None]

    switches_from_open_path: NotRequired[int | None]

    path_choices: NotRequired[int | None]

    reinjections: NotRequired[int | None]

    hol_blocking_time_s: NotRequired[float | None]

    max_out_of_order_bytes: NotRequired[int | None]

    switches: NotRequired[Switches | None]
    """Told as the switches themselves."""

    switches_discard_predicted: NotRequired[int | None]


class Switches(TypedDict):
    """What the prediction of an underflow rests on, as the kernel world tells it."""

    video_mbps: float

    sides: list[Sides]


class Sides(TypedDict):
    """The path before a switch and the one after it."""

    from_srtt_ms: float

    from_mbps: float

    to_srtt_ms: float


class Measurements(TypedDict):
    """Everything of a run."""

    sessions: NotRequired[list[MeasuredSession]]
    """Every video session that has begun, the main one first."""

    flows: NotRequired[list[Flow]]
    """Every flow, in the record's order."""

    paths: NotRequired[PathCounts | None]
    """Over several paths: what the connections of the main session did with them."""

    links: NotRequired[list[LinkRecord]]
    """Every direction of a link."""

    bottleneck: NotRequired[int]
    """Which of `links` is the first path's `down` link, what a scenario with one path calls the bottleneck."""

    active_s: NotRequired[float]
    """Over which time goodput and throughput of the run are taken."""

    read_bytes: NotRequired[int | None]
    """What the main session's player has read, where it counts itself; else the sum over its flows."""

    cut_at_s: NotRequired[float | None]
    """The main session was not played to its end: cut at this time."""

    warnings: NotRequired[list[str]]
    """What only the world itself can know."""

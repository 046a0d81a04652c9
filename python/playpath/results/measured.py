"""What a world other than the simulator measures of a run, typed (fields: crates/record/src/measurements.rs).

Made from the engine's declarations by `make reference`; do not edit.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from playpath.results.recorded import EventRecord, LinkRecord


class MeasuredSession(TypedDict):
    """A video session."""

    name: NotRequired[str]
    start_s: NotRequired[float]
    events: NotRequired[list[EventRecord]]
    told: NotRequired[dict[str, float | None]]


class Flow(TypedDict):
    """A flow."""

    name: NotRequired[str]
    cc: NotRequired[str]
    is_measured: NotRequired[bool]
    start_s: NotRequired[float]
    end_s: NotRequired[float]
    is_open: NotRequired[bool]
    read_bytes: NotRequired[int]
    wire_bytes: NotRequired[int]
    sent_packets: NotRequired[int]
    dropped_packets: NotRequired[int]
    retransmitted_packets: NotRequired[int]
    rto_count: NotRequired[int]
    rtt_sum_ms: NotRequired[float]
    rtt_samples: NotRequired[int]
    min_rtt_ms: NotRequired[float | None]
    subflows: NotRequired[list[Subflow]]


class Subflow(TypedDict):
    """One path of an MPTCP flow. What a world cannot see has no value."""

    path: NotRequired[str]
    cc: NotRequired[str]
    delivered_bytes: NotRequired[int]
    wire_bytes: NotRequired[int]
    sent_packets: NotRequired[int]
    retransmitted_packets: NotRequired[int]
    rto_count: NotRequired[int]
    reinjections: NotRequired[int | None]
    mean_rtt_ms: NotRequired[float | None]
    min_rtt_ms: NotRequired[float | None]
    failures: NotRequired[int | None]
    penalties: NotRequired[int | None]


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
    flows: NotRequired[list[Flow]]
    paths: NotRequired[PathCounts | None]
    links: NotRequired[list[LinkRecord]]
    bottleneck: NotRequired[int]
    active_s: NotRequired[float]
    read_bytes: NotRequired[int | None]
    cut_at_s: NotRequired[float | None]
    warnings: NotRequired[list[str]]

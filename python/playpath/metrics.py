"""What each metric means: its unit, which way is better, and the difference that a viewer would not notice.

The engine computes metrics; this table only says how to read them. A metric that is not in the table is shown with the
unit its name ends in and never decides a ranking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Metric:
    """How to read and judge a metric.

    Attributes
    ----------
    name : str
        As in records and JSON.
    label, unit : str
        For tables and axes.
    better : {"lower", "higher", "neither"}
        Which way a viewer or the network prefers.
    least : float
        Differences up to this, in the metric's unit, count as alike.
    least_share : float
        Differences up to this share of the larger mean count as alike, too.
    """

    name: str
    label: str
    unit: str
    better: Better
    least: float = 0.0
    least_share: float = 0.05

    def margin(self, *means: float) -> float:
        """The largest difference between these means that counts as alike."""
        return max(self.least, self.least_share * max(abs(m) for m in means))

    @property
    def axis(self) -> str:
        """Label with unit, for an axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


_TABLE = [
    Metric("stall_time_s", "stall time", "s", "lower", 0.1),
    Metric("stall_count", "stalls", "", "lower", 0.5),
    Metric("stall_ratio", "stalled share of the time", "", "lower", 0.001),
    Metric("stalls_per_minute", "stalls per minute", "1/min", "lower", 0.05),
    Metric("startup_delay_s", "start-up delay", "s", "lower", 0.25),
    Metric("discarded_pictures", "discarded frames", "", "lower", 1.0),
    Metric("underflow_events", "buffer underflows", "", "lower", 0.5),
    Metric("late_packet_ratio", "late packets, share", "", "lower", 0.005),
    Metric("buffer_fill_time_s", "buffer fill time", "s", "lower", 0.1),
    Metric("overflow_packet_ratio", "overflowed packets, share", "", "lower", 0.005),
    # A guard against sessions that never started or were given up: they have no stalls. Smaller shares of missing video
    # show as discarded frames or stall time, which come next.
    Metric("played_s", "video shown", "s", "higher", least_share=0.5),
    Metric("jain_index", "fairness between sessions (Jain)", "", "higher", 0.01),
    Metric("mean_rate_kbps", "mean video rate", "kbit/s", "higher"),
    Metric("switches", "quality switches", "", "lower", 0.5),
    Metric("live_latency_s", "live latency", "s", "lower", 0.1),
    Metric("qoe_linear", "QoE, linear", "", "higher"),
    Metric("qoe_linear_pensieve", "QoE, linear (Pensieve)", "", "higher"),
    Metric("p1203_stalling_factor", "P.1203.3 stalling factor", "", "higher"),
    Metric("goodput_mbps", "goodput", "Mbit/s", "higher", 0.0, 0.01),
    Metric("total_goodput_mbps", "goodput of all flows", "Mbit/s", "higher", 0.0, 0.01),
    Metric("flow_jain_index", "fairness between flows (Jain)", "", "higher", 0.01),
    Metric("utilisation", "link utilisation", "", "neither", 0.0, 0.01),
    Metric("throughput_mbps", "throughput", "Mbit/s", "neither", 0.0, 0.01),
    Metric("retransmitted_packets", "retransmitted", "packets", "lower", 10.0),
    Metric("rto_count", "timeouts", "", "lower", 0.5),
    Metric("loss_ratio", "lost packets, share", "", "lower", 0.0005),
    Metric("mean_rtt_ms", "mean RTT", "ms", "lower", 1.0),
    Metric("path_switches", "path switches", "", "neither"),
    Metric("switches_from_open_path", "switches away from a path with room", "", "neither"),
    Metric("path_choices", "packets with a choice of paths", "packets", "neither"),
    Metric("reinjections", "reinjected", "packets", "lower", 10.0),
    Metric("hol_blocking_time_s", "head-of-line blocking", "s", "lower", 0.1),
    Metric("max_out_of_order_bytes", "most held out of order", "bytes", "lower", 1500.0),
    Metric("switches_underflow_predicted", "switches that predict an underflow", "", "neither"),
    Metric("switches_discard_predicted", "switches that predict a discard", "", "neither"),
    Metric("mean_queue_packets", "mean queue", "packets", "lower", 1.0),
    Metric("sd_queue_packets", "queue deviation", "packets", "lower", 1.0),
]
_BY_NAME = {metric.name: metric for metric in _TABLE}

VIDEO_CRITERIA = (
    "played_s",
    "stall_time_s",
    "discarded_pictures",
    "underflow_events",
    "late_packet_ratio",
    "mean_rate_kbps",
    "startup_delay_s",
    "retransmitted_packets",
    "mean_queue_packets",
)
"""What decides a ranking with a video, most important first: what the viewer sees, then what the network pays."""

NETWORK_CRITERIA = frozenset({"retransmitted_packets", "mean_queue_packets"})
"""The criteria of `VIDEO_CRITERIA` that no viewer sees."""

BULK_CRITERIA = ("goodput_mbps", "mean_rtt_ms", "retransmitted_packets", "mean_queue_packets")
"""What decides a ranking without a video."""

_UNIT_ENDINGS = {
    "_ms": "ms",
    "_s": "s",
    "_mbps": "Mbit/s",
    "_kbps": "kbit/s",
    "_packets": "packets",
    "_bytes": "bytes",
    "_kb": "kB",
}


def metric(name: str) -> Metric:
    """The entry for a metric; for an unknown one, an entry that judges nothing."""
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    for ending, unit in _UNIT_ENDINGS.items():
        if name.endswith(ending):
            return Metric(name, name.removesuffix(ending).replace("_", " "), unit, "neither")
    return Metric(name, name.replace("_", " "), "", "neither")


def format_value(value: float | None, digits: int = 3) -> str:
    """A number for people: about three significant digits, no exponent for everyday sizes.

    >>> format_value(1234.56), format_value(0.01234), format_value(0.0), format_value(None)
    ('1235', '0.0123', '0', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10 ** (digits - 1):
        return f"{value:.0f}"
    if size < 1e-4:
        return f"{value:.1e}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.6f}".rstrip("0")


def format_more_runs(count: float) -> str:
    """How many runs are wanted, in words that fit one as well.

    >>> format_more_runs(1), format_more_runs(12)
    ('1 more run', '12 more runs')
    """
    number = str(count) if isinstance(count, int) else format_value(count)
    return f"{number} more run{'' if count == 1 else 's'}"


def format_interval(mean: float | None, half_width: float | None) -> str:
    """`mean ± half`, both to the place that the half width's second digit has.

    >>> format_interval(0.35712, 0.0035), format_interval(306.8, 59.2), format_interval(3.0, 0.0)
    ('0.357 ± 0.004', '307 ± 59', '3')
    """
    if mean is None or not half_width:
        return format_value(mean)
    places = min(3, max(0, 1 - math.floor(math.log10(half_width))))
    if half_width < 0.5 * 10**-places:
        return format_value(mean)
    return f"{mean:.{places}f} ± {half_width:.{places}f}"

"""What each metric means: its unit, which way is better, and the difference that a viewer would not notice.

The engine computes the metrics and declares how to read them, one entry each, in `crates/record/src/registry`. A metric without
an entry (a study's own) is shown with the unit that its name ends in and never decides a ranking.
"""

from dataclasses import dataclass
from typing import Literal

from playpath.base import engine

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Metric:
    """How to read and judge a metric."""

    name: str
    """The name used in records and JSON."""
    label: str
    unit: str
    """`label` and `unit` are for tables and axes."""
    better: Better
    """Which way a viewer or the network prefers."""
    least: float = 0.0
    """Differences up to this size, in the metric's unit, count as alike."""
    least_share: float = 0.05
    """Differences up to this share of the larger mean count as alike as well."""

    def margin(self, *means: float) -> float:
        """The largest difference between these means that counts as alike."""
        return max(self.least, self.least_share * max(abs(m) for m in means))

    @property
    def spoken(self) -> str:
        """What it is called beside a number: "late packets (share)", which tables have with a comma."""
        what, comma, of = self.label.partition(", ")
        return f"{what} ({of})" if comma else what

    @property
    def axis(self) -> str:
        """Label with unit, for an axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


_ENTRIES = engine.metrics()
_BY_NAME = {
    e["name"]: Metric(e["name"], e["label"], e["unit"], e["better"], e["least"], e["least_share"]) for e in _ENTRIES
}


def _criteria(ranks: Literal["video_rank", "bulk_rank"]) -> tuple[str, ...]:
    """Names of the metrics with such a rank, in the order of their ranks."""
    ranked = sorted((entry[ranks], entry["name"]) for entry in _ENTRIES if entry[ranks] is not None)
    return tuple(name for _, name in ranked)


VIDEO_CRITERIA = _criteria("video_rank")
"""The criteria that rank senders of video, most important first: what the viewer sees, then what it costs the network."""

BULK_CRITERIA = _criteria("bulk_rank")
"""The criteria that rank senders without a video."""

NETWORK_CRITERIA = frozenset(e["name"] for e in _ENTRIES if e["video_rank"] is not None and e["of"] != "viewer")
"""The criteria of `VIDEO_CRITERIA` that viewers do not see."""

_UNIT_ENDINGS = {
    "_ms": "ms",
    "_s": "s",
    "_mbps": "Mbit/s",
    "_kbps": "kbit/s",
    "_packets": "packets",
    "_bytes": "bytes",
    "_kb": "kB",
    "_percent": "%",
}


def metric(name: str) -> Metric:
    """The entry of a metric; for an unknown one, an entry that never decides a ranking."""
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    for ending, unit in _UNIT_ENDINGS.items():
        if name.endswith(ending):
            return Metric(name, name.removesuffix(ending).replace("_", " "), unit, "neither")
    return Metric(name, name.replace("_", " "), "", "neither")


def signed(value: float) -> str:
    """A whole number with its sign; zero has none.

    >>> signed(3.2), signed(-0.2), signed(-7)
    ('+3', '0', '-7')
    """
    return f"{value:+.0f}" if round(value) else "0"


def format_value(value: float | None, digits: int = 3) -> str:
    """A number for people to read: about three significant digits, no exponent for everyday sizes.

    >>> format_value(1234.56), format_value(0.01234), format_value(0.0), format_value(-2.5), format_value(None)
    ('1235', '0.0123', '0', '\u22122.5', '–')
    """
    if value is None:
        return "–"
    if value < 0:
        return f"\u2212{format_value(-value, digits)}"
    if value == 0:
        return "0"
    if value >= 10 ** (digits - 1):
        return f"{value:.0f}"
    if value < 1e-4:
        return f"{value:.1e}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.6f}".rstrip("0")


def format_difference(value: float) -> str:
    """A difference for people to read: its sign, then the number.

    >>> format_difference(424.2), format_difference(-2555.6), format_difference(0.0)
    ('+424', '\u22122556', '0')
    """
    text = format_value(abs(value))
    sign = "+" if value > 0 else "\u2212"
    return text if text == "0" else sign + text


def about_runs(count: float) -> int:
    """An estimated number of runs rounded to two digits, which is as precise as the estimate is.

    >>> about_runs(7), about_runs(65), about_runs(204), about_runs(5776)
    (7, 65, 200, 5800)
    """
    unit: int = 10 ** max(0, len(str(int(count))) - 2)
    return (int(count) + unit // 2) // unit * unit


def format_more_runs(count: float) -> str:
    """How many more runs are needed, to two digits, in the singular or the plural.

    >>> format_more_runs(1), format_more_runs(12), format_more_runs(441)
    ('1 more run', '12 more runs', '440 more runs')
    """
    return f"{about_runs(count)} more run{'' if count == 1 else 's'}"

"""Bandwidth traces: recognise, check, preview and convert between formats, and generate from a seed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playpath.base import engine
from playpath.base.errors import InputError, unknown_name

FORMATS = {
    "mahimahi": "one integer per line: the millisecond of an opportunity to send 1500 bytes",
    "pensieve": "one line per change: seconds and Mbit/s",
    "sabre": "a JSON list of objects with duration_ms, bandwidth_kbps, latency_ms",
    "csv": "a header with units, such as time_s,rate_mbps",
}
GENERATORS = ("constant", "steps", "markov", "lte", "wifi")
_ENDINGS = {".mahi": "mahimahi", ".mahimahi": "mahimahi", ".csv": "csv", ".json": "sabre", ".txt": "pensieve"}


@dataclass(frozen=True)
class Preview:
    """A first look at a trace."""

    format: str
    period_s: float
    """Length of the trace, after which it repeats."""
    mean_mbps: float
    min_mbps: float
    max_mbps: float
    """`mean_mbps` of the whole trace, `min_mbps` and `max_mbps` of its slowest and fastest bin."""
    outage_share: float
    """Share of the bins without any capacity."""
    bins_mbps: list[float]
    """Mean rate of equal parts of the trace."""

    def to_dict(self) -> dict[str, object]:
        return dict(self.__dict__)


def preview(text: str, format: str | None = None, *, bins: int = 60) -> Preview:
    """Recognise a trace (or use the given format) and check it. InputError if it is wrong."""
    return Preview(**engine.preview_trace(text, _known(format), bins))


def convert(text: str, to: str, format: str | None = None, *, bin_ms: float = 100.0) -> str:
    """Convert a trace to another format.

    Args:
        to, format: Names of formats; `format` is recognised if it is not given.
        bin_ms: Step over which delivery opportunities are averaged if the target format has rates.
    """
    if bin_ms <= 0:
        raise InputError(f"--bin {bin_ms:g}: must be above 0 ms")
    return engine.convert_trace(text, _known(format), _known(to), bin_ms / 1e3)


def generate(kind: str, settings: Mapping[str, str], *, seed: int = 1, to: str = "mahimahi") -> str:
    """A trace from a seeded generator; the same seed and settings give the same trace everywhere.

    Args:
        kind: One of `GENERATORS`.
        settings: Quantities with units, for example `{"mean_rate": "6 Mbit/s", "duration": "120 s"}`; see `playpath
            list trace`.
    """
    if kind not in GENERATORS:
        raise unknown_name("generator", kind, GENERATORS)
    return engine.generate_trace(kind, json.dumps(dict(settings)), seed, _known(to))


def format_of(path: Path) -> str | None:
    """The format for a file name's ending."""
    return _ENDINGS.get(path.suffix.lower())


def sparkline(values: list[float]) -> str:
    """A row of block characters, with zero at the bottom.

    >>> sparkline([0, 1, 2, 4])
    ' ▂▄█'
    """
    top = max(values, default=0.0)
    if top <= 0:
        return " " * len(values)
    return "".join(" ▁▂▃▄▅▆▇█"[round(8 * value / top)] for value in values)


def _known(name: str | None) -> Any:
    if name is not None and name not in FORMATS:
        raise unknown_name("trace format", name, FORMATS)
    return name

"""Implausible values in a log, which usually mean a wrong unit or a wrong clock."""

from collections.abc import Iterator
from dataclasses import dataclass, field

_LIMITS = {"rate_mbps": ("a rate", 1000.0, "Mbit/s"), "rtt_ms": ("an RTT", 3000.0, "ms")}
"""Limits that hardly any viewer's path exceeds."""


@dataclass
class ImplausibleValues:
    """Counts the sessions with implausible values and keeps the greatest value, in constant memory."""

    _counts: dict[str, int] = field(default_factory=dict)
    _greatest: dict[str, tuple[float, str]] = field(default_factory=dict)

    def add(self, session: str, **values: float | None) -> None:
        """Check a session's `rate_mbps` and `rtt_ms`."""
        for column, value in values.items():
            if value is not None and value > _LIMITS[column][1]:
                self._counts[column] = self._counts.get(column, 0) + 1
                self._greatest[column] = max(self._greatest.get(column, (value, session)), (value, session))

    def notes(self) -> Iterator[str]:
        for column, (what, limit, unit) in _LIMITS.items():
            if column in self._counts:
                value, name = self._greatest[column]
                yield (
                    f"{self._counts[column]} sessions have {what} above {limit:g} {unit} ({name}: {value:g} {unit}), which is implausible "
                    "for a viewer's path; check the unit (--fields) and the clock"
                )

"""What small variations of the path do to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from playpath.base.metrics import format_value, metric

_TOLD = 2
"""Settings that the sentence names."""
_WEIGHTS = {"beaten": 2, "passed": 1, "stays": 0}


@dataclass(frozen=True)
class Shift:
    """The comparison with one setting varied."""

    setting: str
    key: str
    was: str
    now: str
    """`setting`, `key`, `was` and `now`: what is varied, as people and as `--set` call it, and from what to what."""
    leads: str
    """Who does best there."""
    outcome: Literal["stays", "passed", "beaten"]
    """Of the best one of the comparison: still the best or alike with it, behind, or behind for certain."""
    difference: float
    """There, of rival minus best, in the metric's unit."""
    moved: float
    """How far that is from the comparison's own, in what one notices."""


@dataclass(frozen=True)
class Sensitivity:
    """To which settings of the path an answer is most sensitive."""

    best: str
    rival: str
    metric: str
    """`best`, `rival` and `metric`: who is held against whom, by what."""
    difference: float
    """Of rival minus best, over the seeds that are varied."""
    seeds: int
    sessions: int
    """`seeds` and `sessions`: for each variation, and in all."""
    shifts: Sequence[Shift]

    @property
    def order(self) -> list[Shift]:
        """For each setting the variation that changes most, the settings that the answer hangs on first."""
        most: dict[str, Shift] = {}
        for shift in sorted(self.shifts, key=lambda s: (-_WEIGHTS[s.outcome], -s.moved)):
            most.setdefault(shift.setting, shift)
        return list(most.values())

    @property
    def sentence(self) -> str:
        """The one or two settings, and what they do."""
        felt = [shift for shift in self.order if shift.outcome != "stays" or shift.moved > 1][:_TOLD]
        if not felt:
            tried = ", ".join(shift.setting for shift in self.order)
            return f"Small variations of {tried} change nothing that one would notice: {self.best} stays ahead of {self.rival}."
        first, *then = felt
        return (
            f"Most sensitive to the {self._phrase(first)}"
            + "".join(f"; then to the {self._phrase(s)}" for s in then)
            + "."
        )

    def difference_text(self, shift: Shift) -> str:
        """The difference there, as tables show it."""
        entry = metric(self.metric)
        return f"{'+' if shift.difference > 0 else ''}{format_value(shift.difference)} {entry.unit}".strip()

    def _phrase(self, shift: Shift) -> str:
        where = f"{shift.setting}: at {shift.now} instead of {shift.was}"
        if shift.outcome == "beaten":
            return f"{where} {shift.leads} does better than {self.best}"
        if shift.outcome == "passed":
            return f"{where} {shift.leads} leads, not {self.best}"
        entry = metric(self.metric)
        was = f"{'+' if self.difference > 0 else ''}{format_value(self.difference)}"
        return f"{where} the {entry.label} of {self.rival} minus that of {self.best} is {self.difference_text(shift)} instead of {was}"

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "sentence": self.sentence}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Sensitivity:
        given = {key: value for key, value in stored.items() if key != "sentence"}
        return cls(**{**given, "shifts": [Shift(**shift) for shift in given["shifts"]]})

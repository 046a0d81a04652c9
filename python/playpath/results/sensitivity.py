"""The effect of small variations of the path on an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from playpath.base.metrics import format_value, metric
from playpath.judge.stats import SIGNIFICANCE

_MAX_LISTED = 2
"""Number of settings that the sentence names."""
_WEIGHTS = {"beaten": 2, "passed": 1, "stays": 0}


@dataclass(frozen=True)
class Shift:
    """The result of the comparison with one setting varied."""

    setting: str
    key: str
    was: str
    now: str
    """`setting` is the display name and `key` the dotted key of what is varied, from `was` to `now`."""
    leads: str
    """The sender that does best there."""
    outcome: Literal["stays", "passed", "beaten"]
    """Standing of the comparison's best sender: still best, or as far from the best as nobody notices, on average or in any
    session; behind; proven to be behind."""
    difference: float
    """Difference there of rival minus best, in the metric's unit."""
    moved: float
    """How far that is from the comparison's own difference, in multiples of the margin."""
    p: float = 1.0
    """Of "this setting changes nothing about what `outcome` tells", corrected for all variations and all pairs of senders."""

    @property
    def is_proven(self) -> bool:
        return self.p < SIGNIFICANCE


@dataclass(frozen=True)
class Sensitivity:
    """The settings of the path to which an answer is most sensitive."""

    best: str
    rival: str
    metric: str
    """`rival` is compared with `best` by `metric`."""
    difference: float
    """Difference of rival minus best without variation, over the same seeds."""
    seeds: int
    sessions: int
    """`seeds` for each variation, `sessions` in all."""
    shifts: Sequence[Shift]

    @property
    def order(self) -> list[Shift]:
        """For each setting the variation that changes most, the settings that the answer depends on first."""
        most: dict[str, Shift] = {}
        for shift in sorted(self.shifts, key=lambda s: (not s.is_proven, -_WEIGHTS[s.outcome], -s.moved)):
            most.setdefault(shift.setting, shift)
        return list(most.values())

    @property
    def sentence(self) -> str:
        """The one or two most important settings whose effect is proven, in a sentence."""
        felt = [shift for shift in self.order if shift.outcome != "stays" or shift.moved > 1]
        tried = ", ".join(dict.fromkeys(shift.setting for shift in self.shifts))
        if not felt:
            return f"Small variations of {tried} make no noticeable difference to how {self.best} and {self.rival} compare."
        proven = [shift for shift in felt if shift.is_proven][:_MAX_LISTED]
        if not proven:
            return f"No small variation of {tried} is proven to change the answer: {self.seeds} seeds differ as much by chance."
        return f"Most sensitive to the {'; then to the '.join(map(self._phrase, proven))}."

    def difference_text(self, shift: Shift) -> str:
        """The difference there, for tables."""
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

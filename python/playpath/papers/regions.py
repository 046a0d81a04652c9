"""Where in the joint space a claim holds, in words: "gain under 0.9 and a queue of 250 kB or more".

A region is a box of at most three conditions, found greedily: each condition is the one that most increases the number of points in
the box where the claim holds, beyond what the box's size would give (weighted relative accuracy, Lavrač et al. 1999). A condition
that chance could explain (hypergeometric test at 1 in 20, corrected for the number of conditions tried) is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from playpath.base.optional import scipy
from playpath.papers.study import Settings, Unstated

_MAX = 3
_MIN_GAIN = 1.05
_MIN_INSIDE = 4
_CHANCE = 0.05


@dataclass(frozen=True)
class Condition:
    """A condition on one parameter: one of these choices, or a number within bounds."""

    parameter: Unstated
    low: float = float("-inf")
    high: float = float("inf")
    choices: Sequence[float | str] = ()

    def holds(self, value: float | str) -> bool:
        """Whether a value of the parameter fulfils it."""
        return self.low <= value < self.high if isinstance(value, int | float) else value in self.choices

    @property
    def says(self) -> str:
        u = self.parameter
        if not u.is_number:
            return f"{u.name}: {' or '.join(map(str, self.choices))}"
        bound = f"{self.low:g} {u.unit}".strip() + " or more" if self.high == float("inf") else ""
        return f"{u.name} {bound}" if bound else f"{u.name} under {self.high:g} {u.unit}".rstrip()


@dataclass(frozen=True)
class Region:
    conditions: Sequence[Condition]
    """All of them hold inside the box; empty if no box was found."""
    inside: tuple[int, int]
    outside: tuple[int, int]
    """`inside` and `outside`: number of points where the claim holds, and of all points."""

    def has(self, settings: Settings) -> bool:
        """Whether a set of parameters lies inside."""
        return all(c.holds(settings[c.parameter.knob]) for c in self.conditions)

    @property
    def says(self) -> str:
        if not self.conditions:
            return "no region stands out"
        return " and ".join(c.says for c in self.conditions)


def find(points: Sequence[Settings], y: np.ndarray, swept: Sequence[Unstated]) -> Region:
    """Find the box that best describes where `y` is true."""
    candidates = [(c, _mask(c, points)) for u in swept for c in _conditions(u, points)]
    chosen: list[Condition] = []
    inside, best = np.ones(len(y), dtype=bool), 0.0
    while len(chosen) < _MAX and candidates:
        gains = [_gain(inside & mask, y) for _, mask in candidates]
        index = int(np.argmax(gains))
        narrowed = inside & candidates[index][1]
        if gains[index] <= best * _MIN_GAIN or not _is_more_than_chance(narrowed, inside, y, len(candidates)):
            break
        inside, best = narrowed, gains[index]
        chosen.append(candidates[index][0])
        candidates = [c for c in candidates if c[0].parameter is not chosen[-1].parameter]
    outside = ~inside
    return Region(chosen, (int(y[inside].sum()), int(inside.sum())), (int(y[outside].sum()), int(outside.sum())))


def _gain(inside: np.ndarray, y: np.ndarray) -> float:
    """Weighted relative accuracy: the share of all points that are inside and hold, beyond what the box's size would give."""
    count = int(inside.sum())
    return float(y[inside].sum() - count * y.mean()) / len(y) if count >= _MIN_INSIDE else 0.0


def _is_more_than_chance(narrowed: np.ndarray, inside: np.ndarray, y: np.ndarray, tried: int) -> bool:
    """Whether a random choice of as many points would hold so often in less than one of twenty searches."""
    total, holding = int(inside.sum()), int(y[inside].sum())
    p = scipy("stats", "--joint").hypergeom.sf(int(y[narrowed].sum()) - 1, total, holding, int(narrowed.sum()))
    return bool(p * tried < _CHANCE)


def _mask(condition: Condition, points: Sequence[Settings]) -> np.ndarray:
    return np.array([condition.holds(point[condition.parameter.knob]) for point in points])


def _conditions(u: Unstated, points: Sequence[Settings]) -> Iterator[Condition]:
    """Candidate conditions: both sides of each quintile of a number, or of each step of ordered quantities; otherwise each choice,
    and all but that choice.
    """
    values = u.values
    if u.is_number:
        at = np.unique(np.quantile([point[u.knob] for point in points], np.linspace(0.2, 0.8, 4)))
        for bound in (float(f"{b:.2g}") for b in at):
            yield Condition(u, high=bound)
            yield Condition(u, low=bound)
    elif u.is_quantity:
        for cut in range(1, len(values)):
            yield Condition(u, choices=values[:cut])
            yield Condition(u, choices=values[cut:])
    else:
        for value in values:
            yield Condition(u, choices=(value,))
            if len(values) > 2:
                yield Condition(u, choices=[other for other in values if other != value])

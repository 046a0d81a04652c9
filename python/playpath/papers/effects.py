"""Which unstated parameters explain where a claim holds: an analysis of variance over the points of the joint space."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from playpath.papers.study import Settings, Unstated

_LEVELS = 3
_MIN_EFFECT = 0.04


@dataclass(frozen=True)
class Effect:
    """How much one parameter, or two together, explain of where a claim reproduces."""

    parameters: tuple[Unstated, ...]
    explained: float
    """Share of the variance between points, corrected for the number of levels (omega squared); for two parameters, the share
    beyond the sum of each alone."""
    shares: tuple[tuple[str, float], ...] = ()
    """For a single parameter: (level, share of points that reproduce) in the order of its range."""

    @property
    def name(self) -> str:
        return " with ".join(u.name for u in self.parameters)


def effects_of(
    swept: Sequence[Unstated], positions: np.ndarray, points: Sequence[Settings], holds: np.ndarray
) -> list[Effect]:
    """Main effects, then the strongest interaction; effects below a few per cent are noise of the design and left out."""
    y = holds.astype(float)
    if y.min() == y.max():
        return []
    levels = [_levels(u, positions[:, i]) for i, u in enumerate(swept)]
    mains = [_explained(y, level) for level in levels]
    effects = [Effect((u,), mains[i], _shares(u, levels[i], points, y)) for i, u in enumerate(swept)]
    pairs = [
        Effect(
            (swept[i], swept[j]),
            _explained(y, levels[i] * 100 + levels[j]) - mains[i] - mains[j],
        )
        for i, j in combinations(range(len(levels)), 2)
    ]
    strong = [e for e in sorted(effects, key=_weakness) if e.explained >= _MIN_EFFECT]
    return strong + [e for e in sorted(pairs, key=_weakness)[:1] if e.explained >= 2 * _MIN_EFFECT]


def _weakness(effect: Effect) -> float:
    return -effect.explained


def _levels(parameter: Unstated, positions: np.ndarray) -> np.ndarray:
    """Each choice is a level; numeric ranges are cut into thirds."""
    count = min(_LEVELS, len(parameter.values)) if parameter.is_number else len(parameter.values)
    return np.minimum((positions * count).astype(int), count - 1)


def _shares(
    parameter: Unstated, levels: np.ndarray, points: Sequence[Settings], y: np.ndarray
) -> tuple[tuple[str, float], ...]:
    found = []
    for level in np.unique(levels):
        values = [points[i][parameter.knob] for i in np.flatnonzero(levels == level).tolist()]
        low, high = min(values), max(values)
        found.append((f"{low}" if low == high else f"{low:g} to {high:g}", float(y[levels == level].mean())))
    return tuple(found)


def _explained(y: np.ndarray, levels: np.ndarray) -> float:
    """Omega squared of a one-way analysis of variance: the share of the variance that the levels explain, corrected for bias."""
    groups = [y[levels == level] for level in np.unique(levels)]
    total = float(((y - y.mean()) ** 2).sum())
    within = float(sum(((g - g.mean()) ** 2).sum() for g in groups))
    free = len(y) - len(groups)
    if free <= 0:
        return 0.0
    noise = within / free
    return max(0.0, (total - within - (len(groups) - 1) * noise) / (total + noise))


def describe(effect: Effect) -> str:
    """An effect in words: "loss (12 % at 0.01 to 0.05, 80 % at 0.3 to 1)"."""
    if not effect.shares:
        return f"{effect.name} together"
    ends = (effect.shares[0], effect.shares[-1]) if len(effect.shares) > 2 else effect.shares
    unit = effect.parameters[0].unit
    return f"{effect.name} ({', '.join(f'{share:.0%} at {level} {unit}'.rstrip() for level, share in ends)})"

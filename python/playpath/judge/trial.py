"""How many viewers a real trial would need to find a difference.

In a trial each viewer gets one sender, so nothing is paired. The size is that of a comparison of the means of two samples, two-sided
at 5 % and with 80 % power, by the normal approximation with Guenther's correction for Student's t (Sample size formulas for normal
theory t tests, The American Statistician 35, 1981).

For a difference that these runs prove it is planned for what that exceeds in four of five cases (safeguard power: Perugini, Gallucci
and Costantini, Perspectives on Psychological Science 9, 2014): runs prove a difference more often where it came out large, and a trial
planned for that would too often miss the true one.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist

from playpath.base.metrics import format_value, metric
from playpath.judge.stats import SIGNIFICANCE

POWER = 0.8
_EDGE = NormalDist().inv_cdf(1 - SIGNIFICANCE / 2)
_SURE = NormalDist().inv_cdf(POWER)
_REACH = _EDGE + _SURE
_MIN = 2
"""A variance needs two viewers."""


@dataclass(frozen=True)
class Trial:
    """The size of a real trial that finds a sender's difference from the best; if none is proven, a just noticeable difference."""

    sender: str
    best: str
    metric: str
    """`sender`, `best` and `metric`: what decides that it is worse; else the first criterion in which a difference is proven, or that
    leaves them open."""
    difference: float
    """Difference of their means, in the metric's unit."""
    is_proven: bool
    """False if `difference` is the just noticeable one."""
    viewers_per_arm: int
    """If viewers vary as these runs do; the viewers of a real trial, on many paths, vary more."""

    @property
    def difference_text(self) -> str:
        entry = metric(self.metric)
        size = f"{format_value(abs(self.difference))} {entry.unit}".strip()
        return (
            f"{size} {'more' if self.difference > 0 else 'less'} {entry.spoken}"
            if self.is_proven
            else f"{size} of {entry.spoken}"
        )

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def viewers_per_arm(
    one: Sequence[float],
    other: Sequence[float],
    apart: float | None = None,
    *,
    less: float = 0.0,
    weights: Sequence[Sequence[float]] | None = None,
) -> int | None:
    """Viewers in each of two arms needed to find a difference `apart` of the means; by default the difference in these values,
    which may be too large by `less`. `weights`: how many viewers each value of either stands for.

    None for fewer than two values, for means that are equal or less than `less` apart, and if `apart` is given and the values do not
    vary.

    A difference of one standard deviation takes 17 viewers, half of one 64, as in tables for the t test:

    >>> from math import sqrt
    >>> spread = [-sqrt(0.5), sqrt(0.5)]
    >>> [viewers_per_arm(spread, [v + apart for v in spread]) for apart in (1.0, 0.5)]
    [17, 64]
    >>> viewers_per_arm([1.0, 2.0], [2.0, 1.0])
    """
    if len(one) < 2 or len(other) < 2:
        return None
    own, others = weights or ([1.0] * len(one), [1.0] * len(other))
    if min(_kish(own), _kish(others)) <= 1:
        return None
    spread = _variance(one, own) + _variance(other, others)
    if spread == 0 and apart is not None:
        return None  # nothing is known about how viewers vary
    if apart is None:
        apart = abs(_mean(one, own) - _mean(other, others)) - less
        if apart < 0:
            return None
    if apart == 0:
        return None
    return max(_MIN, math.ceil(spread * (_REACH / apart) ** 2 + _EDGE**2 / 4))


def doubt(found: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """By how much the mean of these paired differences is larger than the true one in no more than one case of five.

    >>> doubt([1.0, 1.0]), round(doubt([1.0, 2.0, 3.0]), 3), doubt([1.0])
    (0.0, 0.486, 0.0)
    """
    weights = [1.0] * len(found) if weights is None else weights
    if len(found) < _MIN or (number := _kish(weights)) <= 1:
        return 0.0
    return _SURE * math.sqrt(_variance(found, weights) / number)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def _variance(values: Sequence[float], weights: Sequence[float]) -> float:
    """Of viewers, of whom each value stands for as many as its weight says; corrected for Kish's effective number of values."""
    middle, kish = _mean(values, weights), _kish(weights)
    return _mean([(value - middle) ** 2 for value in values], weights) * kish / (kish - 1)


def _kish(weights: Sequence[float]) -> float:
    return math.fsum(weights) ** 2 / math.fsum(weight * weight for weight in weights)

"""Intervals over the units of a population: links or users, each with a weight.

A unit's value is the mean over its sessions, so that units are counted rather than sessions (a cluster estimator).

- `share_interval`: a share of viewers. Wilson's score interval with the effective number of units: the size of a simple random
  sample with the variance that the units show (Kish; as in survey statistics), and Student's t. The variance is that of a draw from
  all viewers, over Kish's number: by linearisation a few heavy units that happen to agree would hide that others may not.
- `net_interval`: a mean of values in [-1, 1], such as helped minus harmed. The adjusted interval for matched pairs of Agresti and Min
  (2005) with a pseudo-observation of half a win and half a loss, and Student's t.
- `alike_interval`: the same with three whole wins and losses, for proofs that nothing happens.
- `mean_interval`: a mean of anything, such as kbit/s. Bootstrap-t over units. Where a few units hold most of the difference no interval
  over 20 units is right; `is_dominated` detects this, and such means never decide.
- `quantile_band`: a quantile over viewers, by a percentile bootstrap over units.

If a unit's path is not known but drawn several times, its value is the mean over the draws, and `doubt` is the variance of its draws
around that mean. The interval's variance is the sum of both (the law of total variance), so that it allows both for the units' true
paths and for other units.

Coverage was measured by resampling populations of real traces (docs/decisions/population.md; repeated by
tests/python/test_population_intervals.py): the first two cover 94 to 96 % from 20 units on, on average over pairs of senders. Of a share
it is less where one link in ten or fewer is unlike all others (66 to 84 % of 20 links with ten sessions each): a sample may hold none.
"""

import math
from dataclasses import dataclass

import numpy as np

from playpath import _engine
from playpath.judge.stats import SIGNIFICANCE

Z95 = 1.959963984540054
MIN_UNITS = 20
"""With fewer units the intervals are known to be too narrow for skewed values; results then carry a warning."""
_DRAWS = 1000
_MAX_T = 12.0
"""Bound for a bootstrap t value, which is unlimited for samples of nearly equal values."""
_DOMINANCE = 0.5
_ROUNDING = 1e-12
"""A share as close to 0 or 1 is that: weights add up to 1 only as far as floating point does."""


@dataclass(frozen=True)
class Estimate:
    """A mean over units with its interval."""

    value: float
    low: float
    high: float
    """The estimate `value` with its 95 % interval, `low` to `high`."""
    units: int
    p: float | None = None
    """p value of the two-sided test of "zero", by inverting the same interval; None if zero has no meaning."""

    def to_dict(self) -> dict[str, float | int | None]:
        """With None for an end that is not known."""
        return {key: None if value is not None and math.isinf(value) else value for key, value in self.__dict__.items()}


def share_interval(values: np.ndarray, weights: np.ndarray, doubt: float = 0.0) -> Estimate:
    """The weighted mean of shares (0 to 1), one for each unit."""
    w = weights / weights.sum()
    kish = 1.0 / float(w @ w)
    share = float(w @ values)
    share = float(round(share)) if abs(share - round(share)) < _ROUNDING else share
    chance = share * (1 - share)
    variance = (float(w @ (values - share) ** 2) / (kish - 1) if kish > 1 else math.inf) + doubt / kish
    if chance == 0 or variance <= 0:
        number, quantile = kish, Z95
    else:
        number, quantile = max(1.0, chance / variance), _engine.student_quantile(max(1.0, kish - 1), 0.975)
    z2 = quantile * quantile / number
    centre = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(chance * z2 + z2 * z2 / 4) / (1 + z2)
    return Estimate(share, max(0.0, centre - half), min(1.0, centre + half), len(values))


def _variance_of_mean(values: np.ndarray, w: np.ndarray) -> float:
    """Variance of the weighted mean, by linearisation."""
    number = len(values)
    if number < 2:
        return math.inf
    mean = float(w @ values)
    return float((w * w) @ ((values - mean) ** 2)) * number / (number - 1)


def net_interval(values: np.ndarray, weights: np.ndarray, doubt: float = 0.0, level: float = SIGNIFICANCE) -> Estimate:
    """The weighted mean of values from -1 to 1, one for each unit, with an interval that misses it with probability `level`."""
    return _adjusted(values, weights, doubt, level, pseudo=2, size=0.5)


def alike_interval(
    values: np.ndarray, weights: np.ndarray, doubt: float = 0.0, level: float = SIGNIFICANCE
) -> Estimate:
    """As `net_interval`, with three whole wins and losses added, so that it allows for rare effects that were not seen.

    `net_interval` is too narrow to prove that nothing happens: if 5 % of viewers are helped, a sample of 43 shows none with
    probability 0.11.
    """
    return _adjusted(values, weights, doubt, level, pseudo=6, size=1.0)


def _adjusted(
    values: np.ndarray, weights: np.ndarray, doubt: float, level: float, *, pseudo: int, size: float
) -> Estimate:
    """The interval with so many pseudo-observations of plus and minus `size`."""
    w = weights / weights.sum()
    kish = 1.0 / float(w @ w)
    mean = float(w @ values)
    number = kish + pseudo
    adjusted = mean * kish / number
    spread = (kish * (float(w @ (values - adjusted) ** 2) + doubt) + pseudo * (size**2 + adjusted**2)) / number
    error = math.sqrt(spread / number)
    freedom = max(1.0, kish - 1)
    t = _engine.student_quantile(freedom, 1 - level / 2)
    p = _engine.student_beyond(freedom, adjusted / error)
    return Estimate(mean, max(-1.0, adjusted - t * error), min(1.0, adjusted + t * error), len(values), p)


def mean_interval(
    values: np.ndarray, weights: np.ndarray, doubt: float = 0.0, noticed: float = 0.0, seed: int = 1
) -> Estimate:
    """The weighted mean of arbitrary values, one for each unit: bootstrap-t over units.

    The error includes two further units whose values are off by the just noticeable difference either way: even if no unit shows
    an effect, another might.
    """
    w = weights / weights.sum()
    number, mean = len(values), float(w @ values)
    if number < 2:
        return Estimate(mean, -math.inf, math.inf, number)
    own = math.sqrt(_variance_of_mean(values, w))
    error = math.sqrt(own**2 + doubt * float(w @ w) + 2 * (noticed / (number + 2)) ** 2)
    if own == 0:
        half = _engine.student_quantile(number - 1, 0.975) * error
        return Estimate(mean, mean - half, mean + half, number)
    chosen = np.random.default_rng(seed).integers(0, number, (_DRAWS, number))
    drawn, drawn_w = values[chosen], weights[chosen]
    drawn_w = drawn_w / drawn_w.sum(axis=1, keepdims=True)
    means = (drawn * drawn_w).sum(axis=1)
    errors = np.sqrt((drawn_w**2 * (drawn - means[:, None]) ** 2).sum(axis=1) * number / (number - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, (means - mean) / errors, np.sign(means - mean) * _MAX_T)
    low, high = np.quantile(np.clip(t, -_MAX_T, _MAX_T), [0.025, 0.975])
    return Estimate(mean, mean - float(high) * error, mean - float(low) * error, number)


def is_dominated(values: np.ndarray, weights: np.ndarray) -> bool:
    """Whether a single unit contributes more than half of the variation of the values."""
    parts = weights * (values - float(weights @ values) / float(weights.sum())) ** 2
    total = float(parts.sum())
    return total > 0 and float(parts.max()) > _DOMINANCE * total


def quantile_band(
    values: np.ndarray, weights: np.ndarray, unit: np.ndarray, levels: np.ndarray, seed: int = 1
) -> np.ndarray:
    """Quantiles over sessions with their 95 % bands.

    Args:
        values, weights, unit: One for each session.
        levels: Between 0 and 1.

    Returns:
        Estimate, low, high.
    """
    order = np.argsort(values, kind="stable")
    values, weights, unit = values[order], weights[order], unit[order]
    names, index = np.unique(unit, return_inverse=True)
    draws = np.random.default_rng(seed)
    found = [_quantiles(values, weights, levels)]
    for _ in range(_DRAWS // 5):
        counts = np.bincount(draws.integers(0, len(names), len(names)), minlength=len(names))
        found.append(_quantiles(values, weights * counts[index], levels))
    low, high = np.quantile(np.array(found[1:]), [0.025, 0.975], axis=0, method="inverted_cdf")
    return np.array([found[0], low, high])


def _quantiles(values: np.ndarray, weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The smallest of the sorted values that at least this share does not exceed."""
    sums = np.cumsum(weights)
    places = np.searchsorted(sums, levels * sums[-1] * (1 - 1e-12))
    return np.asarray(values[np.minimum(places, len(values) - 1)])


def between_share(scores: list[np.ndarray]) -> float | None:
    """The share of the variance of single sessions that lies between paths rather than within them (intraclass correlation).

    Args:
        scores: For each path, the values of its sessions.

    Returns:
        0 to 1; None with one session a path or without any variance.
    """
    sizes = np.array([len(s) for s in scores], dtype=float)
    if len(scores) < 2 or sizes.max() < 2:
        return None
    within = sum(float(((s - s.mean()) ** 2).sum()) for s in scores) / max(1.0, float((sizes - 1).sum()))
    grand = np.concatenate(scores).mean()
    between = sum(len(s) * float((s.mean() - grand) ** 2) for s in scores) / (len(scores) - 1)
    size = float(sizes.mean())
    variance = max(0.0, (between - within) / size)
    return variance / (variance + within) if variance + within > 0 else None

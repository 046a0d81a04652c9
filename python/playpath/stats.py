"""Statistics of replications: means, paired differences, their intervals, and what they decide.

Methods, so that a reviewer can check them:

- the interval of a mean is Student's t, 95 %, two-sided, over independent replications (one value a seed);
- two senders are compared by the differences *within* a seed (common random numbers: a seed gives both the same
  channel noise), with a t interval and a t test on those differences;
- several comparisons of one metric are corrected by Holm (1979) over **all** pairs of senders, not only over those
  with the best one. The best is chosen by the same data, so the family must hold whichever sender that turns out to be;
- one replication has no interval: `None`, never a guess. Values that do not vary have an interval of width zero.

The t interval assumes differences that are not far from normal. Its coverage for the skewed counts that stalls are is
measured in `tests/python/test_stats.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95
SIGNIFICANCE = 1.0 - CONFIDENCE
MOST_RUNS = 10_000
"""Runs beyond which an estimate of `runs_needed` is not worth a number."""


@dataclass(frozen=True)
class Summary:
    """Replications of one metric of one sender.

    Attributes
    ----------
    mean, minimum, maximum : float
        In the unit of the metric.
    ci95 : tuple of float or None
        Student t interval of the mean; None when `n` is below 2.
    n : int
        Number of replications that have a value.
    """

    mean: float
    ci95: tuple[float, float] | None
    minimum: float
    maximum: float
    n: int

    @property
    def half_width(self) -> float | None:
        """Half the interval's width, for `mean ± half_width`."""
        return None if self.ci95 is None else (self.ci95[1] - self.ci95[0]) / 2

    def to_dict(self) -> dict[str, object]:
        """The JSON form: `{mean, ci95, min, max, n}`."""
        ci95 = None if self.ci95 is None else list(self.ci95)
        return {"mean": self.mean, "ci95": ci95, "min": self.minimum, "max": self.maximum, "n": self.n}


@dataclass(frozen=True)
class PairedDifference:
    """Mean of `a - b` over the seeds that both have.

    Attributes
    ----------
    mean, sd : float
        Mean and standard deviation of the differences, in the unit of the metric.
    ci95 : tuple of float or None
        Student t interval of the mean difference; None when `n` is below 2.
    p : float or None
        Two-sided t test of "no difference", uncorrected; None when `n` is below 2.
    n : int
        Number of pairs.
    """

    mean: float
    sd: float
    ci95: tuple[float, float] | None
    p: float | None
    n: int


def summarise(values: Sequence[float]) -> Summary | None:
    """Summary of replications; None when there is no value at all."""
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        return None
    mean, _, ci95 = _mean_interval(data)
    return Summary(mean, ci95, float(data.min()), float(data.max()), int(data.size))


def paired_difference(a: Sequence[float], b: Sequence[float]) -> PairedDifference | None:
    """The mean of `a - b`, paired by position; None when there is no pair."""
    if len(a) != len(b):
        raise ValueError(f"paired values must be equally many, got {len(a)} and {len(b)}")
    if not a:
        return None
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    differences = first - second
    # Differences of equal quantities differ in their last bits; that is no variation.
    noise = 8 * np.finfo(float).eps * float(np.maximum(np.abs(first), np.abs(second)).max())
    if float(np.ptp(differences)) <= noise:
        differences = np.full_like(differences, differences[0] if abs(differences[0]) > noise else 0.0)
    mean, sd, ci95 = _mean_interval(differences)
    return PairedDifference(mean, sd, ci95, _t_test(mean, sd, len(differences)), len(differences))


def _mean_interval(data: np.ndarray) -> tuple[float, float, tuple[float, float] | None]:
    mean = math.fsum(data.tolist()) / data.size
    # The rounding of a mean must not put it outside its own data.
    mean = min(max(mean, float(data.min())), float(data.max()))
    if data.size < 2:
        return mean, 0.0, None
    sd = float(np.std(data, ddof=1)) if np.ptp(data) > 0 else 0.0
    half = _t_quantile(SIGNIFICANCE, data.size) * sd / math.sqrt(data.size)
    return mean, sd, (mean - half, mean + half)


def _t_quantile(alpha: float, n: int) -> float:
    return float(special.stdtrit(n - 1, 1 - alpha / 2))


def _t_test(mean: float, sd: float, n: int) -> float | None:
    if n < 2:
        return None
    if sd == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    # The lower tail of -|t|: the upper one would cancel to zero for large t.
    return float(2 * special.stdtr(n - 1, -abs(mean) / (sd / math.sqrt(n))))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down corrected p values, in the order given.

    The i-th smallest of m is multiplied by m - i + 1, and made at least as large as the one before it.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    m = len(p_values)
    corrected = [1.0] * m
    highest = 0.0
    for step, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (m - step) * p_values[index]))
        corrected[index] = highest
    return corrected


def runs_needed(difference: PairedDifference, margin: float, comparisons: int = 1) -> int | None:
    """Runs in all that would settle this difference, if its mean and deviation stay as they are.

    It is settled either when the interval leaves zero out (at the level that `comparisons` leave each), or when it lies
    within `margin` of zero. The cheaper of the two is returned; None when it is more than `MOST_RUNS` or cannot be told
    (fewer than two runs).
    """
    if difference.ci95 is None:
        return None
    size = abs(difference.mean)
    differs = _runs_for_half_width(size, difference.sd, SIGNIFICANCE / max(1, comparisons))
    alike = _runs_for_half_width(margin - size, difference.sd, SIGNIFICANCE)
    found = [n for n in (differs, alike) if n is not None]
    return min(found) if found else None


def _runs_for_half_width(half_width: float, sd: float, alpha: float) -> int | None:
    """The smallest n with t(n) * sd / sqrt(n) < half_width; it falls with n, so bisection finds it."""
    if half_width <= 0:
        return None
    low, high = 2, MOST_RUNS
    if _t_quantile(alpha, high) * sd / math.sqrt(high) >= half_width:
        return None
    while low < high:
        middle = (low + high) // 2
        if _t_quantile(alpha, middle) * sd / math.sqrt(middle) < half_width:
            high = middle
        else:
            low = middle + 1
    return low

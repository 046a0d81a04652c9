"""Statistics of replications: the values of a metric over the runs, the differences between two senders, and intervals.

Methods, so that a reviewer can check them:

- the interval is that of the *median* run, by order statistics, at 95 % or a little more: it is exact for any distribution.
  Video sessions are not textbook data: in one of twenty sessions of `mobile` a sender retransmits almost nothing, in one of
  ten it stalls. Ten runs rarely include such a session, so no interval computed from them can cover the *mean*: those of
  Student's t, bootstrap-t, Johnson and sign flips cover it in 17 to 97 % of cases (docs/decisions/ranking.md);
- two senders are compared by the differences *within* a seed (common random numbers: a seed gives both the same channel
  noise). Interval and p value come from one procedure, the sign test: p is below 0.05 if the interval excludes zero;
- fewer than six runs have neither: `None`, never a guess.

Coverage on the distributions of the shipped scenarios is measured in `tests/python/test_stats.py`. What the ranking counts as
proven is stricter and is in `crates/verdict/src/evidence.rs`. `mean_interval` is for figures compared with a bound in few runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from playpath import _engine

SIGNIFICANCE = 0.05
CONFIDENCE = 1.0 - SIGNIFICANCE
MIN_FOR_INTERVAL = 6
MAX_RUNS = 10_000
"""Beyond so many runs no estimate of the runs that would settle a comparison is given."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Summary:
    """Replications of one metric of one sender."""

    mean: float
    median: float
    ci95: Interval | None
    """Interval of the median; None when `n` is below 6. The mean may lie outside: rare runs pull it."""
    minimum: float
    maximum: float
    """`mean`, `median`, `minimum` and `maximum` are in the unit of the metric."""
    n: int
    """Number of replications that have a value."""

    @property
    def middle(self) -> float:
        """The value to show: the median if there is an interval, which is the median's, otherwise the mean."""
        return self.mean if self.ci95 is None else self.median

    def to_dict(self) -> dict[str, object]:
        """The JSON form: `{mean, median, ci95, min, max, n}`."""
        ci95 = None if self.ci95 is None else list(self.ci95)
        return {
            "mean": self.mean,
            "median": self.median,
            "ci95": ci95,
            "min": self.minimum,
            "max": self.maximum,
            "n": self.n,
        }


def mean(values: Sequence[float]) -> float | None:
    """The mean, clamped to the range of the data; None if there are no values."""
    if len(values) == 0:
        return None
    # Rounding must not put the mean outside the data's range.
    return min(max(math.fsum(values) / len(values), min(values)), max(values))


def summarise(values: Sequence[float]) -> Summary | None:
    """Summary of replications; None when there is no value at all."""
    average = mean(values)
    if average is None:
        return None
    data = sorted(map(float, values))
    return Summary(average, median(data), _engine.median_interval(data), data[0], data[-1], len(data))


def differences(a: Sequence[float], b: Sequence[float]) -> np.ndarray:
    """`a - b`, paired by position."""
    if len(a) != len(b):
        raise ValueError(f"paired values must be equally many, got {len(a)} and {len(b)}")
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    # Values that are equal in theory may differ in their last bits; that does not count as a difference.
    noise = 8 * np.finfo(float).eps * np.maximum(np.abs(first), np.abs(second)).max(initial=0.0)
    found = first - second
    return np.where(np.abs(found) <= noise, 0.0, found)


def mean_interval(data: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Student's t interval of a mean; None for fewer than two values.

    It assumes values that are roughly normal, which holds for rates and round-trip times but not for stalls. It is for figures that
    are compared with a bound in few runs: the papers' claims, and the comparison of the two worlds.
    """
    values = np.asarray(data, dtype=float)
    if values.size < 2:
        return None
    middle = float(values.mean())
    sd = float(values.std(ddof=1)) if np.ptp(values) > 0 else 0.0
    half = _engine.student_quantile(values.size - 1, (1 + confidence) / 2) * sd / math.sqrt(values.size)
    return middle - half, middle + half


def mean_beyond(data: Sequence[float], distance: float) -> float:
    """How probable a mean is that lies this far, or farther, to one side of the true one (Student's t); for two values or more."""
    values = np.asarray(data, dtype=float)
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if np.ptp(values) > 0 else 0.0
    if error == 0:
        return 0.0 if distance > 0 else 0.5
    return 0.5 * _engine.student_beyond(values.size - 1, distance / error)


def difference_from_model(
    measured: Sequence[float], modelled: Sequence[float], others: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, Interval]:
    """The mean of measured values minus the mean of a cheap model of them, with a Student interval.

    The model was run with the seeds that were measured, and with many others. If sessions with the same seed are alike, the paired
    differences vary less than the measured values, and they are used (common random numbers). If not, a paired difference also
    contains the model's noise; then the measured mean is compared with the model's mean over all its seeds, and the interval is 0.8
    times as wide. (A slope between 0 and 1, as for a control variate, was tried: with ten seeds estimating it costs more than it
    gains.)

    Args:
        measured, modelled: Values with the same seeds, paired by position; at least two.
        others: The model's values with other seeds.
        confidence

    A few measured runs can miss rare events that the many runs of the model contain. In the unpaired comparison the measured
    values are therefore assumed to vary at least as much as the model's.
    """
    pairs = differences(measured, modelled)
    y, every = np.asarray(measured, dtype=float), np.asarray([*modelled, *others], dtype=float)
    if pairs.var() < y.var():
        interval = mean_interval(pairs.tolist(), confidence)
        assert interval is not None
        return float(pairs.mean()), interval
    difference = float(y.mean()) - float(every.mean())

    def half(variance: float, runs: int) -> float:
        square = variance / y.size + every.var(ddof=1) / every.size
        return _engine.student_quantile(runs - 1, (1 + confidence) / 2) * math.sqrt(square)

    widest = max(half(y.var(ddof=1), y.size), half(every.var(ddof=1), every.size))
    return difference, (difference - widest, difference + widest)


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

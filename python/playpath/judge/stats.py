"""Statistics of replications: what a metric was over the runs, how two senders differ, and in what interval the typical run lies.

Methods, so that a reviewer can check them:

- the interval is that of the *median* run, by order statistics, 95 % or a little more: exact for any distribution. Runs of
  a video are not like those of a textbook: in one of twenty sessions of `mobile` a sender retransmits almost nothing, in one
  of ten it stalls. Ten runs rarely hold such a session, so that no interval computed from them can cover the *mean*: those of
  Student's t, bootstrap-t, Johnson and sign flips cover it in 17 to 97 % of cases (docs/decisions/ranking.md);
- two senders are compared by the differences *within* a seed (common random numbers: a seed gives both the same channel
  noise). Their interval and p value are one procedure, the sign test: p is below 0.05 where the interval leaves zero out;
- fewer than six runs have neither: `None`, never a guess.

Coverage on the shipped scenarios' own distributions is measured in `tests/python/test_stats.py`. What the ranking takes for
proven is stricter and in `crates/verdict/src/evidence.rs`. `mean_interval` is for what is held against a bound in few runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from playpath import _engine

CONFIDENCE = 0.95
SIGNIFICANCE = 1.0 - CONFIDENCE
FEWEST_FOR_INTERVAL = 6
MOST_RUNS = 10_000
"""Runs beyond which an estimate of what would settle a comparison is not worth a number."""

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
    """`mean`, `median`, `minimum` and `maximum`: in the unit of the metric."""
    n: int
    """Number of replications that have a value."""

    @property
    def middle(self) -> float:
        """What is shown: the median where it has an interval, so that both are of the same, else the mean."""
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
    """The mean, never outside its own data; None when there is no value."""
    if len(values) == 0:
        return None
    # The rounding of a mean must not put it outside its own data.
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
    # Differences of equal quantities differ in their last bits; that is no difference.
    noise = 8 * np.finfo(float).eps * np.maximum(np.abs(first), np.abs(second)).max(initial=0.0)
    found = first - second
    return np.where(np.abs(found) <= noise, 0.0, found)


def mean_interval(data: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Student's t interval of a mean; None for fewer than two values.

    It assumes values not far from normal, which rates and round-trip times are and stalls are not. For figures that are held
    against a bound in few runs: the claims of the papers, and both worlds beside each other.
    """
    values = np.asarray(data, dtype=float)
    if values.size < 2:
        return None
    middle = float(values.mean())
    sd = float(values.std(ddof=1)) if np.ptp(values) > 0 else 0.0
    half = _engine.student_quantile(values.size - 1, (1 + confidence) / 2) * sd / math.sqrt(values.size)
    return middle - half, middle + half


def difference_from_model(
    measured: Sequence[float], modelled: Sequence[float], others: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, Interval]:
    """Mean of what was measured minus that of a cheap model of it, with a Student interval.

    The model was played with the seeds that were measured, and with many others. Where sessions with the same seed are alike, the
    differences of pairs vary less than what was measured, and they are taken (common random numbers). Where they are not, a
    difference of pairs has the model's noise in it as well: what was measured is set beside the model's mean over all its seeds,
    and the interval is 0.8 times as wide. (A slope between 0 and 1, as of a control variate, was tried: with ten seeds its estimate
    costs more than it brings.)

    Args:
        measured, modelled: Values with the same seeds, paired by position; at least two.
        others: The model's values with other seeds.
        confidence

    Few measured runs can miss what happens rarely, which many runs of the model do not: beside its mean, what was measured is
    taken to vary no less than the model does.
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

"""Statistics against scipy, against hand-worked numbers, and by simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from playpath import stats

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


def test_interval_worked_by_hand():
    # 1, 2, 3, 4: mean 2.5; variance (2.25 + 0.25 + 0.25 + 2.25) / 3 = 5/3; t(0.975, 3) = 3.182446
    # half width 3.182446 * sqrt(5/3) / 2 = 2.054260
    summary = stats.summarise([1, 2, 3, 4])
    assert summary.mean == 2.5
    assert summary.ci95 == pytest.approx((2.5 - 2.054260, 2.5 + 2.054260), abs=1e-6)
    assert (summary.minimum, summary.maximum, summary.n) == (1, 4, 4)


@given(st.lists(FINITE, min_size=2, max_size=40))
def test_interval_agrees_with_scipy(values):
    if np.ptp(values) < 1e-6:
        return
    reference = scipy_stats.t.interval(0.95, len(values) - 1, np.mean(values), scipy_stats.sem(values))
    assert stats.summarise(values).ci95 == pytest.approx(reference, rel=1e-9, abs=1e-6)


@given(st.lists(st.tuples(FINITE, FINITE), min_size=2, max_size=40))
def test_paired_test_agrees_with_scipy(pairs):
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    if np.ptp(np.subtract(a, b)) < 1e-3:
        return
    found = stats.paired_difference(a, b)
    reference = scipy_stats.ttest_rel(a, b)
    assert found.p == pytest.approx(reference.pvalue, rel=1e-6, abs=1e-12)
    interval = reference.confidence_interval(0.95)
    assert found.ci95 == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-6)


def test_one_replication_has_no_interval():
    summary = stats.summarise([3.0])
    assert summary.ci95 is None
    assert summary.half_width is None
    assert summary.to_dict() == {"mean": 3.0, "ci95": None, "min": 3.0, "max": 3.0, "n": 1}
    difference = stats.paired_difference([3.0], [1.0])
    assert (difference.mean, difference.ci95, difference.p) == (2.0, None, None)


def test_no_replication_has_no_summary():
    assert stats.summarise([]) is None
    assert stats.paired_difference([], []) is None


def test_equal_values_have_an_interval_of_width_zero():
    assert stats.summarise([0.1] * 7).ci95 == (0.1, 0.1)
    assert stats.paired_difference([5.0] * 3, [5.0] * 3).p == 1.0
    apart = stats.paired_difference([7.0] * 3, [5.0] * 3)
    assert (apart.mean, apart.ci95, apart.p) == (2.0, (2.0, 2.0), 0.0)


def test_rounding_is_not_variation():
    # 0.1 + 0.2 is not 0.3 in the last bit; a difference of that size is none.
    found = stats.paired_difference([0.1 + 0.2, 0.5, 0.7], [0.3, 0.5, 0.7])
    assert (found.mean, found.sd, found.p) == (0.0, 0.0, 1.0)


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="equally many"):
        stats.paired_difference([1.0], [1.0, 2.0])


def test_holm_worked_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 = 0.02, 0.03, 0.06, 0.04 → the last is raised to 0.06
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([]) == []
    assert stats.holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_only_raises_and_keeps_the_order(p_values):
    corrected = stats.holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert all(corrected[a] <= corrected[b] for a, b in pairwise(order))


def test_runs_needed_is_the_smallest_that_settles():
    difference = stats.PairedDifference(mean=1.0, sd=3.0, ci95=(-2.0, 4.0), p=0.3, n=5)
    n = stats.runs_needed(difference, margin=0.0)
    half = [scipy_stats.t.ppf(0.975, k - 1) * 3.0 / math.sqrt(k) for k in (n - 1, n)]
    assert half[1] < 1.0 <= half[0]


def test_runs_needed_to_show_that_two_are_alike():
    # The difference is 0.01 with deviation 1: to leave zero out takes some 38 000 runs (more than the limit), to lie
    # within a margin of 0.5 takes a half width below 0.49: t(0.975, 18) / sqrt(19) = 0.482, and for 18 runs 0.497.
    difference = stats.PairedDifference(mean=0.01, sd=1.0, ci95=(-0.5, 0.5), p=0.9, n=10)
    assert stats.runs_needed(difference, margin=0.5) == 19
    assert stats.runs_needed(difference, margin=0.0) is None


def test_runs_needed_grows_with_the_number_of_comparisons():
    difference = stats.PairedDifference(mean=1.0, sd=2.0, ci95=(-0.4, 2.4), p=0.1, n=10)
    assert stats.runs_needed(difference, 0.0, comparisons=15) > stats.runs_needed(difference, 0.0)


def coverage(draw, truth, n, trials=2000):
    """Share of intervals of `n` replications that hold the true mean."""
    random = np.random.default_rng(20240501)
    hits = 0
    for _ in range(trials):
        low, high = stats.summarise(draw(random, n)).ci95
        hits += low <= truth <= high
    return hits / trials


def test_coverage_of_normal_values():
    # Exact theory: 0.95; the bound is four standard errors, 4 * sqrt(0.95 * 0.05 / 2000) = 0.0195.
    for n in (2, 5, 10):
        assert coverage(lambda r, k: r.normal(3, 2, k), 3.0, n) == pytest.approx(0.95, abs=0.0195)


def test_coverage_of_skewed_counts():
    # Stalls are skewed counts. The t interval then covers a little less than it says; the guide states these figures.
    poisson = coverage(lambda r, k: r.poisson(3, k), 3.0, 10)
    geometric = coverage(lambda r, k: r.geometric(0.3, k) - 1, 7 / 3, 10)
    assert 0.92 < poisson < 0.97
    assert 0.88 < geometric < 0.95

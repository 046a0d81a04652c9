"""Statistics against hand-worked numbers, against scipy, and on the shipped scenarios' own sessions."""

from itertools import pairwise

import numpy as np
import pytest
from false_winners import SCENARIOS, sessions
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from playpath.judge import stats
from playpath.judge.ranking import Ranker

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


def paired(a, b):
    """`a - b` as a comparison tells it; None for no pair."""
    return Ranker({"a": {"figure": a}, "b": {"figure": b}}, ["figure"]).difference("a", "b", "figure")


def test_interval_worked_by_hand():
    # Of ten fair coins at most one shows heads in 11 of 1024 cases (1.1 %), at most two in 56 (5.5 %): so from the second to
    # the ninth, 97.9 %. Of six none in 1 of 64 (1.6 %), of five none in 1 of 32 (3.1 %, too many).
    assert stats.summarise(range(1, 11)).ci95 == (2, 9)
    assert stats.summarise([5, 3, 1, 2, 4, 6]).ci95 == (1, 6)
    assert stats.summarise([1, 2, 3, 4, 5]).ci95 is None
    summary = stats.summarise([1, 2, 3, 6])
    assert (summary.mean, summary.median, summary.minimum, summary.maximum, summary.n) == (3, 2.5, 1, 6, 4)


@pytest.mark.slow
@given(st.lists(st.floats(0.001, 1e6) | st.floats(-1e6, -0.001), min_size=6, max_size=40))
def test_sign_test_agrees_with_scipy(differences):
    found = paired(differences, [0.0] * len(differences))
    above = sum(d > 0 for d in differences)
    assert found.p == pytest.approx(scipy_stats.binomtest(above, len(differences)).pvalue)


@pytest.mark.slow
@given(st.lists(st.tuples(FINITE, FINITE) | st.just((1.0, 1.0)), min_size=6, max_size=40))
def test_interval_and_p_are_one_procedure(pairs):
    found = paired([p[0] for p in pairs], [p[1] for p in pairs])
    low, high = found.ci95
    assert (found.p <= 0.05) == (low > 0 or high < 0)


def test_one_replication_has_no_interval():
    summary = stats.summarise([3.0])
    assert summary.to_dict() == {"mean": 3.0, "median": 3.0, "ci95": None, "min": 3.0, "max": 3.0, "n": 1}
    difference = paired([3.0], [1.0])
    assert (difference.mean, difference.ci95, difference.p) == (2.0, None, None)


def test_no_replication_has_no_summary():
    assert stats.summarise([]) is None
    assert paired([], []) is None


def test_equal_differences_prove_little():
    # Two equal differences had standard deviation 0 and p 0.
    apart = paired([7.0] * 2, [5.0] * 2)
    assert (apart.mean, apart.ci95, apart.p) == (2.0, None, None)
    assert paired([7.0] * 6, [5.0] * 6).p == pytest.approx(2 / 64)
    assert paired([5.0] * 6, [5.0] * 6).p == 1.0


def test_rounding_is_not_variation():
    # 0.1 + 0.2 is not 0.3 in the last bit; a difference of that size is none.
    found = paired([0.1 + 0.2, 0.5, 0.7] * 2, [0.3, 0.5, 0.7] * 2)
    assert (found.mean, found.ci95, found.p) == (0.0, (0.0, 0.0), 1.0)
    assert stats.summarise([0.1] * 7).ci95 == (0.1, 0.1)
    assert stats.summarise([0.1] * 7).mean == 0.1


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="equally many"):
        paired([1.0], [1.0, 2.0])


@pytest.mark.slow
@given(st.lists(FINITE, min_size=2, max_size=40))
def test_mean_interval_agrees_with_scipy(values):
    if np.ptp(values) < 1e-6:
        return
    reference = scipy_stats.t.interval(0.95, len(values) - 1, np.mean(values), scipy_stats.sem(values))
    assert stats.mean_interval(values) == pytest.approx(reference, rel=1e-9, abs=1e-6)


def test_a_difference_from_a_model_worked_by_hand():
    # Differences 1, 0, 2 vary less (variance 1) than 2, 2, 5 does (3): the pairs count, 4.3027 √(1 / 3) on either side.
    difference, (low, high) = stats.difference_from_model([2, 2, 5], [1, 2, 3], [6])
    assert (difference, low, high) == pytest.approx((1, 1 - 2.48414, 1 + 2.48414), rel=1e-5)
    # Differences 3, 0, 0 vary more (3) than 4, 2, 3 (1): 3 beside the model's mean 3 of 1, 2, 3, 6, whose variance is 14 / 3. Student's
    # t is 4.3027 with two degrees of freedom and 3.1824 with three: 4.3027 √(1 / 3 + 14 / 12) is more than 3.1824 √(14 / 9 + 14 / 12).
    difference, (low, high) = stats.difference_from_model([4, 2, 3], [1, 2, 3], [6])
    assert (difference, low, high) == pytest.approx((0, -5.26967, 5.26967), rel=1e-5)


def test_a_model_that_is_right_differs_by_nothing():
    model = np.random.default_rng(1).gamma(2, 3, 100)
    assert stats.difference_from_model(model[:10], model[:10], model[10:]) == (0, (0, 0))


@pytest.mark.parametrize(("correlation", "width"), [(0.0, 0.8), (0.25, 0.9), (0.95, 1.01)])
@pytest.mark.parametrize("draw", ["normal", "skewed"])
def test_a_difference_from_a_model_holds_the_truth_and_is_narrower(correlation, width, draw):
    random = np.random.default_rng(7)
    held, found, paired_found = 0, 0.0, 0.0
    for _ in range(600):
        noise = random.normal(size=(3, 100))
        common, own = np.sqrt(correlation) * noise[0], np.sqrt(1 - correlation) * noise[1:]
        model, measured = common + own[0], (common + own[1])[:10]
        if draw == "skewed":
            model, measured = np.exp(model / 2), np.exp(measured / 2)
        _, (low, high) = stats.difference_from_model(measured, model[:10], model[10:])
        held += low <= 0 <= high
        found += high - low
        paired_found += float(np.diff(stats.mean_interval(list(measured - model[:10])))[0])
    # 95 % of 600 within four standard errors, and no more than what is safe.
    assert 0.914 <= held / 600 <= 0.99
    assert found / paired_found < width


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_difference_from_a_model_holds_the_truth_where_most_is_zero(share):
    random = np.random.default_rng(5)

    def stalls(count):
        return np.where(random.random(count) < share, random.exponential(5, count), 0.0)

    held = 0
    for _ in range(600):
        model = stalls(100)
        _, (low, high) = stats.difference_from_model(stalls(10), model[:10], model[10:])
        held += low <= 0 <= high
    assert held / 600 >= 0.94


def test_few_runs_that_miss_what_is_rare_prove_no_difference():
    # One of twenty sessions of the model stalls for 10 s: ten measured without a stall are no surprise (60 %).
    others = [10.0 if i % 20 == 0 else 0.0 for i in range(200)]
    _, (low, high) = stats.difference_from_model([0.0] * 10, [0.0] * 10, others)
    assert low < 0 < high


def test_mean_interval_of_what_does_not_vary():
    assert stats.mean_interval([2.0, 2.0]) == (2.0, 2.0)
    assert stats.mean_interval([2.0]) is None


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


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("runs", [6, 10, 40])
def test_coverage_on_the_shipped_scenarios(scenario, runs):
    """Every sender, every criterion: the interval holds the median of all sessions in 95 % of cases, or more.

    Student's t held the mean of ten seeds in 45 % (mobile, cubic, stall time). The bound is 95 % less four standard errors of
    1000 samples, 4 * sqrt(0.95 * 0.05 / 1000) = 0.0276.
    """
    random = np.random.default_rng(20240501)
    for columns in sessions(scenario).values():
        for values in columns.values():
            known = values[~np.isnan(values)].astype(float)
            # An odd number of sessions has one of them for its median.
            known = known[: len(known) - 1 + len(known) % 2]
            samples = np.sort(known[random.integers(0, len(known), (1000, runs))], axis=1)
            ends = np.array([stats.summarise(sample.tolist()).ci95 for sample in samples[:3]])
            low, high = samples[:, _rank(runs) - 1], samples[:, -_rank(runs)]
            assert (ends[:, 0] == low[:3]).all()
            assert (ends[:, 1] == high[:3]).all()
            truth = np.median(known)
            assert np.mean((low <= truth) & (truth <= high)) > 0.95 - 0.0276


def _rank(runs):
    """The k of the k-th smallest and the k-th largest, by scipy."""
    return int(scipy_stats.binom.ppf(0.025, runs, 0.5))

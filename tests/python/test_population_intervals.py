"""Do the intervals of a population cover what they say? Resampled from the units of real populations.

`data/population_units.json` holds, for four sets of measured links and ten pairs of senders, how many of three sessions on each link one
sender served better and worse than the other (docs/population.md). Taken as the whole population, it has a true share; samples of it
with replacement are what a user has.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from playpath.judge.race import race_looks
from playpath.population.answer import PopulationResult
from playpath.population.intervals import is_dominated, mean_interval, net_interval, quantile_band, share_interval
from playpath.population.raced import Scores, wanted
from playpath.population.sets import VIEWER
from playpath.population.versus import ALIKE, relation

PAIRS = json.loads((Path(__file__).parent / "data" / "population_units.json").read_text(encoding="utf-8"))
_SAMPLES = 150


def _coverage(units: int, estimate, values) -> float:
    """Mean over the pairs of how often the interval holds the truth."""
    random = np.random.default_rng(units)
    hits = []
    for pair in PAIRS:
        whole = values(np.array(pair["helped"]) / 3, np.array(pair["harmed"]) / 3)
        truth = whole.mean()
        for _ in range(_SAMPLES):
            sample = random.choice(whole, units)
            found = estimate(sample, np.ones(units))
            hits.append(found.low - 1e-9 <= truth <= found.high + 1e-9)
    return float(np.mean(hits))


@pytest.mark.slow
@pytest.mark.parametrize("units", [20, 40, 100])
@pytest.mark.parametrize(
    ("estimate", "values"),
    [
        (share_interval, lambda helped, harmed: helped),
        (share_interval, lambda helped, harmed: harmed),
        (net_interval, lambda helped, harmed: helped - harmed),
    ],
    ids=["helped", "harmed", "net"],
)
def test_shares_and_net_benefit_cover_what_they_say(units, estimate, values):
    """94 to 96 %, and half a point for the 6000 samples' own error (two standard errors are 0.56 points)."""
    assert 0.935 <= _coverage(units, estimate, values) <= 0.97


@pytest.mark.slow
def test_two_equal_senders_are_told_apart_as_rarely_as_the_level_says():
    """Chance alone: each changed viewer is helped or harmed with equal probability."""
    random = np.random.default_rng(1)
    changed = [np.array(p["helped"]) + np.array(p["harmed"]) for p in PAIRS]
    changed = [c for c in changed if c.mean() > 0.3]
    false = []
    for index in range(3000):
        whole = random.choice(changed[index % len(changed)], 40)
        score = (2 * random.binomial(whole, 0.5) - whole) / 3
        found = net_interval(score, np.ones(40))
        assert found.p is not None
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)
        false.append(found.p < 0.05)
    assert np.mean(false) <= 0.06


_LOOKS = race_looks(20, 320)


def _race(scores, weights=None, of=None, within=0.0, senders=2):
    """What each look of a race says of two senders, from one value a unit."""
    weights = np.ones(len(scores)) if weights is None else weights
    found = []
    for units in (look for look in _LOOKS if look <= len(scores)):
        own = Scores(scores[:units], weights[:units], of, np.full(units, within))
        found.append(own.relation(wanted(senders, network=False)))
    return found


def _changed() -> list[np.ndarray]:
    """Of each pair in which enough happens, how many of three sessions on a link are changed."""
    changed = [np.array(p["helped"]) + np.array(p["harmed"]) for p in PAIRS]
    return [c for c in changed if c.mean() > 0.3]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_looking_again_and_again_errs_no_more_often(weighted):
    """Equal senders, looked at after 20, 25, … 320 units, of which with weights one in ten counts for twenty others: one is called better
    in at most 4 % of 1000 uses, the viewers' part of 5 %, and with tests of 5 % at each look far more often."""
    random = np.random.default_rng(11)
    pools = _changed()
    wrong = naive = 0
    for index in range(1000):
        whole = random.choice(pools[index % len(pools)], _LOOKS[-1])
        scores = (2 * random.binomial(whole, 0.5) - whole) / 3
        weights = np.where(random.random(_LOOKS[-1]) < 0.1, 1.0, 0.05) if weighted else None
        wrong += bool({"better", "worse"} & set(_race(scores, weights)))
        nets = [net_interval(scores[:units], np.ones(units)).p or 0.0 for units in _LOOKS]
        naive += min(nets) < 0.05
    assert wrong / 1000 <= 0.04
    assert naive / 1000 > 0.12


def test_heavy_units_that_differ_from_light_ones_count_by_their_weight():
    """A third of the units are ten times as heavy and helped, the light ones are harmed: the heavy ones decide, 10 to 2."""
    random = np.random.default_rng(17)
    found = []
    for _ in range(100):
        is_heavy = random.random(_LOOKS[-1]) < 1 / 3
        scores = np.where(is_heavy, 1.0, -1.0) * (random.random(_LOOKS[-1]) < 0.8)
        found.append(_race(scores, np.where(is_heavy, 1.0, 0.1))[-1])
    assert found.count("better") > 95
    assert "worse" not in found


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_of_a_complete_set_the_rest_is_known_the_better_the_more_of_it_was_drawn(weighted):
    """Sets of 100 units whose weighted mean is zero, each taken to its end in an order that is drawn, as if their sessions told all:
    "better" or "worse" in at most 4 % of 400; and where the mean is 0.15, found before the end nearly always, without that seldom."""
    random = np.random.default_rng(18)
    wrong, complete, sample = 0, [], []
    for _ in range(400):
        weights = random.choice([1.0, 0.2], 100) if weighted else np.ones(100)
        scores = random.choice([1.0, 0.0, -1.0], 100) * 0.8
        for net in (0.0, 0.15):
            moved = scores - np.average(scores, weights=weights) + net
            moved, own = np.clip(moved, -1, 1), weights
            moved += (
                (net - np.average(moved, weights=own))
                * (np.abs(moved) < 0.9)
                * own.sum()
                / own[np.abs(moved) < 0.9].sum()
            )
            found = [
                Scores(moved[:units], own[:units], 100, np.zeros(units)).won(0.0) for units in (20, 40, 60, 80, 95)
            ]
            needed = wanted(2, network=False)
            if net == 0:
                wrong += any(max(won) >= needed for won in found)
            else:
                complete.append(found[-1][0] >= needed)
                sample.append(Scores(moved[:95], own[:95], None, np.zeros(95)).won(0.0)[0] >= needed)
    assert wrong / 400 <= 0.04
    assert np.mean(complete) > 0.9
    assert np.mean(sample) < 0.3


def test_what_few_sessions_leave_open_of_each_unit_is_no_proof():
    """All of 40 units were drawn, half with their one session helped: without the doubt of their sessions that is proven to the last."""
    scores = np.array([1.0, 0.0] * 20)
    assert Scores(scores, np.ones(40), 40, np.zeros(40)).relation(wanted(2, network=False)) == "better"
    noise = np.array([1.0, -1.0, 0.0, 1.0] * 10)
    assert Scores(noise, np.ones(40), 40, np.full(40, 0.7)).relation(wanted(2, network=False)) == "open"


@pytest.mark.parametrize("harmed", [0.0, 0.02, 0.1])
@pytest.mark.slow
def test_senders_at_the_bound_of_alike_are_rarely_called_alike(harmed):
    """A net benefit of five points is the least that is not alike: called alike at one look of a race, or at the only look of any
    size, in less than 2.5 % of 1000 uses and three standard errors of that (1.5 points)."""
    random = np.random.default_rng(12)
    shares = [ALIKE + harmed, harmed, 1 - ALIKE - 2 * harmed]
    wrong = 0
    once = dict.fromkeys((20, 43, 78, 100, 150, 220, 320), 0)
    for _ in range(1000):
        scores = random.choice([1.0, -1.0, 0.0], _LOOKS[-1], p=shares)
        wrong += "alike" in _race(scores)
        for units in once:
            once[units] += relation(scores[:units], np.ones(units), 1.0) == "alike"
    assert max(wrong, *once.values()) / 1000 <= 0.04


def test_nobody_of_several_at_that_bound_is_called_alike():
    """Nine senders against the best in 250 units: that any is called alike is as rare as for one."""
    random = np.random.default_rng(15)
    shares = [ALIKE, 0.0, 1 - ALIKE]
    drawn = random.choice([1.0, -1.0, 0.0], (200, 9, 250), p=shares)
    wrong = [any(relation(s, np.ones(250), 1.0, senders=10) == "alike" for s in others) for others in drawn]
    assert np.mean(wrong) <= 0.04


@pytest.mark.parametrize(("better", "worse", "senders"), [(0.25, 0.1, 6), (0.02, 0.02, 3)])
def test_the_paths_that_would_settle_an_open_comparison_settle_about_half_of_them(better, worse, senders):
    """After 60 paths; the estimate allows for all pairs that are compared."""
    random = np.random.default_rng(16)
    tests, settled = senders * (senders - 1), []

    def found(scores):
        ones = np.ones(len(scores))
        return relation(scores, ones, tests * net_interval(scores, ones).p, 0.0, senders)

    while len(settled) < 50:
        scores = random.choice([1.0, -1.0, 0.0], 10_000, p=[better, worse, 1 - better - worse])
        first = scores[:60]
        if found(first) != "open":
            continue
        result = SimpleNamespace(
            units=60, population=SimpleNamespace(max_units=1e9), most=None, senders=range(senders),
            judged=lambda *pair, network, score=first: SimpleNamespace(score=score), over_units=lambda values: (values, np.ones(60)),
            doubt=lambda values: 0.0, _relation=lambda *pair, network: "open", _p_corrected=dict.fromkeys(range(tests), 1.0),
        )  # fmt: skip
        more = PopulationResult._more_paths(result, "one", "other")
        settled.append(more is not None and found(scores[: 60 + more]) != "open")
    assert 0.3 <= np.mean(settled) <= 0.85


@pytest.mark.slow
def test_equal_senders_are_called_alike_in_the_end():
    """Of whom one viewer in a hundred is served better and one worse, at random."""
    random = np.random.default_rng(14)
    found = [_race(random.choice([1.0, -1.0, 0.0], _LOOKS[-1], p=[0.01, 0.01, 0.98])) for _ in range(200)]
    assert np.mean(["alike" in looks for looks in found]) > 0.85


@pytest.mark.slow
def test_a_clear_difference_needs_few_units():
    """A third helped, a tenth harmed: nearly always found, and mostly long before the last look."""
    random = np.random.default_rng(13)
    used = []
    for _ in range(300):
        scores = random.choice([1.0, -1.0, 0.0], _LOOKS[-1], p=[0.33, 0.10, 0.57])
        found = _race(scores)
        used.append(_LOOKS[found.index("better")] if "better" in found else math.inf)
    assert np.mean(np.isfinite(used)) > 0.99
    assert np.median(used) <= 160


def test_weights_count_as_copies():
    """A unit of weight 2 moves the estimate as two equal units do, and the interval grows: one unit tells less than two."""
    values, weights = np.array([1.0, 0.0, 0.0, 1.0, 0.0] * 8), np.array([2.0, 1, 1, 1, 1] * 8)
    doubled = np.concatenate([values, values[::5]])
    found, copies = share_interval(values, weights), share_interval(doubled, np.ones(len(doubled)))
    assert found.value == pytest.approx(copies.value)
    assert found.high - found.low > copies.high - copies.low


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_that_nobody_or_everybody_has_is_an_interval_still(share):
    """Of 20, none: up to 3.84 / 23.84 = 16 % (Wilson: z² / (n + z²))."""
    found = share_interval(np.full(20, share), np.ones(20))
    assert abs(found.high - found.low) == pytest.approx(0.1611, abs=1e-3)


@pytest.mark.parametrize("units", range(2, 200))
def test_everybody_is_as_uncertain_as_nobody(units):
    """Weights of 1/n do not add up to 1 for 82 of these numbers; the interval of "all" then had no width."""
    everybody, nobody = (share_interval(np.full(units, share), np.ones(units)) for share in (1.0, 0.0))
    assert everybody.value == 1
    assert everybody.low == pytest.approx(1 - nobody.high)


@pytest.mark.parametrize(
    ("sigma", "units", "share"), [(1.0, 40, 0.05), (1.5, 40, 0.2), (2.0, 40, 0.2), (2.0, 20, 0.05)]
)
def test_shares_of_unequal_viewers_are_covered(sigma, units, share):
    """Log-normal weights; with the variance by linearisation these were held in 87, 81, 70 and 60 %."""
    random, held = np.random.default_rng(2), 0
    for _ in range(300):
        weights = np.exp(sigma * random.normal(size=units))
        found = share_interval((random.random(units) < share).astype(float), weights)
        held += found.low <= share <= found.high
    assert held >= 0.93 * 300


def test_ten_heavy_viewers_do_not_speak_for_all():
    """30 light viewers are helped; of the heavy ones, who count, ten were seen, so that up to 28 % may be."""
    found = share_interval(np.array([1.0] * 30 + [0.0] * 10), np.array([1.0] * 30 + [1000.0] * 10))
    assert found.high > 0.25


def test_an_end_that_is_not_known_is_none():
    assert mean_interval(np.ones(1), np.ones(1)).to_dict()["high"] is None


@pytest.mark.slow
def test_a_mean_over_units_that_are_not_skewed_is_covered():
    random = np.random.default_rng(3)
    hits = []
    for _ in range(400):
        found = mean_interval(random.normal(10, 3, 25), np.ones(25))
        hits.append(found.low <= 10 <= found.high)
    assert 0.92 <= np.mean(hits) <= 0.98


def test_a_mean_that_rests_on_one_unit_is_known():
    assert is_dominated(np.array([0.0] * 30 + [600.0]), np.ones(31))
    assert not is_dominated(np.random.default_rng(1).normal(0, 1, 31), np.ones(31))


def test_quantiles_are_of_viewers_and_bands_over_units():
    """100 units of one session with the values 1 to 100: the median is 50, the 95th percentile 95."""
    values = np.arange(1.0, 101.0)
    middle, low, high = quantile_band(values, np.ones(100), np.arange(100), np.array([0.5, 0.95]))
    assert middle.tolist() == [50, 95]
    assert low[0] < 50 < high[0]


@pytest.mark.slow
@pytest.mark.parametrize("between", [0.1, 1.0])
def test_over_draws_an_interval_holds_what_the_viewers_show_on_their_true_paths(between):
    """Of 12 viewers each path is known with a variance of 1 and drawn 4 times. The error of the mean is (1 + 1/4) / 12; without the doubt
    the interval has what the means of draws vary by, (`between` + 1/4) / 12."""
    random = np.random.default_rng(3)
    held = {0.0: 0, 1.0: 0}
    for _ in range(300):
        centre = random.normal(0, np.sqrt(between), 12)
        truth, drawn = centre + random.normal(0, 1, 12), centre[:, None] + random.normal(0, 1, (12, 4))
        for share in held:
            found = mean_interval(drawn.mean(axis=1), np.ones(12), share * float(drawn.var(axis=1, ddof=1).mean()))
            held[share] += found.low <= truth.mean() <= found.high
    assert held[1.0] >= 0.93 * 300, held
    assert between >= 1 or held[0.0] < 0.8 * 300, held


def test_the_variance_of_draws_is_the_same_each_time():
    """To the last digit: groups in another order are added up in another order."""
    count = 4 * 40
    keys = pl.DataFrame({"path": range(count), "unit": [path // 4 for path in range(count)], "weight": [0.25] * count})
    result = SimpleNamespace(keys=keys, paths=pl.DataFrame({f"group.{VIEWER}": ["a"]}))
    values = np.random.default_rng(1).normal(size=count)
    assert len({PopulationResult.doubt(result, values) for _ in range(50)}) == 1


def test_where_no_viewer_shows_a_change_another_may():
    found = mean_interval(np.zeros(8), np.ones(8), noticed=0.5)
    # 2 of 10 by half a second either way: a deviation of the mean of sqrt(2) x 0.5 / 10 = 0.071 s; t of 7 degrees is 2.36.
    assert (found.low, found.high) == (pytest.approx(-0.167, abs=1e-3), pytest.approx(0.167, abs=1e-3))
    assert mean_interval(np.zeros(8), np.ones(8)).high == 0

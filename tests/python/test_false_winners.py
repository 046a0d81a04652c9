"""At most one false winner in twenty uses, however the ranking is used: simulated on the shipped scenarios' sessions.

`python tests/python/false_winners.py` is the longer run, whose tables are in docs/decisions/ranking.md. The bounds here are
5 % and three standard errors of the trials made.
"""

import math

import numpy as np
import pytest
from false_winners import FALSE_WINNERS, equal_senders, false_losers, look, real_use, sessions
from scipy.special import bdtr

from playpath._engine import apart_level
from playpath.base.metrics import VIDEO_CRITERIA

pytestmark = pytest.mark.slow

TRIALS = 100
BOUND = FALSE_WINNERS + 3 * math.sqrt(FALSE_WINNERS * (1 - FALSE_WINNERS) / TRIALS)
PLACES = [("mobile", "cubic"), ("mobile", "newreno"), ("satellite", "compound"), ("short-buffer", "copa")]


@pytest.mark.parametrize(("senders", "first"), [(6, 2), (2, 10), (4, 10)])
@pytest.mark.parametrize(("scenario", "sender"), PLACES)
def test_equal_senders_seen_once(scenario, sender, senders, first):
    assert false_losers(sessions(scenario)[sender], senders, first, "once", TRIALS, np.random.default_rng(1)) <= BOUND


def test_thirteen_equal_senders():
    assert false_losers(sessions("mobile")["newreno"], 13, 10, "once", 20, np.random.default_rng(1)) <= 1 / 20


@pytest.mark.parametrize("use", ["advice", "until decided"])
@pytest.mark.parametrize(("scenario", "sender"), PLACES)
def test_equal_senders_seen_again_and_again(scenario, sender, use):
    found = false_losers(sessions(scenario)[sender], 2, 10, use, TRIALS, np.random.default_rng(2), most=80)
    assert found <= BOUND


@pytest.mark.parametrize("first", [8, 10, 12, 15])
def test_equal_senders_seen_on_the_ladder(first):
    """The worst case, two senders that differ noticeably in every session: looked at with the first number of runs and each that doubles
    it, to the 1280th at most.

    Only the sign test is simulated, which "apart" must pass; a bound of 5 % and no more, for 20 000 trials.
    """
    looks = np.array([first * 2**k for k in range(8) if first * 2**k <= 1280])
    levels = np.array([apart_level(int(n)) for n in looks])
    ahead = np.cumsum(np.random.default_rng(3).random((20_000, looks[-1])) < 0.5, axis=1)[:, looks - 1]
    assert np.mean((2 * bdtr(np.minimum(ahead, looks - ahead), looks, 0.5) <= levels).any(axis=1)) < FALSE_WINNERS


def test_nine_criteria_of_noise():
    # Holm's correction of each criterion by itself gave up to 17 % here.
    random = np.random.default_rng(4)
    noise = {name: 20 + random.normal(0, 8, 3000) for name in VIDEO_CRITERIA}
    for senders, first, use in ((4, 10, "once"), (2, 10, "until decided"), (2, 40, "once")):
        assert false_losers(noise, senders, first, use, TRIALS, random, most=160) <= BOUND


def test_equal_differences_prove_nothing():
    # Coins: with two seeds every third pair has two equal differences, standard deviation 0, and once had p = 0.
    coin = {"stall_time_s": np.array([0.0, 60.0])}
    random = np.random.default_rng(5)
    for senders, first in ((6, 2), (6, 5), (2, 8), (6, 10)):
        assert false_losers(coin, senders, first, "once", TRIALS, random) <= BOUND


@pytest.mark.parametrize("scenario", ["mobile", "satellite", "short-buffer"])
def test_the_real_senders(scenario):
    wrong, beaten = real_use(scenario, 10, "until decided", 8, np.random.default_rng(6), most=160)
    assert wrong <= 1 / 8
    assert beaten > 0.5  # and it does tell most of them apart


@pytest.mark.parametrize("share", [0.12, 0.2, 0.5])
def test_senders_that_differ_are_not_taken_for_alike(share):
    # One stalls for 20 s in this share of the sessions, the other never, but retransmits more: it would lose as alike.
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(TRIALS // 2):
        stalls = np.where(random.random(320) < share, 20.0, 0.0)
        values = {
            "rare": {"stall_time_s": stalls, "retransmitted_packets": np.full(320, 10.0)},
            "never": {"stall_time_s": np.zeros(320), "retransmitted_packets": 500 + random.normal(0, 5, 320)},
        }
        wrong += any("never" in look(values, runs).beaten for runs in (10, 20, 40, 80, 160, 320))
    assert wrong / (TRIALS // 2) <= BOUND


def test_the_difference_at_the_margin_is_not_taken_for_alike():
    # `--until-decided` took it for alike in 7.8 % where 2.5 % were promised: every look was at the full level.
    random = np.random.default_rng(8)
    margin = 1.05  # 5 % of 21 s
    wrong = 0
    for _ in range(TRIALS):
        channel = 20 + random.normal(0, 3, 320)
        values = {
            "a": {"stall_time_s": channel, "retransmitted_packets": np.full(320, 500.0)},
            "b": {
                "stall_time_s": channel + margin + random.normal(0, 1.5, 320),
                "retransmitted_packets": np.zeros(320),
            },
        }
        wrong += any("a" in look(values, runs).beaten for runs in (10, 20, 40, 80, 160, 320))
    assert wrong / TRIALS <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / TRIALS)


def test_a_clear_difference_is_told_by_ten_runs_of_thirteen_senders():
    random = np.random.default_rng(9)
    values = equal_senders(sessions("mobile")["newreno"], 13, 10, random)
    values["s0"] = {**values["s0"], "stall_time_s": np.zeros(10)}
    assert len(look(values, 10).beaten) >= 8

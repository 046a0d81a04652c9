"""The ranking rule: what decides, what is alike, what stays open."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from playpath.metrics import VIDEO_CRITERIA, metric
from playpath.ranking import Ranker
from playpath.verdict import verdict


def rank(values, criteria=VIDEO_CRITERIA):
    ranker = Ranker(values, criteria)
    return ranker, ranker.decide()


def stalls(*values):
    return {"stall_time_s": list(values)}


def test_clear_difference_is_decided_by_the_first_criterion():
    ranker, decision = rank({"cubic": stalls(20, 22, 19, 21), "ccplb": stalls(1, 2, 1, 2)})
    assert decision.ranking == ["ccplb", "cubic"]
    assert decision.beaten == ["cubic"]
    assert decision.is_decided
    assert decision.deciding == {"cubic": "stall_time_s"}
    found = ranker.difference("cubic", "ccplb", "stall_time_s")
    # 19, 20, 18, 19: mean 19, sd sqrt(2/3), half width 3.182446 * 0.816497 / 2 = 1.299228
    assert found.mean == 19
    assert found.ci95 == pytest.approx((19 - 1.299228, 19 + 1.299228), abs=1e-6)
    assert found.significant


def test_alike_in_the_first_criterion_lets_the_next_decide():
    # 0.05 s less stall time is below the margin of 0.1 s and does not save 300 discarded pictures.
    values = {
        "a": {"stall_time_s": [0.0, 0.0, 0.0], "discarded_pictures": [300, 310, 290]},
        "b": {"stall_time_s": [0.05, 0.05, 0.05], "discarded_pictures": [1, 2, 3]},
    }
    _, decision = rank(values)
    assert decision.ranking == ["b", "a"]
    assert decision.deciding == {"a": "discarded_pictures"}


def test_not_significant_is_not_alike():
    # b's mean is worse and uncertain; its fast start must not make it the best.
    values = {
        "a": {"stall_time_s": [0, 0, 0, 0], "startup_delay_s": [2, 2, 2, 2]},
        "b": {"stall_time_s": [0, 60, 0, 50], "startup_delay_s": [0.1, 0.1, 0.1, 0.1]},
    }
    ranker, decision = rank(values)
    assert decision.ranking == ["a", "b"]
    assert decision.open == ["b"]
    assert not decision.is_decided
    assert decision.more_runs > 0
    assert verdict(ranker, decision).startswith("Undecided after 4 runs between a and b")


def test_equal_senders_share_the_first_rank():
    ranker, decision = rank({name: stalls(1.0, 2.0, 3.0) for name in "abc"})
    assert decision.ranks == {"a": 1, "b": 1, "c": 1}
    assert decision.tied == ["b", "c"]
    assert verdict(ranker, decision).startswith("No difference that counts")


def test_one_run_ranks_by_value_and_decides_nothing():
    values = {
        "a": {"stall_time_s": [0.0], "discarded_pictures": [9.0]},
        "b": {"stall_time_s": [0.0], "discarded_pictures": [0.0]},
    }
    ranker, decision = rank(values)
    assert decision.ranking == ["b", "a"]
    assert decision.open == ["a"]
    assert verdict(ranker, decision).startswith("Undecided: one run has no interval")


def test_one_run_in_which_nobody_did_best_says_so():
    said = "Undecided: one run has no interval. In it "
    equal = {name: {"stall_time_s": [1.0]} for name in "abc"}
    assert verdict(*rank(equal)).startswith(f"{said}a, b and c are equal: stall time 1 s")
    # 0.05 s of stall time is below the margin of 0.1 s.
    alike = {"a": {"stall_time_s": [1.0]}, "b": {"stall_time_s": [1.05]}}
    assert verdict(*rank(alike)).startswith(f"{said}a and b are alike: ")
    ahead = equal | {"c": {"stall_time_s": [9.0]}}
    assert verdict(*rank(ahead)).startswith(f"{said}a and b are equal, and ahead: ")
    assert verdict(*rank({"a": {"stall_time_s": [1.0]}, "b": {"stall_time_s": [9.0]}})).startswith(
        f"{said}a did best: "
    )


def test_a_session_without_stalls_because_it_never_started_is_last():
    values = {
        "dead": {"played_s": [0.0, 0.0, 0.0], "stall_time_s": [0.0, 0.0, 0.0]},
        "alive": {"played_s": [580.0, 590.0, 600.0], "stall_time_s": [40.0, 50.0, 45.0]},
        "perfect": {"played_s": [624.0, 624.0, 624.0], "stall_time_s": [1.0, 2.0, 3.0]},
    }
    _, decision = rank(values)
    assert decision.ranking == ["perfect", "alive", "dead"]
    assert decision.deciding == {"alive": "stall_time_s", "dead": "played_s"}


def test_verdict_tells_the_viewer_from_the_network():
    seen = {"stall_time_s": [0.0, 0.0, 0.0]}
    values = {
        "greedy": {**seen, "retransmitted_packets": [900, 910, 905]},
        "kind": {**seen, "retransmitted_packets": [10, 12, 11]},
        "slow": {"stall_time_s": [60, 61, 59], "retransmitted_packets": [0, 0, 0]},
    }
    ranker, decision = rank(values)
    assert decision.ranking == ["kind", "greedy", "slow"]
    text = verdict(ranker, decision)
    assert text.startswith("kind and greedy are alike for the viewer: stall time 0 s")
    assert "Of these kind costs the network least: greedy has 894 packets more retransmitted than kind" in text
    assert "The next is slow: 60 s more stall time than kind, 95 % interval 57.5 to 62.5." in text


def test_verdict_says_when_only_the_cost_is_open():
    seen = {"stall_time_s": [0.0, 0.0, 0.0]}
    values = {
        "a": {**seen, "retransmitted_packets": [100, 300, 200]},
        "b": {**seen, "retransmitted_packets": [300, 200, 400]},
    }
    ranker, decision = rank(values)
    text = verdict(ranker, decision)
    assert text.startswith("a and b are alike for the viewer")
    assert "Which of them costs the network least is open: b has 100 packets more retransmitted" in text
    assert text.endswith("more runs would probably decide.")


def test_one_sender_has_nothing_to_be_compared_with():
    ranker, decision = rank({"a": stalls(1.0, 2.0)})
    assert decision.ranking == ["a"]
    assert "nothing to compare it with" in verdict(ranker, decision)


def test_more_is_better_where_the_metric_says_so():
    _, decision = rank({"slow": {"goodput_mbps": [1, 1.1, 1]}, "fast": {"goodput_mbps": [5, 5.1, 5]}}, ["goodput_mbps"])
    assert decision.ranking == ["fast", "slow"]


def test_a_session_that_never_started_is_worse_than_any_delay():
    values = {"a": {"startup_delay_s": [None, 0.1, 0.1]}, "b": {"startup_delay_s": [9.0, 9.0, 9.0]}}
    _, decision = rank(values)
    assert decision.ranking == ["b", "a"]


def test_no_false_winner_among_equal_senders():
    """Six equal senders: the best of them must rarely look significantly better than any other.

    Holm over all pairs keeps the chance of any false difference below 5 %. Over 400 comparisons the bound is
    0.05 + 3 * sqrt(0.05 * 0.95 / 400) = 0.083. Correcting only for the comparisons with the best fails this bound.
    """
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        channel = random.normal(0, 3, 10)
        values = {f"s{i}": stalls(*(20 + channel + random.normal(0, 1, 10))) for i in range(6)}
        ranker, decision = rank(values)
        best, *others = decision.ranking
        wrong += any(ranker.difference(other, best, "stall_time_s").significant for other in others)
    assert wrong / 400 < 0.083


VALUES = st.lists(st.floats(0, 100), min_size=3, max_size=3)


@hypothesis_settings(max_examples=60)
@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(VALUES, VALUES), min_size=1))
def test_every_sender_is_ranked_once_and_judged_once(drawn):
    values = {name: {"stall_time_s": a, "discarded_pictures": b} for name, (a, b) in drawn.items()}
    ranker, decision = rank(values)
    assert sorted(decision.ranking) == sorted(values)
    assert sorted([decision.ranking[0], *decision.beaten, *decision.tied, *decision.open]) == sorted(values)
    assert [decision.ranks[s] for s in decision.ranking] == sorted(decision.ranks.values())
    assert verdict(ranker, decision)


def test_margins_grow_with_the_means():
    assert metric("stall_time_s").margin(0, 0.5) == 0.1
    assert metric("stall_time_s").margin(100, 40) == 5
    assert metric("something_new_ms").unit == "ms"
    assert metric("something_new_ms").better == "neither"

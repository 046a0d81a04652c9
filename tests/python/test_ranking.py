"""The ranking rule: what decides, what is alike, what stays open."""

import itertools
import json
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import playpath
from playpath.base.metrics import VIDEO_CRITERIA, metric
from playpath.judge.ranking import Ranker, identical_replicas, is_clear


def rank(values, criteria=VIDEO_CRITERIA):
    ranker = Ranker(values, criteria)
    return ranker, ranker.decide()


def stalls(*values):
    return {"stall_time_s": list(values)}


def runs(number, **columns):
    """So many runs of a sender: each value repeated, with a ripple that nobody would notice."""
    return {
        name: [values[i % len(values)] + 0.001 * (i % 7) for i in range(number)] for name, values in columns.items()
    }


def test_a_ranker_is_used_and_dropped_by_any_thread(monkeypatch):
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    held = [Ranker({"cubic": stalls(*[20, 22, 19, 21] * 2), "ccplb": stalls(*[1, 2, 1, 2] * 2)}, VIDEO_CRITERIA)]
    decided = []

    def work():
        decided.append(held.pop().decide().ranking)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert decided == [["ccplb", "cubic"]]
    assert complaints == []


def test_clear_difference_is_decided_by_the_first_criterion():
    ranker, decision = rank({"cubic": stalls(*[20, 22, 19, 21] * 2), "ccplb": stalls(*[1, 2, 1, 2] * 2)})
    assert decision.ranking == ["ccplb", "cubic"]
    assert decision.beaten == ["cubic"]
    assert decision.is_decided
    assert decision.deciding == {"cubic": "stall_time_s"}
    found = ranker.difference("cubic", "ccplb", "stall_time_s")
    # 19, 20, 18, 19 twice: mean 19; of eight from the first to the last; 2 / 2^8 that all point one way
    assert (found.mean, found.ci95, found.noticed) == (19, (18, 20), 8)
    assert found.p == pytest.approx(2 / 256)
    assert found.significant


def test_alike_in_the_first_criterion_lets_the_next_decide():
    # 0.05 s less stall time is below the margin of 0.1 s and does not save 300 discarded frames.
    values = {
        "a": runs(64, stall_time_s=[0.0], discarded_pictures=[300, 310, 290]),
        "b": runs(64, stall_time_s=[0.05], discarded_pictures=[1, 2, 3]),
    }
    _, decision = rank(values)
    assert decision.ranking == ["b", "a"]
    assert decision.beaten == ["a"]
    assert decision.deciding == {"a": "discarded_pictures"}


def test_measured_quality_stands_in_for_the_rate():
    """Alike in VMAF, apart in the rate: a viewer who sees no difference gains nothing from more bits."""
    played = {"played_s": [60.0] * 8}
    scored = {
        "a": {**played, "mean_vmaf": [90.0, 90.1] * 4, "mean_ssim_db": [15.0] * 8, "mean_rate_kbps": [2000.0] * 8},
        "b": {**played, "mean_vmaf": [91.0, 91.1] * 4, "mean_ssim_db": [19.0] * 8, "mean_rate_kbps": [4000.0] * 8},
    }
    ranker, decision = rank(scored)
    assert ranker.criteria == ["played_s", "mean_vmaf"]
    assert decision.ranks == {"a": 1, "b": 1}
    without = {name: {k: v for k, v in c.items() if k == "mean_rate_kbps"} for name, c in scored.items()}
    assert rank(without)[1].ranks == {"b": 1, "a": 2}


def test_who_plays_less_does_not_hide_that_it_stalls():
    """Ten of ten sessions stall 90 s more. The sign test gives 2/2^10 = 0.002, below 0.7 * 5 % / 2 = 0.0175 of the first span.

    That the stalling sender also shows less is looked at first and is no reason to test stalls at a part of that level.
    """
    values = {
        "a": {"played_s": [180.0] * 10, "stall_time_s": [0.0, 0.2] * 5, "discarded_pictures": [3, 4] * 5},
        "b": {"played_s": [126.0, 128.0] * 5, "stall_time_s": [90.0, 95.0] * 5, "discarded_pictures": [900, 1000] * 5},
    }
    ranker, decision = rank(values)
    assert decision.beaten == ["b"]
    assert decision.deciding == {"b": "stall_time_s"}
    assert ranker.headline == "a stalls for 0.1 s in the median run; b stalls for 92.5 s."


def test_few_runs_do_not_prove_alike():
    # Ten runs without a stall leave room for stalls in 26 % of the sessions: what comes later must not decide.
    values = {
        "a": runs(10, stall_time_s=[0.0], discarded_pictures=[300, 310, 290]),
        "b": runs(10, stall_time_s=[0.0], discarded_pictures=[1, 2, 3]),
    }
    ranker, decision = rank(values)
    assert decision.ranking == ["b", "a"]
    assert decision.open == ["a"]
    # Nothing is proven alike below 44 runs: 0.9^44 is 1 %.
    assert decision.more_runs == 34
    assert (
        "in none of 10 runs would a viewer notice a difference in stall time from b, which leaves room for one in up to 26 % "
        "of sessions" in ranker.verdict
    )
    # What is certain all the same is said, and nobody reads that there is no difference.
    assert ranker.headline == (
        "Undecided after 10 runs between b and a; b leads and stalls for 0.002 s in the median run; proven: discarded "
        "frames 300 with a against 2 with b."
    )
    assert decision.unnoticed == []
    more = {s: runs(44, **v) for s, v in values.items()}
    assert rank(more)[1].beaten == ["a"]


def test_an_undecided_headline_has_the_figures_of_both_sides():
    """With the means where the median runs look alike."""
    values = {name: {"stall_time_s": [0.0] * 18 + [worst, worst]} for name, worst in (("a", 2.0), ("b", 5.0))}
    assert rank(values)[0].headline == (
        "Undecided after 20 runs between a and b; a leads and does not stall in the median run (mean 0.2 s), b does not stall in the "
        "median run (mean 0.5 s)."
    )
    apart = {name: {"stall_time_s": [middle, middle + 4.0] * 10} for name, middle in (("a", 2.0), ("b", 3.0))}
    apart["b"]["stall_time_s"].reverse()
    assert rank(apart)[0].headline == (
        "Undecided after 20 runs between a and b; a leads and stalls for 4 s in the median run, b stalls for 5 s."
    )


def test_no_difference_is_one_that_no_session_shows_at_any_criterion():
    same = {"stall_time_s": [0.0], "startup_delay_s": [1.0], "discarded_pictures": [1, 2, 3]}
    once = runs(10, **same)
    once["startup_delay_s"][4] = 9.0
    for other, unnoticed in ((runs(10, **same), ["b"]), (once, [])):
        ranker, decision = rank({"a": runs(10, **same), "b": other})
        assert (decision.open, decision.unnoticed) == (["b"], unnoticed)
        said = ranker.headline == (
            "Undecided after 10 runs: none of them shows a difference between a and b that a viewer would notice."
        )
        assert said == bool(unnoticed)


def test_equality_is_told_only_where_it_is_proven():
    def headline(number):
        return rank({name: runs(number, stall_time_s=[0.0]) for name in "ab"})[0].headline

    assert headline(3).startswith("Undecided after 3 runs: none of them shows a difference")
    assert headline(60) == "a and b are proven alike for the viewer in 60 runs."


def test_a_few_runs_prove_nothing_and_the_verdict_says_so():
    def verdict(number):
        return rank({"a": runs(number, stall_time_s=[0.0]), "b": runs(number, stall_time_s=[0.0, 3.0])})[0].verdict

    assert "Fewer than 8 runs prove nothing. About " in verdict(4)
    assert "prove nothing" not in verdict(10)


@pytest.mark.parametrize("is_race", [False, True])
def test_the_only_rate_that_there_is_decides_nothing_and_is_not_open(is_race):
    def film(stalls):
        return {"played_s": [600.0] * 10, "stall_time_s": stalls, "mean_rate_kbps": [5240.0] * 10}

    values = {"bbr": film([0.0] * 10), "cubic": film([400.0 + 5 * run for run in range(10)])}
    ranker = Ranker(values, VIDEO_CRITERIA, prefer="picture", is_race=is_race)
    assert ranker.headline == "bbr does not stall; cubic stalls for 422 s in the median run."
    assert {found.metric: found.judged for found in ranker.decide().criteria["cubic"]}["mean_rate_kbps"] == "alike"


def test_a_mean_unlike_the_median_is_said_in_a_difference():
    """Nine sessions have 32 to 48 packets more, one 900; and 1 buffer underflow in the median run of both."""
    more = [32, 34, 36, 38, 40, 42, 44, 46, 48, 900]
    values = {
        "a": {"retransmitted_packets": [100.0] * 10},
        "b": {"retransmitted_packets": [100.0 + packets for packets in more]},
    }
    said = "b has 41 packets more retransmitted than a in the median run, 126 packets more on average (95 % interval of the median"
    assert said in rank(values)[0].verdict
    stalling = {
        "a": stalls(*[0.0] * 80) | {"underflow_events": [1, 1, 1, 0] * 20},
        "b": stalls(*[9.0] * 80) | {"underflow_events": [1, 1, 1, 9] * 20},
    }
    assert (
        "Proven besides: buffer underflows 1 (mean 3) with b against 1 (mean 0.75) with a." in rank(stalling)[0].verdict
    )


def test_a_label_with_a_comma_is_none_beside_a_number():
    values = {"a": {"late_packet_ratio": [0.0, 0.001] * 10}, "b": {"late_packet_ratio": [0.2, 0.201] * 10}}
    ranker, _ = rank(values)
    assert ranker.headline.endswith("; b has 0.201 late packets (share).")
    assert "packets, share" not in ranker.verdict


def test_the_last_that_another_criterion_puts_behind_is_named_too():
    values = {
        "best": runs(60, stall_time_s=[0.0], discarded_pictures=[0]),
        "stalls": runs(60, stall_time_s=[60.0], discarded_pictures=[0]),
        "discards": runs(60, stall_time_s=[0.0], discarded_pictures=[300]),
        "discards more": runs(60, stall_time_s=[0.0], discarded_pictures=[500]),
    }
    ranker, _ = rank(values)
    assert ranker.headline.endswith(
        "; discards has 300 discarded frames, discards more 500; stalls stalls for 60 s against 0.003 s with best."
    )


@pytest.mark.parametrize(
    ("runs", "apart", "proven", "clear"), [(7, 10.0, False, True), (30, 10.0, True, False), (7, 0.01, False, False)]
)
def test_a_clear_difference_without_proof_is_told_from_an_open_one(runs, apart, proven, clear):
    """Seven runs are too few for any proof, whatever their interval says; a hundredth of a second nobody notices."""
    stalls = [1 + run / 100 for run in range(runs)]
    ranker = Ranker(
        {"a": {"stall_time_s": stalls}, "b": {"stall_time_s": [s + apart for s in stalls]}}, ["stall_time_s"]
    )
    found = ranker.difference("b", "a", "stall_time_s")
    assert found.significant == proven
    assert is_clear(found, ranker.margin("b", "a", "stall_time_s")) == clear


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
    assert ranker.headline == "a does not stall. Undecided after 4 runs: whether b with 27.5 s is worse."
    assert ranker.verdict.startswith("Undecided: b has ")


def test_equal_senders_share_the_first_rank():
    ranker, decision = rank({name: runs(70, stall_time_s=[1.0, 2.0, 3.0]) for name in "abc"})
    assert decision.ranks == {"a": 1, "b": 1, "c": 1}
    assert decision.tied == ["b", "c"]
    assert ranker.verdict.startswith("They are proven alike at every criterion.")


def test_one_run_ranks_by_value_and_decides_nothing():
    values = {
        "a": {"stall_time_s": [0.0], "discarded_pictures": [9.0]},
        "b": {"stall_time_s": [0.0], "discarded_pictures": [0.0]},
    }
    ranker, decision = rank(values)
    assert decision.ranking == ["b", "a"]
    assert decision.open == ["a"]
    assert ranker.verdict.startswith("Undecided: one run has no interval")


def test_one_run_in_which_nobody_did_best_says_so():
    said = "Undecided: one run has no interval. In it "
    equal = {name: {"stall_time_s": [1.0]} for name in "abc"}
    assert rank(equal)[0].verdict.startswith(f"{said}a, b and c are equal: stall time 1 s")
    # 0.05 s of stall time is below the margin of 0.1 s.
    alike = {"a": {"stall_time_s": [1.0]}, "b": {"stall_time_s": [1.05]}}
    assert rank(alike)[0].verdict.startswith(f"{said}a and b are alike: ")
    ahead = equal | {"c": {"stall_time_s": [9.0]}}
    assert rank(ahead)[0].verdict.startswith(f"{said}a and b are equal, and ahead: ")
    assert rank({"a": {"stall_time_s": [1.0]}, "b": {"stall_time_s": [9.0]}})[0].verdict.startswith(
        f"{said}a did best: "
    )


def test_a_session_without_stalls_because_it_never_started_is_last():
    values = {
        "dead": {"played_s": [0.0] * 10, "stall_time_s": [0.0] * 10},
        "alive": runs(10, played_s=[580.0, 590.0, 600.0], stall_time_s=[40.0, 50.0, 45.0]),
        "perfect": runs(10, played_s=[624.0], stall_time_s=[1.0, 2.0, 3.0]),
    }
    _, decision = rank(values)
    assert decision.ranking == ["perfect", "alive", "dead"]
    assert decision.beaten == ["alive", "dead"]
    assert decision.deciding == {"alive": "stall_time_s", "dead": "played_s"}


def test_a_session_that_failed_once_does_not_hide_worse_stalls():
    values = {
        "poor": runs(20, played_s=[624.0], stall_time_s=[40.0, 50.0, 45.0]),
        "good": runs(20, played_s=[624.0], stall_time_s=[1.0, 2.0, 3.0]),
    }
    values["poor"]["played_s"][4] = 10.0
    assert rank(values)[1].deciding == {"poor": "stall_time_s"}
    # If it was the good one that failed, it is open who of them shows the video.
    values["good"]["played_s"][7] = 10.0
    assert rank(values)[1].open == ["poor"]


def test_verdict_tells_the_viewer_from_the_network():
    values = {
        "greedy": runs(80, stall_time_s=[0.0], retransmitted_packets=[900, 910, 905]),
        "kind": runs(80, stall_time_s=[0.0], retransmitted_packets=[10, 12, 11]),
        "slow": runs(80, stall_time_s=[60, 61, 59], retransmitted_packets=[0]),
    }
    ranker, decision = rank(values)
    assert decision.ranking == ["kind", "greedy", "slow"]
    text = ranker.verdict
    assert text.startswith("kind and greedy are alike for the viewer. kind has ")
    assert (
        "Of these kind costs the network least: greedy has 894 packets more retransmitted than kind in the median run"
        in text
    )
    assert "The next is slow: 60 s more stall time than kind in the median run (95 % interval 60 s)." in text


def test_verdict_says_when_only_the_cost_is_open():
    random = np.random.default_rng(3)
    values = {
        "a": runs(60, stall_time_s=[0.0]) | {"retransmitted_packets": random.normal(200, 90, 60).tolist()},
        "b": runs(60, stall_time_s=[0.0]) | {"retransmitted_packets": random.normal(225, 90, 60).tolist()},
    }
    ranker, _decision = rank(values)
    text = ranker.verdict
    assert text.startswith("a and b are alike for the viewer")
    assert "Which of them costs the network least is undecided: b has " in text
    assert text.endswith("more runs like these would decide.")


def test_verdict_tells_the_viewers_side_from_the_costs():
    random = np.random.default_rng(3)
    values = {
        "a": runs(10, stall_time_s=[0.0]) | {"retransmitted_packets": random.normal(200, 90, 10).tolist()},
        "b": runs(10, stall_time_s=[0.0]) | {"retransmitted_packets": random.normal(225, 90, 10).tolist()},
    }
    ranker, decision = rank(values)
    assert decision.more_runs_for_viewer == 34
    assert decision.more_runs > 34
    settled = "About 34 more runs like these would settle what the viewer sees; the network's costs take about "
    assert settled in ranker.verdict


def test_where_nothing_is_random_one_run_tells_all():
    values = {"a": {"stall_time_s": [1.0, 1.0]}, "b": {"stall_time_s": [1.05, 1.05]}, "c": {"stall_time_s": [9.0, 9.0]}}
    assert identical_replicas(values)
    assert not identical_replicas({"a": {"stall_time_s": [1.0]}})
    assert not identical_replicas({"a": {"stall_time_s": [1.0, 1.0], "mean_rtt_ms": [50.0, 50.1]}})
    ranker = Ranker(values, VIDEO_CRITERIA, is_random=False)
    decision = ranker.decide()
    assert (decision.tied, decision.beaten, decision.open) == (["b"], ["c"], [])
    found = ranker.difference("c", "a", "stall_time_s")
    assert (found.ci95, found.p, found.p_adjusted, found.more_runs) == (None, None, None, None)
    assert "The next is c: 8 s more stall time than a." in ranker.verdict


@pytest.mark.parametrize("number", [6, 10, 30])
def test_no_interval_without_zero_beside_p_of_one(number):
    random = np.random.default_rng(number)
    values = {s: stalls(*random.poisson(0.3, number)) for s in "abcdef"}
    ranker, _ = rank(values)
    for other in "bcdef":
        found = ranker.difference(other, "a", "stall_time_s")
        assert (found.p <= 0.05) == (found.ci95[0] > 0 or found.ci95[1] < 0)


def test_advice_leads_into_the_next_span_of_levels():
    values = {"a": stalls(*[5, 9, 2, 7, 1, 6] * 3), "b": stalls(*[6, 6, 5, 6, 4, 4] * 3)}
    _, decision = rank(values)
    assert decision.open
    assert 18 + decision.more_runs >= 32


def test_one_sender_has_nothing_to_be_compared_with():
    ranker, decision = rank({"a": stalls(1.0, 2.0)})
    assert decision.ranking == ["a"]
    assert "nothing to compare it with" in ranker.verdict


def test_more_is_better_where_the_metric_says_so():
    _, decision = rank({"slow": {"goodput_mbps": [1, 1.1, 1]}, "fast": {"goodput_mbps": [5, 5.1, 5]}}, ["goodput_mbps"])
    assert decision.ranking == ["fast", "slow"]


def test_a_session_that_never_started_is_worse_than_any_delay():
    values = {"a": {"startup_delay_s": [None, 0.1, 0.1]}, "b": {"startup_delay_s": [9.0, 9.0, 9.0]}}
    _, decision = rank(values)
    assert decision.ranking == ["b", "a"]


def test_what_is_no_number_is_missing_and_what_is_infinite_is_refused():
    played = {"played_s": [60.0] * 10}
    values = {"a": {"stall_time_s": [float("nan")] * 10, **played}, "b": {"stall_time_s": [2.0] * 10, **played}}
    assert "between" in Ranker(values, VIDEO_CRITERIA).headline  # it ran for ever
    with pytest.raises(ValueError, match="a: stall_time_s is infinite"):
        Ranker({"a": {"stall_time_s": [float("inf")]}, "b": {"stall_time_s": [1.0]}}, VIDEO_CRITERIA)
    with pytest.raises(ValueError, match="no sender"):
        Ranker({}, VIDEO_CRITERIA)


RARE = """
[video]
rate = "1 Mbit/s"
duration = "2 s"
[[path]]
rate = "8 Mbit/s"
rtt = "60 ms"
loss = {loss}
[[sender]]
cc = "cubic"
[[sender]]
cc = "newreno"
"""


@pytest.mark.parametrize(
    ("loss", "is_random"),
    [
        ('"0 %"', False),
        ('"0.00001 %"', True),
        (
            '{ kind = "gilbert_elliott", p = "0.00001 %", r = "10 %", loss_in_good = "0 %", loss_in_bad = "100 %" }',
            True,
        ),
    ],
)
def test_a_loss_that_no_seed_met_is_still_random(loss, is_random):
    result = playpath.compare(RARE.replace("{loss}", loss), seeds=10, until_decided=False, jobs=1)
    assert result.ranker.is_random == is_random
    assert any("nothing in this scenario is random" in warning for warning in result.warnings) != is_random
    assert ("Not proven alike" in result.verdict) == is_random


VALUES = st.lists(st.floats(0, 100), min_size=3, max_size=3)


@pytest.mark.slow
@hypothesis_settings(max_examples=60)
@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(VALUES, VALUES), min_size=1))
def test_every_sender_is_ranked_once_and_judged_once(drawn):
    values = {name: {"stall_time_s": a, "discarded_pictures": b} for name, (a, b) in drawn.items()}
    ranker, decision = rank(values)
    assert sorted(decision.ranking) == sorted(values)
    assert sorted([decision.ranking[0], *decision.beaten, *decision.tied, *decision.open]) == sorted(values)
    assert [decision.ranks[s] for s in decision.ranking] == sorted(decision.ranks.values())
    assert ranker.verdict


def test_margins_grow_with_the_means():
    assert metric("stall_time_s").margin(0, 0.5) == 0.1
    assert metric("stall_time_s").margin(100, 40) == 5
    assert metric("something_new_ms").unit == "ms"
    assert metric("something_new_ms").better == "neither"


def test_senders_not_told_apart_share_their_places():
    values = {
        "worst": runs(10, stall_time_s=[60.0, 61, 59]),
        "a": runs(10, stall_time_s=[0.0, 3.0]),
        "b": runs(10, stall_time_s=[2.0, 0.0]),
    }
    _, decision = rank(values)
    assert decision.places == {"b": (1, 2), "a": (1, 2), "worst": (3, 3)}
    assert [decision.place(sender) for sender in decision.ranking] == ["1–2", "1–2", "3"]


def test_each_criterion_is_judged_for_itself():
    # Stalls are open; the picture is proven all the same, the start within what one notices.
    random = np.random.default_rng(5)
    values = {
        "a": runs(64, stall_time_s=[0.0, 3.0], mean_vmaf=[90.0, 91, 92], startup_delay_s=[0.5]),
        "b": runs(64, stall_time_s=[2.0, 0.0], mean_vmaf=[40.0, 41, 42], startup_delay_s=[0.6]),
    }
    values["b"]["stall_time_s"] = random.permutation(values["b"]["stall_time_s"]).tolist()
    _, decision = rank(values)
    (other,) = decision.ranking[1:]
    found = {judged.metric: judged for judged in decision.criteria[other]}
    assert found["stall_time_s"].judged == "open"
    assert found["stall_time_s"].at_most is not None
    assert found["mean_vmaf"].judged == ("worse" if other == "b" else "better")
    assert found["startup_delay_s"].judged == "alike"
    assert found["startup_delay_s"].share_at_most == pytest.approx(1 - 0.05 ** (1 / 64))
    assert found["mean_vmaf"].at_most is None


def test_the_verdict_tells_what_is_proven_of_everybody_with_both_values():
    values = {
        "good": runs(16, stall_time_s=[0.0], discarded_pictures=[1.0]),
        "poor": runs(16, stall_time_s=[60, 61, 59], discarded_pictures=[900, 910]),
        "last": runs(16, stall_time_s=[90, 91, 89], discarded_pictures=[100, 110]),
    }
    ranker, _ = rank(values)
    assert ranker.headline == "good stalls for 0.0025 s in the median run; poor stalls for 60 s, last for 90 s."
    assert "discarded frames 105 with last, 905 with poor against 1 with good" in ranker.verdict


def test_the_order_of_writing_changes_no_word():
    # "About 39 more runs" or "about 2371": of senders that looked alike the first one written was held against the others.
    random = np.random.default_rng(12)
    stalls = {
        "a": random.gamma(1.0, 2.0, 12),
        "b": random.gamma(1.0, 2.05, 12),
        "c": random.gamma(1.0, 2.4, 12),
        "d": random.gamma(1.0, 6.0, 12),
    }
    values = {s: {"stall_time_s": v.tolist(), "retransmitted_packets": (50 * v).tolist()} for s, v in stalls.items()}
    shown = set()
    for order in itertools.permutations(values):
        ranker = Ranker({sender: values[sender] for sender in order}, VIDEO_CRITERIA)
        shown.add((ranker.headline, ranker.verdict, json.dumps(ranker.decide().to_dict(), sort_keys=True)))
    assert len(shown) == 1


def test_senders_that_never_stall_are_named_with_that_though_the_best_of_them_is_undecided():
    ranker, decision = rank(
        {
            "a": {"stall_time_s": [0.0] * 10, "startup_delay_s": [1.0, 3.0] * 5},
            "b": {"stall_time_s": [0.0] * 10, "startup_delay_s": [3.0, 1.0] * 5},
            "c": {"stall_time_s": [40.0, 42.0] * 5, "startup_delay_s": [1.0] * 10},
        }
    )
    assert set(decision.beaten) == {"c"}
    assert not decision.is_decided
    assert ranker.headline == (
        f"{' and '.join(decision.ranking[:2])} do not stall; c stalls for 41 s in the median run. "
        "Which of the 2 is best is undecided after 10 runs."
    )


def test_senders_that_never_stall_are_named_first_though_none_is_behind():
    ranker, _ = rank(
        {
            "a": {
                "stall_time_s": [0.0] * 10,
                "startup_delay_s": [1.0, 3.0] * 5,
                "retransmitted_packets": [40.0, 44.0] * 5,
            },
            "b": {
                "stall_time_s": [0.0] * 10,
                "startup_delay_s": [3.0, 1.0] * 5,
                "retransmitted_packets": [4000.0, 4400.0] * 5,
            },
        }
    )
    assert ranker.headline == "a and b do not stall. Which of the 2 is best is undecided after 10 runs."
    # What is proven though no viewer notices anything: the network's costs.
    assert "What does differ: b has 4158 packets more retransmitted than a" in ranker.verdict


def test_a_sender_that_stalls_in_some_runs_is_told_from_those_that_never_do():
    ranker, decision = rank(
        {
            "a": {"stall_time_s": [0.0] * 10, "startup_delay_s": [1.0, 3.0] * 5},
            "b": {"stall_time_s": [0.0] * 10, "startup_delay_s": [3.0, 1.0] * 5},
            "c": {"stall_time_s": [0.0] * 6 + [9.0] * 4, "startup_delay_s": [1.0] * 10},
        }
    )
    assert not decision.beaten
    assert ranker.headline == (
        f"{' and '.join(decision.ranking[:2])} do not stall. "
        "Undecided after 10 runs: which of the 2 is best, and whether c with 0 s (mean 3.6 s) is worse."
    )

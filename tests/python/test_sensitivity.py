"""What an answer hangs on: small variations of the path, what held the rate, and the rule that leaves a population undecided."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from conftest import SMALL

import playpath
from playpath.base.errors import InputError
from playpath.judge.stats import holm
from playpath.population.headline import blocked
from playpath.population.intervals import Estimate
from playpath.results.causes import causes
from playpath.results.comparison import Comparison
from playpath.results.sensitivity import Sensitivity, Shift
from playpath.run.sensitivity import MAX_SEEDS, _outcome, chance, sensitivity, variations


@pytest.fixture(scope="module")
def result() -> Comparison:
    return playpath.compare(SMALL, seeds=3)


@pytest.fixture(scope="module")
def found(result) -> Sensitivity:
    return sensitivity(result)


def test_each_setting_of_the_path_is_varied_alone(result):
    lines = [(setting, was, now) for setting, _, was, now in variations(result.scenario)]
    assert lines[:2] == [("rate", "6 Mbit/s", "4.8 Mbit/s"), ("rate", "6 Mbit/s", "7.5 Mbit/s")]
    assert lines[2:6] == [
        ("RTT", "60 ms", "48 ms"),
        ("RTT", "60 ms", "75 ms"),
        ("loss", "1 %", "0.5 %"),
        ("loss", "1 %", "2 %"),
    ]
    assert {setting for setting, *_ in lines} == {"rate", "RTT", "loss", "queue"}


def test_another_leader_that_no_viewer_could_tell_from_the_best_is_no_change():
    names = ["other", "best", "third"]
    decision = SimpleNamespace(
        ranking=names, tied=[], unnoticed=["best"], beaten=[], deciding=dict.fromkeys(names[1:], "stall_time_s")
    )

    def outcome(name, stalls):
        values = {"other": [0.0, 0.0], name: stalls}
        ranker = SimpleNamespace(margin=lambda *of: 0.1)
        return _outcome(
            SimpleNamespace(decision=decision, seeds=[1, 2], ranker=ranker, values=lambda s, _: values[s]), name
        )

    assert outcome("best", [0.0, 9.0]) == "stays"
    assert outcome("third", [0.0, 9.0]) == "passed"
    # Open, but as far apart as nobody notices: who leads is decided by the network's costs, or by chance.
    assert outcome("third", [0.0, 0.1]) == "stays"


def test_a_path_without_loss_gets_some_and_what_is_compared_is_not_varied():
    loaded = playpath.load(SMALL, cc="cubic", set={"path.loss": "0 %"}, vary={"path.queue": "droptail,pie"})
    lines = [(setting, now) for setting, _, _, now in variations(loaded)]
    assert ("loss", "0.1 %") in lines
    assert "queue" not in [setting for setting, _ in lines]


def test_a_variation_is_the_comparison_with_that_setting(result, found):
    assert found.sessions == len(found.shifts) * 3 * 2
    assert found.seeds == 3 <= MAX_SEEDS
    shift = found.shifts[0]
    there = playpath.compare(SMALL, seeds=3, set={"path.rate": shift.now})
    values = [np.mean(there.values(name, found.metric)) for name in (found.rival, found.best)]
    assert shift.difference == pytest.approx(values[0] - values[1])
    own = [np.mean(result.values(name, found.metric)) for name in (found.rival, found.best)]
    assert found.difference == pytest.approx(own[0] - own[1])


def test_it_is_kept_with_the_result(result, found, tmp_path):
    result.with_sensitivity(found).save(tmp_path)
    assert Comparison.load(tmp_path).sensitivity == found
    assert Comparison.load(tmp_path).to_dict()["sensitivity"]["sentence"] == found.sentence


def shift(setting: str, outcome: str, moved: float, leads: str = "a", p: float = 0.01) -> Shift:
    return Shift(setting, f"path.0.{setting}", "10", "20", leads, outcome, 3.0, moved, p)


def test_what_turns_the_answer_comes_before_what_moves_it():
    shifts = [shift("rate", "stays", 9.0), shift("loss", "beaten", 2.0, "b"), shift("RTT", "stays", 0.5)]
    shown = Sensitivity("a", "b", "stall_time_s", 1.0, 3, 18, shifts)
    assert [s.setting for s in shown.order] == ["loss", "rate", "RTT"]
    assert shown.sentence == (
        "Most sensitive to the loss: at 20 instead of 10 b does better than a; then to the rate: at 20 instead of 10 the stall time of b "
        "minus that of a is +3 s instead of +1."
    )
    calm = replace(shown, shifts=[shift("rate", "stays", 0.4)])
    assert calm.sentence.startswith("Small variations of rate make no noticeable difference")


def test_what_chance_may_have_done_is_not_laid_to_a_setting():
    """Equal senders: the best and its rival are the extremes of the unvaried sessions, so the difference shrinks at every variation."""
    random = np.random.default_rng(20261129)
    wrong = proven = 0
    for _ in range(300):
        before, *varied = random.pareto(1.5, (9, 6, MAX_SEEDS))
        best, rival = np.argmin(before.mean(axis=1)), np.argmax(before.mean(axis=1))
        wrong += min(holm([chance(before, after, rival, best) for after in varied])) < 0.05
        after = before + random.normal(0, 0.2, before.shape)
        after[rival] += 2
        proven += chance(before, after, rival, best) < 0.05 / 8
    assert wrong <= 0.05 * 300
    assert proven >= 0.9 * 300
    shifts = [shift("rate", "stays", 9.0, p=0.2), shift("loss", "passed", 2.0, "b", p=0.06)]
    shown = Sensitivity("a", "b", "stall_time_s", 1.0, 10, 18, shifts)
    assert shown.sentence == (
        "No small variation of rate, loss is proven to change the answer: 10 seeds differ as much by chance."
    )
    one_sure = replace(shown, shifts=[shifts[1], shift("rate", "stays", 9.0)])
    assert one_sure.sentence.startswith("Most sensitive to the rate")


def test_values_that_are_missing_prove_no_change():
    before = np.array([[1.0] * 10, [np.nan] * 10])
    assert chance(before, before + 1, 0, 1) == 1.0


@pytest.mark.slow
def test_on_the_command_line(cli, small, tmp_path):
    done = cli("compare", small, "--seeds", 2, "--sensitivity", "--out", tmp_path / "out")
    assert done.status == 0, done.err
    assert "variations of the path follow" in done.err
    kept = Comparison.load(tmp_path / "out")
    assert kept.sensitivity is not None
    assert " ".join(kept.sensitivity.sentence.split()) in " ".join(done.out.split())
    assert "What the answer depends on" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--seeds", "1"), "needs two seeds or more"),
        (("--cc", "cubic"), "needs two senders or choices"),
        (("--world", "kernel"), "only in the world 'sim'"),
    ],
)
def test_what_cannot_be_varied_is_told_before_anything_plays(cli, small, options, says):
    cli("compare", small, "--sensitivity", *options).assert_refused(says)


def test_a_comparison_of_one_seed_has_none(result):
    with pytest.raises(InputError, match="two seeds"):
        sensitivity(playpath.compare(SMALL, seeds=1))


def measured(lost: float, busy: float, drops: dict[str, float], connections: int = 1) -> SimpleNamespace:
    """One sender whose flows of 100 s sent 1000 packets each: `lost` of them, on a link that is busy for a share."""
    scenario = SimpleNamespace(resolved={"path": [{}], "player": {"ladder": "1 Mbit/s, 4 Mbit/s"}})
    flow = {
        "sender": "a", "seed": 1, "name": "video", "sent_packets": 1000, "loss_ratio": lost / 1000, "start_s": 0.0, "end_s": 100.0,
        "mean_rtt_ms": 90.0, "min_rtt_ms": 60.0,
    }  # fmt: skip
    link = {"sender": "a", "name": "path.x/down", "utilisation": busy}
    link |= {f"dropped_packets.{why}": count for why, count in drops.items()}
    return SimpleNamespace(
        shown_criteria=["mean_rate_kbps"], scenario=scenario, ranking=["a"], neighbours=[],
        summary=lambda sender, name: SimpleNamespace(middle=2000.0), flows=pl.DataFrame([flow] * connections), links=pl.DataFrame([link]),
    )  # fmt: skip


def test_what_held_a_rate_is_what_was_measured():
    """Of 50 lost packets in 100 s one every 2 s; 30 of 40 drops at the full queue are 75 %."""
    (shown,) = causes(measured(50, 0.5, {"queue_full": 30.0, "loss": 10.0, "aqm": 0.0}))
    assert shown.sentence == (
        "2 Mbit/s: the path was busy 50 % of the time; every 2 s a packet was lost (at the full queue 75 %, at random on the link 25 %); "
        "queueing made its RTT 90 ms instead of 60."
    )
    (apart,) = causes(measured(50, 0.5, {}, connections=2))
    assert "; every 1 s a packet was lost" in apart.sentence, "on either of two connections"
    (full,) = causes(measured(0, 0.95, {}))
    assert "busy 95 % of the time, which is full; hardly any packet was lost; queueing" in full.sentence, (
        "no cause is excluded"
    )


def test_the_rule_that_blocks_a_population_is_named():
    result = SimpleNamespace(
        population=SimpleNamespace(base=SimpleNamespace(senders=["a", "b", "c"])), network_criteria=["x"]
    )
    apart = SimpleNamespace(relation="open", net=Estimate(0.1, 0.01, 0.2, 30), sender="a", other="b")
    assert "3 pairs of senders, on viewers and on the network" in blocked(result, apart)
    assert blocked(result, SimpleNamespace(relation="open", net=Estimate(0.1, -0.01, 0.2, 30))) == ""
    assert blocked(result, SimpleNamespace(relation="better", net=Estimate(0.1, 0.01, 0.2, 30))) == ""


def test_costs_stand_without_a_price(cli, small, tmp_path):
    done = cli("compare", small, "--seeds", 2, "--out", tmp_path / "out")
    assert "for each hour of video shown" in done.out
    assert "price" not in done.out
    assert "What an hour of video costs" in (tmp_path / "out" / "report.html").read_text()
    loaded = json.loads(cli("compare", small, "--seeds", 2, "--json").out)
    assert [cost["sender"] for cost in loaded["costs_per_hour"]] == loaded["ranking"]


def test_traces_and_bursts_of_loss_are_varied():
    """Rates of a trace by a fifth; how often and how long bursts of loss come by two."""
    shown = {(setting, was, now) for setting, _, was, now in variations(playpath.load("mobile"))}
    assert {("share of the trace's rates", "1", "0.8"), ("share of the trace's rates", "1", "1.25")} <= shown
    begins, ends = (f"chance that a burst of loss {word}" for word in ("begins", "ends"))
    for kind, wanted in (
        ("bursts", {("time between bursts of loss", "10 s", "20 s"), ("length of bursts of loss", "20 ms", "10 ms")}),
        ("gilbert_elliott", {(begins, "1 %", "2 %"), (ends, "25 %", "12.5 %")}),
    ):
        loaded = playpath.load("wireless", set={"path.loss": {"kind": kind}})
        assert wanted <= {(setting, was, now) for setting, _, was, now in variations(loaded)}

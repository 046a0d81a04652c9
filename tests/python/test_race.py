"""Races until decided: what they promise, by simulation; and that sessions, seeds and files stay in order when choices leave."""

import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from conftest import SMALL
from false_winners import FALSE_WINNERS
from races import play, power, wrong_share

import playpath
from playpath.judge.race import race_looks
from playpath.judge.ranking import Ranker
from playpath.results.comparison import Comparison
from playpath.results.gather import whole_seeds
from playpath.show.report import comparison_page

SHORT, LONG = 60, 2000
KINDS = ("equal", "nearly equal", "far")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_best_is_rare(kind):
    bound = FALSE_WINNERS + 3 * math.sqrt(FALSE_WINNERS * (1 - FALSE_WINNERS) / SHORT)
    assert wrong_share(kind, SHORT, 1) <= bound


@pytest.mark.long
def test_a_wrong_best_in_at_most_five_percent_of_two_thousand_races():
    for number, kind in enumerate(KINDS):
        assert wrong_share(kind, LONG // len(KINDS), number) <= FALSE_WINNERS


@pytest.mark.slow
@pytest.mark.parametrize(("count", "noise"), [(2, 3), (4, 2), (14, 2)])
def test_twice_what_one_notices_is_told_by_sixty_sessions(count, noise):
    decided, _ = power(count, noise, 40, 2)
    assert decided >= 0.8


@pytest.mark.long
def test_twice_what_one_notices_is_told_by_sixty_sessions_more_often():
    for count, noise in [(2, 3), (4, 2), (8, 2), (14, 2)]:
        assert power(count, noise, 300, 3)[0] >= 0.8, (count, noise)


def test_a_race_between_equals_ends_and_who_is_behind_leaves_it():
    decision, played = play([0, 0, 8], [0.5, 0.5, 0.5], np.random.default_rng(4))
    assert decision.tied
    assert decision.beaten == ["c2"]
    assert played["c2"] < played["c0"] == played["c1"] < 100
    judged = {judged.metric: judged for judged in decision.criteria[decision.tied[0]]}
    assert judged["stall_time_s"].judged == "alike"
    assert 0 < judged["stall_time_s"].at_most < 0.6


def test_a_session_that_shows_nothing_of_a_figure_is_as_much_worse_as_any_can_be():
    values = {
        "starts": {"startup_delay_s": [1.0] * 40},
        "often does not": {"startup_delay_s": [0.5, None] * 20},
    }
    decision = Ranker(values, ["startup_delay_s"], is_race=True).decide()
    assert decision.beaten == ["often does not"]


def test_a_mean_that_is_proven_is_said_where_the_interval_of_the_median_holds_zero():
    """Of fourteen sessions eleven stall ten seconds longer, three not at all: a sign test of the median run proves nothing."""
    values = {
        "kind": {"stall_time_s": [0.0] * 14},
        "slow": {"stall_time_s": [0.0] * 3 + [10.0, 11.0, 12.0] * 3 + [13.0, 14.0]},
    }
    ranker = Ranker(values, ["stall_time_s"], is_race=True)
    assert ranker.decide().beaten == ["slow"]
    found = ranker.difference("slow", "kind", "stall_time_s")
    assert found.ci95[0] == 0.0
    assert found.p > 0.05 > found.p_adjusted
    said = "9 s more stall time than kind on average, 11 s more in the median run (95 % interval 0 to 12 s)"
    assert said in ranker.verdict


def test_a_race_that_one_has_left_tells_of_the_neighbours_frames():
    def sender(seeds, stall, frames):
        columns = {"stall_time_s": stall, "frame_delay_p99_ms": frames}
        return {name: [value + 0.01 * seed for seed in range(seeds)] for name, value in columns.items()}

    values = {"fifo": sender(20, 0.0, 200.0), "dualpi2": sender(20, 0.0, 20.0), "left": sender(10, 90.0, 60.0)}
    headline = Ranker(values, ["stall_time_s"], is_race=True).headline
    assert "the neighbours' frames take at most 20.1 ms with dualpi2, 200 ms with fifo" in headline


def test_looks_are_fixed_before_the_start():
    assert race_looks(8, 20) == [8, 12, 16, 20]
    with pytest.raises(playpath.InputError, match="until_decided 4: must be above the 4 seeds to begin with"):
        playpath.compare(SMALL, seeds=4, until_decided=4)


def test_an_unknown_argument_is_named():
    with pytest.raises(playpath.InputError, match="most: is an option of the command line; in Python, until_decided=N"):
        playpath.compare(SMALL, most=4)
    with pytest.raises(playpath.InputError, match='unknown argument "seed"; did you mean "seeds"'):
        playpath.compare(SMALL, seed=4)


RATES = ["4.6 Mbit/s", "4.7 Mbit/s", "0.6 Mbit/s"]
BEATEN = "rate 0.6 Mbit/s"


@pytest.fixture(scope="module")
def raced():
    """Two that hardly differ, and one on a path of an eighth of the rate, which is beaten soon."""
    return playpath.compare(SMALL, cc=["cubic"], vary={"path.rate": RATES}, seeds=8, until_decided=16)


def test_who_is_beaten_plays_no_more(raced):
    assert list(raced.looks) == [8, 12, 16]
    assert raced.left == {BEATEN: 12}
    assert raced.table.group_by("sender").len().sort("sender")["len"].to_list() == [12, 16, 16]
    assert raced.decision.beaten == [BEATEN]
    assert raced.decision.place(BEATEN) == "3"
    assert raced.manifest["until_decided"] == raced.to_dict()["stopping"]["most"] == 16


def test_a_race_is_the_same_with_any_number_of_threads(raced):
    again = playpath.compare(SMALL, cc=["cubic"], vary={"path.rate": RATES}, seeds=8, until_decided=16, jobs=1)
    assert again.digest == raced.digest
    assert again.to_dict() == raced.to_dict()


def test_a_race_is_kept_and_shown_with_what_each_played(raced, tmp_path):
    raced.save(tmp_path)
    found = Comparison.load(tmp_path)
    assert found.to_dict() == raced.to_dict()
    assert "stopped after 12" in comparison_page(found)
    assert f"({BEATEN}: 12)" in found.to_latex()
    seed, _ = found.typical_seed
    assert seed <= 12


def test_the_sessions_of_a_race_are_those_of_a_comparison():
    result = playpath.compare(SMALL, seeds=4, until_decided=12)
    assert len(result.seeds) == result.looks[-1]
    assert result.manifest["scenario"]["run"]["seeds"] == 12
    whole = playpath.compare(SMALL, seeds=12)
    assert whole.table.filter(pl.col("seed").is_in(result.seeds)).equals(result.table)


def test_a_seed_counts_where_all_that_had_to_play_it_did():
    played = [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("a", 4), ("c", 1), ("c", 2), ("c", 4)]
    sessions = [SimpleNamespace(sender=sender, seed=seed) for sender, seed in played]
    whole = whole_seeds(sessions, ["a", "b", "c"], {"b": 2})  # b has left; c failed with seed 3
    assert {(session.sender, session.seed) for session in whole} == set(played) - {("a", 3)}
    whole = whole_seeds(sessions, ["a", "b", "c"])
    assert {session.seed for session in whole} == {1, 2}


def test_where_it_is_asked_for_whom_all_play_to_the_end():
    rates = ["4.6 Mbit/s", "0.6 Mbit/s"]
    result = playpath.compare(SMALL, vary={"path.rate": rates}, seeds=8, until_decided=16)
    assert result.scenario.asks_for_whom
    assert {effect.outcome for effect in result.effects} == {"worse"}
    assert result.left == {}
    assert result.is_settled


@pytest.mark.slow
def test_an_archive_of_a_race_is_verified(cli, small, tmp_path):
    found = cli("compare", small, "--seeds", 4, "--until-decided", "--most", 9, "--out", tmp_path / "race")
    assert found.status == 0, found.err
    found = cli("export", tmp_path / "race", "--out", tmp_path / "race.zip")
    assert found.status == 0, found.err
    found = cli("verify", tmp_path / "race.zip")
    assert found.status == 0, found.err


def test_most_goes_with_until_decided(cli):
    found = cli("compare", "wireless", "--most", 9)
    assert (found.status, found.err) == (2, "error: --most 9: only with --until-decided\n")
    found = cli("compare", "wireless", "--until-decided", 64)
    shown = "error: --until-decided 64: takes no number; write --until-decided --most 64\n"
    assert (found.status, found.err) == (2, shown)


UNNAMED = SMALL.replace("[run]\nseeds = 3", "")


def test_without_a_number_of_seeds_it_is_a_race_that_is_the_same_everywhere(monkeypatch):
    found = playpath.compare(UNNAMED, jobs=1)
    assert found.most == 256
    assert found.looks[0] == 10
    assert found.to_dict()["stopping"]["sessions"] == found.table.height
    again = playpath.compare(UNNAMED, until_decided=found.most, jobs=2)
    assert again.digest == found.digest
    assert again.to_dict() == found.to_dict()
    packets = [sum(link["offered_packets"] for link in playpath.run(UNNAMED, sender=s).links) for s in found.senders]
    monkeypatch.setattr("playpath.judge.race.MAX_PACKETS", 12 * sum(packets))
    assert playpath.compare(UNNAMED).most == 12
    monkeypatch.setattr("playpath.judge.race.MAX_PACKETS", 9 * sum(packets))
    assert playpath.compare(UNNAMED).most is None


@pytest.mark.parametrize(
    "named", [{"seeds": 2}, {"set": {"run.seeds": 2}}, {"until_decided": False}, {"cc": ["cubic"]}]
)
def test_who_names_seeds_or_one_sender_gets_no_race(named):
    assert playpath.compare(UNNAMED, **named).most is None
    assert playpath.compare(SMALL).most is None


def test_about_half_of_all_open_races_are_decided_after_the_runs_advised():
    """Differences within a seed vary by three times their mean, which a few seeds know badly."""
    random, decided = np.random.default_rng(20261130), []
    while len(decided) < 30:
        stalls = 3 + random.gamma(2, 0.5, 10_000) + random.normal([[0.0], [0.5]], 1.0, (2, 10_000))

        def decide(number, stalls=stalls):
            values = {name: {"stall_time_s": own[:number].tolist()} for name, own in zip("ab", stalls, strict=True)}
            return Ranker(values, ["stall_time_s"], is_race=True).decide()

        if (more := decide(10).more_runs) is not None:
            decided.append(decide(10 + more).is_decided)
    assert 0.35 <= np.mean(decided) <= 0.9

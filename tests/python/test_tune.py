"""Tuning: train and held-out paths stay apart, and the result repeats."""

import json
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from conftest import SMALL, playpath_command

import playpath
from playpath.base.errors import InputError, Interrupted
from playpath.base.metrics import VIDEO_CRITERIA
from playpath.judge.ranking import Ranker
from playpath.papers.space import filled
from playpath.run.tune import Range, _relative_cost, tune

pytestmark = pytest.mark.slow

TINY = SMALL.replace('duration = "10 s"', 'duration = "3 s"')


def test_ranges_as_typed():
    assert Range.parse("ccplb.kp=1..3") == Range("ccplb", "kp", 1.0, 3.0)
    assert Range.parse("vegas.alpha=0.5..1e1").high == 10.0
    for wrong in ("kp=1..3", "ccplb.kp=1", "ccplb.kp=a..b", "ccplb.kp=3..1", "ccplb.kp=.1..1..2"):
        with pytest.raises(playpath.InputError, match="--param"):
            Range.parse(wrong)


def test_values_stay_within_the_range_and_a_range_has_several():
    assert Range("vegas", "alpha", 0.98996, 0.99996).rounded(0.99996) == 0.99996
    with pytest.raises(InputError, match="too narrow for values of 4 digits"):
        Range.parse("cubic.beta=0.123456..0.123457")


def test_the_best_set_tried_is_returned_and_judged_on_other_seeds():
    found = tune([TINY], ["cubic.beta=0.4..0.9"], seeds=2, budget=6, jobs=2)
    assert found.evaluations == len(found.history) <= 6
    assert found.train[0].senders == ["cubic", f"cubic(beta={found.parameters['beta']:g})"]
    assert found.parameters == min(found.history, key=lambda tried: tried[1])[0]
    assert 0.4 <= found.parameters["beta"] <= 0.9
    assert found.train[0].seeds == [1, 2]
    assert found.held_out[0].seeds == [3, 4]
    again = tune([TINY], ["cubic.beta=0.4..0.9"], seeds=2, budget=6, jobs=1)
    assert again.to_dict() == found.to_dict()


def test_what_is_shown_of_the_film_counts_only_where_it_differs_noticeably():
    def played(shown, stalled):
        values = {"one": {"played_s": [shown] * 2, "stall_time_s": [stalled] * 2}}
        return SimpleNamespace(senders=["one"], ranker=Ranker(values, VIDEO_CRITERIA))

    default = played(25.0, 20.0)
    stalls_less, shows_nothing = (_relative_cost(played(*tried), default) for tried in ((22.0, 10.0), (0.0, 0.0)))
    assert stalls_less < _relative_cost(default, default) < shows_nothing


def test_a_better_picture_outweighs_a_little_more_stall_as_in_the_ranking():
    def played(rate, stalled):
        columns = {"played_s": 60.0, "stall_time_s": stalled, "mean_rate_kbps": rate}
        values = {"one": {name: [value] * 2 for name, value in columns.items()}}
        return SimpleNamespace(senders=["one"], ranker=Ranker(values, VIDEO_CRITERIA))

    default = played(2000.0, 0.5)
    assert _relative_cost(played(4000.0, 1.0), default) < _relative_cost(default, default)
    assert _relative_cost(played(2000.0, 1.0), default) > _relative_cost(default, default)


def test_it_is_said_where_nothing_is_better_than_the_defaults():
    found = tune([TINY], ["cubic.beta=0.4..0.9"], seeds=1, budget=2)
    assert replace(found, default_score=0.0).caveat.endswith("better than the defaults")
    assert replace(found, default_score=9.0).caveat.endswith(
        "on what was held out it is not proven better than the defaults"
    )
    assert replace(found, default_score=9.0, held_out=[]).caveat == ""
    judged = SimpleNamespace(
        ranking=[found.cc, found.sender],
        decision=SimpleNamespace(beaten=[found.sender]),
        scenario=SimpleNamespace(name="x"),
    )
    worse = replace(found, default_score=9.0, held_out=[judged])
    assert worse.caveat == "; on what was held out it is proven worse than the defaults: x"


def test_held_out_scenarios_are_not_trained_on():
    other = TINY.replace('name = "small"', 'name = "other"').replace("60 ms", "20 ms")
    found = tune([TINY], ["cubic.beta=0.4..0.9"], held_out=[other], seeds=2, budget=3)
    assert [c.scenario.name for c in found.train] == ["small"]
    assert [c.scenario.name for c in found.held_out] == ["other"]


def test_what_was_trained_on_is_not_held_out():
    with pytest.raises(playpath.InputError, match="--held-out small: is also a train scenario"):
        tune([TINY], ["cubic.beta=0.4..0.9"], held_out=[TINY])


def test_wrong_parameters_run_nothing():
    with pytest.raises(playpath.InputError, match="beta"):
        tune([TINY], ["cubic.bet=0.4..0.9"])
    with pytest.raises(playpath.InputError, match="one congestion control"):
        tune([TINY], ["cubic.beta=0.4..0.9", "vegas.alpha=1..2"])
    with pytest.raises(playpath.InputError, match="beta"):
        tune([TINY], ["cubic.beta=0.4..900"])


def test_a_search_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    """The third set meets Ctrl-C; the second search plays nothing of what the first one scored, and ends as if never stopped."""
    played = []

    def stopped_at(most):
        def compare(*args, **kwargs):
            result = playpath.compare(*args, **kwargs)
            played.append(result.senders)
            if len(played) > most:  # during the last session, so that the comparison is whole
                kwargs["on_interrupt"](1)
            return result

        return compare

    search = partial(tune, [TINY], ["cubic.beta=0.4..0.9"], seeds=2, budget=6, store=tmp_path)
    module = sys.modules[tune.__module__]
    monkeypatch.setattr(module, "compare", stopped_at(3))
    with pytest.raises(Interrupted, match="stopped after 2 parameter sets"):
        search()
    scored = played[1:3]
    played.clear()
    monkeypatch.setattr(module, "compare", stopped_at(100))
    found = search()
    assert not [senders for senders in scored if senders in played]
    assert found.to_dict() == tune([TINY], ["cubic.beta=0.4..0.9"], seeds=2, budget=6).to_dict()


def test_what_needs_scipy_says_so_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    for part in ("scipy.optimize", "scipy.stats"):
        monkeypatch.delitem(sys.modules, part, raising=False)
    remedy = "SciPy is not installed; pip install 'playpath\\[scipy\\]'"
    with pytest.raises(playpath.InputError, match=f"tune: {remedy}"):
        tune([TINY], ["cubic.beta=0.4..0.9"], budget=3)
    with pytest.raises(playpath.InputError, match=f"--joint: {remedy}"):
        filled(2, 4)


def test_settings_are_changed_in_every_scenario():
    found = tune([TINY], ["cubic.beta=0.4..0.9"], seeds=1, budget=2, set={"path.rtt": "20 ms"})
    assert {c.scenario.resolved["path"][0]["rtt"] for c in (*found.train, *found.held_out)} == {"20 ms"}


def test_command_line(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    arguments = ("tune", "tiny.toml", "--param", "cubic.beta=0.5..0.9", "--budget", 3, "--seeds", 2)
    done = playpath_command(*arguments, "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert done.json["sender"].startswith("cubic(beta=")
    printed = playpath_command(*arguments, cwd=tmp_path).out
    assert "they prove nothing): small, seeds 1 to 2" in " ".join(printed.split())
    assert "held out: small, seeds 3 to 4" in printed
    assert json.loads((tmp_path / "out/tune-small/tune.json").read_text()) == done.json
    other = playpath_command(*arguments, "--set", "path.rtt=20 ms", "--out", "out/tune-small", cwd=tmp_path)
    assert (other.status, "another question (differs in: scenarios)" in other.err) == (2, True)
    assert playpath_command("tune", "tiny.toml", cwd=tmp_path).status == 2

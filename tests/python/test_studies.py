"""The papers' studies: the evaluator, resuming, and verdicts that change only together with their reason."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import golden_verdicts
import numpy as np
import polars as pl
import pytest
from conftest import ROOT

from playpath.base import engine
from playpath.base.errors import InputError, RunError
from playpath.base.parallel import default_jobs
from playpath.papers import (
    NAMES,
    Options,
    StudyResult,
    evaluate,
    newcwv_series,
    regions,
    run_study,
    space,
    study,
)
from playpath.papers.claims import VERDICTS, judge
from playpath.papers.figures import draw
from playpath.papers.grids import joint_grid
from playpath.papers.joint_space import Joint, run_joint
from playpath.papers.modern_senders import rank_scenes, table_rows
from playpath.papers.reading import check
from playpath.papers.results import save
from playpath.papers.runner import Ran
from playpath.papers.runner import run_all as run_all_cells
from playpath.papers.study import (
    CUT,
    SHOWN,
    Case,
    Check,
    Claim,
    CurrentSenders,
    FigureSpec,
    Panel,
    Study,
    Term,
    Unstated,
)
from playpath.scenario import load
from playpath.sweep.store import Store

pytestmark = pytest.mark.slow


def table(**variants):
    """Values of `x` by variant, one a seed; something else differs between seeds, as where anything is random."""
    rows = [
        {"variant": name, "seed": seed, "x": float(value), "other": float(seed)}
        for name, values in variants.items()
        for seed, value in enumerate(values, 1)
    ]
    return pl.DataFrame(rows)


A, B = {"variant": "a"}, {"variant": "b"}


def test_fewer_is_strict_and_paired():
    # Differences -1, -1, -1: no variation, although a and b overlap.
    assert judge(check("x", A, "", against=B, fewer=True), table(a=[1, 5, 9], b=[2, 6, 10])).verdict == "reproduced"
    # Differences -9, 1, 1: mean -2.33, one-sided t(2) = 2.920, sd = 5.77, half width 9.7: straddles.
    assert judge(check("x", A, "", against=B, fewer=True), table(a=[1, 3, 3], b=[10, 2, 2])).verdict == "undecided"
    assert judge(check("x", A, "", against=B, fewer=True), table(a=[5, 6, 7], b=[1, 2, 3])).verdict == "not reproduced"


def test_alike_has_a_tolerance_absolute_or_of_the_other():
    data = table(a=[110, 110], b=[100, 100])
    assert judge(check("x", A, against=B, within=10), data).verdict == "reproduced"
    assert judge(check("x", A, against=B, within=9), data).verdict == "not reproduced"
    assert judge(check("x", A, against=B, within=0, share=0.1), data).verdict == "reproduced"
    # The mean lies 1 outside the bound of 9.
    assert judge(check("x", A, against=B, within=9), data).distance == pytest.approx(1)


def test_ratio_needs_no_division():
    data = table(a=[1, 1], b=[2, 2], c=[0, 0])
    assert judge(check("x", A, against=B, at_most_times=0.5), data).verdict == "reproduced"
    assert judge(check("x", A, against=B, at_most_times=0.4), data).verdict == "not reproduced"


def test_sides_that_are_equal_in_every_seed_leave_nothing_to_test():
    """Neither for a claim, "as good as", nor against one, "fewer"."""
    data = table(a=[0, 0], b=[0, 0], c=[1, 2])
    fewer, half, alike = ({"fewer": True}, {"at_most_times": 0.5}, {"within": 1})
    for bound in (fewer, half, alike):
        assert judge(check("x", A, against=B, **bound), data).verdict == "nothing to test"
    # A bound alone compares nothing: none lost is what it asks for.
    assert judge(check("x", A, "", high=1), data).verdict == "reproduced"
    shown = check("x", A, against={"variant": "c"}, within=20)
    # Likeness that is trivial beside a check that holds; a difference that was not tested is missing.
    found = evaluate(Claim("c", "", "", [check("x", A, against=B, **alike), shown]), data)
    assert (found.verdict, found.deciding.check, found.missed) == ("reproduced", shown, 0)
    for bound in (fewer, half):
        found = evaluate(Claim("c", "", "", [shown, check("x", A, against=B, **bound)]), data)
        assert (found.verdict, found.missed) == ("nothing to test", 0.5)
    assert evaluate(Claim("c", "", "", [check("x", A, against=B, **alike)]), data).verdict == "nothing to test"


def test_an_event_that_no_seed_had_may_be_rare():
    """Of ten sessions none, although one in ten is 80 % late: that is one time in three, and decides nothing."""
    none = table(a=[0] * 10).rename({"x": "late_percent"})
    found = judge(check("late_percent", A, "", low=3, high=13), none)
    assert (found.verdict, found.ci95) == ("undecided", pytest.approx((0, 30.85), abs=0.01))
    # One bound: 1 - 0.05 ** (1 / 10) of the sessions may be late.
    found = judge(check("late_percent", A, "", high=1), none)
    assert (found.verdict, found.ci95) == ("undecided", pytest.approx((0, 25.89), abs=0.01))
    counts = none.rename({"late_percent": "underflow_events"})
    assert judge(check("underflow_events", A, "", high=1), counts).verdict == "reproduced"
    assert judge(check("underflow_events", A, "", low=2), counts).verdict == "not reproduced"


def test_a_true_mean_of_rare_sessions_is_rarely_refuted():
    draws = np.where(np.random.default_rng(1).random((400, 10)) < 0.1, 80.0, 0.0)
    bounds = {"8 ± 5": {"low": 3, "high": 13}, "at most 8": {"high": 8}}
    for bound in bounds.values():
        made = check("late_percent", A, "", **bound)
        verdicts = [judge(made, table(a=row).rename({"x": "late_percent"})).verdict for row in draws]
        assert verdicts.count("not reproduced") <= 0.05 * len(draws)


def test_many_checks_do_not_refute_a_claim_by_chance():
    """Twelve checks with the truth on the bound: without correction one of them fails in nearly half of the claims."""
    names = [f"v{i}" for i in range(12)]
    claim = Claim("c", "", "", [check("x", {"variant": name}, name, high=0.0) for name in names])
    rng = np.random.default_rng(2)
    tables = [table(**{name: rng.normal(size=10) for name in names}) for _ in range(100)]
    alone = [any(judge(one, data).verdict == "not reproduced" for one in claim.checks) for data in tables]
    together = [evaluate(claim, data).verdict == "not reproduced" for data in tables]
    assert (sum(alone) > 30, sum(together) <= 10) == (True, True)


def test_what_one_thing_changes_is_compared_with_what_it_changes_elsewhere():
    """TR-STY saves 3 in one scene and 1 in the other, paired by seed."""
    rows = [("dft", "near", 9), ("try", "near", 6), ("dft", "far", 20), ("try", "far", 19)]
    data = pl.DataFrame(
        [{"rule": r, "scene": s, "seed": i, "x": float(x * i), "y": i} for r, s, x in rows for i in (5, 6, 7)]
    )
    made = check("x", {"rule": "dft", "scene": "far"}, "", less={"rule": "try"}, against={"scene": "near"}, fewer=True)
    found = judge(made, data)
    assert (found.verdict, found.of_mean, found.against_mean) == ("reproduced", 6, 18)


def test_seeds_that_are_one_run_decide_nothing():
    """An interval of no width over replicas of one run is not certainty."""
    same = table(a=[1, 1], b=[2, 2]).with_columns(other=pl.lit(1.0))
    assert judge(check("x", A, "", against=B, fewer=True), same).verdict == "undecided"
    assert judge(check("x", A, "", high=0), same).verdict == "undecided"
    # One side is random: the difference has a spread.
    half = table(a=[1, 1], b=[2, 3])
    assert judge(check("x", A, "", against=B, fewer=True), half).verdict in ("reproduced", "undecided")


def test_range_over_cases_is_taken_within_a_seed():
    data = table(a=[1, 2], b=[4, 5]).with_columns(group=pl.lit("g"))
    check = Check("x", Term({"group": "g"}, "range"), "", low=3, high=3)
    assert judge(check, data).verdict == "reproduced"


def test_one_seed_decides_nothing():
    assert judge(check("x", A, "", high=5), table(a=[1])).verdict == "undecided"


def test_a_claim_needs_all_its_checks():
    data = table(a=[1, 1], b=[2, 2])
    good, bad = check("x", A, "good", against=B, fewer=True), check("x", B, "bad", against=A, fewer=True)
    assert evaluate(Claim("c", "", "", [good]), data).verdict == "reproduced"
    found = evaluate(Claim("c", "", "", [good, bad]), data)
    assert (found.verdict, found.deciding.check.says) == ("not reproduced", "bad")


def viewed(**variants):
    """Discards, stall time and share shown by variant; seeds differ a little."""
    names = ("discarded_pictures", "stall_time_s", SHOWN)
    rows = [
        {"variant": variant, "seed": seed, "other": float(seed)}
        | {name: value + 0.01 * seed for name, value in zip(names, values, strict=True)}
        for variant, values in variants.items()
        for seed in (1, 2, 3)
    ]
    return pl.DataFrame(rows)


def test_fewer_discards_because_the_picture_stands_still_hold_by_count_only():
    claim = Claim("c", "", "", [check("discarded_pictures", A, "a discards less", against=B, fewer=True)])
    found = evaluate(claim, viewed(a=(10.0, 185.0, 80.0), b=(90.0, 158.0, 80.0)))
    assert (found.verdict, found.unseen.check.says) == ("reproduced by count only", "a discards less: stalls no longer")
    assert found.seen == "stalled 185 against 158 s; shown of what was due 80 against 80 %"
    # Less is shown, too.
    found = evaluate(claim, viewed(a=(10.0, 158.0, 70.0), b=(90.0, 158.0, 80.0)))
    assert (found.verdict, found.unseen.check.says) == ("reproduced by count only", "a discards less: shows no less")
    # What nobody notices does not count: 1 % of stall time, half a per cent of the film.
    found = evaluate(claim, viewed(a=(10.0, 159.5, 79.6), b=(90.0, 158.0, 80.0)))
    assert (found.verdict, found.unseen) == ("reproduced", None)
    # Nor does the picture decide where the claim is no comparison of counts.
    bound = Claim("c", "", "", [check("discarded_pictures", A, "few", high=20.0)])
    assert evaluate(bound, viewed(a=(10.0, 185.0, 80.0), b=(90.0, 158.0, 80.0))).verdict == "reproduced"


def test_more_discards_of_a_picture_that_moves_refute_by_count_only():
    """CUBIC discards less because it hardly shows anything: a claim that CCP discards less is not refuted by that alone."""
    claim = Claim("c", "", "", [check("discarded_pictures", A, "a discards less", against=B, fewer=True)])
    found = evaluate(claim, viewed(a=(90.0, 10.0, 39.0), b=(10.0, 10.0, 0.4)))
    assert (found.verdict, found.unseen.check.says) == (
        "not reproduced by count only",
        "a discards less: the other shows no less",
    )
    assert evaluate(claim, viewed(a=(90.0, 10.0, 80.0), b=(10.0, 10.0, 80.0))).verdict == "not reproduced"
    # One more check that is refuted for the viewer, too.
    both = replace(claim, checks=[*claim.checks, check(SHOWN, A, "all of it", low=90.0)])
    assert evaluate(both, viewed(a=(90.0, 10.0, 39.0), b=(10.0, 10.0, 0.4))).verdict == "not reproduced"


def test_a_metric_without_a_value_decides_nothing():
    """What it is about did not happen, as an FTP after a session that has no after."""
    empty = table(a=[1, 2]).with_columns(x=pl.lit(None, dtype=pl.Float64))
    found = judge(check("x", A, "", high=5), empty)
    assert (found.verdict, found.distance) == ("undecided", 0)
    assert found.to_dict()["mean"] is None


def test_a_claim_about_no_case_is_an_error():
    with pytest.raises(ValueError, match="no case"):
        judge(check("x", {"variant": "z"}, ""), table(a=[1, 2]))


def tiny_study(**more):
    def cases(share, loss=1):
        scenario = {
            "video": {"rate": "1 Mbit/s", "duration": "10 s"},
            # Jitter, so that seeds differ without loss, too.
            "path": [{"rate": "5 Mbit/s", "rtt": "20 ms", "jitter": "1 ms", "loss": f"{loss} %", "queue": "2 MB"}],
        }
        return [Case({"variant": cc}, {**scenario, "sender": [{"cc": cc}]}) for cc in ("newreno", "cubic")]

    claim = Claim("t-1", "", "", [check("retransmitted_packets", {"variant": "cubic"}, "some", low=1.0)])
    always = Claim("t-2", "", "", [check("startup_delay_s", {"variant": "newreno"}, "starts", low=0.0)])
    loss = Unstated("loss", "1 %", "", knob="loss", values=(0, 1), chosen=1, unit="%")

    return Study("tiny", "Tiny", "none", 3, cases, [claim, always], [], [loss], **more)


def test_a_study_resumes_and_repeats_bit_for_bit(tmp_path, monkeypatch):
    whole = run_study(tiny_study(), Options(tmp_path / "whole", jobs=2))
    assert whole.table.height == 6
    assert whole.claims[0].verdict == "reproduced"
    # Half the cells are there already, as after a kill.
    shards = sorted((tmp_path / "whole" / "store" / "shards").iterdir())
    half = tmp_path / "half" / "store" / "shards"
    half.mkdir(parents=True)
    for shard in shards[:3]:
        shutil.copy(shard, half)
    ran = []

    def counted(work, tasks, jobs, **hooks):
        ran.extend(tasks)
        return run_all_cells(work, tasks, jobs, **hooks)

    monkeypatch.setattr("playpath.papers.runner.run_all", counted)
    resumed = run_study(tiny_study(), Options(tmp_path / "half", jobs=1))
    assert len(ran) == 3
    assert resumed.digest == whole.digest
    ran.clear()
    assert run_study(tiny_study(), Options(tmp_path / "half", jobs=1)).digest == whole.digest
    assert ran == []


def test_a_session_that_is_cut_is_counted(tmp_path):
    """1 Mbit/s of video over 0.5 Mbit/s takes twice its length and more."""

    def cases(share):
        found = []
        for name, longest in (("cut", 12), ("whole", 40)):
            scenario = dict(tiny_study().cases(share)[0].scenario) | {"run": {"duration": f"{longest} s"}}
            scenario["path"] = [{**scenario["path"][0], "rate": "0.5 Mbit/s"}]
            found.append(Case({"variant": name}, scenario))
        return found

    claim = Claim("t-1", "", "", [check(SHOWN, A | {"variant": "cut"}, "half of it", high=80.0)])
    result = run_study(replace(tiny_study(), cases=cases, claims=[claim]), Options(tmp_path, figures=True))
    cut = dict(zip(result.table["variant"], result.table[CUT], strict=True))
    assert (cut, result.cut) == ({"cut": 1.0, "whole": 0.0}, 3)
    assert result.claims[0].verdict == "reproduced"
    assert "3 of them were cut off before their end" in save(result, tmp_path).read_text()


def test_a_store_of_many_shards_is_packed_and_loses_nothing(tmp_path):
    whole = run_study(tiny_study(), Options(tmp_path))
    store = Store(tmp_path / "store")
    assert len(list(store.shards.iterdir())) == 6
    store.pack(least=7)
    assert len(list(store.shards.iterdir())) == 6
    store.pack(least=6)
    assert len(list(store.shards.iterdir())) == 1
    assert run_study(tiny_study(), Options(tmp_path)).digest == whole.digest


def test_a_store_that_vanishes_is_told(tmp_path, monkeypatch):
    def vanish(*given, **hooks):
        outcome = run_all_cells(*given, **hooks)
        for shard in (tmp_path / "store" / "shards").iterdir():
            shard.unlink()
        return outcome

    monkeypatch.setattr("playpath.papers.runner.run_all", vanish)
    with pytest.raises(RunError, match=r"6 of 6 cells that were run are missing"):
        run_study(tiny_study(), Options(tmp_path, jobs=1))


def test_the_joint_space_tells_how_much_of_it_reproduces(tmp_path):
    """Of losses from 0 to 1 % all but the least make CUBIC repeat something; the start does not care."""
    tiny = tiny_study()
    result = run_study(tiny, Options(tmp_path))
    found = run_joint(result, 16, Options(tmp_path))
    assert [point["loss"] for point in found.points] == [tiny.unstated[0].at(p) for p in found.positions[:, 0]]
    share, low, high = found.share_of("t-1")
    assert 0 <= low <= share <= high <= 1
    assert found.share_of("t-2")[0] == 1
    assert found.effects["t-2"] == []
    # The best set ran in full, beside the base.
    assert found.best.seeds == result.seeds
    assert found.best.settings == found.points[found.best_point]
    assert found.undone == {"loss": []}
    joint_grid(found)
    assert "All unstated parameters together" in save(result, tmp_path, joint=found).read_text()
    again = run_joint(result, 16, Options(tmp_path))
    assert again.to_dict() | {"machine_s": 0} == found.to_dict() | {"machine_s": 0}  # what it took is no result
    with pytest.raises(InputError, match="at least 8 points, got 3"):
        run_joint(result, 3, Options(tmp_path))


def test_the_best_set_is_judged_without_our_guard_too(tmp_path):
    """As above: the "guard" is the loss, and a set with any loses t-1 without it."""
    tiny = tiny_study()
    guarded = replace(tiny, guards={"loss": 0}, unstated=[replace(tiny.unstated[0], chosen=0)])
    found = run_joint(run_study(guarded, Options(tmp_path)), 8, Options(tmp_path))
    assert found.best.settings["loss"] > 0
    assert [claim.verdict for claim in found.best.claims] == ["rests on our guard", "reproduced"]
    assert found.undone == {"loss": ["t-1"]}


def test_a_set_that_another_search_found_may_be_the_best(tmp_path):
    """No point has enough loss for t-1; the known set has, and counts for no share of the space."""
    tiny = tiny_study(known=[{"loss": 1}])
    lossless = replace(tiny, unstated=[replace(tiny.unstated[0], values=(0, 1e-6), chosen=0)])
    found = run_joint(run_study(lossless, Options(tmp_path)), 8, Options(tmp_path))
    assert found.share_of("t-1")[0] == 0
    assert found.best.settings == {"loss": 1}
    assert [claim.verdict for claim in found.best.claims] == ["reproduced", "reproduced"]
    assert found.undone == {"loss": ["t-1"]}


def test_a_figure_has_the_papers_axis_and_tells_what_exceeds_it(tmp_path):
    tiny = tiny_study()
    ran = run_study(tiny, Options(tmp_path)).ran
    most = ran.table["retransmitted_packets"].max()
    for top, says in ((10 * most, []), (0.01, ["newreno", "cubic"])):
        panel = Panel("retransmitted_packets", "packets", ticks=(0, top))
        ax = draw(ran, FigureSpec("1", "", "bars", (panel,))).axes[0]
        assert (ax.get_ylim(), list(ax.get_yticks())) == ((0, top), [0, top])
        assert len([text for text in ax.texts if text.get_text() != "0"]) == len(says)


def test_what_a_claim_depends_on_is_found_in_data_made_for_it(tmp_path):
    """One parameter decides one claim, two together another, nothing a third."""
    a, b = (Unstated(name, "", "", knob=name, values=(0.0, 0.5, 1.0), chosen=0.5) for name in "ab")
    claims = [Claim(name, "", "", []) for name in ("only-a", "a-and-b", "chance")]
    made = Study("made", "Made", "none", 3, lambda share: [], claims, [], [a, b])
    positions = np.random.default_rng(1).random((300, 2))
    chance = np.random.default_rng(2).random(300)
    truth = {
        "only-a": positions[:, 0] > 2 / 3,
        "a-and-b": (positions[:, 0] > 1 / 3) ^ (positions[:, 1] > 2 / 3),
        "chance": chance > 0.5,
    }
    verdicts = [{c: "reproduced" if truth[c][i] else "not reproduced" for c in truth} for i in range(300)]
    points = [{"a": x, "b": y} for x, y in positions]
    found = Joint(StudyResult(made, None, [], 3, 1.0), positions, points, verdicts, 3, 0.25)
    (only,) = found.effects["only-a"]
    assert (only.name, [share for _, share in only.shares]) == ("a", [0.0, 0.0, 1.0])
    assert only.explained == pytest.approx(1)
    assert found.effects["a-and-b"][-1].name == "a with b"
    assert found.effects["chance"] == []


def parameters():
    numbers = Unstated("gain", "", "", knob="kp", values=(0.1, 1.0, 4.0), chosen=1.0)
    words = Unstated("law", "", "", knob="law", values=("printed", "guarded", "other"), chosen="printed")
    sizes = Unstated(
        "queue", "", "", knob="queue", values=("1 bdp", "50 packets", "300 packets"), chosen="1 bdp", unit=""
    )
    return [numbers, words, sizes]


def test_a_region_is_found_in_data_made_for_it_and_none_in_noise():
    swept = parameters()
    positions = np.random.default_rng(3).random((200, 3))
    points = [{u.knob: u.at(p) for u, p in zip(swept, row, strict=True)} for row in positions.tolist()]
    truth = np.array([p["kp"] < 0.8 and p["queue"] != "1 bdp" for p in points])
    found = regions.find(points, truth, swept)
    assert {c.parameter.knob for c in found.conditions} == {"kp", "queue"}
    assert "gain under 0." in found.says
    assert "queue: 50 packets or 300 packets" in found.says
    assert found.inside[0] > 0.9 * found.inside[1]
    assert found.outside[0] < 0.1 * truth.sum()
    assert found.inside[0] + found.outside[0] == truth.sum()
    assert found.has({"kp": 0.2, "queue": "300 packets", "law": "other"})
    assert not found.has({"kp": 3.0, "queue": "300 packets", "law": "other"})
    noise = regions.find(points, np.random.default_rng(4).random(200) > 0.5, swept)
    assert (noise.conditions, noise.says) == ([], "no region stands out")


def test_points_are_added_where_a_sign_changes(monkeypatch):
    monkeypatch.setattr(space, "_BEST", 2)
    positions = np.array([[0.0, 0.0], [0.2, 0.0], [0.8, 0.0], [1.0, 1.0]])
    missed = {"a": np.array([0.0, 0.5, 0.5, 0.5]), "never": np.array([1.0, 1.0, 0.2, 0.4]), "always": np.zeros(4)}
    added = space.between(positions, missed, 2)
    # The nearest pair of unlike sign; of what holds at no point, the two that miss least.
    assert added.tolist() == [[0.1, 0.0], [0.9, 0.5]]
    assert space.between(positions, {"always": np.zeros(4)}, 2).shape == (0, 2)
    assert space.filled(3, 8).tolist() == space.filled(3, 32)[:8].tolist()


def test_the_joint_space_gives_a_run_inside_and_one_outside(tmp_path):
    """Any loss makes CUBIC repeat something, none does not; both sets are near the base."""
    tiny = tiny_study()
    ends = replace(tiny, unstated=[replace(tiny.unstated[0], values=(0, 1e-6, 1, 2), chosen=1)])
    found = run_joint(run_study(ends, Options(tmp_path)), 16, Options(tmp_path))
    inside, outside = found.examples["t-1"]
    assert inside == {}
    assert outside["loss"] < 0.5
    assert found.filling == 12
    assert sum(found.agreement) == 2 * len(ends.claims)
    assert found.machine_s > 0


def test_every_range_says_what_its_bounds_rest_on():
    for name in NAMES:
        for u in study(name).swept:
            assert u.source, (name, u.knob)
            assert u.chosen in u.values, (name, u.knob)


def test_own_values_run_the_claims_and_are_told_by_name(tmp_path):
    tiny = tiny_study()
    assert tiny.settings(["loss=0"]) == {"loss": 0}
    result = run_study(tiny, Options(tmp_path, settings=tiny.settings(["loss=0"])))
    assert result.claims[0].verdict == "not reproduced"
    assert "loss = 0" in save(result, tmp_path).read_text()
    for text, says in (("los=0", 'did you mean "loss"'), ("loss", "needs a value"), ("loss=-1", "0 or more, in %")):
        with pytest.raises(InputError, match=says):
            tiny.settings([text])


def test_a_quantity_of_ones_own_goes_to_the_scenario_and_a_choice_does_not():
    sticky = study("sticky")
    assert sticky.settings(["queue=1000 packets"]) == {"queue": "1000 packets"}
    case = sticky.cases(0.01, queue="1000 packets")[0]
    assert {path["queue"] for path in case.scenario["path"]} == {"1000 packets"}
    with pytest.raises(InputError, match="or another value of the kind, not 'zork'"):
        sticky.settings(["queue=zork"])
    with pytest.raises(InputError, match="penalise is one of on, DFT only, off, not '1'"):
        sticky.settings(["penalise=1"])
    vegas = study("vegas")
    with pytest.raises(InputError, match=r'one of auto, "10, 30", "15, 45", not'):
        vegas.settings(["red_thresholds=30,10"])
    with pytest.raises(InputError, match=r"window_packets is a whole number, 0 or more, in packets, not '2\.5'"):
        vegas.settings(["window_packets=2.5"])


def test_a_claim_that_falls_without_our_guard_says_so(tmp_path):
    """The "guard" here is the loss itself: without it nothing is repeated."""
    guarded = replace(tiny_study(), guards={"loss": 0})
    result = run_study(guarded, Options(tmp_path))
    assert [claim.verdict for claim in result.claims] == ["rests on our guard", "reproduced"]
    assert "without our guard" in save(result, tmp_path).read_text()


def test_guards_are_taken_away_only_from_claims_that_hold(tmp_path):
    """Lossless, t-1 does not hold: with the "guard" gone only t-2's case is played, three seeds of it."""
    guarded = replace(tiny_study(), guards={"loss": 1})
    result = run_study(guarded, Options(tmp_path, settings=guarded.settings(["loss=0"])))
    assert [claim.verdict for claim in result.claims] == ["not reproduced", "reproduced"]
    assert len(Store(tmp_path / "store").cells()) == 6 + 3


PATHS = {
    "ccp": ("loss_percent", 1.0),
    "sticky": ("queue", "50 packets"),
    "newcwv": ("rtt_ms", 400.0),
    "vegas": ("web_kb", 168.0),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_ones_own_holds_in_every_case_that_it_concerns(name):
    """Also for today's senders and the points of figures that no claim needs: what is ranked or joined by a line is alike."""
    which = study(name)
    knob, value = PATHS[name]
    base, varied = which.cases(0.1), which.cases(0.1, **{knob: value})
    assert [case.labels for case in base] == [case.labels for case in varied]
    for before, after in zip(base, varied, strict=True):
        is_concerned = bool(before.scenario["traffic"]) if name == "vegas" else True
        assert (before.scenario != after.scenario) == is_concerned, after.labels


def test_short_media_of_vegas_have_the_papers_buffer():
    """15 s at 1 Mbit/s, 1.875 MB, are 5 % of 300 s and a third of 45."""
    shares = {share: study("vegas").cases(share)[0].scenario["player"]["start_share"] for share in (1.0, 0.15)}
    assert shares[1.0] == "5.0 %"
    assert float(shares[0.15].split()[0]) / 100 * 45 == pytest.approx(15)


def test_the_scenarios_of_sticky_say_where_they_differ_from_the_study():
    for case in study("sticky").cases(1.0):
        if case.labels["part"] == "paper" and case.labels["sender"] == "Cubic/DFT":
            shipped = load(ROOT / f"scenarios/sticky-{case.labels['scenario']}.toml").resolved
            assert [path["queue"]["limit"] for path in shipped["path"]] == ["50 packets"] * 3
            assert {path["queue"] for path in case.scenario["path"]} == {"1 bdp"}
            assert "another point than the study's" in shipped["description"]


def test_the_distribution_of_ftps_rate_ends_with_dash():
    """After the last download FTP has the link to itself, and competes with nobody."""
    labels = {"part": "paper", "variant": "NewReno", "client": "VLC", "ftp": "yes"}
    (case,) = (case for case in study("newcwv").cases(0.1) if case.labels == labels)
    loaded = load(case.scenario)
    record, series = engine.run(json.dumps(loaded.resolved), loaded.senders[0], 1, trace=True, series=None)
    last = max(e["time_s"] for e in record["events"] if e["event"] == "segment_downloaded")
    end = series["flow.ftp"]["time_s"][-1]
    rates, _ = newcwv_series.trace(record, series)["ftp ecdf"]
    assert len(rates) == int(last) - 80 < int(end) - 80


def test_whiskers_are_of_the_mean_that_is_drawn():
    """One run of ten has late packets: the interval contains the mean of 5.3, and zero."""
    rows = table(Vegas=[0.0] * 9 + [53.0])
    spec = FigureSpec("f", "", "lines", [Panel("x", "late")], x="place", whisker="ci95")
    made = draw(Ran(rows.with_columns(place=pl.lit(1.0)), {}, ["variant"], False), spec)
    _, whisker = made.axes[0].lines
    low, high = whisker.get_ydata()
    assert low < 0
    assert high > 5.3


def test_a_bar_too_low_for_the_papers_axis_has_its_value():
    spec = FigureSpec("f", "", "bars", [Panel("x", "", ticks=[0, 100_000, 300_000])])
    made = draw(Ran(table(low=[326, 326], high=[200_000, 200_000]), {}, ["variant"], False), spec)
    assert [text.get_text() for text in made.axes[0].texts] == ["326"]


def test_today_ranks_each_scene_and_says_what_is_undecided(tmp_path):
    tiny = tiny_study(current_senders=CurrentSenders({"all": {}}, shown=("startup_delay_s", "retransmitted_packets")))
    result = run_study(tiny, Options(tmp_path, figures=True))
    (scene,) = rank_scenes(tiny, result.table)
    assert sorted(scene.ranker.senders) == ["cubic", "newreno"]
    standings = [scene.standing(sender) for sender in scene.decision.ranking]
    assert standings[0] == "best"
    assert set(standings[1:]) <= {"alike", "open", "behind"}
    ((name, best, *_, says),) = table_rows([scene], tiny.current_senders)
    assert name == "all"
    assert says == scene.says
    assert best.startswith("undecided") == ("open" in standings)


def test_what_no_claim_looks_at_is_played_for_figures_only(tmp_path):
    """Of two cases a claim looks at one; its verdict and figures do not depend on whether the other is there."""
    tiny = tiny_study(current_senders=CurrentSenders({"all": {}}, shown=("startup_delay_s", "retransmitted_packets")))
    judged = replace(tiny, claims=tiny.claims[:1])
    some = run_study(judged, Options(tmp_path))
    assert some.table["variant"].unique().to_list() == ["cubic"]
    assert (some.scenes, (tmp_path / "today.json").exists()) == ([], False)
    whole = run_study(judged, Options(tmp_path, figures=True))
    assert whole.table.height == 2 * some.table.height
    assert len(whole.scenes) == 1
    assert [claim.to_dict() for claim in whole.claims] == [claim.to_dict() for claim in some.claims]


def test_every_claim_of_the_papers_is_there():
    counts = {name: [claim.id for claim in study(name).claims] for name in NAMES}
    assert {name: len(ids) for name, ids in counts.items()} == {"ccp": 15, "sticky": 9, "vegas": 14, "newcwv": 9}
    for name, ids in counts.items():
        assert ids == [f"{name}-{i}" for i in range(1, len(ids) + 1)]


NAMED = ("variant", "scheduler", "scenario", "background", "queue", "client")
"""What a case is called by; what other labels say, such as round trips, is a number."""


def named(text, words):
    """The words that occur in a text; not those that are a part of a longer one."""
    for word in sorted(words, key=len, reverse=True):
        before, text = text, re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", " ", text)
        if text != before:
            yield word


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_names_the_cases_that_its_checks_compare(name):
    claims = study(name).claims
    for label in NAMED:
        used = [{case[label] for check in c.checks for case in check.cases if label in case} for c in claims]
        for claim, cases in zip(claims, used, strict=True):
            found = set(named(claim.reading, set().union(*used)))
            assert found in (set(), cases), f"{claim.id}: {claim.reading}"
    for claim in claims:
        trips = {case["rtt"] for check in claim.checks for case in check.cases if "rtt" in case}
        assert {float(ms) for ms in re.findall(r"([\d.]+) ms", claim.reading)} <= trips, claim.id


def test_the_pages_tell_every_claim_and_every_unstated_parameter():
    docs = Path(__file__).parents[2] / "docs"
    for name in NAMES:
        tables = (docs / "appendix" / f"papers-{name}.md").read_text()
        verdicts: dict[str, list[str]] = {}
        for claim in study(name).claims:
            (row,) = (line for line in tables.splitlines() if line.startswith(f"| {claim.id}: "))
            verdicts.setdefault(row.split(" | ")[1].rstrip(" |"), []).append(claim.id.rpartition("-")[2])
        assert verdicts.keys() <= set(VERDICTS)
        _, _, rest = (docs / "papers.md").read_text().partition(f"<!-- {name} overview -->")
        for verdict, numbers in verdicts.items():
            assert f"| {verdict} | {', '.join(numbers)} |" in rest.partition("<!-- end -->")[0]
        for unstated in study(name).unstated:
            assert f"| {unstated.name} | {unstated.value} |" in tables


# A minute of processor time for these two; what they run and write is tested by `test_every_grid_is_judged_drawn_and_written`.
LONG = ("sticky", "vegas")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in NAMES])
def test_verdicts_on_the_quick_grid(name, tmp_path):
    """A verdict that changes needs a new golden, and a sentence that says why."""
    golden = golden_verdicts.load()[name]
    result = run_study(study(name), Options(tmp_path, quick=True, jobs=default_jobs()))
    found = {claim.claim.id: claim.verdict for claim in result.claims}
    assert list(found) == list(golden)
    complaints = [golden_verdicts.complaint(claim, golden[claim], verdict) for claim, verdict in found.items()]
    assert not [text for text in complaints if text]
    assert "add --figures" in save(result, tmp_path).read_text()


@pytest.mark.parametrize("name", LONG)
def test_every_grid_is_judged_drawn_and_written(name, tmp_path, monkeypatch):
    """Each cell once, and short."""
    monkeypatch.setattr("playpath.papers.runner.QUICK_SHARE", 0.03)
    result = run_study(study(name), Options(tmp_path, seeds=1, quick=True, jobs=default_jobs(), figures=True))
    assert [claim.claim.id for claim in result.claims] == list(golden_verdicts.load()[name])
    assert {claim.verdict for claim in result.claims} <= set(VERDICTS)
    assert save(result, tmp_path).stat().st_size > 10_000  # the page with all figures


def test_a_golden_verdict_and_its_reason_change_together():
    entry = golden_verdicts.changed("x-1", {}, "reproduced", "Nothing is lost on this path here.")
    assert golden_verdicts.complaint("x-1", entry, "reproduced") is None
    assert "was reproduced" in golden_verdicts.complaint("x-1", entry, "undecided")
    # The verdict edited by hand, the old sentence left.
    edited = {**entry, "quick": "undecided"}
    assert "not changed together" in golden_verdicts.complaint("x-1", edited, "undecided")
    with pytest.raises(ValueError, match="old reason"):
        golden_verdicts.changed("x-1", entry, "undecided", entry["because"])
    with pytest.raises(ValueError, match="sentence"):
        golden_verdicts.changed("x-1", entry, "undecided", "Changed.")
    new = golden_verdicts.changed("x-1", entry, "undecided", "The queue now drops in some seeds.")
    assert golden_verdicts.complaint("x-1", new, "undecided") is None

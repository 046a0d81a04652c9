"""The papers' studies: the evaluator, resuming, and verdicts that change only together with their reason."""

import shutil
from dataclasses import replace
from pathlib import Path

import golden_verdicts
import polars as pl
import pytest

from playpath.parallel import default_jobs
from playpath.studies import NAMES, Options, evaluate, run_sensitivity, run_study, study
from playpath.studies.claims import alike, between, fewer, judge, ratio
from playpath.studies.figures import draw
from playpath.studies.grids import sensitivity_grid
from playpath.studies.results import save
from playpath.studies.runner import run_all as run_all_cells
from playpath.studies.sensitivity import summary
from playpath.studies.study import Case, Check, Claim, Study, Term, Today, Unstated
from playpath.studies.today import rank_scenes, table_rows

pytestmark = pytest.mark.slow


def table(**variants):
    """Values of `x` by variant, one a seed."""
    rows = [
        {"variant": name, "seed": seed, "x": float(value)}
        for name, values in variants.items()
        for seed, value in enumerate(values, 1)
    ]
    return pl.DataFrame(rows)


A, B = {"variant": "a"}, {"variant": "b"}


def test_fewer_is_strict_and_paired():
    # Differences -1, -1, -1: no variation, although a and b overlap.
    assert judge(fewer("x", A, B, ""), table(a=[1, 5, 9], b=[2, 6, 10])).verdict == "reproduced"
    # Equal everywhere is not fewer.
    assert judge(fewer("x", A, B, ""), table(a=[0, 0, 0], b=[0, 0, 0])).verdict == "not reproduced"
    # Differences -9, 1, 1: mean -2.33, t(2) = 4.303, sd = 5.77, half width 14.3: straddles.
    assert judge(fewer("x", A, B, ""), table(a=[1, 3, 3], b=[10, 2, 2])).verdict == "undecided"
    assert judge(fewer("x", A, B, ""), table(a=[5, 6, 7], b=[1, 2, 3])).verdict == "not reproduced"


def test_alike_has_a_tolerance_absolute_or_of_the_other():
    data = table(a=[110, 110], b=[100, 100])
    assert judge(alike("x", A, B, "", within=10), data).verdict == "reproduced"
    assert judge(alike("x", A, B, "", within=9), data).verdict == "not reproduced"
    assert judge(alike("x", A, B, "", share=0.1), data).verdict == "reproduced"
    # The mean lies 1 outside the bound of 9.
    assert judge(alike("x", A, B, "", within=9), data).distance == pytest.approx(1)


def test_ratio_needs_no_division():
    data = table(a=[1, 1], b=[2, 2], c=[0, 0])
    assert judge(ratio("x", A, B, "", most=0.5), data).verdict == "reproduced"
    assert judge(ratio("x", A, B, "", most=0.4), data).verdict == "not reproduced"
    assert judge(ratio("x", {"variant": "c"}, {"variant": "c"}, "", most=0.5), data).verdict == "reproduced"


def test_range_over_cases_is_taken_within_a_seed():
    data = table(a=[1, 2], b=[4, 5]).with_columns(group=pl.lit("g"))
    check = Check("x", Term({"group": "g"}, "range"), "", low=3, high=3)
    assert judge(check, data).verdict == "reproduced"


def test_one_seed_decides_nothing():
    assert judge(between("x", A, "", high=5), table(a=[1])).verdict == "undecided"


def test_a_claim_needs_all_its_checks():
    data = table(a=[1, 1], b=[2, 2])
    good, bad = fewer("x", A, B, "good"), fewer("x", B, A, "bad")
    assert evaluate(Claim("c", "", "", [good]), data).verdict == "reproduced"
    found = evaluate(Claim("c", "", "", [good, bad]), data)
    assert (found.verdict, found.deciding.check.says) == ("not reproduced", "bad")


def test_a_claim_about_no_case_is_an_error():
    with pytest.raises(ValueError, match="no case"):
        judge(between("x", {"variant": "z"}, ""), table(a=[1, 2]))


def tiny_study(**more):
    def cases(share, loss=1):
        scenario = {
            "video": {"rate": "1 Mbit/s", "duration": "10 s"},
            "path": [{"rate": "5 Mbit/s", "rtt": "20 ms", "loss": f"{loss} %", "queue": "2 MB"}],
        }
        return [Case({"variant": cc}, {**scenario, "sender": [{"cc": cc}]}) for cc in ("newreno", "cubic")]

    claim = Claim("t-1", "", "", [between("retransmitted_packets", {"variant": "cubic"}, "some", low=1.0)])
    always = Claim("t-2", "", "", [between("startup_delay_s", {"variant": "newreno"}, "starts", low=0.0)])
    loss = Unstated("loss", "1 %", "", knob="loss", values=(0, 1), chosen=1, unit="%")

    def vary(share, knob, value):
        return cases(share, **{knob: value})

    return Study("tiny", "Tiny", "none", 3, cases, [claim, always], [], [loss], vary=vary, **more)


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

    monkeypatch.setattr("playpath.studies.runner.run_all", counted)
    resumed = run_study(tiny_study(), Options(tmp_path / "half", jobs=1))
    assert len(ran) == 3
    assert resumed.digest == whole.digest
    ran.clear()
    assert run_study(tiny_study(), Options(tmp_path / "half", jobs=1)).digest == whole.digest
    assert ran == []


def test_sensitivity_tells_which_claims_hang_on_what(tmp_path, monkeypatch):
    """Without loss nothing is sent again, so the first claim turns; the second does not care."""
    ran = []

    def counted(work, tasks, jobs, **hooks):
        ran.append(len(tasks))
        return run_all_cells(work, tasks, jobs, **hooks)

    monkeypatch.setattr("playpath.studies.runner.run_all", counted)
    result = run_study(tiny_study(), Options(tmp_path))
    swept = run_sensitivity(result, Options(tmp_path))
    (loss,) = swept.swept
    assert swept.of(loss, "t-1") == ["not reproduced", "reproduced"]
    assert swept.of(loss, "t-2") == ["reproduced", "reproduced"]
    assert summary(swept) == ["loss: turns t-1"]
    # Two cases of three seeds at the other value; those of the chosen value are the study's own.
    assert ran == [6, 6]
    assert swept.ran.table.height == 12
    # Both values of both claims are drawn, with the sign of their verdict.
    drawn = sensitivity_grid(swept)
    signs = [text.get_text() for text in drawn.axes[0].texts if len(text.get_text()) == 1]
    assert sorted(signs) == sorted("✗✓✓✓")
    page = save(result, tmp_path, swept).read_text()
    assert "Which claims depend on what (3 seeds a case)" in page
    assert "loss: turns t-1" in page


def test_a_value_that_touches_some_cases_leaves_the_others(tmp_path):
    whole = tiny_study()
    vary = whole.vary
    part = replace(whole, vary=lambda share, knob, value: vary(share, knob, value)[:1])
    result = run_study(part, Options(tmp_path))
    swept = run_sensitivity(result, Options(tmp_path))
    # Only newreno's case is varied: cubic's losses stay.
    assert swept.of(swept.swept[0], "t-1") == ["reproduced", "reproduced"]


def test_today_ranks_each_scene_and_says_what_is_undecided(tmp_path):
    tiny = tiny_study(today=Today({"all": {}}, shown=("startup_delay_s", "retransmitted_packets")))
    result = run_study(tiny, Options(tmp_path))
    (scene,) = rank_scenes(tiny, result.table)
    assert sorted(scene.ranker.senders) == ["cubic", "newreno"]
    standings = [scene.standing(sender) for sender in scene.decision.ranking]
    assert standings[0] == "best"
    assert set(standings[1:]) <= {"alike", "open", "behind"}
    ((name, best, *_, says),) = table_rows([scene], tiny.today)
    assert name == "all"
    assert says == scene.says
    assert best.startswith("undecided") == ("open" in standings)


def test_every_claim_of_the_papers_is_there():
    counts = {name: [claim.id for claim in study(name).claims] for name in NAMES}
    assert {name: len(ids) for name, ids in counts.items()} == {"ccp": 13, "sticky": 8, "vegas": 13, "newcwv": 8}
    for name, ids in counts.items():
        assert ids == [f"{name}-{i}" for i in range(1, len(ids) + 1)]


def test_the_page_tells_every_claim_and_every_unstated_parameter():
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text()
    for name in NAMES:
        for claim in study(name).claims:
            rows = [line for line in page.splitlines() if line.startswith(f"| {claim.id}: ")]
            assert len(rows) == 1, claim.id
            assert rows[0].split(" | ")[1] in ("reproduced", "not reproduced", "undecided")
        if f"<!-- {name} sensitivity -->" in page:
            for unstated in study(name).unstated:
                assert f"| {unstated.name} | {unstated.value} |" in page


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_on_the_quick_grid(name, tmp_path):
    """A verdict that changes needs a new golden, and a sentence that says why."""
    golden = golden_verdicts.load()[name]
    result = run_study(study(name), Options(tmp_path, quick=True, jobs=default_jobs()))
    found = {claim.claim.id: claim.verdict for claim in result.claims}
    assert list(found) == list(golden)
    complaints = [golden_verdicts.complaint(claim, golden[claim], verdict) for claim, verdict in found.items()]
    assert not [text for text in complaints if text]
    # All figures can be drawn and the page written.
    for spec in result.study.figures[:2]:
        draw(result.ran, spec)
    assert save(result, tmp_path).stat().st_size > 10_000


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

"""A session of the kernel world that fails is told, and the others are kept. The kernel is made up: no root needed."""

import json
from pathlib import Path

import pytest
import typer
from conftest import SMALL

import playpath
from playpath.cli.commands.compare import command
from playpath.papers.runner import Options, run_cases
from playpath.papers.study import Case, Study
from playpath.real.testbed import calibration, runner
from playpath.real.testbed.errors import MissingToolError, TestbedError
from playpath.results.comparison import Comparison
from playpath.run.worlds import SimWorld
from playpath.show import console
from playpath.show.report.comparison_page import comparison_page

REASON = "nginx was killed by signal 9"


@pytest.fixture
def kernel(monkeypatch):
    """Sessions of the simulator in the place of the kernel's; those in `broken` fail. Gives `broken` and what was played."""
    broken, played = set(), []

    def run_kernel(resolved, sender, seed, *, trace, player, logs, **_):
        name = sender["name"]
        played.append((name, seed))
        with runner._marked(logs, name, seed, player):
            if (name, seed) in broken:
                raise TestbedError(REASON)
            found = SimWorld().session(playpath.load(resolved), name, seed, trace=trace)
        return found.to_dict() | {"series": found.series}

    monkeypatch.setattr(runner, "run_kernel", run_kernel)
    monkeypatch.setattr(calibration, "check_machine", lambda *_, **__: None)
    return broken, played


def compare(**options):
    return playpath.compare(SMALL, world="kernel", seeds=3, **options)


def test_the_others_are_ranked_over_the_seeds_that_all_have(kernel):
    kernel[0].add(("cubic", 2))
    result = compare()
    assert [(f.sender, f.seed, f.reason) for f in result.failures] == [("cubic", 2, REASON)]
    assert result.seeds == [1, 3]
    assert result.table.height == 4  # two senders, two seeds each: pairs stay pairs
    assert result.warnings[0] == "1 session failed; the ranking is over the seeds 1, 3"
    assert result.to_dict()["failed"] == [{"sender": "cubic", "seed": 2, "reason": REASON}]


def test_a_sender_that_never_finished_is_shown_and_not_ranked(kernel, capsys):
    kernel[0].update(("cubic", seed) for seed in (1, 2, 3))
    result = compare()
    assert (result.ranking, result.unranked, result.seeds) == (["newreno"], ["cubic"], [1, 2, 3])
    console.print_comparison(result)
    captured = capsys.readouterr()
    assert any("1, 2, 3" in line and REASON in line for line in captured.out.splitlines())
    assert "failed" in next(line for line in captured.out.splitlines() if line.lstrip().startswith("– "))
    assert "3 sessions failed; the ranking is over the seeds 1, 2, 3; not ranked: cubic" in captured.err
    page = comparison_page(result)
    assert page.count(REASON) == 1


def test_nothing_finished_is_an_error_with_the_reasons(kernel):
    kernel[0].update((name, seed) for name in ("newreno", "cubic") for seed in (1, 2, 3))
    with pytest.raises(playpath.RunError, match=f"^every session failed: newreno, seed 1: {REASON}; .*; and 3 more$"):
        compare()


def test_no_common_seed_is_an_error(kernel):
    kernel[0].update({("newreno", 1), ("newreno", 2), ("cubic", 3)})
    with pytest.raises(playpath.RunError, match=r"^no seed was finished by every sender: newreno, seed 1"):
        compare()


def test_what_the_machine_lacks_stops_at_once(monkeypatch):
    def run_kernel(*_, **__):
        raise MissingToolError("the kernel world needs root")

    monkeypatch.setattr(runner, "run_kernel", run_kernel)
    monkeypatch.setattr(calibration, "check_machine", lambda *_, **__: None)
    with pytest.raises(MissingToolError, match=r"^the kernel world needs root$"):
        compare()


def test_records_and_reasons_are_kept_and_resume_plays_the_failed_ones_only(kernel, tmp_path):
    broken, played = kernel
    broken.add(("cubic", 2))
    compare(store=tmp_path)
    marks = list(tmp_path.glob("cubic-*/2/logs/failed.json"))
    assert [json.loads(mark.read_text()) for mark in marks] == [
        {"failed": REASON, "sender": "cubic", "seed": 2, "player": "own"}
    ]
    assert len(list(tmp_path.glob("*/*/record.json"))) == 5
    broken.clear()
    played.clear()
    result = compare(store=tmp_path, resume=True)
    assert played == [("cubic", 2)]
    assert (result.seeds, list(result.failures)) == ([1, 2, 3], [])
    assert not list(tmp_path.glob("*/*/logs/failed.json"))
    played.clear()
    compare(store=tmp_path)  # without `resume` everything is played again
    assert len(played) == 6


def test_a_session_that_fails_leaves_no_older_record(kernel, tmp_path):
    compare(store=tmp_path)
    kernel[0].add(("newreno", 1))
    compare(store=tmp_path)
    assert len(list(tmp_path.glob("*/*/record.json"))) == 5


def test_the_command_writes_all_and_ends_with_status_1(kernel, tmp_path, small):
    kernel[0].add(("newreno", 1))
    out = tmp_path / "out"
    with pytest.raises(typer.Exit) as ended:
        command(small, seeds=3, world="kernel", out=out)
    assert ended.value.exit_code == 1
    assert [f.seed for f in Comparison.load(out).failures] == [1]
    assert REASON in (out / "report.html").read_text()
    # One traced session of each sender, though nothing was played twice.
    assert len(kernel[1]) == 6
    assert len(list(out.glob("timelines/*/record.json"))) == 2


def test_resume_is_for_worlds_of_real_time(small):
    with pytest.raises(playpath.InputError, match=r"--resume: only with --world kernel"):
        command(small, resume=True)
    with pytest.raises(playpath.InputError, match="keeps no sessions"):
        playpath.compare(SMALL, store=Path("anywhere"))


def test_a_study_runs_on_and_stores_the_others(kernel, tmp_path):
    broken, played = kernel
    broken.add(("newreno", 1))
    loaded = playpath.load(SMALL, cc=["newreno"])
    scenario = {key: value for key, value in loaded.resolved.items() if key != "name"}
    study = Study(name="s", paper="", title="", cases=lambda share: [], claims=[], seeds=3, figures=(), unstated=())
    cases = [Case({"cc": "newreno"}, scenario)]
    options = Options(tmp_path, world="kernel", jobs=1)
    with pytest.raises(playpath.RunError, match=rf"^1 of 3 sessions failed; .*; the first: newreno, seed 1: {REASON}$"):
        run_cases(study, cases, 3, options)
    broken.clear()
    assert run_cases(study, cases, 3, options).table.height == 3
    assert len(played) == 4

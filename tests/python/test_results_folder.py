"""Nothing is lost and nothing is written where it must not: folders of results, their locks, and names that lead elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, playpath_command
from hypothesis import given
from hypothesis import strategies as st

import playpath
from playpath.base.errors import InputError
from playpath.base.files import RESULTS
from playpath.cli.commands.results import _PARTS, results_folder
from playpath.results.comparison import Comparison
from playpath.results.record import file_names, slug

DESIGN = 'scenario = "small.toml"\nseeds = 1\n[[axis]]\nkey = "path.loss"\nvalues = ["{}"]\n'


def assert_refused(done, *words):
    done.assert_refused("holds results of another question", "give another", *words)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_results_of_another_question_are_kept(cli, small, tmp_path):
    assert cli("compare", small, "--out", "o").status == 0
    before = contents(tmp_path / "o")
    assert_refused(cli("compare", small, "--cc", "vegas", "--out", "o"), "differs in: sender", "--out")
    assert_refused(cli("compare", small, "--set", "path.loss=2 %", "--out", "o"), "differs in: path")
    assert_refused(cli("run", small, "--sender", "cubic", "--trace", "o"), "found: comparison.json", "--trace")
    assert contents(tmp_path / "o") == before


@pytest.mark.parametrize(
    "words",
    [
        "population import log.csv --out log.csv",
        "run small.toml --sender cubic --pcap small.toml",
        "run small.toml --sender cubic --p1203 small.toml",
        "compare small.toml --latex small.toml",
        "compare small.toml --latex o/comparison.json",
        "compare small.toml --out new --latex new/sessions.parquet",
        "report o --out o/comparison.json",
        "convert trace.csv --out trace.csv",
        "convert trace.csv --out link.csv",
    ],
)
def test_a_file_that_is_read_or_holds_results_is_not_written_over(words, cli, small, tmp_path):
    (tmp_path / "log.csv").write_text("session,throughput_kbps\nx,3000\n")
    (tmp_path / "trace.csv").write_text("seconds,Mbit/s\n0,8\n1,4\n")
    (tmp_path / "link.csv").symlink_to("trace.csv")
    (tmp_path / "o").mkdir()
    (tmp_path / "o/comparison.json").write_text("{}")
    before = contents(tmp_path)
    *_, option, target = words.split()
    cli(*words.split()).assert_refused(f"{option} {target}: is ", "kept; give another file")
    assert contents(tmp_path) == before


def test_every_result_has_a_name_that_no_other_output_takes():
    assert set(_PARTS) == RESULTS


def test_the_same_question_again_replaces_its_answer(cli, small, tmp_path):
    assert cli("compare", small, "--seeds", "1", "--out", "o").status == 0
    stale = tmp_path / "o" / "timelines" / "vegas"
    (stale).mkdir()
    (stale / "record.json").write_bytes((tmp_path / "o" / "timelines" / "cubic" / "record.json").read_bytes())
    (tmp_path / "o" / "timelines" / "cubic" / "flow.gone.parquet").write_bytes(b"")
    assert cli("compare", small, "--seeds", "2", "--out", "o").status == 0
    assert Comparison.load(tmp_path / "o").seeds == [1, 2]
    assert sorted(path.name for path in (tmp_path / "o" / "timelines").iterdir()) == ["cubic", "newreno"]
    assert not list(tmp_path.glob("o/timelines/*/flow.gone.parquet"))


@pytest.mark.slow
def test_a_default_folder_is_never_that_of_another_question(cli, small, tmp_path):
    assert cli("compare", small).status == 0
    before = contents(tmp_path / "out" / "small")
    for _ in range(2):  # the second finds its own answer
        done = cli("compare", small, "--cc", "vegas")
        assert done.status == 0, done.err
        assert "the new ones go to out/small-2" in done.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["small", "small-2"]
    assert contents(tmp_path / "out" / "small") == before


@pytest.mark.slow
def test_sessions_sweeps_and_studies_are_kept_too(cli, small, tmp_path):
    assert cli("run", small, "--sender", "cubic", "--trace", "t").status == 0
    assert_refused(cli("run", small, "--sender", "newreno", "--trace", "t"), "differs in: sender")
    assert cli("run", small, "--sender", "cubic", "--seed", "2", "--trace", "t").status == 0
    for name, loss in (("a", "1 %"), ("b", "2 %")):
        (tmp_path / f"{name}.toml").write_text(DESIGN.format(loss))
    assert cli("sweep", "a.toml", "--jobs", "1", "--out", "s").status == 0
    assert_refused(cli("sweep", "b.toml", "--jobs", "1", "--out", "s"), "differs in: axis")
    assert cli("sweep", "a.toml", "--jobs", "1", "--seeds", "2", "--out", "s").status == 0
    (tmp_path / "r" / "vegas").mkdir(parents=True)
    (tmp_path / "r" / "vegas" / "claims.json").write_text(json.dumps({"study": "vegas", "media_share": 1.0}))
    done = cli("reproduce", "all", "--quick", "--out", "r")
    assert_refused(done, "differs in: media_share")
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["vegas"]  # nothing of the others was begun


def test_one_run_at_a_time_writes_into_a_folder(tmp_path):
    folder = tmp_path / "a" / "b"
    with results_folder(folder, "", "record.json", {}):
        with pytest.raises(InputError, match=rf"process {os.getpid()} is writing its results there; wait for it"):
            results_folder(folder, "", "record.json", {}).__enter__()
        assert list(folder.iterdir()) != []
    assert not folder.parent.exists()  # nothing was written, so nothing stays


@pytest.mark.slow
def test_what_a_killed_run_leaves_locks_nobody_out(tmp_path):
    holder = (
        "import os, pathlib; from playpath.cli.commands.results import results_folder\n"
        "with results_folder(pathlib.Path('o'), '', 'record.json', {}): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", holder], cwd=tmp_path, check=False).returncode == -9
    assert list((tmp_path / "o").iterdir()) != []
    with results_folder(tmp_path / "o", "", "record.json", {}):
        pass
    assert list((tmp_path / "o").iterdir()) == []


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "..", "a/../../x", "x" * 300, "a\nb", "é" * 200])
def test_a_scenarios_name_stays_in_the_output_folder(name, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "s.toml").write_text(SMALL.replace('"small"', json.dumps(name)))
    done = playpath_command("compare", "s.toml", "--seeds", "1", cwd=tmp_path / "work")
    assert done.status == 0, done.err
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    (folder,) = (tmp_path / "work" / "out").iterdir()
    assert (folder / "report.html").exists()


def test_names_of_senders_stay_in_the_folder(tmp_path):
    raw = playpath.load(SMALL).resolved
    names = ["..", "../../x", "/abs", "n" * 300, "m" * 299 + "n", "a\nb"]
    senders = [{**raw["sender"][0], "name": name} for name in names]
    result = playpath.compare({**raw, "sender": senders}, seeds=1, timelines=True)
    result.save(tmp_path / "o")
    assert sorted(Comparison.load(tmp_path / "o").timelines) == sorted(names)
    assert [path.name for path in tmp_path.iterdir()] == ["o"]


@pytest.mark.slow
@given(st.lists(st.text(max_size=400), unique=True))
def test_any_names_give_different_safe_files(names):
    files = file_names(names)
    assert len(set(files.values())) == len(names)
    for name in names:
        assert slug(name) == Path(slug(name)).name
        assert slug(name)[0] not in ".-"
        assert len(files[name].encode()) < 200


def test_a_folder_that_is_removed_meanwhile_is_made_again(comparison, tmp_path):
    folder = tmp_path / "a" / "o"
    with results_folder(folder, "", "comparison.json", comparison.to_dict()):
        shutil.rmtree(folder.parent)
        comparison.save(folder)
    assert Comparison.load(folder).digest == comparison.digest
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_a_removed_folder_with_nothing_to_keep_is_no_error(tmp_path):
    folder = tmp_path / "o"
    with results_folder(folder, "", "comparison.json", {}):
        shutil.rmtree(folder)
    assert not folder.exists()


@pytest.mark.slow
def test_a_full_disk_is_one_line(small, tmp_path):
    """No file may be longer than 512 bytes, which a write reports as a full disk does."""
    command = f"ulimit -f 1; exec {sys.executable} -B -m playpath compare small.toml --seeds 1 --out o"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert line == "error: cannot write o/sessions.parquet: File too large"
    assert "Traceback" not in done.stderr
    # What is there is whole.
    assert not list((tmp_path / "o").glob("**/*.part"))
    assert not (tmp_path / "o/comparison.json").exists()

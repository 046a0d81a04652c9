"""`playpath export` and `playpath verify`: an experiment in one file, played again; archives that mean harm."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from pathlib import Path

import polars as pl
import pytest
from conftest import playpath_command

import playpath
from playpath.base.errors import InputError
from playpath.results.archive import unpack as unpacking
from playpath.results.archive.unpack import unpack

SCENARIO = """
name = "small"
[video]
rate = "2 Mbit/s"
duration = "8 s"
[player]
kind = "progressive"
[[path]]
trace = "link.mahi"
rtt = "40 ms"
loss = "1 %"
[[sender]]
cc = "cubic"
[[sender]]
cc = "newreno"
[run]
seeds = 2
"""


def mahi(step: int) -> str:
    return "".join(f"{i}\n" for i in range(step, 1001, step))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """A folder with a comparison in `result`, its archive, and without the files it was made from."""
    folder = tmp_path_factory.mktemp("comparison")
    (folder / "small.toml").write_text(SCENARIO)
    (folder / "link.mahi").write_text(mahi(2))
    playpath.compare(folder / "small.toml").save(folder / "result")
    (folder / "result/report.html").write_text("<p>figures</p>")
    done = playpath_command("export", "result", cwd=folder)
    assert done.status == 0, done.err
    (folder / "small.toml").unlink()
    (folder / "link.mahi").unlink()
    return folder


def changed(archive: Path, target: Path, files: dict[str, bytes], manifest: dict | None = None) -> Path:
    """A copy with other files, whose sums are right again."""
    with zipfile.ZipFile(archive) as source:
        held = {name: source.read(name) for name in source.namelist()} | files
    loaded = json.loads(held["archive.json"]) | (manifest or {})
    loaded["files"] = {name: hashlib.sha256(held[name]).hexdigest() for name in loaded["files"]}
    held["archive.json"] = json.dumps(loaded).encode()
    with zipfile.ZipFile(target, "w") as made:
        for name, content in held.items():
            made.writestr(name, content)
    return target


def test_a_comparison_is_the_same_without_the_files_it_was_made_from(comparison):
    done = playpath_command("verify", "result.playpath.zip", cwd=comparison)
    assert (done.status, done.out[:31]) == (0, "same: 4 sessions played again, ")
    with zipfile.ZipFile(comparison / "result.playpath.zip") as archive:
        names = set(archive.namelist())
    assert {
        "archive.json",
        "question.json",
        "results/report.html",
        "results/comparison.json",
        "tables/sessions.csv",
    } <= names
    assert not any("sessions/" in name or "/." in name for name in names)


def test_equal_results_give_equal_bytes_and_nothing_is_overwritten(comparison):
    done = playpath_command("export", "result", "--out", "again.zip", cwd=comparison)
    assert done.status == 0, done.err
    assert (comparison / "again.zip").read_bytes() == (comparison / "result.playpath.zip").read_bytes()
    done = playpath_command("export", "result", "--out", "again.zip", cwd=comparison)
    assert done.status == 2
    assert done.err == "error: --out again.zip: exists already and is not overwritten; give another file\n"


def test_a_session_that_differs_is_named_with_its_first_metric(comparison, tmp_path):
    table = pl.read_parquet(comparison / "result/sessions.parquet")
    column = "goodput_mbps"
    first = table["sender"][0]
    table = table.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.col(column) + 1).otherwise(pl.col(column)).alias(column),
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("0" * 64)).otherwise(pl.col("digest")).alias("digest"),
    )
    table.write_parquet(tmp_path / "sessions.parquet")
    lie = changed(
        comparison / "result.playpath.zip",
        tmp_path / "lie.zip",
        {"results/sessions.parquet": (tmp_path / "sessions.parquet").read_bytes()},
    )
    done = playpath_command("verify", lie, cwd=tmp_path)
    assert done.status == 1
    assert f"{first}, seed 1: goodput was" in done.out
    assert "comparison.json: `digest` does not follow from the stored tables" in done.out


def test_another_verdict_does_not_follow_from_the_tables(comparison, tmp_path):
    stored = json.loads((comparison / "result/comparison.json").read_text())
    stored["verdict"] = "newreno is best."
    lie = changed(
        comparison / "result.playpath.zip",
        tmp_path / "lie.zip",
        {"results/comparison.json": json.dumps(stored).encode()},
    )
    done = playpath_command("verify", lie, "--json", cwd=tmp_path)
    assert done.status == 1
    loaded = json.loads(done.out)
    assert not loaded["same"]
    assert loaded["differences"] == ["comparison.json: `verdict` does not follow from the stored tables"]


def test_another_version_is_told_and_the_sessions_are_compared_all_the_same(comparison, tmp_path):
    old = changed(
        comparison / "result.playpath.zip",
        tmp_path / "old.zip",
        {},
        {"made_with": {"playpath_version": "0.0.1", "engine_version": "0.0.1"}},
    )
    done = playpath_command("verify", old, cwd=tmp_path)
    assert done.status == 0
    assert "made with playpath 0.0.1 (engine 0.0.1); this is playpath" in done.err


@pytest.mark.slow
def test_a_sweep_over_traces_carries_them(tmp_path):
    (tmp_path / "link.mahi").write_text(mahi(2))
    (tmp_path / "slow.mahi").write_text(mahi(8))
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "design.toml").write_text(
        'scenario = "small.toml"\n[[axis]]\nkey = "path.trace"\nvalues = ["link.mahi", "slow.mahi"]\n'
        '[[axis]]\nkey = "path.loss"\nvalues = ["0 %", "1 %"]\n'
    )
    assert playpath_command("sweep", "design.toml", "--out", "result", cwd=tmp_path).status == 0
    done = playpath_command("export", "result", cwd=tmp_path)
    assert done.status == 0, done.err
    (tmp_path / "slow.mahi").write_text(mahi(4))
    done = playpath_command("export", "result", "--out", "other.zip", cwd=tmp_path)
    assert done.status == 2
    assert "a file that it names has changed since this was run" in done.err
    for name in ("link.mahi", "slow.mahi", "small.toml", "design.toml"):
        (tmp_path / name).unlink()
    done = playpath_command("verify", "result.playpath.zip", cwd=tmp_path)
    assert done.status == 0, done.out + done.err
    assert done.out.startswith("same: 16 sessions played again")


@pytest.mark.slow
def test_a_sweep_of_another_version_passes_though_its_decisions_are_told_otherwise(tmp_path):
    (tmp_path / "link.mahi").write_text(mahi(2))
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "design.toml").write_text(
        'scenario = "small.toml"\n[[axis]]\nkey = "path.loss"\nvalues = ["0 %", "1 %"]\n'
    )
    assert playpath_command("sweep", "design.toml", "--out", "result", cwd=tmp_path).status == 0
    assert playpath_command("export", "result", cwd=tmp_path).status == 0
    stored = tmp_path / "result/decisions.parquet"
    pl.read_parquet(stored).drop("median").write_parquet(stored)
    files = {
        "results/decisions.parquet": stored.read_bytes(),
        "tables/decisions.csv": pl.read_parquet(stored).drop("winners").write_csv().encode(),
    }
    for version, says in (("0.0.1", "same: 8 sessions played again"), (None, "decisions.parquet: does not follow")):
        made = {} if version is None else {"made_with": {"playpath_version": version, "engine_version": version}}
        old = changed(tmp_path / "result.playpath.zip", tmp_path / f"{version}.zip", files, made)
        done = playpath_command("verify", old, cwd=tmp_path)
        assert (done.status == 0) == (version is not None), done.out + done.err
        assert says in done.out + done.err


@pytest.mark.slow
def test_what_follows_from_a_setting_follows_when_it_is_played_again(tmp_path):
    text = SCENARIO.replace('trace = "link.mahi"', 'rate = "9 Mbit/s"')
    (tmp_path / "small.toml").write_text(text)
    (tmp_path / "design.toml").write_text(
        'scenario = "small.toml"\nseeds = 2\n[[axis]]\nkey = "path.rate"\nvalues = ["1 Mbit/s", "3 Mbit/s"]\n'
        '[[axis]]\nkey = "run.profile"\nvalues = ["linux", "ns2"]\n'
    )
    assert playpath_command("sweep", "design.toml", "--out", "result", cwd=tmp_path).status == 0
    cells = pl.read_parquet(tmp_path / "result/sweep.parquet")
    assert cells["digest"].n_unique() == cells.height, "each point is another one"
    (tmp_path / "small.toml").unlink()
    assert playpath_command("export", "result", cwd=tmp_path).status == 0
    done = playpath_command("verify", "result.playpath.zip", cwd=tmp_path)
    assert done.status == 0, done.out + done.err
    assert done.out.startswith(f"same: {cells.height} sessions played again")
    with zipfile.ZipFile(tmp_path / "result.playpath.zip") as archive:
        question = json.loads(archive.read("question.json"))
    del question["written"]["document"]["path"][0]["loss"]
    forged = changed(
        tmp_path / "result.playpath.zip",
        tmp_path / "forged.zip",
        {"question.json": json.dumps(question).encode()},
    )
    done = playpath_command("verify", forged, cwd=tmp_path)
    assert done.status == 1
    assert "the scenario as it was written is not the one that was played" in done.out


@pytest.mark.slow
def test_a_population_carries_its_links(tmp_path):
    (tmp_path / "links").mkdir()
    for step in (2, 4, 8):
        (tmp_path / f"links/{step}.mahi").write_text(mahi(step))
    (tmp_path / "users.toml").write_text(
        SCENARIO.replace('"link.mahi"', '"links/*.mahi"').replace('"1 %"', '{ uniform = ["0 %", "1 %"] }')
        + "[population]\nsessions = 2\n"
    )
    done = playpath_command("population", "compare", "users.toml", "--out", "result", cwd=tmp_path)
    assert done.status == 0, done.err
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = playpath_command(
        "export", "../result", cwd=elsewhere
    )  # the links' names are relative to the population's folder
    assert done.status == 2
    assert "give the population's file: --population FILE" in done.err
    for folder, options in ((tmp_path, ()), (elsewhere, ("--population", tmp_path / "users.toml", "--out", "own.zip"))):
        done = playpath_command("export", tmp_path / "result", *options, cwd=folder)
        assert done.status == 0, done.err
    assert (elsewhere / "own.zip").read_bytes() == (tmp_path / "result.playpath.zip").read_bytes()
    for path in (tmp_path / "links").iterdir():
        path.unlink()
    done = playpath_command("verify", "result.playpath.zip", cwd=tmp_path)
    assert done.status == 0, done.out + done.err
    assert done.out.startswith("same: 12 sessions played again")


def test_what_cannot_be_played_again_is_refused(comparison, tmp_path):
    done = playpath_command("export", tmp_path, cwd=tmp_path)
    assert done.status == 2
    assert "no results here" in done.err
    kernel = changed(comparison / "result.playpath.zip", tmp_path / "kernel.zip", {}, {"world": "kernel"})
    done = playpath_command("verify", kernel, cwd=tmp_path)
    assert done.status == 1
    assert "it was measured in real time (world kernel), which cannot be repeated" in done.err


def hostile(archive: Path, target: Path, name: str, content: bytes = b"x", mode: int = 0) -> Path:
    """A copy with one more entry."""
    target.write_bytes(archive.read_bytes())
    with zipfile.ZipFile(target, "a") as made:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        made.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return target


@pytest.mark.parametrize(
    ("name", "mode", "words"),
    [
        ("../outside", 0, "'../outside' would leave the folder"),
        ("results/../../outside", 0, "would leave the folder"),
        ("/tmp/outside", 0, "'/tmp/outside' would leave the folder"),
        ("C:\\outside", 0, "would leave the folder"),
        ("link", stat.S_IFLNK | 0o777, "'link' is not a plain file"),
        ("pipe", stat.S_IFIFO | 0o644, "'pipe' is not a plain file"),
        ("results//x", 0, "'results//x' is not a plain file"),
        ("folder/", 0, "'folder/' is not a plain file"),
        ("more.txt", 0, "'more.txt' is not listed"),
    ],
)
def test_entries_that_mean_harm_are_refused_before_anything_is_written(comparison, tmp_path, name, mode, words):
    place = tmp_path / "place"
    place.mkdir()
    bad = hostile(comparison / "result.playpath.zip", tmp_path / "bad.zip", name, mode=mode)
    with pytest.raises(InputError) as error:
        unpack(bad, place)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert list(place.iterdir()) == []


def test_bombs_are_refused(comparison, tmp_path, monkeypatch):
    archive = comparison / "result.playpath.zip"
    bomb = hostile(archive, tmp_path / "bomb.zip", "zeros", bytes(30_000_000))
    assert bomb.stat().st_size < 1_000_000
    monkeypatch.setattr(unpacking, "MAX_BYTES", 20_000_000)
    with pytest.raises(InputError, match=r"holds more than 0 GB$"):
        unpack(bomb, tmp_path)
    monkeypatch.setattr(unpacking, "MAX_FILES", 3)
    with pytest.raises(InputError, match=r"files; allowed: up to 3$"):
        unpack(archive, tmp_path)


def test_a_length_that_the_header_lies_about_is_found_out(comparison, tmp_path):
    with zipfile.ZipFile(comparison / "result.playpath.zip") as archive:
        entry = archive.getinfo("question.json")
        length = entry.file_size.to_bytes(4, "little")
    content = (comparison / "result.playpath.zip").read_bytes()
    assert content.count(length) >= 2  # the local header and the directory
    (tmp_path / "lie.zip").write_bytes(content.replace(length, (10).to_bytes(4, "little")))
    with pytest.raises(InputError):
        unpack(tmp_path / "lie.zip", tmp_path / "place")


def test_a_changed_or_missing_file_is_named(comparison, tmp_path):
    with zipfile.ZipFile(comparison / "result.playpath.zip") as source:
        held = {name: source.read(name) for name in source.namelist()}
    for name, files, words in (
        ("a", held | {"results/report.html": b"other"}, "'results/report.html' has been changed"),
        ("b", {k: v for k, v in held.items() if k != "question.json"}, "'question.json' is missing"),
        ("c", {k: v for k, v in held.items() if k != "archive.json"}, "archive.json is missing"),
        ("d", held | {"archive.json": b"[" * 100_000}, "archive.json is damaged"),
        (
            "e",
            held | {"archive.json": b'{"format": 2, "files": {}}'},
            "has format 2, which this version does not support; allowed: 1",
        ),
    ):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as made:
            for file, content in files.items():
                made.writestr(file, content)
        with pytest.raises(InputError) as error:
            unpack(tmp_path / f"{name}.zip", tmp_path / name)
        assert words in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive"])
def test_what_is_no_archive_is_one_line(tmp_path, content):
    (tmp_path / "x.zip").write_bytes(content)
    playpath_command("verify", "x.zip", cwd=tmp_path).assert_refused("x.zip: is not a playpath archive, or damaged")
    playpath_command("verify", ".", cwd=tmp_path).assert_refused(
        "is a folder; `playpath export .` makes the archive to verify"
    )


def test_a_control_of_ones_own_is_played_again_where_it_is(tmp_path):
    (tmp_path / "mine.py").write_text("class Mine:\n    def on_report(self, report):\n        return 20.0\n")
    (tmp_path / "small.toml").write_text(SCENARIO.replace('trace = "link.mahi"', 'rate = "4 Mbit/s"'))
    compared = playpath_command("compare", "small.toml", "--cc", "cubic,mine:Mine", "--out", "result", cwd=tmp_path)
    assert compared.status == 0, compared.err
    assert playpath_command("export", "result", cwd=tmp_path).status == 0
    again = playpath_command("verify", "result.playpath.zip", cwd=tmp_path)
    assert (again.status, again.out[:5]) == (0, "same:"), again.out + again.err


def test_what_the_variations_showed_is_listed_as_not_verified(tmp_path):
    scenario = SCENARIO.replace('trace = "link.mahi"\nrtt = "40 ms"\nloss = "1 %"', 'rate = "4 Mbit/s"\nrtt = "40 ms"')
    result = playpath.compare(scenario)
    result.with_sensitivity(playpath.sensitivity(result)).save(tmp_path / "result")
    assert playpath_command("export", "result", cwd=tmp_path).status == 0
    found = playpath_command("verify", "result.playpath.zip", cwd=tmp_path)
    assert "`sensitivity` in results/comparison.json" in found.out, found.out + found.err

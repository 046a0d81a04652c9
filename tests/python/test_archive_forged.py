"""`playpath verify` of archives that were forged with their sums mended, or damaged: nothing forged passes as the same, nothing
damaged is a fault of playpath.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import playpath_command
from test_archive import changed, hostile

import playpath
from playpath.base.errors import RunError
from playpath.cli.commands.report import load_results
from playpath.results.archive import unpack as unpacking
from playpath.results.archive.bundle import export
from playpath.results.archive.question import Question

SCENARIO = """
name = "small"
[video]
rate = "2 Mbit/s"
duration = "6 s"
[player]
kind = "progressive"
[[path]]
rate = "3 Mbit/s"
rtt = "40 ms"
loss = "1 %"
outage = { from = "2 s", until = "3 s" }
[[sender]]
cc = "cubic"
[[sender]]
cc = "newreno"
[run]
seeds = 2
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    (folder / "small.toml").write_text(SCENARIO)
    result = playpath.compare(folder / "small.toml", timelines=True)
    result.save(folder / "result")
    (folder / "result/report.html").write_text("<p>figures</p>")
    assert playpath_command("export", "result", cwd=folder).status == 0
    return folder / "result.playpath.zip"


def held(archive: Path, name: str) -> bytes:
    with zipfile.ZipFile(archive) as opened:
        return opened.read(name)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def table(archive: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(held(archive, f"results/{name}.parquet")))


def answer(archive: Path, **values: object) -> bytes:
    return json.dumps(json.loads(held(archive, "results/comparison.json")) | values).encode()


def test_what_nothing_is_compared_with_is_listed(archive):
    done = playpath_command("verify", archive, "--json", cwd=archive.parent)
    assert done.status == 0, done.out
    listed = json.loads(done.out)["not_verified"]
    assert listed == ["results/bands.parquet", "results/report.html", "results/timelines/"]
    done = playpath_command("verify", archive, cwd=archive.parent)
    assert done.out.splitlines()[1] == f"not verified: {', '.join(listed)}"


def test_of_another_version_flows_links_and_the_answer_are_listed_too(archive, tmp_path):
    made_with = {"playpath_version": "0.0.1", "engine_version": "0.0.1"}
    old = changed(archive, tmp_path / "old.zip", {}, {"made_with": made_with})
    done = playpath_command("verify", old, "--json", cwd=tmp_path)
    assert done.status == 0, done.out
    names = {name.removeprefix("results/") for name in json.loads(done.out)["not_verified"]}
    assert {"comparison.json", "flows.parquet", "links.parquet"} <= names


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("flows", "flows.parquet: does not match the sessions"),
        ("links", "links.parquet: does not match the sessions"),
        ("warnings", "comparison.json: the warnings do not match those of the sessions"),
        ("csv", "tables/sessions.csv: does not follow from results/"),
        ("scenario", "its scenario is not the one that question.json asks about"),
        ("digest", "archive.json: `digest` is not that of results/"),
        ("metric", "seed 1: goodput was"),
    ],
)
def test_what_was_forged_is_named(archive, tmp_path, part, words):
    files: dict[str, bytes] = {}
    shown: dict[str, object] = {}
    if part in ("flows", "links"):
        frame = table(archive, part)
        number = next(name for name, kind in frame.schema.items() if kind == pl.Float64)
        files[f"results/{part}.parquet"] = parquet(frame.with_columns(pl.col(number) + 1.0))
    elif part == "warnings":
        stored = json.loads(held(archive, "results/comparison.json"))
        assert stored["notes"], "the outage is warned of"
        kept = [text for text in stored["warnings"] if text not in stored["notes"]]
        files["results/comparison.json"] = answer(archive, notes=[], warnings=kept)
    elif part == "csv":
        files["tables/sessions.csv"] = held(archive, "tables/sessions.csv") + b"more\n"
    elif part == "scenario":
        question = json.loads(held(archive, "question.json"))
        question["scenario"]["name"] = "other"
        files["question.json"] = json.dumps(question).encode()
    elif part == "digest":
        shown["digest"] = "0" * 64
    else:
        first = pl.int_range(pl.len()) == 0
        forged = pl.when(first).then(pl.col("goodput_mbps") + 1).otherwise(pl.col("goodput_mbps"))
        files["results/sessions.parquet"] = parquet(
            table(archive, "sessions").with_columns(forged.alias("goodput_mbps"))
        )
    lie = changed(archive, tmp_path / "lie.zip", files, shown)
    done = playpath_command("verify", lie, cwd=tmp_path)
    assert done.status == 1, done.out + done.err
    assert words in done.out


DESIGN = """
name = "losses"
scenario = "small.toml"
seeds = 2
[[axis]]
key = "path.loss"
values = ["1 %", "3 %"]
"""


@pytest.fixture(scope="module")
def cells(tmp_path_factory) -> Path:
    """The folder of a sweep, and its archive beside it."""
    folder = tmp_path_factory.mktemp("cells")
    (folder / "small.toml").write_text(SCENARIO)
    (folder / "losses.toml").write_text(DESIGN)
    assert playpath_command("sweep", "losses.toml", "--out", "result", cwd=folder).status == 0
    assert playpath_command("export", "result", cwd=folder).status == 0
    return folder / "result"


def first_row(column: str, value: object) -> pl.Expr:
    return pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)


def resaved(source: Path, folder: Path, tables: list[str], change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """An archive `lie.zip` of results with these tables changed, and an answer that follows from them, to the same question."""
    shutil.copytree(source, folder / "r", ignore=shutil.ignore_patterns("store"))
    for name in tables:
        change(pl.read_parquet(source / f"{name}.parquet")).write_parquet(folder / f"r/{name}.parquet")
    load_results(folder / "r").save(folder / "r")
    question = Question.from_dict(json.loads(held(source.with_name("result.playpath.zip"), "question.json")))
    export(folder / "r", load_results(folder / "r"), question, folder / "lie.zip")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: pl.concat([frame, frame]), "point 0, cubic: was played with other seeds than 1 to 2, each once"),
        (lambda frame: frame.filter(pl.col("seed") != 1), "cubic: was played with other seeds than 1 to 2, each once"),
        (lambda frame: frame.filter(pl.col("point") != 1), "point 1: no session of it is among the results"),
        (lambda frame: frame.filter(pl.col("sender") != "cubic"), "point 0: 1 of 2 senders were played"),
        (lambda frame: frame.drop("stall_time_s"), "cubic, seed 1: stall time was –, is "),
        (lambda frame: frame.with_columns(first_row("path.loss", "2 %")), "`path.loss` does not follow from question"),
        (lambda frame: frame.with_columns(first_row("cc", "bbr")), "sessions: `cc` does not follow from question.json"),
        (lambda frame: frame.with_columns(first_row("error", "died")), "seed 1: is told as failed, and does not fail"),
    ],
)
def test_who_picks_or_renames_sessions_is_found_though_the_answer_follows(cells, tmp_path, change, words):
    resaved(cells, tmp_path, ["sweep"], change)
    done = playpath_command("verify", "lie.zip", cwd=tmp_path)
    assert done.status == 1, done.out + done.err
    assert words in done.out


def test_a_comparison_whose_seeds_were_picked_is_found(archive, tmp_path):
    resaved(
        archive.parent / "result", tmp_path, ["sessions", "flows", "links"], lambda f: f.filter(pl.col("seed") != 1)
    )
    done = playpath_command("verify", "lie.zip", cwd=tmp_path)
    assert done.status == 1, done.out + done.err
    assert "point 0, cubic: was played with other seeds than 1 to 2, each once" in done.out


@pytest.mark.slow
def test_no_more_sessions_differ_than_there_are(archive, tmp_path):
    frame = table(archive, "sessions").with_columns(pl.lit("0" * 64).alias("digest"))
    lie = changed(archive, tmp_path / "lie.zip", {"results/sessions.parquet": parquet(frame)})
    done = playpath_command("verify", lie, "--json", cwd=tmp_path)
    loaded = json.loads(done.out)
    assert (loaded["sessions"], loaded["differing"]) == (4, 4)
    assert loaded["wrong"] > 0, "the answer's digest does not follow either"
    first = playpath_command("verify", lie, cwd=tmp_path).out.splitlines()[0]
    assert first == f"differs: 4 of 4 sessions; {loaded['wrong']} statements do not follow"


@pytest.mark.parametrize("name", [".", "./", ""])
def test_entries_without_a_name_are_one_line(archive, tmp_path, name):
    one_line(hostile(archive, tmp_path / "bad.zip", name))


@pytest.mark.parametrize("made_with", [None, 3, "0.2.0", {}, {"playpath_version": 1, "engine_version": "0.2.0"}])
def test_versions_of_another_shape_are_one_line(archive, tmp_path, made_with):
    assert "`made_with` must hold" in one_line(changed(archive, tmp_path / "bad.zip", {}, {"made_with": made_with}))


@pytest.mark.parametrize("question", [b"null", b"[]", b"{", b'{"scenario": null}', b"[" * 100_000])
def test_a_question_of_another_shape_is_one_line(archive, tmp_path, question):
    one_line(changed(archive, tmp_path / "bad.zip", {"question.json": question}))


@pytest.mark.parametrize("key", ["scenario", "points", "contents", "kind"])
def test_a_question_with_a_hole_is_one_line(archive, tmp_path, key):
    question = json.loads(held(archive, "question.json")) | {key: None}
    one_line(changed(archive, tmp_path / "bad.zip", {"question.json": json.dumps(question).encode()}))


@pytest.mark.parametrize(("file", "change"), [("question.json", "name"), ("archive.json", "world")])
def test_a_scenario_without_a_name_and_an_unknown_world_are_no_fault_of_playpath(archive, tmp_path, file, change):
    if change == "name":
        question = json.loads(held(archive, file))
        del question["scenario"]["name"]
        bad = changed(archive, tmp_path / "bad.zip", {file: json.dumps(question).encode()})
        done = playpath_command("verify", bad, cwd=tmp_path)
        assert (done.status, "fails now (question.json is damaged: KeyError)" in done.out) == (1, True), done.err
    else:
        assert 'unknown world "[]"' in one_line(changed(archive, tmp_path / "bad.zip", {}, {"world": []}))


@pytest.mark.parametrize("key", ["manifest", "world", "notes", "interrupted", "failed", "stopping"])
def test_an_answer_of_another_shape_is_no_fault_of_playpath(archive, tmp_path, key):
    bad = changed(archive, tmp_path / "bad.zip", {"results/comparison.json": answer(archive, **{key: 7})})
    done = playpath_command("verify", bad, cwd=tmp_path)
    assert done.status in (1, 2)
    assert "bug in playpath" not in done.err


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.drop("sender"),
        lambda frame: frame.drop("seed"),
        lambda frame: frame.drop("digest"),
        lambda frame: frame.with_columns(pl.lit("one").alias("seed")),
        lambda frame: frame.with_columns(-pl.col("seed")),
        lambda frame: frame.with_columns(pl.lit("nobody").alias("sender")),
        lambda frame: frame.clear(),
        lambda frame: frame.with_columns(pl.lit(float("nan")).alias("stall_time_s")),
    ],
)
def test_a_table_of_another_shape_is_one_line(archive, tmp_path, change):
    content = parquet(change(table(archive, "sessions")))
    one_line(changed(archive, tmp_path / "bad.zip", {"results/sessions.parquet": content}))


def test_a_full_disk_is_not_told_as_a_damaged_archive(archive, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(unpacking, "_extract", full)
    with pytest.raises(RunError, match="No space left on device"):
        unpacking.unpack(archive, tmp_path)


def test_damaged_lzma_is_one_line(archive, tmp_path):
    packed = tmp_path / "lzma.zip"
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as made:
        for name in source.namelist():
            made.writestr(name, source.read(name))
        place = made.getinfo("question.json").header_offset
    content = bytearray(packed.read_bytes())
    content[place + 60 : place + 100] = bytes(40)
    packed.write_bytes(content)
    one_line(packed)


def one_line(archive: Path) -> str:
    """What verify says of it: one line, status 2, no fault of playpath."""
    done = playpath_command("verify", archive, cwd=archive.parent)
    done.assert_refused()
    return done.err

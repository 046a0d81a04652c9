"""Checks what an archive says besides its sessions: whatever follows from them is recomputed, and the rest is listed."""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from playpath.population import PopulationResult
from playpath.results.archive.bundle import MANIFEST, QUESTION, RESULTS, Manifest, derived_files
from playpath.results.archive.question import Question, Result
from playpath.results.comparison import Comparison
from playpath.results.gather import gather
from playpath.results.record import Session
from playpath.scenario import Scenario
from playpath.scenario.resolved import Document
from playpath.sweep import SweepResult
from playpath.sweep.cells import Cell
from playpath.sweep.result import column_value

ANSWERS = {"comparison": "comparison.json", "sweep": "sweep.json", "population": "population.json"}
"""Kind of result → file with its answer."""
_TABLES = {
    "comparison": ("sessions.parquet", "flows.parquet", "links.parquet"),
    "sweep": ("sweep.parquet", "decisions.parquet"),
    "population": ("sessions.parquet",),
}
"""Kind of result → files that are compared, besides the answer."""

_PARTS = ("flows.parquet", "links.parquet")
"""Files of a comparison that are compared with those of the repeated sessions, if the version is the same."""
_DECISIONS = "tables/decisions.csv"
_CHECKED_FILES = ("README.txt", "tables/sessions.csv", _DECISIONS)


def wrong_answer(folder: Path, result: Result, question: Question) -> Iterator[str]:
    """Statements of the stored answer that do not follow from the stored tables."""
    name = ANSWERS[question.kind]
    stored = json.loads((folder / RESULTS / name).read_text(encoding="utf-8"))
    follows = _plain(result.to_dict())
    if stored["manifest"]["scenario"] != question.scenario:
        yield f"{name}: its scenario is not the one that {QUESTION} asks about"
    if stored["manifest"].get("variants", {}) != question.choices:
        yield f"{name}: its choices are not those that {QUESTION} asks about"
    if not question.is_written_so:
        yield f"{QUESTION}: the scenario as it was written is not the one that was played"
    for key, value in follows.items():
        if key != "manifest" and stored.get(key) != value:  # the manifest depends on versions and the machine
            yield f"{name}: `{key}` does not follow from the stored tables"


def wrong_files(
    folder: Path, result: Result, question: Question, manifest: Manifest, *, is_answer_checked: bool
) -> Iterator[str]:
    """Other parts of an archive that do not follow from its results: the manifest's summary of them, and the tables as CSV. Decisions
    belong to the answer, which another version may word differently.
    """
    for key, value in _own_account(result, question).items():
        if manifest.get(key) != value:
            yield f"{MANIFEST}: `{key}` is not that of {RESULTS}/"
    for name, content in derived_files(result):
        is_checked = is_answer_checked or name != _DECISIONS
        if is_checked and name in manifest["files"] and (folder / name).read_bytes() != content:
            yield f"{name}: does not follow from {RESULTS}/"
    stored = folder / RESULTS / "decisions.parquet"
    if question.kind == "sweep" and is_answer_checked and _rows(pl.read_parquet(stored)) != _rows(result.decisions):  # type: ignore[union-attr]
        yield "decisions.parquet: does not follow from sweep.parquet"


def _own_account(result: Result, question: Question) -> dict[str, object]:
    return {
        "kind": question.kind,
        "name": str(question.scenario.get("name", "")),
        "seeds": sorted({int(seed) for seed in result.table["seed"].to_list()}),
        "sessions": result.table.height,
        "digest": result.digest,
    }


def wrong_choice(result: Result, question: Question, cells: Sequence[Cell]) -> Iterator[str]:
    """Sessions that are missing or occur more often than once: leaving some out, or counting some twice, is choosing the answer.

    Every sender was played at all points with all seeds, apart from those that left a race: they have the first of them.
    """
    run, is_race = question.scenario["run"], result.most is not None
    played: dict[int, dict[str, list[int]]] = {}
    for cell in cells:
        played.setdefault(cell.point, {}).setdefault(cell.variant.sender, []).append(cell.seed)
    for point, senders in sorted(played.items()):
        for sender, seeds in senders.items():
            first, count = int(run.get("first_seed", 1)), len(seeds) if is_race else int(run["seeds"])
            asked = range(first, first + count)
            if isinstance(result, PopulationResult):
                asked = result.population.seeds(point)
            if len(seeds) != len(asked) or sorted(seeds) != list(asked):
                yield f"point {point}, {sender}: was played with other seeds than {asked[0]} to {asked[-1]}, each once"
    if (missing := _missing(result, len(question.points), played)) is not None:
        yield f"point {missing}: no session of it is among the results"
    everybody = Scenario.stored(cast("Document", question.scenario), None).senders
    before = None
    for point, senders in sorted(played.items()):
        is_whole = len(senders) == len(everybody)  # their names may differ from point to point
        if not (is_whole if before is None else senders.keys() <= before):
            yield f"point {point}: {len(senders)} of {len(everybody)} senders were played"
        before = senders.keys() if is_race and isinstance(result, PopulationResult) else None


def _missing(result: Result, points: int, played: Collection[int]) -> int | None:
    """The first point without a session. Paths of a population on which a session failed are left out."""
    end, left_out = points, pl.Series(dtype=pl.Int64)
    if isinstance(result, PopulationResult):
        end = result.population.paths if result.most is None else max(played) + 1
        left_out = result.failed["path"]
    known = {*played, *left_out}
    return next((point for point in range(end) if point not in known), None)


def wrong_columns(result: Result, question: Question, cells: Sequence[Cell], version: str) -> Iterator[str]:
    """Columns of a table of cells that say of a session what the question does not."""
    if isinstance(result, Comparison):
        return
    expected: dict[str, list[object]] = {
        "cell": [cell.id for cell in cells],
        "cc": [cell.variant.cc for cell in cells],
        "scenario_sha256": [cell.variant.sha256 for cell in cells],
        "engine_version": [version for _ in cells],
    }
    for key in result.keys if isinstance(result, SweepResult) else ():
        expected[key] = [column_value(question.points[cell.point].get(key)) for cell in cells]
    follows = pl.DataFrame(
        {name: column for name, column in expected.items() if name in result.table.columns}, strict=False
    )
    for name in follows.columns:
        if follows[name].to_list() != result.table[name].to_list():
            yield f"sessions: `{name}` does not follow from {QUESTION}"


def wrong_parts(result: Comparison, again: Sequence[Session]) -> Iterator[str]:
    """Flows, links and warnings of a comparison that differ from those of its repeated sessions."""
    made = gather(result.scenario, result.world, list(again), interrupted=False)
    if _rows(result.table.select(pl.col("^cc$"))) != _rows(made.table.select("cc")):
        yield "sessions.parquet: `cc` does not match the sessions"
    for name in ("flows", "links"):
        if _rows(getattr(result, name)) != _rows(getattr(made, name)):
            yield f"{name}.parquet: does not match the sessions"
    if result.notes != made.notes:
        yield "comparison.json: the warnings do not match those of the sessions"


def not_verified(manifest: Manifest, kind: str, *, is_answer_checked: bool) -> list[str]:
    """Files that are not compared with anything; folders of timelines count as one. The answer, decisions, flows and links are compared
    only if the version is the same.
    """
    checked = {QUESTION, *_CHECKED_FILES, *(f"{RESULTS}/{name}" for name in _TABLES[kind])}
    if is_answer_checked:
        checked.add(f"{RESULTS}/{ANSWERS[kind]}")
    else:
        checked -= {_DECISIONS, *(f"{RESULTS}/{name}" for name in (*_PARTS, "decisions.parquet"))}
    left = sorted(manifest["files"].keys() - checked)
    return list(dict.fromkeys("/".join(name.split("/")[:2]) + "/" * (name.count("/") > 1) for name in left))


def _rows(frame: pl.DataFrame) -> object:
    """A table as plain data, in which two missing values are equal."""
    return _plain(frame.to_dicts())


def _plain(value: object) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))

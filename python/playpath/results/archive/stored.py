"""What an archive says besides its sessions: what follows from them is made again, the rest is named."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from playpath.results.archive.bundle import MANIFEST, QUESTION, RESULTS, Manifest, derived_files
from playpath.results.archive.question import Question, Result
from playpath.results.comparison import Comparison
from playpath.results.gather import gather
from playpath.results.record import Session

ANSWERS = {"comparison": "comparison.json", "sweep": "sweep.json", "population": "population.json"}
"""The file of each kind's answer."""
_TABLES = {
    "comparison": ("sessions.parquet", "flows.parquet", "links.parquet"),
    "sweep": ("sweep.parquet", "decisions.parquet"),
    "population": ("sessions.parquet",),
}
"""What is compared of each kind's results, besides the answer."""

_PARTS = ("flows.parquet", "links.parquet")
"""Of a comparison: compared with those of the sessions that are played again, where the version is the same."""
_DECISIONS = "tables/decisions.csv"
_BESIDE = ("README.txt", "tables/sessions.csv", _DECISIONS)


def wrong_answer(folder: Path, result: Result, question: Question) -> Iterator[str]:
    """What the stored answer says that does not follow from the stored tables."""
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
        if key != "manifest" and stored.get(key) != value:  # the manifest tells of versions and the machine
            yield f"{name}: `{key}` does not follow from the tables beside it"


def wrong_files(
    folder: Path, result: Result, question: Question, manifest: Manifest, *, is_answer_checked: bool
) -> Iterator[str]:
    """What else of an archive does not follow from its results: its own account of them, and the tables as CSV. Decisions are a part of
    the answer, which another version may give in other words.
    """
    for key, value in _own_account(result, question).items():
        if manifest.get(key) != value:
            yield f"{MANIFEST}: `{key}` is not that of {RESULTS}/"
    for name, content in derived_files(result):
        is_checked = is_answer_checked or name != _DECISIONS
        if is_checked and name in manifest["files"] and (folder / name).read_bytes() != content:
            yield f"{name}: is not what follows from {RESULTS}/"
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


def wrong_parts(result: Comparison, again: Sequence[Session]) -> Iterator[str]:
    """What a comparison says of flows, links and warnings that its sessions, played again, do not."""
    made = gather(result.scenario, result.world, list(again), interrupted=False)
    for name in ("flows", "links"):
        if _rows(getattr(result, name)) != _rows(getattr(made, name)):
            yield f"{name}.parquet: is not what the sessions give"
    if result.notes != made.notes:
        yield "comparison.json: the warnings are not those of the sessions"


def not_verified(manifest: Manifest, kind: str, *, is_answer_checked: bool) -> list[str]:
    """Files that nothing is compared with, folders of timelines as one. The answer, decisions, and flows and links with it, are compared
    only with those of the same version.
    """
    checked = {QUESTION, *_BESIDE, *(f"{RESULTS}/{name}" for name in _TABLES[kind])}
    if is_answer_checked:
        checked.add(f"{RESULTS}/{ANSWERS[kind]}")
    else:
        checked -= {_DECISIONS, *(f"{RESULTS}/{name}" for name in (*_PARTS, "decisions.parquet"))}
    left = sorted(manifest["files"].keys() - checked)
    return list(dict.fromkeys("/".join(name.split("/")[:2]) + "/" * (name.count("/") > 1) for name in left))


def _rows(frame: pl.DataFrame) -> object:
    """A table as plain data, in which a missing value equals a missing one."""
    return _plain(frame.to_dicts())


def _plain(value: object) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))

"""Play an archive's sessions again and say whether they are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from playpath.base import engine
from playpath.base.errors import InputError, PlaypathError, RunError
from playpath.base.manifest import package_version
from playpath.base.metrics import format_value, metric
from playpath.base.parallel import check_jobs, run_all
from playpath.base.progress import Progress, Pulse
from playpath.base.worlds import DEFAULT, is_exact, named
from playpath.population import PopulationResult
from playpath.results.archive.bundle import MANIFEST, QUESTION, RESULTS, Manifest
from playpath.results.archive.question import Question, Result
from playpath.results.archive.stored import (
    ANSWERS,
    not_verified,
    wrong_answer,
    wrong_choice,
    wrong_columns,
    wrong_files,
    wrong_parts,
)
from playpath.results.comparison import Comparison
from playpath.results.record import Session
from playpath.run.own import sources
from playpath.run.worlds import SimWorld
from playpath.scenario import Scenario
from playpath.sweep import SweepResult
from playpath.sweep.cells import Cell

_MAX_LISTED = 5
_MAX_ROWS = 20_000_000
"""Limit for a table: Parquet can hold any number of equal rows in a few bytes."""
_KINDS: Mapping[str, type[Result]] = {
    "comparison": Comparison,
    "sweep": SweepResult,
    "population": PopulationResult,
}


@dataclass(frozen=True)
class Finding:
    sessions: int
    """Number of sessions played again."""
    differences: list[str] = field(default_factory=list)
    """One sentence for each of the first differences, sessions before statements."""
    differing: int = 0
    """Number of sessions that differ."""
    wrong: int = 0
    """Number of statements that do not follow from the sessions."""
    not_verified: list[str] = field(default_factory=list)
    """Files and folders that were not compared with anything."""
    note: str = ""
    """A note on the versions, if they differ."""

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


def other_version(manifest: Manifest) -> str:
    """A sentence if the archive was made by another version; empty if not.

    >>> other_version({"made_with": {"playpath_version": "0.0.1", "engine_version": "0.0.1"}})[:62]
    'made with playpath 0.0.1 (engine 0.0.1); this is playpath '...
    """
    made = manifest["made_with"]
    here = {"playpath_version": package_version(), "engine_version": engine.version()}
    if all(made.get(key) == value for key, value in here.items()):
        return ""
    theirs, ours = ("playpath {playpath_version} (engine {engine_version})".format_map(v) for v in (made, here))
    return f"made with {theirs}; this is {ours}: results may differ between versions (CHANGELOG says which)"


def verify(
    folder: Path,
    manifest: Manifest,
    load: Callable[[Path], Result | Session],
    *,
    jobs: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Finding:
    """Check an unpacked archive: its answer against its tables, and every session against a new run of it.

    Args:
        folder: Where it was unpacked.
        manifest: The result of `unpack`.
        load: Reads a folder of results.
    """
    named(world := str(manifest.get("world", DEFAULT)))
    if not is_exact(world):
        raise RunError(f"it was measured in real time (world {world}), which cannot be repeated bit for bit")
    note = other_version(manifest)
    try:
        question, result = _read(folder, load, manifest)
        wrong = [] if note else list(wrong_answer(folder, result, question))
        wrong += wrong_files(folder, result, question, manifest, is_answer_checked=not note)
        version = manifest["made_with"]["engine_version"]
        cells = [cell for cell, _ in question.cells(result.table, version)]
        wrong += wrong_choice(result, question, cells)
        wrong += [] if note else wrong_columns(result, question, cells, version)
    except PlaypathError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InputError(f"{QUESTION} or {RESULTS}/ is damaged ({type(error).__name__})") from None
    sources.add_folder(".")  # the user's own controls and rules
    again = _play(cells, jobs, progress, is_whole=question.kind == "comparison")
    if isinstance(result, Comparison) and not note:
        wrong += _wrong_parts(result, again)
    rows = result.table.to_dicts()
    names = None if note else result.metric_names
    found = [_difference(cell, row, one, names) for cell, row, one in zip(cells, rows, again, strict=True)]
    differing = [text for text in found if text]
    left = not_verified(manifest, question.kind, is_answer_checked=not note)
    if isinstance(result, Comparison) and result.sensitivity is not None and not note:
        left.append(f"`sensitivity` in {RESULTS}/{ANSWERS[question.kind]}")
    return Finding(len(cells), [*differing[:_MAX_LISTED], *wrong[:_MAX_LISTED]], len(differing), len(wrong), left, note)


def _play(cells: Sequence[Cell], jobs: int | None, progress: Progress, *, is_whole: bool) -> list[_Again]:
    count = Pulse(progress, len(cells)).count
    outcome = run_all(partial(_again, is_whole=is_whole), cells, check_jobs(jobs), on_done=count)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return [one or _Again(None, {}, "was not played") for one in outcome.results]


def _read(folder: Path, load: Callable[[Path], Result | Session], manifest: Manifest) -> tuple[Question, Result]:
    question = Question.from_dict(json.loads((folder / QUESTION).read_text(encoding="utf-8")))
    for table in (folder / RESULTS).glob("*.parquet"):
        if pl.scan_parquet(table).select(pl.len()).collect().item() > _MAX_ROWS:
            raise InputError(f"{table.name} has more than {_MAX_ROWS} rows")
    result = load(folder / RESULTS)
    kind = _KINDS.get(question.kind)
    if kind is None or not isinstance(result, kind):
        raise InputError(f"{QUESTION} is of another kind than {RESULTS}/")
    if result.table.is_empty():
        raise InputError(f"{RESULTS}/ holds no session")
    if any(column.dtype.is_float() and not column.is_finite().all() for column in result.table):
        raise InputError(f"{RESULTS}/ holds a number that is not finite")
    if (world := getattr(result, "world", DEFAULT)) != manifest.get("world"):
        raise InputError(f"{RESULTS}/ is of another world ({world}) than {MANIFEST} says")
    return question, result


def _wrong_parts(result: Comparison, again: Sequence[_Again]) -> list[str]:
    """Empty if a session could not be played, which is reported for the session."""
    sessions = [one.session for one in again if one.session is not None]
    return list(wrong_parts(result, sessions)) if len(sessions) == len(again) else []


@dataclass(frozen=True)
class _Again:
    """A repeated session; `session` is set only if its flows and links are compared as well."""

    digest: str | None
    metrics: Mapping[str, Any]
    error: str = ""
    session: Session | None = None


def _again(cell: Cell, *, is_whole: bool) -> _Again:
    variant = cell.variant
    if variant.error:
        return _Again(None, {}, variant.error)
    try:
        if is_whole:
            session = SimWorld().session(
                Scenario(json.loads(variant.text), variant.text), variant.sender, cell.seed, trace=False
            )
            return _Again(session.digest, session.metrics, session=session)
        metrics, digest = engine.run_metrics(variant.text, variant.sender, cell.seed)
    except PlaypathError as error:
        return _Again(None, {}, str(error))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return _Again(None, {}, f"{QUESTION} is damaged: {type(error).__name__}")
    return _Again(digest, metrics)


def _difference(cell: Cell, row: Mapping[str, Any], again: _Again, names: Sequence[str] | None) -> str:
    """How a session differs from the stored one; empty if it does not.

    `names`: the table's metrics, which are to be those of the session; None if another version may have had others.
    """
    place = "".join(f"{name} {row[name]}, " for name in ("point", "path") if name in row)
    where = f"{place}{cell.variant.sender}, seed {cell.seed}"
    if again.digest is None or row["digest"] is None:
        if again.digest == row["digest"]:
            return ""
        return f"{where}: {f'fails now ({again.error})' if again.digest is None else 'failed then, and does not now'}"
    if row.get("error") is not None:
        return f"{where}: is told as failed, and does not fail"
    compared = again.metrics.keys() & row.keys() if names is None else dict.fromkeys([*again.metrics, *names])
    for name in compared:
        was, now = row.get(name), again.metrics.get(name)
        if was != now:
            return f"{where}: {metric(name).label} was {format_value(was)}, is {format_value(now)} {metric(name).unit}".rstrip()
    return "" if again.digest == row["digest"] else f"{where}: the record differs, but no metric does"

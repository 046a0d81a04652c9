"""Play an archive's sessions again and say whether they are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from playpath.base import engine
from playpath.base.errors import InputError, RunError
from playpath.base.manifest import package_version
from playpath.base.metrics import format_value, metric
from playpath.base.parallel import check_jobs, run_all
from playpath.population import PopulationResult
from playpath.results.archive.bundle import QUESTION, RESULTS, Manifest
from playpath.results.archive.question import Question, Result
from playpath.results.comparison import Comparison
from playpath.results.record import Session
from playpath.sweep import SweepResult
from playpath.sweep.cells import Cell

_MOST_TOLD = 5
_MOST_ROWS = 20_000_000
"""Of a table: Parquet can hold any number of equal rows in a few bytes."""


_KINDS: Mapping[str, tuple[type[Result], str]] = {
    "comparison": (Comparison, "comparison.json"),
    "sweep": (SweepResult, "sweep.json"),
    "population": (PopulationResult, "population.json"),
}
"""The result of each kind, and the file of its answer."""


@dataclass(frozen=True)
class Finding:
    """What came of a verification.

    Attributes
    ----------
    sessions : int
        Played again.
    differences : list of str
        One sentence for each that differs, the first of them; empty if all is the same.
    differing : int
        How many differ.
    note : str
        About the versions, if they are not the same.
    """

    sessions: int
    differences: list[str] = field(default_factory=list)
    differing: int = 0
    note: str = ""

    @property
    def is_same(self) -> bool:
        """Whether everything is as it was."""
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
    told, ours = ("playpath {playpath_version} (engine {engine_version})".format_map(v) for v in (made, here))
    return f"made with {told}; this is {ours}: results may differ between versions (CHANGELOG says which)"


def verify(
    folder: Path,
    manifest: Manifest,
    load: Callable[[Path], Result | Session],
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Finding:
    """Check an unpacked archive: its answer against its tables, and every session against a new run of it.

    Parameters
    ----------
    folder : path
        Where it was unpacked.
    manifest : dict
        As `unpack` returned it.
    load : callable
        Reads a folder of results.

    Raises
    ------
    InputError
        What it holds is damaged.
    RunError
        It was measured in real time, or Ctrl-C came.
    """
    question, result = _read(folder, load)
    if (world := str(manifest.get("world", "sim"))) != "sim":
        raise RunError(f"it was measured in real time (world {world}), which cannot be played again bit for bit")
    note = other_version(manifest)
    wrong = [] if note else _stored_answer(folder / RESULTS, result)
    cells = list(question.cells(result.table, str(manifest["made_with"]["engine_version"])))
    done = 0

    def count(_: Any) -> None:
        nonlocal done
        done += 1
        progress(done, len(cells))

    outcome = run_all(_again, cells, check_jobs(jobs), on_done=count)
    if outcome.interrupted:
        raise KeyboardInterrupt
    rows = result.table.to_dicts()
    found = [_difference(cell, row, again) for (cell, _), row, again in zip(cells, rows, outcome.results, strict=True)]
    told = [*wrong, *(text for text in found if text)]
    return Finding(len(cells), told[:_MOST_TOLD], len(told), note)


def _read(folder: Path, load: Callable[[Path], Result | Session]) -> tuple[Question, Result]:
    try:
        question = Question.from_dict(json.loads((folder / QUESTION).read_text(encoding="utf-8")))
        for table in (folder / RESULTS).glob("*.parquet"):
            if pl.scan_parquet(table).select(pl.len()).collect().item() > _MOST_ROWS:
                raise InputError(f"{table.name} has more than {_MOST_ROWS} rows")
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes its readers say
        raise InputError(f"{QUESTION} or a table is damaged ({type(error).__name__})") from None
    result = load(folder / RESULTS)
    kind, _ = _KINDS.get(question.kind, (type(None), ""))
    if not isinstance(result, kind):
        raise InputError(f"{QUESTION} is of another kind than {RESULTS}/")
    return question, result


def _stored_answer(folder: Path, result: Result) -> list[str]:
    """What the stored answer says that does not follow from the stored tables."""
    name = next(file for kind, file in _KINDS.values() if isinstance(result, kind))
    stored = json.loads((folder / name).read_text(encoding="utf-8"))
    follows = json.loads(json.dumps(result.to_dict(), ensure_ascii=False))
    for own in (stored, follows):
        own.pop("manifest", None)  # versions and the machine
    return [
        f"{name}: `{key}` does not follow from the tables beside it"
        for key, value in follows.items()
        if stored.get(key) != value
    ]


def _again(task: tuple[Cell, str | None]) -> tuple[str | None, Mapping[str, Any], str]:
    """Digest, metrics and error of a session that is played again."""
    cell, _ = task
    if cell.variant.error:
        return None, {}, cell.variant.error
    try:
        metrics, digest = engine.run_metrics(cell.variant.text, cell.variant.sender, cell.seed)
    except (InputError, RunError) as error:
        return None, {}, str(error)
    return digest, metrics, ""


def _difference(cell: Cell, row: Mapping[str, Any], again: tuple[str | None, Mapping[str, Any], str] | None) -> str:
    """Where a session differs from what it was; empty if it does not."""
    digest, metrics, error = again or (None, {}, "was not played")
    if digest == row["digest"]:
        return ""
    place = "".join(f"{name} {row[name]}, " for name in ("point", "path") if name in row)
    where = f"{place}{cell.variant.sender}, seed {cell.seed}"
    if digest is None:
        return f"{where}: fails now ({error})"
    if row["digest"] is None:
        return f"{where}: failed then, and does not now"
    for name, value in metrics.items():
        if name in row and row[name] != value:
            return f"{where}: {metric(name).label} was {format_value(row[name])}, is {format_value(value)} {metric(name).unit}".rstrip()
    return f"{where}: the record differs, no metric does"

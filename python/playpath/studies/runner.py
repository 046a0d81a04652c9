"""Runs a study's grid: every cell once, stored as it finishes, gathered into one tidy table.

A cell's id is the hash of its scenario, sender, seed, the engine's version and the study's revision. A finished cell is
written at once, so a killed run goes on where it stopped, and two runs give the same table.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from playpath import engine
from playpath.manifest import package_version
from playpath.parallel import check_jobs, run_all
from playpath.scenario import load
from playpath.studies.claims import ClaimResult, evaluate
from playpath.studies.study import Case, Study
from playpath.sweep.store import Store

Progress = Callable[[int, int], None]
QUICK_SHARE, QUICK_SEEDS = 0.15, 3
"""Of a quick run: share of the media's length, and seeds. Quick verdicts are not those of the whole grid."""


@dataclass(frozen=True)
class Cell:
    """A case with a seed."""

    id: str
    case: Case
    sender: str
    seed: int
    text: str


@dataclass(frozen=True)
class StudyResult:
    """A study that was run.

    Attributes
    ----------
    table : polars.DataFrame
        A row for each cell: the labels, `seed`, the metrics, `digest` of the record.
    traces : dict
        Label values of a case, joined → trace name → (x, y), of the first seed.
    claims : list of ClaimResult
        Empty if interrupted.
    share : float
        Of the media's length that was played.
    """

    study: Study
    table: pl.DataFrame
    traces: Mapping[tuple[Any, ...], Mapping[str, tuple[list[float], list[float]]]]
    claims: list[ClaimResult]
    seeds: int
    share: float
    interrupted: bool = False

    @property
    def labels(self) -> list[str]:
        """The columns that tell cases apart."""
        return label_names(self.study, self.share)

    @property
    def digest(self) -> str:
        """SHA-256 of the table; equal digests mean equal results."""
        return hashlib.sha256(self.table.write_csv(float_precision=None).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without the table."""
        return {
            "study": self.study.name,
            "seeds": self.seeds,
            "media_share": self.share,
            "interrupted": self.interrupted,
            "digest": self.digest,
            "engine_version": engine.version(),
            "playpath_version": package_version(),
            "claims": [result.to_dict() for result in self.claims],
        }


def label_names(study: Study, share: float = 1.0) -> list[str]:
    """Label columns in the order in which the cases name them."""
    return list(dict.fromkeys(name for case in study.cases(share) for name in case.labels))


def run_study(
    study: Study,
    folder: Path,
    *,
    seeds: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[int], None] = lambda running: None,
) -> StudyResult:
    """Run what the store in `folder` lacks, and judge the claims.

    Parameters
    ----------
    study : Study
    folder : path
        Its sub-folder `store` keeps the cells.
    seeds : int, optional
        Replications; by default the paper's number of trials.
    quick : bool
        Short media and few seeds: to see that all works, not to judge the papers.
    """
    share = QUICK_SHARE if quick else 1.0
    count = seeds or (QUICK_SEEDS if quick else study.seeds)
    cells = _cells(study, share, count)
    store = Store(folder / "store")
    known = store.cells()
    todo = [cell for cell in cells if cell.id not in known]
    done = len(cells) - len(todo)

    def tick(_: Cell) -> None:
        nonlocal done
        done += 1
        progress(done, len(cells))

    progress(done, len(cells))
    outcome = run_all(
        lambda cell: _run_and_store(study, store, cell), todo, check_jobs(jobs), on_done=tick, on_interrupt=on_interrupt
    )
    stored = store.rows(pl.Series([cell.id for cell in cells]))
    table, traces = _gather(study, share, cells, stored)
    claims = [] if outcome.interrupted else [evaluate(claim, table) for claim in study.claims]
    return StudyResult(study, table, traces, claims, count, share, outcome.interrupted)


def _cells(study: Study, share: float, seeds: int) -> list[Cell]:
    found: dict[str, Cell] = {}
    for case in study.cases(share):
        loaded = load(case.scenario)
        (sender,) = loaded.senders
        resolved = {k: v for k, v in loaded.resolved.items() if k not in ("name", "description")}
        text = json.dumps(resolved, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        labels = json.dumps(dict(case.labels), sort_keys=True)
        for seed in range(1, min(seeds, case.most_seeds or seeds) + 1):
            # The labels belong to it: two cases may run the same scenario, each has its row.
            key = f"{engine.version()}\n{study.name} {study.revision} {case.is_traced}\n{labels}\n{text}\n{seed}"
            cell = Cell(hashlib.sha256(key.encode()).hexdigest()[:32], case, sender, seed, text)
            if cell.id in found:
                raise ValueError(f"two cases of {study.name} are labelled {labels}")
            found[cell.id] = cell
    return list(found.values())


def _run_and_store(study: Study, store: Store, cell: Cell) -> None:
    record, series = engine.run(cell.text, cell.sender, cell.seed, trace=cell.case.is_traced)
    values = {k: v for k, v in record["metrics"].items() if isinstance(v, int | float)}
    values |= study.measure(record, series) if study.measure else {}
    wants_trace = study.trace is not None and cell.case.is_traced and cell.seed == 1
    traces = json.dumps(study.trace(record, series)) if wants_trace and study.trace else ""
    row = {"cell": cell.id, "digest": str(record["digest"]), "traces": traces}
    frame = pl.DataFrame({k: [v] for k, v in row.items()} | {k: [float(v)] for k, v in values.items()})
    buffer = io.BytesIO()
    frame.write_parquet(buffer, statistics=False)
    store.add(buffer.getvalue())


def _gather(
    study: Study, share: float, cells: list[Cell], stored: pl.DataFrame
) -> tuple[pl.DataFrame, dict[tuple[Any, ...], Any]]:
    names = label_names(study, share)
    rows = [{"cell": c.id, **{n: c.case.labels.get(n) for n in names}, "seed": c.seed} for c in cells]
    grid = pl.DataFrame(rows, infer_schema_length=None)
    if "traces" not in stored.columns:
        return grid.drop("cell").head(0), {}
    joined = grid.join(stored, on="cell", how="inner", maintain_order="left")
    metrics = sorted(n for n in stored.columns if n not in ("cell", "digest", "traces"))
    traced = joined.filter(pl.col("traces") != "")
    traces = {tuple(row[n] for n in names): json.loads(row["traces"]) for row in traced.iter_rows(named=True)}
    return joined.select(*names, "seed", *metrics, "digest"), traces

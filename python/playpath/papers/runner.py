"""Runs a study's grid: every cell once, stored as it finishes, then gathered into one tidy table.

A cell's id is the hash of its scenario, sender, seed, the engine's version and the study's revision; cases with the same
scenario share its cells. A finished cell is written at once, so a killed run resumes where it stopped, and two runs give
the same table.
"""

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from playpath.base import engine
from playpath.base.engine import Columns, number
from playpath.base.errors import RunError
from playpath.base.manifest import package_version
from playpath.base.parallel import check_jobs, run_all
from playpath.base.progress import Progress, Pulse
from playpath.base.tabular import Json
from playpath.base.worlds import DEFAULT
from playpath.papers.claims import ClaimResult, evaluate, is_judged
from playpath.papers.modern_senders import Scene, rank_scenes
from playpath.papers.study import CUT, SHOWN, Case, Claim, Series, Settings, Study
from playpath.real.testbed.errors import MissingToolError
from playpath.run import worlds
from playpath.run.worlds import SimWorld
from playpath.scenario import load
from playpath.sweep.store import Store

Traces = Mapping[tuple[Any, ...], Mapping[str, tuple[list[float], list[float]]]]
QUICK_SHARE, QUICK_SEEDS = 0.15, 3
"""Share of the media's length, and seeds, of a quick run. Quick verdicts may differ from those of the whole grid."""


@dataclass(frozen=True)
class Cell:
    id: str
    sender: str
    seed: int
    text: str
    is_traced: bool


@dataclass(frozen=True)
class Ran:
    table: pl.DataFrame
    """A row for each case and seed: the labels, `seed`, the metrics, `digest` of the record."""
    traces: Traces
    """Label values of a case → trace name → (x, y) of the first seed."""
    labels: list[str]
    """The columns that identify a case."""
    interrupted: bool

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the table; equal digests mean equal results."""
        return hashlib.sha256(self.table.write_csv(float_precision=None).encode()).hexdigest()


@dataclass(frozen=True)
class Options:
    folder: Path
    """The cells are kept in its sub-folder `store`."""
    seeds: int | None = None
    """Replications; by default the study's number of trials."""
    quick: bool = False
    """Short media and few seeds: to see that everything works, not to judge the papers."""
    jobs: int | None = None
    world: str = DEFAULT
    settings: Settings = field(default_factory=dict)
    """Unstated parameters at values other than the study's."""
    figures: bool = False
    """Also play what no claim needs: the other points of the figures, and today's senders."""
    progress: Progress = lambda done, total: None
    on_interrupt: Callable[[int], None] = lambda running: None

    @property
    def share(self) -> float:
        """Share of the media's length that is played."""
        return QUICK_SHARE if self.quick else 1.0

    def seeds_of(self, trials: int) -> int:
        """Replications to run if the study asks for `trials`."""
        return self.seeds or (QUICK_SEEDS if self.quick else trials)


@dataclass(frozen=True)
class StudyResult:
    study: Study
    ran: Ran
    claims: list[ClaimResult]
    """Empty if interrupted."""
    seeds: int
    share: float
    settings: Settings = field(default_factory=dict)
    is_whole: bool = True
    """Whether all cases are in the table, not only those that the claims need."""

    def __repr__(self) -> str:
        verdicts = [result.verdict for result in self.claims]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        return f"<StudyResult {self.study.name}: {self.table.height} sessions; claims: {counts or 'not judged'}>"

    @property
    def table(self) -> pl.DataFrame:
        return self.ran.table

    @property
    def digest(self) -> str:
        return self.ran.digest

    @cached_property
    def scenes(self) -> list[Scene]:
        """Which sender is best today, scene by scene; empty if only the claims' cases were played."""
        return rank_scenes(self.study, self.table) if self.is_whole else []

    @property
    def interrupted(self) -> bool:
        return self.ran.interrupted

    @property
    def cut(self) -> int:
        """Number of sessions that were cut off before their end; they count only what had arrived by then."""
        return int(self.table[CUT].sum()) if CUT in self.table.columns else 0

    def to_dict(self) -> Json:
        return {
            "study": self.study.name,
            "paper": self.study.paper,
            "cells": self.table.height,
            "seeds": self.seeds,
            "media_share": self.share,
            "settings": dict(self.settings),
            "cut_sessions": self.cut,
            "interrupted": self.interrupted,
            "digest": self.digest,
            "engine_version": engine.version(),
            "playpath_version": package_version(),
            "claims": [result.to_dict() for result in self.claims],
        }


def run_study(study: Study, options: Options) -> StudyResult:
    """Run the cells that are not in the store, and judge the claims."""
    count = options.seeds_of(study.seeds)
    cases = study.cases(options.share, **options.settings)
    wanted = cases if options.figures else [case for case in cases if is_judged(study.claims, case)]
    ran = run_cases(study, wanted, count, options)
    claims = [] if ran.interrupted else [evaluate(claim, ran.table) for claim in study.claims]
    if study.guards and holding(claims):
        ran, claims = _without_guards(study, ran, claims, count, options)
    return StudyResult(study, ran, claims, count, options.share, options.settings, is_whole=options.figures)


def _without_guards(
    study: Study, ran: Ran, claims: list[ClaimResult], count: int, options: Options
) -> tuple[Ran, list[ClaimResult]]:
    """Judge again without our additions to the paper's algorithms; only the cases of claims that hold are needed."""
    held = holding(claims)
    cases = study.cases(options.share, **{**options.settings, **study.guards})
    bare = run_cases(study, [case for case in cases if is_judged(held, case)], count, options)
    if bare.interrupted:
        return replace(ran, interrupted=True), []
    return ran, without_guards(claims, [evaluate(claim, bare.table) for claim in held])


def holding(claims: Sequence[ClaimResult]) -> list[Claim]:
    """The claims that hold: only these can rest on our guards."""
    return [claim.claim for claim in claims if claim.deciding.verdict == "reproduced"]


def without_guards(claims: Sequence[ClaimResult], bare: Sequence[ClaimResult]) -> list[ClaimResult]:
    """The claims, with `unguarded` set for those that hold but fail without our additions to the paper's algorithms."""
    failed = {again.claim.id: again.deciding for again in bare if again.verdict == "not reproduced"}
    return [replace(claim, unguarded=failed.get(claim.claim.id)) for claim in claims]


def run_cases(study: Study, cases: Sequence[Case], seeds: int, options: Options) -> Ran:
    """Run the cells of these cases that are not in the store, and gather all cells."""
    rows = _rows(study, cases, seeds, options.world)
    cells = {cell.id: cell for _, cell in rows}
    store = Store(options.folder / "store")
    known = store.cells()
    todo = [cell for cell in cells.values() if cell.id not in known]
    done = len(cells) - len(todo)

    def play(cell: Cell) -> str:
        """Play a cell and return why it failed, if it did; in real time a failed session does not stop the others."""
        try:
            _run_and_store(study, store, cell, options.world)
        except RunError as error:
            # A missing tool would fail every session.
            if worlds.world(options.world).is_parallel or isinstance(error, MissingToolError):
                raise
            return f"{cell.sender}, seed {cell.seed}: {error}"
        return ""

    options.progress(done, len(cells))
    count = Pulse(options.progress, len(cells), done).count
    outcome = run_all(play, todo, check_jobs(options.jobs), on_done=count, on_interrupt=options.on_interrupt)
    failed = [reason for reason in outcome.results if reason]
    if failed:
        again = "the others are stored; run the same command again to repeat only those"
        raise RunError(f"{len(failed)} of {len(todo)} sessions failed; {again}; the first: {failed[0]}")
    names = list(dict.fromkeys(name for case in cases for name in case.labels))
    ids = pl.Series(list(cells), dtype=pl.String)
    stored = store.rows(ids)
    if not outcome.interrupted:
        store.check_whole(ids, stored)
        store.pack()
    table, traces = _gather(names, rows, stored)
    return Ran(table, traces, names, outcome.interrupted)


def _rows(study: Study, cases: Sequence[Case], seeds: int, world: str) -> list[tuple[Case, Cell]]:
    found: list[tuple[Case, Cell]] = []
    labelled: set[str] = set()
    for case in cases:
        labels = json.dumps(dict(case.labels), sort_keys=True)
        if labels in labelled:
            raise ValueError(f"two cases of {study.name} are labelled {labels}")
        labelled.add(labels)
        loaded = load(case.scenario)
        (sender,) = loaded.senders
        resolved = {k: v for k, v in loaded.resolved.items() if k not in ("name", "description")}
        text = json.dumps(resolved, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        for seed in range(1, min(seeds, case.max_seeds or seeds) + 1):
            key = f"{engine.version()}\n{study.name} {study.revision} {case.is_traced}\n{text}\n{seed}"
            key = key if world == SimWorld.name else f"{world}\n{key}"
            name = hashlib.sha256(key.encode()).hexdigest()[:32]
            found.append((case, Cell(name, sender, seed, text, case.is_traced)))
    return found


def _run_and_store(study: Study, store: Store, cell: Cell, world: str) -> None:
    record, series = _session(study, cell, world)
    values = {k: v for k, v in record["metrics"].items() if isinstance(v, int | float)}
    values |= _viewed(record, cell.text) | (study.measure(record, series) if study.measure else {})
    wants_trace = study.trace is not None and cell.is_traced and cell.seed == 1
    traces = json.dumps(study.trace(record, series)) if wants_trace and study.trace else ""
    row = {"cell": cell.id, "digest": str(record["digest"]), "traces": traces}
    frame = pl.DataFrame({k: [v] for k, v in row.items()} | {k: [float(v)] for k, v in values.items()})
    buffer = io.BytesIO()
    frame.write_parquet(buffer, statistics=False)
    store.add(buffer.getvalue())


def _viewed(record: Mapping[str, Any], text: str) -> dict[str, float]:
    """The share of the due video that was shown, in per cent; and whether the session was cut off before its end."""
    resolved = json.loads(text)
    due_s, end = number(resolved["video"]["duration"]), resolved["run"]["duration"]
    last_s = max(flow["end_s"] for flow in record["flows"] if flow["name"].split(".")[0] == "video")
    is_cut = end is not None and last_s >= number(end)
    played_s = record["metrics"].get("played_s")  # some real players do not report it
    return {CUT: float(is_cut)} | ({} if played_s is None else {SHOWN: 100 * played_s / due_s})


def _session(study: Study, cell: Cell, world: str) -> tuple[Mapping[str, Any], Series]:
    if world == SimWorld.name:
        return engine.run(cell.text, cell.sender, cell.seed, trace=cell.is_traced, series=study.series)
    scenario = load(json.loads(cell.text))
    session = worlds.world(world).session(scenario, cell.sender, cell.seed, trace=cell.is_traced)
    step = number(scenario.resolved["run"]["sample_interval"])
    return session.to_dict(), {name: _on_grid(columns, step) for name, columns in session.series.items()}


def _on_grid(columns: Columns, step: float) -> Columns:
    """Put a series on the simulator's regular time grid, which the studies rely on; samples taken in real time are irregular.

    A step takes the last sample of its span, for a rate the mean of its samples; a step without samples repeats the one before.
    """
    times = np.asarray(columns["time_s"], dtype=float)
    if len(times) == 0:
        return dict(columns)
    spans = np.ceil(times / step - 1e-6).astype(int)
    grid = np.arange(spans[0], spans[-1] + 1)
    last = np.searchsorted(spans, grid, side="right") - 1
    found = {name: np.asarray(values)[last] for name, values in columns.items()}
    found["time_s"] = grid * step
    if "goodput_mbps" in columns:
        sums = np.bincount(spans - spans[0], weights=np.asarray(columns["goodput_mbps"], dtype=float))
        counts = np.bincount(spans - spans[0])
        found["goodput_mbps"] = sums / np.maximum(counts, 1)
    return found


def _gather(names: list[str], rows: list[tuple[Case, Cell]], stored: pl.DataFrame) -> tuple[pl.DataFrame, Traces]:
    labelled = [{"cell": cell.id, **{n: case.labels.get(n) for n in names}, "seed": cell.seed} for case, cell in rows]
    grid = pl.DataFrame(labelled, infer_schema_length=None)
    if "traces" not in stored.columns:
        return grid.drop("cell").head(0), {}
    joined = grid.join(stored, on="cell", how="inner", maintain_order="left")
    metrics = sorted(n for n in stored.columns if n not in ("cell", "digest", "traces"))
    traced = joined.filter(pl.col("traces") != "")
    traces = {tuple(row[n] for n in names): json.loads(row["traces"]) for row in traced.iter_rows(named=True)}
    return joined.select(*names, "seed", *metrics, "digest"), traces

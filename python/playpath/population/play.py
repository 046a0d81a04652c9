"""Play a population: every sender on every path, the sessions of a path paired over the senders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from playpath.base import engine
from playpath.base.errors import Interrupted, RunError
from playpath.judge.evidence import ladder
from playpath.population.answer import PopulationResult
from playpath.population.intervals import FEWEST_UNITS
from playpath.population.paths import path_table
from playpath.population.spec import Population, load_population
from playpath.scenario import Choices
from playpath.sweep.cells import Cell, cell_id, variants
from playpath.sweep.executors import place
from playpath.sweep.runner import CellRunner, code_for_workers
from playpath.sweep.store import Store

_MOST = 320
"""Paths at which `until_decided` ends undecided where nobody says another number."""

Progress = Callable[[int, int], None]


def population(
    source: Any,
    *,
    store: str | Path,
    set: Mapping[str, Any] | None = None,
    paths: int | None = None,
    sessions: int | None = None,
    baseline: str | None = None,
    group: Sequence[str] | None = None,
    until_decided: int | bool | None = None,
    executor: str | Executor = "local",
    jobs: int | None = None,
    resume: bool = True,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[], None] = lambda: None,
    **senders: Unpack[Choices],
) -> PopulationResult:
    """Play a population and say which sender serves its viewers best, and how many of them.

    Parameters
    ----------
    source : Population, mapping, str or path
        A scenario in which something is drawn; see `playpath.population.spec`.
    store : path
        Folder that keeps every finished session, so that a run goes on where it was interrupted.
    cc, scheduler, set, abr, controllers, abrs
        As in `playpath.load`.
    paths, sessions, baseline, group : optional
        Instead of those of `[population]`.
    until_decided : int or bool, optional
        Add paths, up to this many (True: 320), until the best sender is decided; 20 at least to begin with.
    executor : str or concurrent.futures.Executor
        `"local"`, `"ray"`, `"slurm"`, or any executor whose workers can import playpath.
    progress : callable
        Called with sessions done and sessions in all.

    Returns
    -------
    PopulationResult
        With `interrupted` set if Ctrl-C came: the answer is then over the paths that are finished.
    """
    loaded = load_population(source, set=set, paths=paths, sessions=sessions, baseline=baseline, group=group, **senders)
    code = code_for_workers(loaded.base)
    most = _MOST if until_decided is True else until_decided or None
    if most is not None:  # fewer units than these decide nothing
        loaded = replace(loaded, paths=max(loaded.paths, FEWEST_UNITS), is_shuffled=True)
    steps = ladder(loaded.paths, most, "paths")
    told = path_table(
        replace(loaded, paths=steps[-1]), range(steps[-1])
    )  # what is wrong at a path is told before anything runs
    where = Store(store)
    known = where.cells() if resume else {*()}  # `set` is a parameter here
    with CellRunner(where, place(executor, jobs, where.folder), known, on_interrupt, code) as run:
        played = 0
        for look, wanted in enumerate(steps):
            now = replace(loaded, paths=wanted)
            total = wanted * now.sessions * len(now.base.senders)
            before = total * played // wanted
            run.finish(population_cells(now, played), partial(_report, progress, before, total))
            result = _gather(now, _weighed(told, now), where, run.seen, interrupted=run.interrupted)
            result = result if most is None else replace(result, looks=steps[: look + 1])
            if run.interrupted or result.is_decided:
                break
            played = wanted
    return result


def _weighed(told: pl.DataFrame, now: Population) -> pl.DataFrame:
    """The first paths, with what each stands for among them."""
    weights = [path.weight for path in now.drawn()]
    return told.head(now.paths).with_columns(pl.Series("weight", weights))


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def population_cells(loaded: Population, first: int = 0) -> Iterator[Cell]:
    """All sessions from path number `first` on: paths, then seeds, then senders."""
    version = engine.version()
    for path in map(loaded.path, range(first, loaded.paths)):
        found = variants(loaded.base, dict(path.settings))
        for seed in loaded.seeds(path.index):
            for variant in found:
                yield Cell(cell_id(variant, seed, version), path.index, variant, seed)


def _gather(
    loaded: Population, paths: pl.DataFrame, store: Store, seen: Sequence[tuple[int, str]], *, interrupted: bool
) -> PopulationResult:
    """The rows of finished paths: a path counts when all its sessions are there."""
    index = pl.DataFrame({"path": [path for path, _ in seen], "cell": [cell for _, cell in seen]})
    rows = index.join(store.rows(index["cell"]), on="cell", how="left", maintain_order="left")
    lost = rows.filter(pl.col("sender").is_null()).height
    if lost and not interrupted:
        raise RunError(
            f"{store.folder}: {lost} of {rows.height} finished sessions are gone from the store; run the same again"
        )
    wanted = loaded.sessions * len(loaded.base.senders)
    good = pl.col("error").is_null() & pl.col("sender").is_not_null()
    whole = rows.filter(good).group_by("path").len().filter(pl.col("len") == wanted)["path"]
    failed = rows.filter(pl.col("error").is_not_null()).select("path", "sender", "seed", "error")
    table = rows.filter(pl.col("path").is_in(whole.implode())).drop("error", "engine_version", "scenario_sha256")
    if table.is_empty():
        reason = failed["error"][0] if failed.height else "no path was finished"
        error = Interrupted if interrupted else RunError
        raise error(f"population '{loaded.name}': {reason}")
    return PopulationResult(
        population=loaded,
        table=table,
        paths=paths.filter(pl.col("path").is_in(whole.implode())),
        failed=failed,
        interrupted=interrupted,
    )

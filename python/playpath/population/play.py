"""Play a population: every sender on every path; sessions on the same path with the same seed are paired across senders."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from playpath.base import engine
from playpath.base.errors import InputError, Interrupted, RunError
from playpath.base.progress import Progress
from playpath.judge.race import race_looks
from playpath.population.answer import PopulationResult
from playpath.population.intervals import MIN_UNITS
from playpath.population.paths import path_table
from playpath.population.spec import Population, load_population
from playpath.scenario import Choices, check_choices
from playpath.sweep.cells import Cell, cell_id, variants
from playpath.sweep.executors import place
from playpath.sweep.runner import CellRunner, code_for_workers
from playpath.sweep.store import Store

_MAX = 320
"""Number of paths after which `until_decided` ends undecided by default."""


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

    Args:
        source: A scenario in which something is drawn; see `playpath.population.spec`.
        store: Folder that keeps every finished session, so that an interrupted run can resume.
        cc, scheduler, set, abr, controllers, abrs: As in `playpath.load`.
        paths, sessions, baseline, group: Override those of `[population]`.
        until_decided: Begin with 20 paths and add more until the best sender is decided, up to this many (True: 320) or
            up to all links and users. A sender proven worse than another stops early; see
            `playpath.population.raced`. If there is no limit to the paths, one session is played on each.
        executor: `"local"`, `"ray"`, `"slurm"`, or any executor whose workers can import playpath.
        progress: Called with sessions done and sessions in all.

    Returns:
        The answer; after Ctrl-C `interrupted` is set, and the answer is over the finished paths.
    """
    check_choices(senders, population)
    loaded = load_population(source, set=set, paths=paths, sessions=sessions, baseline=baseline, group=group, **senders)
    code = code_for_workers(loaded.base)
    most = None
    if until_decided:
        loaded = _racing(loaded, until_decided, paths, sessions)
        most = loaded.paths
    steps = race_looks(MIN_UNITS, most) if most and most > MIN_UNITS else [loaded.paths]
    design = path_table(loaded, range(steps[-1]))  # errors at a path are reported before anything runs
    where = Store(store)
    known = where.cells() if resume else {*()}  # `set` is a parameter here
    with CellRunner(where, place(executor, jobs, where.folder), known, on_interrupt, code) as run:
        ends: dict[str, int] = {}
        before = 0
        for look, (begun, wanted) in enumerate(pairwise([0, *steps])):
            now = replace(loaded, paths=wanted)
            racing = [sender for sender in now.base.senders if sender not in ends]
            count = (wanted - begun) * now.sessions * len(racing)
            further = replace(loaded, paths=steps[min(look + 1, len(steps) - 1)])
            ahead = population_cells(further, wanted, racing) if run.plays_ahead else ()
            batch = population_cells(now, begun, racing)
            run.finish(batch, partial(_report, progress, before, before + count), count=count, ahead=ahead)
            result = _gather(now, design.head(wanted), where, run.seen, ends, interrupted=run.interrupted)
            result = result if most is None else replace(result, looks=steps[: look + 1], most=most)
            if run.interrupted or (most is not None and result.is_settled):
                break
            before += count
            if (
                most is not None and not now.base.asks_for_whom
            ):  # if the effects of choices are asked for, all senders keep playing
                ends |= dict.fromkeys(result.beaten - ends.keys(), wanted)
    return result


def _racing(loaded: Population, until_decided: int | bool, paths: int | None, sessions: int | None) -> Population:
    """The population with as many paths as a race may play. Each link or user comes at most once; if paths are drawn without limit,
    every session has its own path, which adds more information than a second session on the same path (docs/decisions/race.md).
    """
    if paths is not None:
        raise InputError(f"paths {paths}: a race begins with {MIN_UNITS} paths; limit their number with until_decided")
    if until_decided is not True and until_decided <= MIN_UNITS:
        raise InputError(f"until_decided {until_decided}: must be above the {MIN_UNITS} paths to begin with")
    if loaded.units:
        # If a viewer's path is drawn several times, a race plays one of the draws.
        first = sorted(set(loaded.viewers))
        loaded = replace(loaded, units=[loaded.units[number] for number in first])
        most = min(_MAX if until_decided is True else until_decided, len(loaded.units))
        return replace(loaded, paths=most, is_shuffled=True)
    if sessions is not None and sessions > 1:
        raise InputError(
            f"sessions {sessions}: a race over drawn paths plays one session on each, and more paths instead"
        )
    return replace(loaded, paths=_MAX if until_decided is True else until_decided, sessions=1)


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def population_cells(loaded: Population, first: int, racing: Collection[str]) -> Iterator[Cell]:
    """All sessions of these senders from path number `first` on, path by path, seed by seed, sender by sender."""
    version = engine.version()
    for path in map(loaded.path, loaded.in_drawn_order(range(first, loaded.paths))):
        found = [variant for variant in variants(loaded.base, dict(path.settings)) if variant.sender in racing]
        for seed in loaded.seeds(path.index):
            for variant in found:
                yield Cell(cell_id(variant, seed, version), path.index, variant, seed)


def _gather(
    loaded: Population,
    paths: pl.DataFrame,
    store: Store,
    seen: Sequence[tuple[int, str]],
    ends: Mapping[str, int],
    *,
    interrupted: bool,
) -> PopulationResult:
    """The rows of finished paths: a path is finished if the sessions of all senders still in the race are there."""
    index = pl.DataFrame({"path": [path for path, _ in seen], "cell": [cell for _, cell in seen]})
    rows = index.join(store.rows(index["cell"]), on="cell", how="left", maintain_order="left")
    lost = rows.filter(pl.col("sender").is_null()).height
    if lost and not interrupted:
        raise RunError(
            f"{store.folder}: {lost} of {rows.height} finished sessions are missing from the store; run the same command again"
        )
    good = pl.col("error").is_null() & pl.col("sender").is_not_null()
    counted = rows.filter(good).group_by("path").len()
    last = [ends.get(sender, loaded.paths) for sender in loaded.base.senders]
    wanted = [loaded.sessions * sum(path < end for end in last) for path in counted["path"]]
    whole = counted.filter(pl.col("len") == pl.Series(wanted, dtype=pl.UInt32))["path"]
    failed = (
        rows.filter(pl.col("error").is_not_null())
        .select("path", "sender", "seed", "error")
        .sort("path", maintain_order=True)
    )
    finished = rows.filter(pl.col("path").is_in(whole.implode())).sort("path", maintain_order=True)
    table = finished.drop("error", "engine_version", "scenario_sha256")
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

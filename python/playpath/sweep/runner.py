"""The loop of a sweep: cells that are not in the store are submitted in chunks; the resulting shards are stored at once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from playpath.base.errors import PlaypathError, RunError
from playpath.base.parallel import check_jobs
from playpath.base.progress import Progress
from playpath.judge.race import MAX, doubling_looks
from playpath.scenario import Choices, Scenario, check_choices, own_code
from playpath.sweep.cells import Cell, cells
from playpath.sweep.design import Design, load_design
from playpath.sweep.executors import Place, place
from playpath.sweep.result import SweepResult, gather
from playpath.sweep.store import Store
from playpath.sweep.worker import Done, failed_row, ignore_interrupts, run_chunk, to_shard

_MAX_CELLS = 2000
"""Most cells in a chunk; this limits the work lost in a crash and a worker's memory."""
_AHEAD = 2
"""Number of chunks submitted per worker, so that no worker waits for the driver."""
_PAUSE_S = 0.5
"""Pause, in seconds, before work is submitted again after an executor broke."""
_SAMPLE_S = 0.3
"""Least duration of a measured chunk, in seconds, since opening the first shard alone takes some hundredths of a second."""
_GROWTH = 4
"""Chunks grow by at most this factor at a time, since the first cells may be unusually quick."""


def sweep(
    design: Any,
    *,
    store: str | Path,
    executor: str | Executor = "local",
    jobs: int | None = None,
    seeds: int | None = None,
    until_decided: int | bool | None = None,
    resume: bool = True,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[], None] = lambda: None,
    **senders: Unpack[Choices],
) -> SweepResult:
    """Run every cell of a design that is not in the store, and gather the table.

    Args:
        design: See `playpath.sweep.design`.
        store: Folder of results; several sweeps may share it.
        executor: `"local"`, `"ray"`, `"slurm"`, or any executor whose workers can import playpath.
        jobs: Number of workers.
        seeds, cc, scheduler, abr, controllers, abrs: Replace the design's, or add to its senders: see `playpath.load`.
        until_decided: Add seeds, up to this many (True: 256), at points where the best sender is undecided; a sender
            that is proven worse than another at a point stops there. At each point a false winner is named in at most
            5 % of uses.
        resume: Skip cells that are stored; otherwise run them again.
        progress: Called with cells done (stored ones included) and cells in all.
        on_interrupt: Called at Ctrl-C; chunks under way are still finished and stored.

    Returns:
        The result; after Ctrl-C `interrupted` is set, and the same call resumes.
    """
    check_choices(senders, sweep)
    if not isinstance(design, Design):
        design = load_design(design, seeds=seeds, **senders)
    loaded: Design = design
    most = MAX if until_decided is True else until_decided or None
    steps = doubling_looks(len(loaded.base.seeds), most)
    code = code_for_workers(loaded.base)
    where = Store(store)
    known = where.cells() if resume else set()
    run = CellRunner(where, place(executor, jobs, where.folder), known, on_interrupt, code)
    with run:
        plan = _Plan(loaded, steps)
        while (batch := plan.next_batch()) is not None:
            ahead = plan.ahead() if run.plays_ahead else ()
            run.finish(batch, partial(_report, progress, plan), ahead=ahead)
            result = gather(loaded, where, run.seen, looks=plan.looks, most=most, interrupted=run.interrupted)
            if run.interrupted:
                break
            plan.learn(result)
    return result


def code_for_workers(scenario: Scenario) -> tuple[str, ...]:
    """Folders in which workers find the user's own code."""
    if not own_code(scenario.resolved):
        return ()
    from playpath.run.own import require_importable, sources

    require_importable(scenario)
    return sources.folders()


def _report(progress: Progress, plan: _Plan, done: int) -> None:
    progress(plan.finished + done, plan.total)


def estimate(design: Design, jobs: int | None = None) -> dict[str, float]:
    """The number of cells of a design, and roughly how long they take; at least one cell of each sender is run at the first point."""
    workers = check_jobs(jobs)
    total = design.size * len(design.base.senders) * len(design.base.seeds)
    seconds = _seconds_a_cell(design, total)
    return {
        "points": design.size,
        "cells": total,
        "cell_s": seconds,
        "jobs": workers,
        "total_s": total * seconds / workers,
    }


def _seconds_a_cell(design: Design, total: int) -> float:
    """Seconds per cell, from enough of the first cells that the fixed cost of a chunk does not matter."""
    number = len(design.base.senders)
    while True:
        done = run_chunk(list(islice(cells(design), number)))
        if done.seconds >= _SAMPLE_S or number >= total:
            return done.seconds / done.cells
        number *= _GROWTH


class _Plan:
    """Which cells to run next: the design's seeds first, then more seeds at open points."""

    def __init__(self, design: Design, steps: list[int]) -> None:
        self.design = design
        self._first = design.base.seeds[0]
        self._steps = steps
        # All senders, whose names may be other ones at each point.
        self._racing: Mapping[int, frozenset[str] | None] = dict.fromkeys(range(design.size))
        self._step = 0
        self.finished = 0
        self.total = 0

    @property
    def looks(self) -> list[int]:
        """Numbers of seeds at which points were judged so far."""
        return self._steps[: self._step]

    def next_batch(self) -> Iterator[Cell] | None:
        if not self._racing or self._step >= len(self._steps):
            return None
        done = self._steps[self._step - 1] if self._step else 0
        new = range(self._first + done, self._first + self._steps[self._step])
        self.finished = self.total
        everybody = self.design.base.senders
        self.total += sum(len(everybody if names is None else names) for names in self._racing.values()) * len(new)
        self._step += 1
        return cells(self.design, new, self._racing)

    def ahead(self) -> Iterator[Cell]:
        """The cells that the next look needs if all points stay open."""
        seeds = self._steps[self._step - 1 : self._step + 1]
        return cells(self.design, range(self._first + seeds[0], self._first + seeds[-1]), self._racing)

    def learn(self, result: SweepResult) -> None:
        """Continue at the open points."""
        self._racing = result.racing() if self._step < len(self._steps) else {}


class CellRunner:
    """Handles chunks under way, retries, and Ctrl-C."""

    def __init__(
        self,
        store: Store,
        where: Place,
        known: set[str],
        on_interrupt: Callable[[], None],
        code: tuple[str, ...] = (),
    ) -> None:
        self._store, self._place, self._known = store, where, known
        self._on_interrupt, self._code = on_interrupt, code
        self._executor = where.make()
        self._pending: dict[Future[Done], list[Cell]] = {}
        self._alone: deque[list[Cell]] = deque()
        self._size, self._most = 1.0, _MAX_CELLS
        self._starts = False
        self.interrupted = self._dropped = False
        self.seen: list[tuple[int, str]] = []
        self._done = 0
        self._flying: set[str] = set()
        self._awaited: set[str] = set()

    @property
    def plays_ahead(self) -> bool:
        """Whether workers that would otherwise wait get further cells to play."""
        return self._place.plays_ahead

    def __enter__(self) -> CellRunner:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._pending:
            future.cancel()
        if self._place.owns:
            self._executor.shutdown(wait=not (self._pending or self._dropped), cancel_futures=True)

    def finish(
        self,
        batch: Iterator[Cell],
        progress: Callable[[int], None],
        *,
        count: int | None = None,
        ahead: Iterable[Cell] = (),
    ) -> None:
        """Run all cells of a batch that are not yet in the store.

        Args:
            count: Number of cells in the batch, if they should be spread over all workers.
            ahead: Cells for workers that would otherwise wait for the slowest of the batch; they are kept, but not
                waited for.
        """
        self._done = 0
        self._most = _MAX_CELLS if count is None else max(1, count // (self._place.workers * _AHEAD))
        source, spare = self._unknown(batch), self._further(ahead)
        more = True
        while True:
            try:
                while more and not self.interrupted and not self._alone and self._has_room(_AHEAD):
                    more = self._hand_out(source)
                while not more and not self.interrupted and not self._alone and self._awaited and self._has_room(1):
                    if not self._hand_out(spare):
                        break
                self._retry_alone()
                if self._pending:
                    self._take_in()
                progress(self._done)
                under_way = self._pending or self._alone if self.interrupted else self._awaited or more
                if not under_way:
                    return
            except KeyboardInterrupt:
                if self.interrupted:
                    self._dropped = True
                    self._pending.clear()
                    return
                self.interrupted = True
                self._on_interrupt()

    def _unknown(self, batch: Iterable[Cell]) -> Iterator[Cell]:
        for cell in batch:
            self.seen.append((cell.point, cell.id))
            if cell.id in self._flying:
                self._awaited.add(cell.id)
            elif cell.id in self._known:
                self._done += 1
            else:
                self._awaited.add(cell.id)
                yield from self._further([cell])

    def _further(self, ahead: Iterable[Cell]) -> Iterator[Cell]:
        for cell in ahead:
            if cell.id not in self._known:
                self._known.add(cell.id)
                self._flying.add(cell.id)
                yield cell

    def _has_room(self, ahead: int) -> bool:
        return len(self._pending) < self._place.workers * ahead

    def _hand_out(self, source: Iterator[Cell]) -> bool:
        size = min(int(self._size), self._most)
        chunk = list(islice(source, size))
        if chunk:
            self._submit(chunk)
        return len(chunk) == size

    def _submit(self, chunk: list[Cell]) -> None:
        try:
            self._pending[self._executor.submit(run_chunk, chunk, self._code)] = chunk
        except RuntimeError:  # the pool has broken since the last check
            self._alone.append(chunk)

    def _take_in(self) -> None:
        finished, _ = wait(self._pending, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in finished:
            chunk = self._pending.pop(future)
            error = future.exception()
            if error is None:
                self._keep(future.result(), chunk)
            elif isinstance(error, PlaypathError):
                raise error
            else:
                self._alone.append(chunk)

    def _keep(self, done: Done, chunk: list[Cell]) -> None:
        self._store.add(done.shard)
        finished = {cell.id for cell in chunk}
        self._done += len(finished & self._awaited)
        self._awaited -= finished
        self._flying -= finished
        wanted = self._place.chunk_s * done.cells / max(done.seconds, 1e-6)
        self._size = max(1.0, min(wanted, self._size * _GROWTH, _MAX_CELLS))

    def _retry_alone(self) -> None:
        """Run chunks whose worker died again, one at a time and halved, until the cell that kills its worker is found.

        When a worker dies, a pool abandons all its chunks, so the responsible one can only be found by running it alone.
        """
        if not self._alone or self._pending:
            return
        if self._place.owns:
            self._executor.shutdown(wait=False)
            self._executor = self._place.make()
        time.sleep(_PAUSE_S)
        while self._alone:
            self._run_alone(self._alone.popleft())

    def _run_alone(self, chunk: list[Cell]) -> None:
        try:
            self._keep(self._executor.submit(run_chunk, chunk, self._code).result(), chunk)
        except PlaypathError:
            raise
        except Exception as error:
            if self._place.owns:
                self._executor = self._place.make()
            self._check_start()
            if len(chunk) > 1:
                middle = len(chunk) // 2
                self._alone.extendleft([chunk[middle:], chunk[:middle]])
            else:
                row = failed_row(chunk[0], f"worker died: {type(error).__name__}")
                self._keep(Done(to_shard([row]), 1, 1.0), chunk)

    def _check_start(self) -> None:
        """Raise RunError if workers die without work, which no cell can have caused."""
        if self._starts:
            return
        try:
            self._executor.submit(ignore_interrupts).result()
        except Exception as error:
            hint = "the machine is short of memory or processes"
            if not self._place.owns:
                hint = "the executor given is broken"
            raise RunError(f"sweep: workers die as they start ({type(error).__name__}); {hint}") from None
        self._starts = True

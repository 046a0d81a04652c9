"""Code that runs on a worker: it turns a chunk of cells into one Parquet shard, and needs only the engine."""

import io
import multiprocessing
import multiprocessing.process
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from playpath.base import engine
from playpath.base.errors import PlaypathError
from playpath.base.tabular import Row
from playpath.sweep.cells import Cell

KEYS = {
    "cell": pl.String,
    "scenario_sha256": pl.String,
    "sender": pl.String,
    "cc": pl.String,
    "seed": pl.Int64,
    "engine_version": pl.String,
    "digest": pl.String,
    "error": pl.String,
}
"""Columns of every shard; they are followed by the metrics, with units in their names."""


@dataclass(frozen=True)
class Done:
    """A finished chunk: its shard, its cells, and the seconds it took."""

    shard: bytes
    cells: int
    seconds: float


def run_chunk(chunk: Sequence[Cell], code: tuple[str, ...] = ()) -> Done:
    """Run cells one after the other. A cell that fails becomes a row with its error. `code` lists folders of the user's own code."""
    for folder in code:  # in which the driver found the user's own code
        from playpath.run.own.sources import add_folder

        add_folder(folder)
    begin = time.perf_counter()
    shard = to_shard([run_cell(cell) for cell in chunk])
    return Done(shard, len(chunk), time.perf_counter() - begin)


def run_cell(cell: Cell) -> Row:
    if cell.variant.error:
        return failed_row(cell, cell.variant.error)
    try:
        metrics, digest = engine.run_metrics(cell.variant.text, cell.variant.sender, cell.seed)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of the engine is not an Exception, but must not end the sweep
        kind = "" if isinstance(error, PlaypathError) else f"{type(error).__name__}: "
        return failed_row(cell, f"{kind}{error}".splitlines()[0])
    return {**_row(cell), "digest": digest, "error": None, **metrics}


def failed_row(cell: Cell, error: str) -> Row:
    """The row of a cell that could not be run."""
    return _row(cell) | {"digest": None, "error": error}


def to_shard(rows: Sequence[Row]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row if name not in KEYS))
    columns = {name: [row.get(name) for row in rows] for name in (*KEYS, *names)}
    frame = pl.DataFrame(columns, schema=KEYS | dict.fromkeys(names, pl.Float64), strict=False)
    buffer = io.BytesIO()
    frame.write_parquet(buffer, statistics=False)
    return buffer.getvalue()


def _row(cell: Cell) -> Row:
    return {
        "cell": cell.id,
        "scenario_sha256": cell.variant.sha256,
        "sender": cell.variant.sender,
        "cc": cell.variant.cc,
        "seed": cell.seed,
        "engine_version": engine.version(),
    }


def start_worker() -> None:
    """For worker processes on this machine: they end when the driver dies, however it dies."""
    ignore_interrupts()
    sys.stdout = sys.stderr  # output of the user's own code is not part of the driver's answer
    driver = multiprocessing.parent_process()
    if driver is not None:
        threading.Thread(target=_end_with, args=(driver,), daemon=True).start()


def _end_with(driver: multiprocessing.process.BaseProcess) -> None:
    driver.join()
    os._exit(1)


def ignore_interrupts() -> None:
    """For worker processes: ignore Ctrl-C, which the driver handles by letting them finish."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

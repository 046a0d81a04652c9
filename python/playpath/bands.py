"""How the sessions of all seeds lie around each other in time: for each sender and column the middle 80 %, second by second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from playpath.record import Columns, Session

LOW, HIGH = 0.1, 0.9
MOST_SEEDS = 100
"""Seeds that are kept for the bands: more change nothing that a reader could see."""

SCHEMA = {
    "sender": pl.String, "column": pl.String, "time_s": pl.Float64, "low": pl.Float64, "high": pl.Float64
}  # fmt: skip
_FLOW = ("snd_cwnd", "rtt_ms", "goodput_mbps")

Outline = dict[str, np.ndarray]
"""A column's value at each whole second; NaN where nothing was measured."""


def outline(session: Session, path: str | None) -> Outline:
    """What a traced session keeps for the bands: player, first path's flow and queue. Empty without a video's flow."""
    series = session.series
    flow = series.get(f"flow.video/{path}", series.get("flow.video"))
    if flow is None:
        return {}
    found = {name: at_seconds(until_last_byte(flow), name) for name in _FLOW}
    found["rtt_ms"][~(found["rtt_ms"] > 0)] = np.nan  # zero stands for "no sample yet"
    for source, name in (("player", "buffer_level_s"), (f"link.path.{path}/down", "queue_packets")):
        if source in series:
            found[name] = at_seconds(series[source], name)
    return found


def until_last_byte(flow: Columns) -> Columns:
    """A flow's columns up to the last sample at which bytes were under way or arrived: what follows stands still unmeasured."""
    busy = np.flatnonzero((np.asarray(flow["unacked"]) > 0) | (np.asarray(flow["goodput_mbps"]) > 0))
    end = int(busy[-1]) + 1 if len(busy) else 0
    return {name: values[:end] for name, values in flow.items()}


def at_seconds(columns: Columns, name: str) -> np.ndarray:
    """The last sample up to each whole second; of goodput, which is bursts at short intervals, the mean over the second before."""
    time_s, values = (np.asarray(columns[key], dtype=float) for key in ("time_s", name))
    seconds = np.arange(1, int(time_s[-1]) + 1 if len(time_s) else 1)
    last = np.searchsorted(time_s, seconds + 1e-9, side="right")
    if name != "goodput_mbps":
        return np.asarray(values[last - 1], dtype=np.float32)
    total = np.concatenate([[0.0], np.cumsum(values)])
    first = np.concatenate([[0], last[:-1]]).astype(int)
    return np.asarray((total[last] - total[first]) / np.maximum(last - first, 1), dtype=np.float32)


def bands(outlines: Mapping[tuple[str, int], Outline]) -> pl.DataFrame:
    """A row for each sender, column and second at which at least two seeds have a value.

    Parameters
    ----------
    outlines : mapping of (sender, seed) to outline
    """
    senders = list(dict.fromkeys(sender for sender, _ in outlines))
    rows = [
        row
        for sender in senders
        for row in _of_sender(sender, [found for (name, _), found in outlines.items() if name == sender])
    ]
    return pl.concat(rows) if rows else pl.DataFrame(schema=SCHEMA)


def _of_sender(sender: str, outlines: list[Outline]) -> Iterable[pl.DataFrame]:
    for column in dict.fromkeys(name for found in outlines for name in found):
        values = _stacked([found[column] for found in outlines if column in found])
        counted = np.isfinite(values).sum(axis=0) >= 2
        if not counted.any():
            continue
        low, high = np.nanquantile(values[:, counted], [LOW, HIGH], axis=0)
        told: dict[str, Any] = {"sender": sender, "column": column, "time_s": np.flatnonzero(counted) + 1.0}
        yield pl.DataFrame({**told, "low": low, "high": high}, schema=SCHEMA)


def _stacked(rows: list[np.ndarray]) -> np.ndarray:
    whole = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, row in enumerate(rows):
        whole[i, : len(row)] = row
    return whole

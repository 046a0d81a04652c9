"""The spread of each sender's series over all seeds: the middle 80 %, second by second."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from playpath.base.frames import pl
from playpath.results.record import Columns, Session

LOW, HIGH = 0.1, 0.9
MAX_SEEDS = 100
"""Seeds that are used for the bands; more make no visible difference."""

SCHEMA = {"sender": str, "series": str, "column": str, "time_s": float, "low": float, "high": float}
_FLOW = ("snd_cwnd", "rtt_ms", "goodput_mbps")

SERIES = ("flow.", "player", "link.path.", "link.link.")
"""Prefixes of the series that `outline` reads."""
EVERY_S = 1.0
"""Sufficient sampling interval of these series."""

_MAX_FLOWS = 6
"""Number of flows for a session without a video; the charts show as many."""

Outline = dict[tuple[str, str], np.ndarray]
"""(series, column) → the value at each whole second; NaN if nothing was measured."""


def outline(session: Session) -> Outline:
    """The part of a traced session that the bands need: player, the video's flow over each path (without a video the first flows),
    and the queues towards the client.
    """
    series = session.series
    flows = [name for name in series if name.startswith("flow.video")]
    flows = flows or sorted((name for name in series if name.startswith("flow.")), key=_place)[:_MAX_FLOWS]
    found = {(flow, name): at_seconds(until_last_byte(series[flow]), name) for flow in flows for name in _FLOW}
    for (_, name), values in found.items():
        if name == "rtt_ms":
            values[~(values > 0)] = np.nan  # zero stands for "no sample yet"
    queues = [name for name in series if name.startswith(("link.path.", "link.link.")) and name.endswith("/down")]
    for source, name in (("player", "buffer_level_s"), *((queue, "queue_packets") for queue in queues)):
        if source in series:
            found[source, name] = at_seconds(series[source], name)
    return found


def _place(flow: str) -> tuple[int, str]:
    """Sort key: the first flow of each group, then the second …, since which flow opens first is random in some scenarios."""
    number = re.search(r"\.(\d+)$", flow)
    return int(number[1]) if number else 1, flow


def until_last_byte(flow: Columns) -> Columns:
    """A flow's columns up to the last sample with bytes in flight or arriving; later values only repeat the last ones."""
    busy = np.flatnonzero((np.asarray(flow["unacked"]) > 0) | (np.asarray(flow["goodput_mbps"]) > 0))
    end = int(busy[-1]) + 1 if len(busy) else 0
    return {name: values[:end] for name, values in flow.items()}


def at_seconds(columns: Columns, name: str) -> np.ndarray:
    """The last sample up to each whole second; for goodput, which is bursty at short intervals, the mean over the second before."""
    time_s, values = (np.asarray(columns[key], dtype=float) for key in ("time_s", name))
    seconds = np.arange(1, int(time_s[-1]) + 1 if len(time_s) else 1)
    last = np.searchsorted(time_s, seconds + 1e-9, side="right")
    if name != "goodput_mbps":
        return np.asarray(values[last - 1], dtype=np.float32)
    total = np.concatenate([[0.0], np.cumsum(values)])
    first = np.concatenate([[0], last[:-1]]).astype(int)
    return np.asarray((total[last] - total[first]) / np.maximum(last - first, 1), dtype=np.float32)


def bands(outlines: Mapping[tuple[str, int], Outline]) -> pl.DataFrame:
    """A row for each sender, series, column and second at which at least two seeds have a value."""
    senders = list(dict.fromkeys(sender for sender, _ in outlines))
    found = [
        band
        for sender in senders
        for band in _of_sender(sender, [found for (name, _), found in outlines.items() if name == sender])
    ]
    if not found:
        return pl.DataFrame(schema=SCHEMA)
    names, numbers = zip(*found, strict=True)
    # One frame for all: a frame for each would take longer than the quantiles.
    rows = np.repeat(np.arange(len(names)), [len(times) for times, _, _ in numbers])
    columns: list[pl.Series | np.ndarray] = [pl.Series(column).gather(rows) for column in zip(*names, strict=True)]
    columns += [np.concatenate(column) for column in zip(*numbers, strict=True)]
    return pl.DataFrame(dict(zip(SCHEMA, columns, strict=True)), schema=SCHEMA)


_Band = tuple[tuple[str, str, str], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Sender, series and column; times, lower and upper edges."""


def _of_sender(sender: str, outlines: list[Outline]) -> Iterable[_Band]:
    for series, column in dict.fromkeys(key for found in outlines for key in found):
        values = _stacked([found[series, column] for found in outlines if (series, column) in found])
        counted = np.isfinite(values).sum(axis=0) >= 2
        if counted.any():
            low, high = _edges(values[:, counted])
            yield (sender, series, column), (np.flatnonzero(counted) + 1.0, low, high)


def _edges(values: np.ndarray) -> np.ndarray:
    """The lower and upper edge of each column. `np.nanquantile` gives the same but takes a hundred times as long, since it works
    column by column; here one call covers all columns with the same number of values.
    """
    in_order, counts = np.sort(values, axis=0), np.isfinite(values).sum(axis=0)  # NaN last
    edges = np.empty((2, values.shape[1]))
    for count in np.unique(counts):
        edges[:, counts == count] = np.quantile(in_order[:count, counts == count], [LOW, HIGH], axis=0)
    return edges


def _stacked(rows: list[np.ndarray]) -> np.ndarray:
    whole = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, row in enumerate(rows):
        whole[i, : len(row)] = row
    return whole

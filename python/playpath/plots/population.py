"""Figures of a population: whom a sender helps and harms, how a metric is distributed, where the answer turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from playpath.base.metrics import metric
from playpath.plots.style import COLOURS, GRID, INK, MUTED, PAPER, dress, legend, name_rows, own_axes, sender_styles

if TYPE_CHECKING:
    from playpath.population import PopulationResult

HELPED, HARMED = COLOURS[2], COLOURS[1]
_ROW = 0.42
_STEPS = 200
_LONGEST_LABEL = 28


def helped_and_harmed(result: PopulationResult, ax: Axes | None = None) -> Axes:
    """For each sender the shares of viewers whom it serves better and worse than the baseline, with 95 % intervals.

    Bars to the right (plain): better served; to the left (hatched): worse.
    """
    rows = list(result.against_baseline.items())
    ax = own_axes(ax, 0.9 + _ROW * len(rows))
    for y, (_, versus) in enumerate(rows):
        for share, sign, colour, hatch in ((versus.helped, 1, HELPED, ""), (versus.harmed, -1, HARMED, "///")):
            ax.barh(y, 100 * sign * share.value, height=0.62, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.6)
            ends = (100 * sign * share.low, 100 * sign * share.high)
            ax.plot(ends, (y, y), "|-", color=INK, lw=1.3, ms=7)
    ax.axvline(0, color=INK, lw=0.8)
    name_rows(ax, [name for name, _ in rows])
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.set_xlabel(f"viewers served worse than by {result.baseline}  |  better (%)")
    ax.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    dress(ax)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=7)
    return ax


def distribution(
    result: PopulationResult, name: str, ax: Axes | None = None, *, senders: list[str] | None = None
) -> Axes:
    """The share of viewers who have at most this much of a metric, with a 95 % band over links or users.

    Parameters
    ----------
    name : str
        A metric.
    senders : list of str, optional
        By default the best sender and the baseline.
    """
    ax = own_axes(ax, 3.1)
    styles = sender_styles(result.senders)
    levels = np.linspace(0.005, 0.995, _STEPS)
    for sender in senders or list(dict.fromkeys([result.best, result.baseline])):
        found = result.quantiles(sender, name, levels)
        if found is None:
            continue
        middle, low, high = found
        style = styles[sender]
        ax.fill_betweenx(100 * levels, low, high, color=style.colour, alpha=0.18, lw=0)
        ax.plot(middle, 100 * levels, style.line, color=style.colour, lw=1.8, label=sender)
        marks = np.searchsorted(levels, [0.25, 0.5, 0.75, 0.95])
        ax.plot(middle[marks], 100 * levels[marks], style.marker, ms=5, mfc=style.colour, mec=INK, mew=0.6)
    ax.set_ylim(0, 100)
    ax.set_xlabel(metric(name).axis)
    ax.set_ylabel("viewers with at most this (%)")
    legend(ax, 3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    dress(ax, grid="both")
    return ax


def groups(result: PopulationResult, column: str, ax: Axes | None = None) -> Axes:
    """Helped minus harmed, `PopulationResult.contender` against the baseline, for each group of viewers, with 95 % intervals."""
    found = result.by_group(column, result.contender, result.baseline)
    ax = own_axes(ax, 0.9 + _ROW * len(found))
    for y, (_, _, _, _, net) in enumerate(found):
        face = HELPED if net.low > 0 else HARMED if net.high < 0 else PAPER
        ax.plot((100 * net.low, 100 * net.high), (y, y), "|-", color=INK, lw=1.3, ms=7)
        ax.plot(100 * net.value, y, "o", ms=7, mfc=face, mec=INK, mew=0.8, zorder=4)
    ax.axvline(0, color=INK, lw=0.8)
    ax.axvspan(-5, 5, color=GRID, alpha=0.6, lw=0, zorder=0)
    name_rows(ax, [f"{_short(label)}  ({units})" for label, units, *_ in found])
    ax.set_ylim(len(found) - 0.45, -0.55)
    ax.set_xlim(-105, 105)
    ax.set_xlabel("helped minus harmed (points)")
    ax.set_ylabel(group_title(column))
    dress(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def _short(label: str) -> str:
    """A user's label so that the axis stays."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def turning(result: PopulationResult, ax: Axes | None = None) -> Axes:
    """Each path's net benefit of the best sender over the baseline against the path's mean rate."""
    ax = own_axes(ax, 3.1)
    scores = result.judged(result.best, result.baseline).score
    means = (
        result.keys.head(len(scores))
        .with_columns(net=scores.astype(float))
        .group_by("path", maintain_order=True)
        .mean()
    )
    frame = result.paths.join(means.select("path", "net"), on="path", how="left", maintain_order="left")
    net = frame["net"].to_numpy()
    x = frame["rate_mbps"].to_numpy()
    for wanted, colour, marker in ((net > 0, HELPED, "o"), (net == 0, PAPER, "o"), (net < 0, HARMED, "s")):
        ax.plot(x[wanted], 100 * net[wanted], marker, ms=5, mfc=colour, mec=INK, mew=0.6, ls="none")
    ax.axhline(0, color=MUTED, lw=0.8)
    if x.min() > 0 and x.max() > 8 * x.min():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_ylim(-108, 108)
    ax.set_xlabel("mean rate of the path (Mbit/s)")
    ax.set_ylabel(f"{result.best} better minus worse\n(points, over the path's sessions)")
    dress(ax, grid="both")
    return ax


def group_title(column: str) -> str:
    """A column for people."""
    titles = {"rate_mbps": "mean rate (Mbit/s)", "rtt_ms": "RTT (ms)", "loss_percent": "random loss (%)"}
    return titles.get(column, column.removeprefix("group."))

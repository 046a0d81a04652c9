"""How a metric is spread over sessions: distribution functions, boxes, and the difference of two distribution functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from playpath.base.metrics import metric
from playpath.plots.bars import ROW
from playpath.plots.style import INK, MUTED, PAPER, dress, dress_rows, legend_above, own_axes, sender_styles

if TYPE_CHECKING:
    from playpath.population import PopulationResult
    from playpath.results.comparison import Comparison

Result: TypeAlias = "Comparison | PopulationResult"

_MARKS = 6
"""Number of markers along a curve."""


def cdf(result: Result, name: str, ax: Axes | None = None, *, senders: Sequence[str] | None = None) -> Axes:
    """The share of sessions with at most this much of a metric, for each sender.

    Args:
        result: Sessions count alike; `plots.population.distribution` weighs those of a population and has bands.
        name: A metric.
        senders: By default all, in the order of the ranking.
    """
    ax = own_axes(ax)
    styles = sender_styles(result.senders)
    for sender in senders or result.ranking:
        values = _sorted(result, sender, name)
        if not len(values):
            continue
        style = styles[sender]
        x, share = np.concatenate([values[:1], values]), np.linspace(0, 100, len(values) + 1)
        every = max(1, len(x) // _MARKS)
        ax.step(x, share, style.line, where="post", color=style.colour, lw=1.6, label=sender)
        ax.plot(x[every::every], share[every::every], style.marker, ms=4.5, mfc=style.colour, mec=INK, mew=0.6)
    ax.set_ylim(0, 100)
    ax.set_ylabel("sessions with at most this (%)")
    ax.set_xlabel(metric(name).axis)
    legend_above(ax)
    dress(ax, grid="both")
    return ax


def box(result: Result, name: str, ax: Axes | None = None, *, senders: Sequence[str] | None = None) -> Axes:
    """Median, quartiles and 5th to 95th percentile of a metric over sessions; sessions beyond are dots; a diamond is the mean.

    The parameters are those of `cdf`.
    """
    shown = list(senders or result.ranking)
    ax = own_axes(ax, 0.95 + ROW * len(shown))
    styles = sender_styles(result.senders)
    for y, sender in enumerate(shown):
        values = _sorted(result, sender, name)
        if not len(values):
            continue
        drawn = ax.boxplot(
            [values],
            positions=[y],
            widths=0.6,
            whis=(5, 95),
            orientation="horizontal",
            showmeans=True,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": INK, "lw": 1.6},
            meanprops={"marker": "D", "mfc": PAPER, "mec": INK, "ms": 4.5},
            flierprops={"marker": ".", "ms": 3.5, "mfc": MUTED, "mec": MUTED},
        )
        drawn["boxes"][0].set(facecolor=styles[sender].colour, hatch=styles[sender].hatch, edgecolor=INK, alpha=0.5)
    ax.set_xlabel(metric(name).axis)
    dress_rows(ax, shown)
    return ax


def ecdf_difference(
    result: Result,
    name: str,
    ax: Axes | None = None,
    *,
    against: str | None = None,
    senders: Sequence[str] | None = None,
) -> Axes:
    """For each value of a metric, how many more of a sender's sessions than of the reference's are at or below it, in points.

    If less is better (stall time), a curve above zero means a better sender at that value; if more is better, one below zero.

    Args:
        against: The reference; by default the best sender of a comparison, the baseline of a population.
    """
    reference = str(against or getattr(result, "baseline", result.ranking[0]))
    ax = own_axes(ax)
    styles = sender_styles(result.senders)
    base = _sorted(result, reference, name)
    for sender in senders or [s for s in result.ranking if s != reference]:
        values = _sorted(result, sender, name)
        if not len(values) or not len(base):
            continue
        grid = np.unique(np.concatenate([values, base]))
        gap = 100 * (_share(values, grid) - _share(base, grid))
        style = styles[sender]
        every = max(1, len(grid) // _MARKS)
        ax.step(grid, gap, style.line, where="post", color=style.colour, lw=1.6, label=sender)
        ax.plot(grid[::every], gap[::every], style.marker, ms=4.5, mfc=style.colour, mec=INK, mew=0.6)
    ax.axhline(0, color=INK, lw=0.8)
    better = {"lower": "above is better", "higher": "below is better"}.get(metric(name).better or "", "")
    ax.set_ylabel(f"sessions at or below, minus {reference} (points)")
    ax.set_xlabel(f"{metric(name).axis}; {better}" if better else metric(name).axis)
    legend_above(ax)
    dress(ax, grid="both")
    return ax


def _sorted(result: Result, sender: str, name: str) -> np.ndarray:
    """The values that are not missing, sorted."""
    values = np.array([np.nan if v is None else v for v in result.values(sender, name)], dtype=float)
    return np.sort(values[~np.isnan(values)])


def _share(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    return np.asarray(np.searchsorted(values, grid, side="right") / len(values))

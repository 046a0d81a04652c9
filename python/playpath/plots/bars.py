"""A metric of every sender, with the 95 % interval of its median: as bars (from zero) or as dots (where zero means nothing)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from playpath.base.metrics import metric
from playpath.judge.stats import Summary
from playpath.plots.style import INK, SenderStyle, dress_rows, own_axes, sender_styles

if TYPE_CHECKING:
    from playpath.results.comparison import Comparison

ROW = 0.34
"""Height for each sender, in inches."""


def metric_bars(result: Comparison, name: str, ax: Axes | None = None, *, order: Sequence[str] | None = None) -> Axes:
    """Horizontal bars from zero: mean, median (tick) with its 95 % interval (whisker), each seed as a small ring.

    Args:
        result
        name: A metric.
        ax
        order: Senders from top to bottom; by default the ranking.
    """
    return _rows(result, name, ax, order or result.ranking, _bar)


def metric_dots(result: Comparison, name: str, ax: Axes | None = None, *, order: Sequence[str] | None = None) -> Axes:
    """As `metric_bars`, with a marker instead of a bar and an axis that need not begin at zero."""
    return _rows(result, name, ax, order or result.ranking, _dot)


def _rows(result: Comparison, name: str, ax: Axes | None, order: Sequence[str], draw: object) -> Axes:
    ax = own_axes(ax, 0.9 + ROW * len(order))
    styles = sender_styles(result.senders)
    for y, sender in enumerate(order):
        summary = result.summary(sender, name)
        if summary is None:
            ax.annotate("no value", (0, y), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)
            continue
        values = [v for v in result.values(sender, name) if v is not None]
        draw(ax, y, summary, styles[sender])  # type: ignore[operator]
        ax.plot(values, [y + 0.27] * len(values), "o", ms=2.4, mfc="none", mec=INK, mew=0.5, alpha=0.7)
    ax.set_xlabel(metric(name).axis)
    dress_rows(ax, order)
    ax.locator_params(axis="x", nbins=6)
    if draw is _bar:
        low, high = ax.get_xlim()
        # Differences that count as alike should not fill the axis.
        least = metric(name).least if any(v for sender in order for v in result.values(sender, name)) else 1
        ax.set_xlim(0 if low >= -0.2 * high else low, max(high, least, 0))
    return ax


def _bar(ax: Axes, y: int, summary: Summary, style: SenderStyle) -> None:
    ax.barh(y, summary.mean, height=0.42, color=(style.colour, 0.5), hatch=style.hatch, edgecolor=INK, linewidth=0.6)
    _whisker(ax, y, summary)


def _dot(ax: Axes, y: int, summary: Summary, style: SenderStyle) -> None:
    _whisker(ax, y, summary)
    ax.plot(summary.mean, y, style.marker, ms=7, mfc=style.colour, mec=INK, mew=0.7, zorder=4)


def _whisker(ax: Axes, y: int, summary: Summary) -> None:
    if summary.ci95 is not None:
        ax.plot(summary.ci95, (y, y), "|-", color=INK, lw=1.3, ms=7, zorder=3)
        # The mean may lie outside its interval; the whisker is drawn around the median.
        ax.plot(summary.median, y, "|", color=INK, ms=12, mew=2.4, zorder=3)

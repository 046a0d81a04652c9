"""Paired differences against the best sender, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from playpath.base.metrics import metric
from playpath.judge.ranking import is_clear
from playpath.plots.bars import ROW
from playpath.plots.style import GRID, INK, PAPER, dress, name_rows, own_axes, sender_styles

if TYPE_CHECKING:
    from playpath.results.comparison import Comparison


def paired_differences(result: Comparison, name: str, ax: Axes | None = None) -> Axes:
    """Each other sender minus the best one: mean, and the median's 95 % interval; a filled marker is a proven difference,
    a half filled one has its interval beyond the band and awaits more runs.

    A grey band is the margin within which nobody would notice a difference.
    """
    best, *others = result.ranking
    ax = own_axes(ax, 0.95 + ROW * max(1, len(others)))
    styles = sender_styles(result.senders)
    found = [d for d in (result.ranker.difference(other, best, name) for other in others) if d is not None]
    ax.axvline(0, color=INK, lw=0.8)
    for difference in found:
        y, style = others.index(difference.sender), styles[difference.sender]
        margin = result.ranker.margin(difference.sender, best, name)
        ax.barh(y, 2 * margin, left=-margin, height=0.8, color=GRID, alpha=0.7, lw=0, zorder=0)
        if difference.ci95 is not None:
            ax.plot(difference.ci95, (y, y), "|-", color=INK, lw=1.3, ms=7)
        fill = "full" if difference.significant else "left"
        face = style.colour if difference.significant or is_clear(difference, margin) else PAPER
        ax.plot(
            difference.mean, y, style.marker, ms=7, mfc=face, mfcalt=PAPER, fillstyle=fill, mec=INK, mew=0.8, zorder=4
        )
    name_rows(ax, others)
    ax.set_ylim(len(others) - 0.45, -0.55)
    ax.set_xlabel(
        f"{metric(name).label}, minus that of {best}" + (f" ({metric(name).unit})" if metric(name).unit else "")
    )
    dress(ax)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=6)
    return ax

"""A metric of every sender in both worlds, for `twin.py`: two marks joined by a line, each with the 95 % interval of its median."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from playpath.base.metrics import metric
from playpath.plots.bars import ROW
from playpath.plots.style import INK, MUTED, PAPER, dress_rows, legend_above, own_axes, sender_styles

if TYPE_CHECKING:
    from playpath.judge.stats import Summary
    from playpath.real.twin import Twin

_MIN_SPAN = 0.02
"""Margin of the axis, as a share of the data's range."""
SHIFT = 0.15
"""Offset of the two marks from the middle of their row, so that equal ones do not hide each other."""


def dumbbell(result: Twin, name: str, ax: Axes | None = None) -> Axes:
    """Open circle: simulator. Filled square: kernel. Each row's verdict is on the right.

    Args:
        result
        name: A metric.
        ax
    """
    rows = result.of(name)
    ax = own_axes(ax, 1.2 + 1.2 * ROW * len(rows))
    styles = sender_styles(list(dict.fromkeys([*result.senders, *(row.sender for row in rows)])))
    for y, row in enumerate(rows):
        middles = [found.middle for found in (row.sim, row.kernel) if found is not None]
        if len(middles) == 2:
            ax.plot(middles, (y - SHIFT, y + SHIFT), color=MUTED, lw=1.6, zorder=1)
        if row.sim is not None:
            _mark(ax, row.sim, y - SHIFT, "o", PAPER)
        if row.kernel is not None:
            _mark(ax, row.kernel, y + SHIFT, "s", styles[row.sender].colour)
        ax.annotate(row.verdict, (1.02, y), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)
    ax.plot([], [], "o", mfc=PAPER, mec=INK, label="simulator")
    ax.plot([], [], "s", mfc=MUTED, mec=INK, label=result.kernel.world)
    legend_above(ax)
    ax.set_xlabel(metric(name).axis)
    dress_rows(ax, [row.sender for row in rows])
    ax.tick_params(axis="y", pad=8)
    ax.locator_params(axis="x", nbins=4)  # labels of five digits do not touch
    ax.ticklabel_format(axis="x", useOffset=False)
    low, high = ax.get_xlim()
    if high - low < (least := _MIN_SPAN * abs(low + high) / 2):  # the worlds are equal up to rounding
        ax.set_xlim((low + high - least) / 2, (low + high + least) / 2)
    if ax.get_xlim()[0] < 0 <= min((m.middle for row in rows for m in (row.sim, row.kernel) if m), default=0.0):
        ax.set_xlim(left=0)
    return ax


def _mark(ax: Axes, summary: Summary, y: float, marker: str, face: str) -> None:
    if summary.ci95 is not None:
        ax.plot(summary.ci95, (y, y), "|-", color=INK, lw=1.1, ms=5, zorder=2)
    ax.plot(summary.middle, y, marker, ms=6.5, mfc=face, mec=INK, mew=0.9, zorder=3, clip_on=False)

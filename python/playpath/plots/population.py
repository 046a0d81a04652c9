"""The figure of a population: which share of viewers each sender helps and harms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from playpath.plots.style import COLOURS, INK, dress_rows, own_axes

if TYPE_CHECKING:
    from playpath.population import PopulationResult

_HELPED, _HARMED = COLOURS[2], COLOURS[1]
_ROW = 0.42


def helped_and_harmed(result: PopulationResult, ax: Axes | None = None) -> Axes:
    """For each sender the shares of viewers that it serves better and worse than the baseline, with 95 % intervals.

    Bars to the right (plain) are viewers served better; bars to the left (hatched) are viewers served worse.
    """
    rows = list(result.against_baseline.items())
    ax = own_axes(ax, 0.9 + _ROW * len(rows))
    for y, (_, versus) in enumerate(rows):
        for share, sign, colour, hatch in ((versus.helped, 1, _HELPED, ""), (versus.harmed, -1, _HARMED, "///")):
            ax.barh(y, 100 * sign * share.value, height=0.62, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.6)
            ends = (100 * sign * share.low, 100 * sign * share.high)
            ax.plot(ends, (y, y), "|-", color=INK, lw=1.3, ms=7)
    ax.axvline(0, color=INK, lw=0.8)
    ax.set_xlabel(f"viewers served worse than by {result.baseline}  |  better (%)")
    ax.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    dress_rows(ax, [name for name, _ in rows])
    ax.locator_params(axis="x", nbins=7)
    return ax

"""What the paths of an MPTCP flow carried, for `multipath.py`: as reports draw it, with matplotlib."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from playpath.plots.style import COLOURS, INK, MUTED, PAPER, STALL, dress, legend_above, name_rows, own_axes
from playpath.results.paths import binned_goodput, shown_runs, subflows
from playpath.results.record import Session
from playpath.results.stalls import stalls

_BINS = 160
# Where they touch, and on grey prints, hatches help.
_HATCHES = ("", "////", "xxxx", "....", "----")


def stacked_throughput(session: Session, ax: Axes | None = None) -> Axes:
    """Goodput of the subflows on top of one another over time, stalls shaded.

    Parameters
    ----------
    session : Session
        A session over several paths, run with `trace=True`.
    ax : matplotlib.axes.Axes, optional
    """
    ax = own_axes(ax)
    found = subflows(session)
    end = max(float(columns["time_s"][-1]) for columns in found.values() if len(columns["time_s"]))
    edges = np.linspace(0.0, end, _BINS + 1)
    base = np.zeros(_BINS)
    for i, (path, columns) in enumerate(found.items()):
        top = base + binned_goodput(columns, edges)
        fill, hatch = COLOURS[i % len(COLOURS)], _HATCHES[i % len(_HATCHES)]
        ax.stairs(top, edges, baseline=base, fill=True, fc=(fill, 0.75), ec=PAPER, hatch=hatch, lw=0.0, label=path)
        ax.stairs(top, edges, baseline=None, color=INK, lw=0.5)
        base = top
    for begin, finish in stalls(session):
        ax.axvspan(begin, finish, color=STALL, alpha=0.25, lw=0)
    ax.set(xlabel="time (s)", ylabel="goodput (Mbit/s)", xlim=(0, end), ylim=(0, 1.3 * float(base.max(initial=0.1))))
    legend_above(ax)
    dress(ax, grid="y")
    return ax


def path_timeline(session: Session, ax: Axes | None = None) -> Axes:
    """A short part of the session, packet by packet: a lane for each path, a bar for each run of packets on it.

    The bar's height is the number of packets. A hollow bar was entered because the path before had no room; a filled bar with
    a triangle over it, although it had. The part shown surrounds the first switch of the second kind in the middle half of the
    session, or the middle.

    Parameters
    ----------
    session : Session
        A session over several paths, run with `trace=True`.
    ax : matplotlib.axes.Axes, optional
    """
    ax = own_axes(ax)
    shown = shown_runs(session)
    lanes = {path: -i for i, path in enumerate(subflows(session))}
    begin, end = shown[0].begin_s, shown[-1].end_s
    width = max(end - begin, 1e-6)
    most = max(run.packets for run in shown)
    for run in shown:
        low, height = lanes[run.path] - 0.4, 0.65 * min(run.packets / most, 1.0)
        ax.add_patch(
            Rectangle(
                (1000 * (run.begin_s - begin), low),
                1000 * max(run.end_s - run.begin_s, width / 150),
                height,
                fc=PAPER if run.is_forced else INK,
                ec=INK,
                lw=0.8,
                zorder=3,
            )
        )
        if not run.is_forced:
            ax.plot(1000 * (run.begin_s - begin + width / 300), low + height + 0.11, "v", ms=5, color=STALL, zorder=4)
    for before, after in pairwise(shown):
        steps = [1000 * (t - begin) for t in (before.end_s, after.begin_s)]
        ax.plot(steps, [lanes[before.path] - 0.4, lanes[after.path] - 0.4], color=MUTED, lw=0.5, zorder=2)
    name_rows(ax, list(lanes), [lane - 0.2 for lane in lanes.values()])
    ax.set_ylim(-len(lanes) + 0.45, 0.6)
    ax.set_xlim(-0.01 * width * 1000, 1010 * width)
    ax.set_xlabel(f"time (ms from {begin:.3f} s)")
    ax.set_title(f"tallest bar: {most:.0f} packets", loc="left", fontsize=9, color=INK)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    dress(ax, grid="x")
    return ax

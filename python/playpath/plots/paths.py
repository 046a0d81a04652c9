"""What the paths of an MPTCP flow carried: throughput per subflow, and which packets went where, with the switches marked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from playpath.plots.style import INK, MUTED, PAPER, STALL, dress, legend, name_rows, own_axes
from playpath.plots.timeline import stalls
from playpath.results.record import Columns, Session

_BINS = 160
_SHOWN_RUNS = 44
# Told apart by lightness as well as by hue, so that grey prints keep them; hatches help where they touch.
_FILLS = (("#77aadd", ""), ("#ccbb44", "////"), ("#8a2d50", ""), ("#66ccee", "...."), ("#228833", ""))


@dataclass(frozen=True)
class Run:
    """Packets of new data in a row on one path."""

    path: str
    begin_s: float
    end_s: float
    packets: float
    reason: str
    is_forced: bool


def subflows(session: Session) -> dict[str, Columns]:
    """The series of the video's subflows by path; empty if it has one path."""
    prefix = "flow.video/"
    return {k.removeprefix(prefix): v for k, v in session.series.items() if k.startswith(prefix)}


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
        top = base + _binned(columns, edges)
        fill, hatch = _FILLS[i % len(_FILLS)]
        ax.stairs(top, edges, baseline=base, fill=True, fc=fill, ec=PAPER, hatch=hatch, lw=0.0, label=path)
        ax.stairs(top, edges, baseline=None, color=INK, lw=0.5)
        base = top
    for begin, finish in stalls(session):
        ax.axvspan(begin, finish, color=STALL, alpha=0.25, lw=0)
    ax.set(xlabel="time (s)", ylabel="goodput (Mbit/s)", xlim=(0, end), ylim=(0, 1.3 * float(base.max(initial=0.1))))
    legend(ax, 3, loc="upper center")
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
    shown = _window(runs(session))
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


def runs(session: Session) -> list[Run]:
    """What lies between the switches of the video's flow; the packets before the first and after the last are left out."""
    switches = session.series.get("switches.video")
    if switches is None:
        return []
    columns = zip(
        *(switches[k] for k in ("time_s", "to", "reason", "is_forced", "last_before_s", "data_offset")), strict=True
    )
    rows = [(float(t), str(to), str(why), bool(f), float(last), int(at)) for t, to, why, f, last, at in columns]
    mss = int(switches["mss"][0]) if rows else 1
    return [
        Run(to, begin, last, (after - at) / mss, why, forced)
        for (begin, to, why, forced, _, at), (_, _, _, _, last, after) in pairwise(rows)
    ]


def switch_reasons(session: Session) -> list[tuple[str, int, int]]:
    """The schedulers' reasons with the numbers of switches: from a path without room, and from one with room."""
    switches = session.series.get("switches.video")
    if switches is None:
        return []
    reasons, forced = np.asarray(switches["reason"], dtype=str), np.asarray(switches["is_forced"], dtype=bool)
    counts = [
        (str(why), int(np.sum(forced & (reasons == why))), int(np.sum(~forced & (reasons == why))))
        for why in set(reasons)
    ]
    return sorted(counts, key=lambda row: (-row[1] - row[2], row[0]))


def _window(found: list[Run]) -> list[Run]:
    """Around the first run of one's own will in the middle half; else around the middle."""
    quarter, middle = len(found) // 4, len(found) // 2
    centre = next((i for i in range(quarter, 3 * quarter) if not found[i].is_forced), middle)
    first = max(0, min(centre - _SHOWN_RUNS // 2, len(found) - _SHOWN_RUNS))
    return found[first : first + _SHOWN_RUNS]


def _binned(columns: Columns, edges: np.ndarray) -> np.ndarray:
    """Mean goodput in each bin; zero where there is no sample."""
    time_s, rate = np.asarray(columns["time_s"], dtype=float), np.asarray(columns["goodput_mbps"], dtype=float)
    index = np.clip(np.searchsorted(edges, time_s, side="right") - 1, 0, len(edges) - 2)
    total, samples = (np.bincount(index, weights=w, minlength=len(edges) - 1) for w in (rate, np.ones_like(rate)))
    return np.divide(total, samples, out=np.zeros_like(total), where=samples > 0)

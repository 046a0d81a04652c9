"""Single packets on each path of an MPTCP flow, with the changes of path and the scheduler's reasons."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from playpath.plots.style import INK, MUTED, PAPER, STALL, dress, legend, name_rows, own_axes
from playpath.results.packets import COPY, NEW, RETRANSMISSION, SERIES, Window, shown_window
from playpath.results.paths import subflows
from playpath.results.record import Session

_HEIGHTS = {NEW: 0.34, RETRANSMISSION: 0.5, COPY: 0.5}
_MARKS = {RETRANSMISSION: ("x", "retransmission"), COPY: ("D", "copy (reinjection)")}


def packet_timeline(session: Session, ax: Axes | None = None, *, window: Window | None = None) -> Axes:
    """Every data packet that the server sent in a window: a lane for each path, a stroke for each packet.

    A cross tops a retransmission, a diamond a copy of what another path was given. A line leads from the last packet before
    a change of path to the first after it; its letter stands for the scheduler's reason, in red where the path left had room.

    Parameters
    ----------
    session : Session
        A session over several paths, run with `trace=True`.
    ax : matplotlib.axes.Axes, optional
    window : tuple of float, optional
        Begin and end in seconds; by default some hundred packets around a change of path in the middle of the session.

    Raises
    ------
    InputError
        No packet was kept in the window.
    """
    ax = own_axes(ax)
    begin, end = shown_window(session, window)
    lanes = {path: -float(i) for i, path in enumerate(subflows(session))}
    _strokes(ax, session, begin, end, list(lanes.values()))
    reasons = _switches(ax, session, begin, end, lanes)
    name_rows(ax, list(lanes), [lane + 0.15 for lane in lanes.values()])
    ax.set_ylim(-len(lanes) + 0.75, 0.85)
    margin = 10.0 * max(end - begin, 1e-6)
    ax.set_xlim(-margin, 1000 * (end - begin) + margin)
    ax.set_xlabel(f"time (ms from {begin:.3f} s)")
    ax.set_title(";  ".join(f"{letter}: {why}" for why, letter in reasons.items()), loc="left", fontsize=8, color=INK)
    if ax.get_legend_handles_labels()[0]:
        legend(ax, 2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    dress(ax, grid="x")
    return ax


def _strokes(ax: Axes, session: Session, begin: float, end: float, lanes: list[float]) -> None:
    packets = {name: np.asarray(values, dtype=float) for name, values in session.series[SERIES].items()}
    inside = (packets["time_s"] >= begin) & (packets["time_s"] <= end)
    base = np.asarray(lanes)[packets["path"].astype(int)]
    for kind, height in _HEIGHTS.items():
        chosen = inside & (packets["kind"] == kind)
        if not chosen.any():
            continue
        at, low = 1000 * (packets["time_s"][chosen] - begin), base[chosen]
        colour = INK if kind == NEW else STALL if kind == RETRANSMISSION else MUTED
        ax.vlines(at, low, low + height, color=colour, lw=0.9, zorder=3)
        if kind in _MARKS:
            mark, label = _MARKS[kind]
            ax.plot(at, low + height, mark, ms=4, mfc=PAPER, mec=colour, ls="none", zorder=4, label=label)


def _switches(ax: Axes, session: Session, begin: float, end: float, lanes: dict[str, float]) -> dict[str, str]:
    """Draws the changes of path; gives the letter of each reason."""
    switches = session.series.get("switches.video")
    letters: dict[str, str] = {}
    if switches is None:
        return letters
    columns = (switches[name] for name in ("time_s", "last_before_s", "from", "to", "reason", "is_forced"))
    for at, before, left, entered, why, forced in zip(*columns, strict=True):
        if not begin <= at <= end:
            continue
        letter = letters.setdefault(str(why), "abcdefghijklmnopqrstuvwxyz"[len(letters) % 26])
        colour = MUTED if forced else STALL
        x = [1000 * (max(float(before), begin) - begin), 1000 * (float(at) - begin)]
        ax.plot(x, [lanes[str(left)], lanes[str(entered)]], color=colour, lw=0.6, zorder=2)
        ax.text(x[1], lanes[str(entered)] + 0.52, letter, ha="center", va="bottom", fontsize=7, color=INK if forced else STALL,
                fontweight="normal" if forced else "bold")  # fmt: skip
    return letters

"""One session on a shared time axis: window, RTT, goodput of subflows, queue, playout buffer; stalls shaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from playpath.plots.style import INK, STALL, dress, figure, legend, sender_styles
from playpath.results.record import Columns, Session
from playpath.results.stalls import stalls

_LINE_POINTS = 2000
_MOST_LINES = 4


@dataclass(frozen=True)
class Line:
    """One line of a panel."""

    label: str
    time_s: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One panel: an axis label with unit and its lines."""

    label: str
    lines: list[Line]


def panels(session: Session, points: int = _LINE_POINTS) -> list[Panel]:
    """The panels of a traced session, top to bottom, thinned to about `points` values a line.

    Thinning keeps the smallest and the largest value of every interval, so no peak is lost.
    """
    flows = _pick(session.series, "flow.", video_flows(session))
    links = _pick(session.series, "link.", _busiest_links(session))
    player = {"": session.series["player"]} if "player" in session.series else {}
    wanted = [
        _panel("window (packets)", flows, {"snd_cwnd": "cwnd", "snd_ssthresh": "ssthresh"}, points),
        _panel("RTT (ms)", flows, {"rtt_ms": "RTT"}, points),
        # Where several subflows or connections carry the video: which one does.
        _panel("goodput (Mbit/s)", flows if len(flows) > 1 else {}, {"goodput_mbps": "goodput"}, points),
        _panel("queue (packets)", links, {"queue_packets": "queue"}, points),
        _panel("buffer (s)", player, {"buffer_level_s": "buffer level"}, points),
        _rate_panel(session),
    ]
    return [panel for panel in wanted if panel.lines]


def timeline(session: Session, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw a traced session.

    Parameters
    ----------
    session : Session
        Run with `trace=True`.
    axes : sequence of matplotlib.axes.Axes, optional
        One for each panel (see `panels`), sharing their time axis.
    """
    shown = panels(session)
    if axes is None:
        made = figure(7.2, 1.5 * len(shown), nrows=len(shown), sharex=True, squeeze=False)[1]
        axes = list(made[:, 0])
    for ax, panel in zip(axes, shown, strict=True):
        _draw(ax, panel, stalls(session))
    axes[-1].set_xlabel("time (s)")
    axes[0].set_title(f"{session.sender}, seed {session.seed}", loc="left", fontsize=9, color=INK)
    return axes


def thin(time_s: np.ndarray, values: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """At most about `points` samples that keep every peak: the extremes of equal intervals, in their order."""
    if time_s.size <= points:
        return time_s, values
    edges = np.linspace(0, time_s.size, points // 2 + 1).astype(int)
    kept: list[int] = []
    for begin, end in pairwise(edges):
        part = values[begin:end]
        if part.size == 0 or np.all(np.isnan(part)):
            continue
        kept += sorted({begin + int(np.nanargmin(part)), begin + int(np.nanargmax(part))})
    return time_s[kept], values[kept]


def video_flows(session: Session) -> list[str]:
    """Names of the flows that carry the video (subflows included); the first flow where none says so."""
    names = [name.removeprefix("flow.") for name in session.series if name.startswith("flow.")]
    video = [name for name in names if name == "video" or name.startswith("video")]
    return video or names[:1]


def _busiest_links(session: Session) -> list[str]:
    peaks = {
        name.removeprefix("link."): float(np.nanmax(series["queue_packets"], initial=0.0))
        for name, series in session.series.items()
        if name.startswith("link.") and "queue_packets" in series
    }
    return sorted(peaks, key=lambda name: -peaks[name])[:1]


def _pick(series: Mapping[str, Columns], prefix: str, names: Sequence[str]) -> dict[str, Columns]:
    return {name: series[prefix + name] for name in names[:_MOST_LINES] if prefix + name in series}


def _panel(label: str, sources: Mapping[str, Columns], wanted: Mapping[str, str], points: int) -> Panel:
    lines = []
    for source, columns in sources.items():
        for column, title in wanted.items():
            if column in columns:
                name = f"{title} {source}".strip() if len(sources) > 1 or title == "queue" else title
                values = np.asarray(columns[column], dtype=float)
                if column == "rtt_ms":
                    values = np.where(values > 0, values, np.nan)  # zero stands for "no sample yet"
                lines.append(Line(name, *thin(np.asarray(columns["time_s"], dtype=float), values, points)))
    return Panel(label, lines)


def _rate_panel(session: Session) -> Panel:
    """The video's rate as its segments arrive, drawn as steps; no line without segments."""
    arrived = [e for e in session.events if e["event"] == "segment_downloaded" and e["kind"] == "video"]
    time_s = np.repeat([float(e["time_s"]) for e in arrived], 2)[1:]
    rates = np.repeat([float(e["rate_mbps"]) for e in arrived], 2)[:-1]
    return Panel("video rate (Mbit/s)", [Line("video rate", time_s, rates)] if arrived else [])


def _draw(ax: Axes, panel: Panel, shaded: Sequence[tuple[float, float]]) -> None:
    styles = sender_styles([line.label for line in panel.lines])
    for i, line in enumerate(panel.lines):
        dashes: Any = ("-", "--", ":", "-.")[i % 4]
        ax.plot(line.time_s, line.values, dashes, lw=0.9, color=styles[line.label].colour, label=line.label)
    for begin, end in shaded:
        ax.axvspan(begin, end, color=STALL, alpha=0.25, lw=0)
    if len(panel.lines) > 1:
        legend(ax, 4, loc="upper right")
    ax.set_ylabel(panel.label)
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if "RTT" not in panel.label else None)
    ax.margins(x=0.005)
    dress(ax, grid="both")

"""The section on several paths: what each carried, packet by packet and over the session, and why the path changed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from playpath.plots import figure, packet_timeline, path_timeline, stacked_throughput
from playpath.plots.paths import runs, subflows, switch_reasons
from playpath.results.packets import SERIES, Window
from playpath.results.record import Session
from playpath.show.report import html
from playpath.show.report.drawings import figure_svg

_NOTE = (
    "Stacked: goodput over each path, red bands where playback stands still. Lanes: packets of new data in a row on a path, "
    "a bar as high as they are many. A hollow bar was entered because the path before had no room; a filled one with a triangle, "
    "although it had: the scheduler's own choice."
)
_ZOOM = (
    "Single packets: a stroke for each that the server sent, a cross over retransmissions, a diamond over copies of what another "
    "path was given. A line leads over each change of path; its letter names the scheduler's reason, in red where the path left "
    "had room. Another part: playpath report DIR --window FROM..TO, in seconds."
)


def paths_section(sessions: Sequence[Session], window: Window | None = None) -> str:
    """Figures and the switches by reason for each traced session over several paths; empty if there is none."""
    several = [session for session in sessions if subflows(session)]
    parts = [_session(session, len(sessions) > 1, window) for session in several]
    note = f"{_NOTE} {_ZOOM}" if any(SERIES in session.series for session in several) else _NOTE
    return html.section("Several paths", "".join(parts), note=note, anchor="paths") if parts else ""


def _session(session: Session, is_named: bool, window: Window | None) -> str:
    name = f"<h3>{escape(session.sender)}</h3>" if is_named else ""
    drawn, ax = figure(height=2.6)
    stacked_throughput(session, ax)
    parts = [figure_svg(drawn, f"{session.sender}: goodput of the subflows, stacked")]
    if runs(session):
        drawn, ax = figure(height=0.9 + 0.55 * len(subflows(session)))
        path_timeline(session, ax)
        parts.append(figure_svg(drawn, f"{session.sender}: packets on each path with the switches"))
    if SERIES in session.series:
        drawn, ax = figure(9.0, 0.9 + 0.5 * len(subflows(session)))
        packet_timeline(session, ax, window=window)
        parts.append(figure_svg(drawn, f"{session.sender}: single packets on each path", is_full=True))
    return name + html.figures(parts) + _reasons(session)


def _reasons(session: Session) -> str:
    head = ["the scheduler's reason", "switches", "of these from a path without room", "from a path with room"]
    rows = [
        [escape(why), f"{forced + free:,}", f"{forced:,}", f"{free:,}"] for why, forced, free in switch_reasons(session)
    ]
    return html.table(head, rows, classes="cards") if rows else ""

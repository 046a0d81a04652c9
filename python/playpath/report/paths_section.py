"""The section on several paths: what each carried, packet by packet and over the session, and why the path changed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from playpath.plots import figure, path_timeline, stacked_throughput
from playpath.plots.paths import runs, subflows, switch_reasons
from playpath.record import Session
from playpath.report import html

_NOTE = (
    "Stacked: goodput over each path, red bands where the picture stands still. Lanes: packets of new data in a row on a path, "
    "a bar as high as they are many. A hollow bar was entered because the path before had no room; a filled one with a triangle, "
    "although it had: the scheduler's own choice."
)


def paths_section(sessions: Sequence[Session]) -> str:
    """Figures and the switches by reason for each traced session over several paths; empty if there is none."""
    parts = [_session(session, len(sessions) > 1) for session in sessions if subflows(session)]
    return html.section("Several paths", "".join(parts), note=_NOTE, anchor="paths") if parts else ""


def _session(session: Session, is_named: bool) -> str:
    name = f"<h3>{escape(session.sender)}</h3>" if is_named else ""
    drawn, ax = figure(height=2.6)
    stacked_throughput(session, ax)
    parts = [html.figure_svg(drawn, f"{session.sender}: goodput of the subflows, stacked")]
    if runs(session):
        drawn, ax = figure(height=0.9 + 0.55 * len(subflows(session)))
        path_timeline(session, ax)
        parts.append(html.figure_svg(drawn, f"{session.sender}: packets on each path with the switches"))
    return name + html.figures(parts) + _reasons(session)


def _reasons(session: Session) -> str:
    head = ["the scheduler's reason", "switches", "of these from a path without room", "from a path with room"]
    rows = [
        [escape(why), f"{forced + free:,}", f"{forced:,}", f"{free:,}"] for why, forced, free in switch_reasons(session)
    ]
    return html.table(head, rows, classes="cards") if rows else ""

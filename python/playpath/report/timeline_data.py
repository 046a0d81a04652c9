"""The interactive timeline: its frame, and its data thinned for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from playpath.plots.timeline import Line, Panel, panels, stalls
from playpath.record import Session
from playpath.report import html

_POINTS = 900


def timeline_section(sessions: Mapping[str, Session], order: Sequence[str], why: str = "") -> str:
    """A chooser and the plots of one traced session for each sender; empty when nothing was traced."""
    shown = [sessions[name] for name in order if name in sessions]
    if not shown:
        return ""
    value = {session.sender: _session(session) for session in shown}
    options = "".join(f"<option>{escape(session.sender)}</option>" for session in shown)
    chooser = f"<label>sender <select id='timeline-sender'>{options}</select></label>"
    body = (
        f"<div class='controls'>{chooser}<button id='timeline-reset' type='button'>whole session</button></div>"
        "<div id='timeline' class='timeline'></div>"
        "<noscript><p>The timeline needs JavaScript; the figures of the other sections do not.</p></noscript>"
        + html.data("timeline-data", value)
    )
    note = (
        f"Seed {shown[0].seed}{why}. Red bands: playback stands still. Drag across a plot to zoom, double-click to "
        "go back."
    )
    return html.section("One session", body, note=note, anchor="session")


def _session(session: Session) -> dict[str, Any]:
    bands = [[round(begin, 3), round(end, 3)] for begin, end in stalls(session)]
    return {"stalls": bands, "panels": [_panel(panel) for panel in panels(session, _POINTS)]}


def _panel(panel: Panel) -> dict[str, Any]:
    return {"label": panel.label, "lines": [_line(line) for line in panel.lines]}


def _line(line: Line) -> dict[str, Any]:
    return {"label": line.label, "t": [round(float(t), 3) for t in line.time_s], "y": [_short(y) for y in line.values]}


def _short(value: float) -> float | None:
    """Four significant digits: what a plot can show."""
    return float(f"{value:.4g}") if np.isfinite(value) else None

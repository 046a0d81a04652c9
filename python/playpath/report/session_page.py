"""The page of one traced session."""

from __future__ import annotations

import json
from html import escape

from playpath.manifest import again
from playpath.metrics import format_value, metric
from playpath.packets import Window
from playpath.record import Session
from playpath.report import html
from playpath.report.paths_section import paths_section
from playpath.report.sessions import sessions_section


def session_page(session: Session, window: Window | None = None) -> str:
    """The whole page as text."""
    rows = [
        [
            f"{escape(metric(name).label)}<br><small>{escape(name)}</small>",
            "–" if value is None else f"{format_value(value)} {metric(name).unit}",
        ]
        for name, value in session.metrics.items()
    ]
    warnings = "".join(f"<li>{escape(text)}</li>" for text in session.warnings)
    header = (
        f"<header><p class='kicker'>playpath run</p><h1>{escape(session.scenario)}: {escape(session.sender)}</h1>"
        f"<p class='note'>seed {session.seed}, world {escape(session.world)}</p></header>"
        + (
            f"<details class='warnings' open><summary>Warnings</summary><ul>{warnings}</ul></details>"
            if warnings
            else ""
        )
    )
    manifest = html.details("Manifest", html.pre(json.dumps(session.manifest, indent=1, ensure_ascii=False)))
    sections = [
        header,
        sessions_section(
            {session.sender: session}, [session.sender], session.manifest.get("scenario") or {}, window=window
        ),
        paths_section([session], window),
        html.section("Figures", html.table(["metric", "value"], rows, classes="cards facts")),
        html.section("How to get this again", f"<p>{again(session.world)}</p>" + manifest),
    ]
    return html.page(f"{session.scenario}: {session.sender}", sections)

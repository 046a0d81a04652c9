"""The page of one traced session."""

from html import escape

from playpath.base.manifest import again
from playpath.base.metrics import format_value, metric
from playpath.results.packets import Window
from playpath.results.record import Session
from playpath.show.report import html
from playpath.show.report.paths_section import paths_section
from playpath.show.report.sessions import sessions_section


def session_page(session: Session, window: Window | None = None) -> str:
    rows = [
        [
            f"{escape(metric(name).label)}<br><small>{escape(name)}</small>",
            "–" if value is None else f"{format_value(value)} {metric(name).unit}",
        ]
        for name, value in session.metrics.items()
    ]
    warnings = "".join(f"<li>{html.prose(text)}</li>" for text in session.warnings)
    header = (
        f"<header><p class='kicker'>playpath run</p><h1>{escape(session.scenario)}: {escape(session.sender)}</h1>"
        f"<p class='note'>seed {session.seed}, world {escape(session.world)}</p></header>"
        + (
            f"<details class='warnings' open><summary>Warnings</summary><ul>{warnings}</ul></details>"
            if warnings
            else ""
        )
    )
    manifest = html.details("Manifest", html.document(session.manifest))
    sections = [
        header,
        sessions_section(
            {session.sender: session}, [session.sender], session.manifest.get("scenario") or {}, window=window
        ),
        paths_section([session], window),
        html.section("Figures", html.table(["metric", "value"], rows, classes="cards facts")),
        html.section("How to reproduce this", f"<p>{again(session.world)}</p>" + manifest),
    ]
    return html.page(f"{session.scenario}: {session.sender}", sections)

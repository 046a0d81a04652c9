"""The page of an inference: what some sessions of a log got, against the capacity that their paths may have had."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from playpath.show.report import html
from playpath.show.report.component import component

_NOTE = (
    "Marks: payload of a transfer over the time from its request to its last byte, as the log has it. Line: the capacity of the path, on "
    "the wire, as the median of what the log allows; shaded: where it lies with 90 %, step by step. Where the band is wide, the log says "
    "little: a transfer that never filled the path says at least."
)

_WIDE = 8.0
"""From this factor between the rates of a session on their axis is logarithmic."""


@dataclass(frozen=True)
class Shown:
    """A session of the page."""

    name: str
    step_s: float
    """Length of the steps."""
    steps: Sequence[Sequence[float]]
    """Capacity in bit/s."""
    transfers: Sequence[tuple[float, float]]
    """Middle of each transfer, and what it got."""


def inferred_page(name: str, sessions: Sequence[Shown], count: int, notes: Sequence[str]) -> str:
    """The whole page as text: some of `count` sessions."""
    remarks = "".join(f"<p class='note'>{escape(note[:1].upper() + note[1:])}.</p>" for note in notes)
    some = f"The first {len(sessions)} of {count} sessions." if len(sessions) < count else ""
    head = (
        f"<header><p class='kicker'>playpath population infer</p><h1>{escape(name)}</h1>"
        f"<p>The paths behind {count} session{'s' if count > 1 else ''}. {some}</p>{remarks}</header>"
    )
    body = html.figures([_figure(session) for session in sessions])
    return html.page(f"{name}: log against path", [head, html.section("Log against path", body, note=_NOTE)])


def _figure(session: Shown) -> str:
    path: list[list[float | None]] = [
        [session.step_s * (index + 0.5), *(round(step[which] / 1e6, 4) for which in (2, 1, 3))]
        for index, step in enumerate(session.steps)
    ]
    got: list[list[float | None]] = [[round(at, 3), round(rate / 1e6, 4), None, None] for at, rate in session.transfers]
    rates = [value for row in (*path, *got) for value in row[1:] if value is not None]
    given = {
        "x": {"label": "time", "unit": "s"},
        "y": {"label": "rate", "unit": "Mbit/s", "isLog": min(rates) > 0 and max(rates) > _WIDE * min(rates)},
        "spread": "layer",
        "series": [
            {"name": "path: median and 90 % band", "place": 0, "points": path, "isLine": True, "marked": []},
            {"name": "the log's transfers", "place": 2, "points": got, "isLine": False},
        ],
    }
    return component("plane", f"{session.name}: log against path", given)

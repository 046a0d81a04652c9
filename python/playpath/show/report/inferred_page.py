"""The page of an inference: the throughput of some sessions of a log, with the inferred capacity of their paths."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from playpath.show.report import html
from playpath.show.report.component import component

_NOTE = (
    "Marks: a transfer's payload divided by the time from its request to its last byte, from the log. Line: the capacity of the path, on "
    "the wire, as the median of what the log allows; shaded: its 90 % interval, step by step. Where the band is wide, the log says "
    "little: a transfer that never filled the path only gives a lower bound."
)

_WIDE = 8.0
"""If a session's rates span at least this factor, their axis is logarithmic."""


@dataclass(frozen=True)
class Shown:
    name: str
    step_s: float
    """Length of the steps, in seconds."""
    steps: Sequence[Sequence[float]]
    """Quantiles of the capacity in bit/s, for each step."""
    transfers: Sequence[tuple[float, float]]
    """(middle of the transfer in seconds, throughput in bit/s) for each transfer."""


def inferred_page(name: str, sessions: Sequence[Shown], count: int, notes: Sequence[str]) -> str:
    """The page as HTML, with some of `count` sessions."""
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

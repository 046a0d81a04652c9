"""The page of an inference: what some sessions of a log got, against the capacity that their paths may have had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from playpath.show.report import html
from playpath.show.report.component import component

_NOTE = (
    "Dots: payload of a transfer over the time from its request to its last byte, as the log has it. Lines: the capacity of the path, on "
    "the wire, as the median of what the log allows, and what it lies between with 90 %, step by step. Where the lines are far apart, "
    "the log says little: a transfer that never filled the path says at least."
)


@dataclass(frozen=True)
class Shown:
    """A session of the page.

    Attributes
    ----------
    name : str
    step_s : float
        Length of the steps.
    steps : sequence of (mean, p05, p50, p95)
        Capacity in bit/s.
    transfers : sequence of (s, bit/s)
        Middle of each transfer, and what it got.
    """

    name: str
    step_s: float
    steps: Sequence[Sequence[float]]
    transfers: Sequence[tuple[float, float]]


def inferred_page(name: str, sessions: Sequence[Shown], count: int, notes: Sequence[str]) -> str:
    """The whole page as text: some of `count` sessions."""
    told = "".join(f"<p class='note'>{escape(note[:1].upper() + note[1:])}.</p>" for note in notes)
    some = f"The first {len(sessions)} of {count} sessions." if len(sessions) < count else ""
    head = (
        f"<header><p class='kicker'>playpath population infer</p><h1>{escape(name)}</h1>"
        f"<p>The paths behind {count} session{'s' if count > 1 else ''}. {some}</p>{told}</header>"
    )
    body = html.figures([_figure(session) for session in sessions])
    return html.page(f"{name}: log against path", [head, html.section("Log against path", body, note=_NOTE)])


def _figure(session: Shown) -> str:
    middle = [session.step_s * (index + 0.5) for index in range(len(session.steps))]
    lines = (("95 % of draws below", 3, 0), ("median", 2, 1), ("5 % of draws below", 1, 0))
    series = [
        _series(name, place, zip(middle, (step[which] / 1e6 for step in session.steps), strict=True), is_line=True)
        for name, which, place in lines
    ]
    got = ((at, rate / 1e6) for at, rate in session.transfers)
    given = {
        "x": {"label": "time", "unit": "s"},
        "y": {"label": "rate", "unit": "Mbit/s"},
        "spread": "interval",
        "series": [*series, _series("the log's transfers", 2, got, is_line=False)],
    }
    return component("plane", f"{session.name}: log against path", given)


def _series(name: str, place: int, points: Iterable[tuple[float, float]], *, is_line: bool) -> dict[str, object]:
    found = [[round(x, 3), round(y, 4), None, None] for x, y in points]
    return {"name": name, "place": place, "points": found, "isLine": is_line, **({"marked": []} if is_line else {})}

"""Figures that the page's script draws (web/src/view), with the explorer's components."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

_COLOURS = 8  # of web/src/tokens.css


def component(
    kind: Literal["rows", "plane", "field", "lanes"], title: str, given: Mapping[str, Any], *, full: bool = False
) -> str:
    """A placeholder for a figure, with its data; a `full` figure takes a whole row."""
    described = {"id": file_name(title), "title": title, **given}
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    name = " class='full'" if full else ""
    return f"<div data-figure='{kind}'{name}><script type='application/json'>{text}</script></div>"


def colour_place(senders: Sequence[str], sender: str) -> int:
    return senders.index(sender) % _COLOURS


def swatch(senders: Sequence[str], sender: str) -> str:
    """A sender's colour as a small disc, the same as in the figures; hatched from the ninth on, as its lines are dashed there."""
    ink = f"var(--sender{colour_place(senders, sender)})"
    is_first = senders.index(sender) < _COLOURS
    filling = (
        f"r='5' fill='{ink}'"
        if is_first
        else f"r='4' fill='none' stroke='{ink}' stroke-width='3' stroke-dasharray='3 2'"
    )
    return (
        "<svg class='marker' viewBox='0 0 12 12' width='12' height='12' aria-hidden='true'>"
        f"<circle cx='6' cy='6' {filling}/></svg>"
    )


def file_name(text: str) -> str:
    """A title in a form that can be a file name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:80] or "figure"

"""A sender's marker as a small inline picture, the same shape and colour as in the figures."""

from __future__ import annotations

import math

from playpath.plots.style import SenderStyle
from playpath.show.report.drawings import themed

_SIDES = {"^": (3, -90.0), "v": (3, 90.0), "D": (4, -90.0), "s": (4, -45.0), "p": (5, -90.0), "h": (6, -90.0),
          "<": (3, 180.0), ">": (3, 0.0)}  # fmt: skip


def marker_svg(style: SenderStyle) -> str:
    """12 by 12 pixels of SVG."""
    paint = f"fill='{themed(style.colour)}' stroke='currentColor' stroke-width='.8'"
    frame = "class='marker' viewBox='-7 -7 14 14' width='12' height='12' aria-hidden='true'"
    return f"<svg {frame}>{_shape(style, paint)}</svg>"


def _shape(style: SenderStyle, paint: str) -> str:
    if style.marker in _SIDES:
        sides, angle = _SIDES[style.marker]
        return f"<polygon points='{_points([5.8] * sides, angle)}' {paint}/>"
    if style.marker == "*":
        return f"<polygon points='{_points([6.2, 2.6] * 5, -90)}' {paint}/>"
    if style.marker in "PX":
        turn = "rotate(45)" if style.marker == "X" else ""
        return f"<path transform='{turn}' d='M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z' {paint}/>"
    return f"<circle r='5' {paint}/>"


def _points(radii: list[float], turn: float) -> str:
    corners = []
    for i, radius in enumerate(radii):
        angle = math.radians(turn + 360 * i / len(radii))
        corners.append(f"{radius * math.cos(angle):.2f},{radius * math.sin(angle):.2f}")
    return " ".join(corners)

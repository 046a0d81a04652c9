"""The look of all figures: colours, markers, hatches, fonts."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter

# Colours of reports and explorer on paper (web/src/tokens.css; a test holds them together).
PAPER = "#ffffff"
INK = "#1c2430"
MUTED = "#53606f"
GRID = "#dfe4ea"
STALL = "#c4161c"

# After Okabe and Ito, darker: told apart with the common colour-vision deficiencies, and at least 3:1 on paper.
COLOURS = ("#0067a5", "#b84700", "#00795a", "#7a6400", "#3f5fbf", "#a3437c", "#5c5c5c", "#8a2be2")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
# Strokes only: circles of a hatch are a hundred kilobytes of SVG.
_HATCHES = ("", "///", "|||", "xxx", "---", "\\\\\\", "+++", "//--")
_LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class SenderStyle:
    """How a sender looks in every figure of a comparison."""

    colour: str
    marker: str
    hatch: str
    line: str


def sender_styles(senders: Sequence[str]) -> dict[str, SenderStyle]:
    """A style for each sender; colour, marker and hatch repeat with different periods, so pairs stay distinct."""
    return {
        name: SenderStyle(
            COLOURS[i % len(COLOURS)],
            _MARKERS[i % len(_MARKERS)],
            _HATCHES[(i + i // len(COLOURS)) % len(_HATCHES)],
            _LINES[(i // len(COLOURS)) % len(_LINES)],
        )
        for i, name in enumerate(senders)
    }


def figure(width: float = 4.6, height: float = 3.0, **grid: Any) -> tuple[Figure, Any]:
    """A figure with its axes, off any global state; sizes in inches; `grid` goes to `Figure.subplots`."""
    new = _Shown(figsize=(width, height), layout="constrained")
    return new, new.subplots(**grid)


class _Shown(Figure):
    """A figure that a notebook shows by itself, without a plotting backend."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110, facecolor=PAPER, metadata={"Software": None})
        return buffer.getvalue()


def own_axes(ax: Axes | None, height: float = 3.0) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    made: Axes = figure(height=height)[1]
    return made


def dress(ax: Axes, *, grid: str = "x") -> None:
    """Quiet spines, a light grid along one direction, ink in the text."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    ax.set_axisbelow(True)
    ax.tick_params(colors=INK, labelsize=9, length=3, color=MUTED)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(INK)
        text.set_fontsize(9)
    take_literally(ax)


def take_literally(part: Artist) -> None:
    """Draw names as they are, without reading formulas between dollars; only logarithmic axes may use them."""
    # Both in one walk: a figure has hundreds of parts.
    found = part.findobj(lambda artist: isinstance(artist, (Text, Axis)))
    for text in found:
        if isinstance(text, Text):
            text.set_parse_math(False)
    for axis in found:
        if isinstance(axis, Axis) and isinstance(axis.get_major_formatter(), LogFormatter):  # writes powers of ten
            for text in axis.findobj(Text):
                text.set_parse_math(text is not axis.label)

"""The look of all figures: colours, markers, hatches, fonts."""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, LogFormatter

# The light colours of reports and explorer (web/src/tokens.css; a test keeps them equal).
PAPER = "#ffffff"
INK = "#1c2430"
MUTED = "#53606f"
GRID = "#dfe4ea"
STALL = "#c4161c"

# After Okabe and Ito, but darker: distinguishable with common colour-vision deficiencies, and with a contrast of 3:1 or more.
COLOURS = ("#0067a5", "#b84700", "#00795a", "#7a6400", "#3f5fbf", "#a3437c", "#5c5c5c", "#8a2be2")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
# Lines only: hatches of circles take a hundred kilobytes of SVG.
_HATCHES = ("", "///", "|||", "xxx", "---", "\\\\\\", "+++", "//--")
_LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class SenderStyle:
    """A sender's style in every figure of a comparison."""

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
    """A figure with its axes, without pyplot's global state; sizes in inches; `grid` is passed to `Figure.subplots`."""
    new = _Shown(figsize=(width, height), layout="constrained")
    return new, new.subplots(**grid)


class _Shown(Figure):
    """A figure that a notebook can show without a plotting backend."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110, facecolor=PAPER, metadata={"Software": None})
        return buffer.getvalue()


def own_axes(ax: Axes | None, height: float = 3.0) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    return figure(height=height)[1]


def dress(ax: Axes, *, grid: str = "x") -> None:
    """Apply the style: light spines, a light grid in one direction, dark text, and labels that fit the figure."""
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
    _wrap_labels(ax)
    take_literally(ax)


def dress_rows(ax: Axes, names: Sequence[str]) -> None:
    """Apply the style to a figure with a row for each name, from top to bottom."""
    name_rows(ax, names)
    ax.set_ylim(len(names) - 0.45, -0.55)
    dress(ax)
    ax.tick_params(axis="y", length=0)


def legend_above(ax: Axes) -> None:
    """A legend above the axes, in as many columns, up to three, as the figure has room for; long names in several lines."""
    handles, names = ax.get_legend_handles_labels()
    width = _inches(ax)[0]
    lines = [_wrapped(name, 0.8 * width) for name in names]
    entry = max((len(line) for name in lines for line in name.splitlines()), default=1) * 8 * _LETTER + 40
    columns = max(1, min(3, int(width * 72 / entry)))
    place = (0, 1)
    ax.legend(
        handles,
        lines,
        loc="lower left",
        bbox_to_anchor=place,
        borderaxespad=0.2,
        fontsize=8,
        frameon=False,
        ncols=columns,
    )


_LETTER = 0.58
"""Mean width of a letter, as a share of the font size."""


def _wrap_labels(ax: Axes) -> None:
    """Wrap the labels of axes to fit the figure's size."""
    width, height = _inches(ax)
    named = isinstance(ax.yaxis.get_major_formatter(), FixedFormatter)
    longest = max((len(line) for tick in ax.get_yticklabels() for line in tick.get_text().splitlines()), default=0)
    # A label is centred on its axis; the names are next to it.
    across = width - 0.5 - (longest * 9 * _LETTER / 72 if named else 0.4)
    for label, inches in ((ax.xaxis.label, across), (ax.yaxis.label, 0.8 * height)):
        text = label.get_text()
        if text and "\n" not in text:
            label.set_text(_wrapped(text, inches))


def name_rows(ax: Axes, names: Sequence[str], places: Sequence[float] | None = None) -> None:
    """Names along the vertical axis, by default at 0, 1 …; long ones in several lines."""
    lines = [_wrapped(name, _MAX_OF_NAMES * _inches(ax)[0]) for name in names]
    ax.set_yticks(range(len(names)) if places is None else places, lines)


def _wrapped(text: str, inches: float) -> str:
    return textwrap.fill(text, max(10, int(inches * 72 / (9 * _LETTER))), break_long_words=True)


_MAX_OF_NAMES = 0.4
"""Share of a figure's width."""


def _inches(ax: Axes) -> tuple[float, float]:
    """The part of the figure that one of the axes has: rows and columns share the figure."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    grid = ax.get_subplotspec()
    rows, columns = (grid.get_gridspec().nrows, grid.get_gridspec().ncols) if grid else (1, 1)
    return figure.get_figwidth() / columns, figure.get_figheight() / rows


def take_literally(part: Artist) -> None:
    """Draw names as they are, without reading formulas between dollars; only logarithmic axes may use them."""
    # Both in one pass: a figure has hundreds of parts.
    found = part.findobj(lambda artist: isinstance(artist, (Text, Axis)))
    for text in found:
        if isinstance(text, Text):
            text.set_parse_math(False)
    for axis in found:
        if isinstance(axis, Axis) and isinstance(axis.get_major_formatter(), LogFormatter):  # it writes powers of ten
            for text in axis.findobj(Text):
                text.set_parse_math(text is not axis.label)

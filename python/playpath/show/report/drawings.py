"""Matplotlib figures as inline SVG, for the pages of studies and for notebooks."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from playpath.plots.style import COLOURS, GRID, INK, MUTED, PAPER, STALL, take_literally

_SVG_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "playpath", "font.family": "sans-serif"}
# Of web/src/tokens.css.
_TOKENS = {INK: "text", MUTED: "soft", GRID: "line", PAPER: "back", STALL: "stall"} | {
    colour: f"sender{i}" for i, colour in enumerate(COLOURS)
}
_TAG = re.compile(r"<[a-z][^>]*>")
_STYLE = re.compile(r' style="([^"]*)"')
_PAINT = re.compile(r'(?<= )(fill|stroke)="(#[0-9a-f]{6})"')


def figure_svg(figure: Figure, description: str, *, is_full: bool = False) -> str:
    """A figure as inline SVG whose colours and font follow the page, in light and dark.

    With `is_full` it takes the page's width and scrolls on a phone, for figures with much text.
    """
    svg = _TAG.sub(_follow_page, plain_svg(figure))
    svg = svg.replace("<svg ", f"<svg role='img' aria-label='{escape(description, quote=True)}' ", 1)
    scroller = "<div class='scroller' tabindex='0'>" if is_full else "<div class='scroller'>"
    return f"<figure class='drawn{' full' if is_full else ''}'>{scroller}{_unique_ids(svg, description)}</div></figure>"


def plain_svg(figure: Figure) -> str:
    """A figure as SVG with colours of its own, for places without the report's style."""
    buffer = io.StringIO()
    take_literally(figure)
    with rc_context(_SVG_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Glyph .* missing|constrained_layout not applied"
        )  # the reader's fonts are used for the text, not ours
        with _laid_out(figure):
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    return re.sub(r"<(style|metadata)\b.*?</\1>", "", svg[svg.index("<svg") :], flags=re.DOTALL)


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay a figure out now; otherwise `savefig` would draw it an extra time just for the layout."""
    engine = figure.get_layout_engine()
    if engine is not None:
        FigureCanvasSVG(figure)  # the figure's canvas measures its text
        engine.execute(figure)
        # Not "none", which is a layout engine as well: `savefig` would still draw twice.
        with rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def _follow_page(tag: re.Match[str]) -> str:
    plain = _STYLE.sub(_attributes, tag[0])
    return _PAINT.sub(lambda paint: f'{paint[1]}="{_themed(paint[2])}"', plain)


def _themed(colour: str) -> str:
    """Replace a figure's colour by the page's, which follows light and dark mode."""
    return f"var(--{_TOKENS[colour]})" if colour in _TOKENS else colour


def _attributes(style: re.Match[str]) -> str:
    """Turn style declarations into attributes: the page's policy allows no inline styles."""
    pairs = (declaration.split(":", 1) for declaration in style[1].split(";") if ":" in declaration)
    attributes = {name.strip(): value.strip() for name, value in pairs}
    if "font-family" in attributes:
        attributes["font-family"] = "var(--font)"
    return "".join(f' {name}="{value}"' for name, value in attributes.items())


def _unique_ids(svg: str, salt: str) -> str:
    """Several figures share one page: their ids (axes_1, …) must not collide."""
    prefix = f"f{sum((i + 1) * ord(c) for i, c in enumerate(salt)) % 1_000_003}-"
    return (
        svg.replace('id="', f'id="{prefix}').replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')
    )

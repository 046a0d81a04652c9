"""HTML parts: escaping, the page frame with its policy, tables, figures."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import resources
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from playpath.plots.style import COLOURS, GRID, INK, MUTED, PAPER, take_literally
from playpath.show.report.figure_data import figure_data

_SVG_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "playpath", "font.family": "sans-serif"}
# Of web/src/tokens.css.
_TOKENS = {INK: "text", MUTED: "soft", GRID: "line", PAPER: "back"} | {
    colour: f"sender{i}" for i, colour in enumerate(COLOURS)
}
_TAG = re.compile(r"<[a-z][^>]*>")
_STYLE = re.compile(r' style="([^"]*)"')
_PAINT = re.compile(r'(?<= )(fill|stroke)="(#[0-9a-f]{6})"')


class Section(str):
    """A part of the page that its contents list names."""

    heading: str
    anchor: str

    def __new__(cls, heading: str, anchor: str, text: str) -> Section:
        """The whole part as text, its heading in it."""
        made = super().__new__(cls, text)
        made.heading, made.anchor = heading, anchor
        return made


def asset(name: str) -> str:
    """A file of the report's assets."""
    return resources.files("playpath.show.report").joinpath("assets", name).read_text(encoding="utf-8")


def page(title: str, sections: Sequence[str]) -> str:
    """A whole page. The contents list follows the first section, the page's head.

    The content security policy names the one style and the one script, and allows no address.
    """
    style, script = asset("report.css"), asset("report.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    head, *others = (section for section in sections if section)
    body = "\n".join([head, _contents(others), *others])
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n<meta name='referrer' content='no-referrer'>\n"
        f"<title>{escape(title)}</title>\n<link rel='icon' href='data:,'>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _contents(sections: Sequence[str]) -> str:
    named = [section for section in sections if isinstance(section, Section)]
    items = "".join(f"<li><a href='#{escape(s.anchor)}'>{escape(s.heading)}</a></li>" for s in named)
    return f"<nav class='contents' aria-label='Contents'><ol>{items}</ol></nav>" if len(named) > 1 else ""


def section(title: str, body: str, *, note: str = "", anchor: str = "") -> Section:
    """A section with a heading and, in small type, how to read it."""
    small = f"<p class='note'>{escape(note)}</p>" if note else ""
    name = anchor or re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    text = f"<section id='{escape(name)}' aria-labelledby='{escape(name)}-title'>\n<h2 id='{escape(name)}-title'>{escape(title)}</h2>"
    return Section(title, name, f"{text}\n{small}\n{body}\n</section>")


def figure_svg(figure: Figure, description: str, *, is_full: bool = False) -> str:
    """A figure as inline SVG whose colours and font follow the page, in light and dark, with what the page tells of it.

    With `is_full` it takes the page's width, and scrolls on a phone: for figures full of text.
    """
    svg = _TAG.sub(_follow_page, plain_svg(figure))
    svg = svg.replace("<svg ", f"<svg role='img' aria-label='{escape(description, quote=True)}' ", 1)
    told = json.dumps(figure_data(figure, description), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = "<script type='application/json'>" + told.replace("<", "\\u003c") + "</script>"
    kind = " full" if is_full else ""
    scroller = "<div class='scroller' tabindex='0'>" if is_full else "<div class='scroller'>"
    return f"<figure class='drawn{kind}'>{scroller}{_unique_ids(svg, description)}</div>{data}</figure>"


def plain_svg(figure: Figure) -> str:
    """A figure as SVG with colours of its own, for places without the report's style."""
    buffer = io.StringIO()
    take_literally(figure)
    with rc_context(_SVG_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Glyph .* missing|constrained_layout not applied"
        )  # the reader's fonts draw the text, not ours
        with _laid_out(figure):
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    return re.sub(r"<(style|metadata)\b.*?</\1>", "", svg[svg.index("<svg") :], flags=re.DOTALL)


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """A figure in its layout, for which `savefig` would draw it once more, with nowhere to draw to."""
    engine = figure.get_layout_engine()
    if engine is not None:
        FigureCanvasSVG(figure)  # the figure's canvas is what measures its text
        engine.execute(figure)
        # Not "none", which is an engine, too: `savefig` would still draw twice.
        with rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def themed(colour: str) -> str:
    """A figure's colour as the page's, which follows light and dark."""
    return f"var(--{_TOKENS[colour]})" if colour in _TOKENS else colour


def _follow_page(tag: re.Match[str]) -> str:
    plain = _STYLE.sub(_attributes, tag[0])
    return _PAINT.sub(lambda paint: f'{paint[1]}="{themed(paint[2])}"', plain)


def _attributes(style: re.Match[str]) -> str:
    """Declarations as attributes: the page's policy allows no styles within."""
    pairs = (declaration.split(":", 1) for declaration in style[1].split(";") if ":" in declaration)
    told = {name.strip(): value.strip() for name, value in pairs}
    if "font-family" in told:
        told["font-family"] = "var(--font)"
    return "".join(f' {name}="{value}"' for name, value in told.items())


def _unique_ids(svg: str, salt: str) -> str:
    """Several figures share one page: their ids (axes_1, …) must not collide."""
    prefix = f"f{sum((i + 1) * ord(c) for i, c in enumerate(salt)) % 1_000_003}-"
    return (
        svg.replace('id="', f'id="{prefix}').replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')
    )


def figures(parts: Sequence[str]) -> str:
    """Figures side by side, as many as fit."""
    return f"<div class='figures'>{''.join(parts)}</div>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, classes: str = "") -> str:
    """A table of ready HTML cells; on a phone each row becomes a card that repeats the heads."""
    top = "".join(f"<th scope='col'>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{_cells(head, row)}</tr>\n" for row in rows)
    content = f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>"
    return f"<div class='wide' tabindex='0' role='group' aria-label='Table'><table class='{classes}'>\n{content}\n</table></div>"


def _cells(head: Sequence[str], row: Sequence[str]) -> str:
    first = f"<th scope='row'>{row[0]}</th>"
    rest = zip(head[1:], row[1:], strict=True)
    return first + "".join(f'<td data-label="{escape(_text(label), quote=True)}">{cell}</td>' for label, cell in rest)


def _text(html: str) -> str:
    """A head without its tags."""
    return html.replace("<br>", " ").replace("<small>", "").replace("</small>", "")


def details(title: str, body: str) -> str:
    """A part that opens on a click (and is open on paper)."""
    return f"<details>\n<summary>{escape(title)}</summary>\n{body}\n</details>"


def pre(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"

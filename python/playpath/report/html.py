"""HTML parts: escaping, the page frame, tables, figures, data for scripts."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from playpath.plots.style import GRID, INK, MUTED, PAPER, take_literally

_SVG_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "playpath", "font.family": "sans-serif"}
_FONT = "font-family: var(--font)"


def asset(name: str) -> str:
    """A file of the report's assets."""
    return resources.files("playpath.report").joinpath("assets", name).read_text(encoding="utf-8")


def page(title: str, sections: Sequence[str], *, interactive: bool) -> str:
    """A whole page; with `interactive`, the plotting script too."""
    styles = [asset("style.css")]
    scripts = [asset("page.js")]
    if interactive:
        styles.append(asset("uplot.min.css"))
        scripts = [asset("uplot.min.js"), asset("timeline.js"), *scripts]
    body = "\n".join(section for section in sections if section)
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n"
        f"<title>{escape(title)}</title>\n<style>\n{''.join(styles)}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        + "".join(f"<script>\n{script}\n</script>\n" for script in scripts)
        + "</body>\n</html>\n"
    )


def section(title: str, body: str, *, note: str = "", anchor: str = "") -> str:
    """A section with a heading and, in small type, how to read it."""
    small = f"<p class='note'>{escape(note)}</p>" if note else ""
    name = f" id='{escape(anchor)}'" if anchor else ""
    return f"<section{name}>\n<h2>{escape(title)}</h2>\n{small}\n{body}\n</section>"


def figure_svg(figure: Figure, description: str, *, is_full: bool = False) -> str:
    """A figure as inline SVG whose ink, grid and font follow the page, in light and dark.

    With `is_full` it takes the page's width, and scrolls on a phone: for figures full of text.
    """
    buffer = io.StringIO()
    take_literally(figure)
    with rc_context(_SVG_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Glyph .* missing|constrained_layout not applied"
        )  # the reader's fonts draw the text, not ours
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, variable in ((INK, "--ink"), (MUTED, "--muted"), (GRID, "--grid"), (PAPER, "--paper")):
        svg = svg.replace(colour, f"var({variable})")
    svg = svg.replace("font-family: sans-serif", _FONT).replace("'sans-serif'", "var(--font)")
    svg = svg.replace("<svg ", f"<svg role='img' aria-label='{escape(description, quote=True)}' ", 1)
    kind = " class='full'" if is_full else ""
    return f"<figure{kind}>{_unique_ids(svg, description)}</figure>"


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
    return f"<div class='wide'><table class='{classes}'>\n{content}\n</table></div>"


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


def data(name: str, value: Any) -> str:
    """Data for a script of the page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"<script type='application/json' id='{name}'>{text}</script>"

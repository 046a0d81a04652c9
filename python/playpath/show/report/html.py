"""Building blocks of HTML pages: escaping, the page with its security policy, tables, figures."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

_LONG = 500
"""Texts in a document are cut beyond so many characters: more than any sentence has, fewer than any trace."""


class Section(str):
    """A section of the page, which is listed in its contents."""

    heading: str
    anchor: str

    def __new__(cls, heading: str, anchor: str, text: str) -> Section:
        """The section as HTML, including its heading."""
        made = super().__new__(cls, text)
        made.heading, made.anchor = heading, anchor
        return made


def asset(name: str) -> str:
    """The content of a file of the report's assets."""
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
    body = typeset("\n".join([head, _contents(others), *others]))
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<meta name='color-scheme' content='light dark'>\n<meta name='referrer' content='no-referrer'>\n"
        f"<title>{escape(title)}</title>\n<link rel='icon' href='data:,'>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


_KEPT = re.compile(r"(<(script|pre|code|style)\b.*?</\2>|<[^>]*>)", re.DOTALL)
_UNIT = re.compile(r"(?<=\d) (?=(?:%|s|ms|min|[kMG]?bit/s|[kM]?B)(?![\w/]))")
_MINUS = re.compile(r"(?<![\w.,)\]-])-(?=\.?\d)")


def typeset(text: str) -> str:
    """Keep numbers and units on one line and use true minus signs; code and scripts are not changed.

    >>> typeset("<td>-2.5 s</td><code>-2 s</code>").replace(chr(160), "~")
    '<td>−2.5~s</td><code>-2 s</code>'
    """
    parts = _KEPT.split(text)
    # In groups of three: text, the part that is not changed, and the name of its tag.
    parts[::3] = [_MINUS.sub("−", _UNIT.sub("\N{NO-BREAK SPACE}", part)) for part in parts[::3]]
    del parts[2::3]
    return "".join(parts)


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


def figures(parts: Sequence[str]) -> str:
    """Figures side by side, as many as fit; four are arranged two by two."""
    return f"<div class='figures{' by-two' if len(parts) == 4 else ''}'>{''.join(parts)}</div>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, classes: str = "") -> str:
    """A table of HTML cells; on a phone each row becomes a card that repeats the heads."""
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


def prose(text: str) -> str:
    """Escape text, with the parts between backticks as code.

    >>> prose("`a<b` & c")
    '<code>a&lt;b</code> &amp; c'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def document(stored: object) -> str:
    """A result's document as JSON in a block that can be scrolled by keyboard. Long texts are cut: a trace would fill fifty pages.

    >>> print(document(["0" * 600]))
    <pre tabindex='0'>[
     &quot;0000000000000000000000000000000000000000… (600 characters)&quot;
    ]</pre>
    """
    return f"<pre tabindex='0'>{escape(json.dumps(_cut(stored), indent=1, ensure_ascii=False))}</pre>"


def _cut(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _cut(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part) for part in value]
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:40]}… ({len(value)} characters)"
    return value

"""HTML parts: escaping, the page frame with its policy, tables, figures."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

_LONG = 500
"""Characters of a text in a document, beyond which it is cut: longer than any sentence, shorter than any trace."""


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
    """HTML whose numbers stay with their units, and have true minus signs; code and scripts stay as they are.

    >>> typeset("<td>-2.5 s</td><code>-2 s</code>").replace(chr(160), "~")
    '<td>−2.5~s</td><code>-2 s</code>'
    """
    parts = _KEPT.split(text)
    # Of three: text, what is kept, and the name of its tag.
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
    """Figures side by side, as many as fit; four are two by two, so that none is left alone."""
    return f"<div class='figures{' by-two' if len(parts) == 4 else ''}'>{''.join(parts)}</div>"


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


def prose(text: str) -> str:
    """Text in which what stands between backticks is code.

    >>> prose("`a<b` & c")
    '<code>a&lt;b</code> &amp; c'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def document(stored: object) -> str:
    """What a result holds, as JSON that keys can scroll. Long texts are cut: a trace would fill fifty pages on paper.

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

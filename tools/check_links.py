#!/usr/bin/env python3
"""Every link in every Markdown file of the repository leads to a file, and its anchor to a heading there."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]


@cache
def tokens(page: Path) -> list[Token]:
    """The page, parsed."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text())


@cache
def anchors(page: Path) -> set[str]:
    """Names of the headings, as GitHub and the site's builder make them."""
    found: Counter[str] = Counter()
    names = set()
    for head, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if head.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            names.add(f"{name}-{found[name]}" if found[name] else name)
            found[name] += 1
    return names


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Line and target of each link and image."""
    for token in tokens(page):
        for child in token.children or ():
            target = child.attrs.get("href") or child.attrs.get("src")
            if target and not re.match(r"[a-z]+:", str(target)):
                yield (token.map or [0])[0] + 1, unquote(str(target))


def faults(page: Path) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    for line, target in links(page):
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        if not goal.exists():
            yield f"{page.relative_to(ROOT)}:{line}: {target}: no such file"
        elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
            yield f"{page.relative_to(ROOT)}:{line}: {target}: no such heading"


if __name__ == "__main__":
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    found = [fault for name in listed.stdout.decode().split() for fault in faults(ROOT / name)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    sys.exit(bool(found))

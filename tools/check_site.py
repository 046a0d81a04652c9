#!/usr/bin/env python3
"""Every link of the built site leads to a page and an anchor in it, and nothing is loaded from elsewhere: tools/check_site.py FOLDER.

The Rust reference checks itself (`cargo doc` with warnings as errors); here only links into it are followed.
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}


class Page(HTMLParser):
    """Anchors, links, and what is loaded with the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                (self.loads if (tag, name) in LOADS else self.links).append(value)


@cache
def read(file: Path) -> Page:
    """A page of the site."""
    return Page(file.read_text(errors="replace"))


def fault(site: Path, file: Path, target: str, *, loaded: bool) -> str | None:
    """What is wrong with a link, if anything."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "is loaded from elsewhere" if loaded and parts.scheme != "data" else None
    goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not goal.is_relative_to(site) or not goal.exists():
        return "no such page"
    anchor = unquote(parts.fragment)
    if (
        anchor
        and goal.suffix == ".html"
        and "rust" not in goal.relative_to(site).parts
        and anchor not in read(goal).anchors
    ):
        return "no such anchor"
    return None


def faults(site: Path) -> list[str]:
    """A line for each bad link."""
    lines = []
    for file in sorted(site.rglob("*.html")):
        if file.relative_to(site).parts[0] != "rust":
            page = read(file)
            found = [(t, fault(site, file, t, loaded=False)) for t in page.links]
            found += [(t, fault(site, file, t, loaded=True)) for t in page.loads]
            lines += [f"{file.relative_to(site)}: {target}: {why}" for target, why in found if why]
    return lines


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]).resolve())
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    sys.exit(bool(wrong))

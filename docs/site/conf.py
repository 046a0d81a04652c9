"""The site: every Markdown page of the repository, the Python reference, and the Rust reference beside it. `make docs` builds it.

Pages are read where they lie, so a link works alike on the site and in the repository. A link to a Rust file leads to its
page in the Rust reference; any other file is copied beside the page that names it.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parents[2]
CONTENTS = {
    "Get an answer": ["docs/guide", "docs/explorer", "docs/population", "docs/logs"],
    "What it shows": ["docs/scenarios", "docs/multipath", "docs/quic", "docs/l4s", "docs/slack", "docs/papers"],
    "Trust it, run it for real": ["docs/validation", "docs/real"],
    "Look things up": [
        "docs/manual/README",
        "docs/reference/scenario",
        "docs/reference/components",
        "docs/reference/metrics",
        "docs/models/README",
        "docs/appendix/README",
        "docs/site/python",
        "docs/site/rust",
    ],
    "Change it": ["CONTRIBUTING", "docs/architecture", "docs/recipes/README", "docs/decisions/README", "CHANGELOG"],
}
"""The first three are the path for readers: at most twelve pages of one to three screens each."""
FOLDERS = ("docs/manual", "docs/models", "docs/recipes", "docs/decisions", "docs/appendix")
"""Each has a README that lists its pages."""

project = "playpath"
author = "the playpath authors"
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "docs/**.png", "docs/**.svg", "crates/*/README.md", "bpf/README.md"]
exclude_patterns = [
    "target",
    "out",
    ".venv",
    ".git",
    "fuzz",
    "node_modules",
    "**/target",
    "**/src",
    "media",
    "python",
    "tests",
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
# A line that the formatter begins with "% of them" is no comment.
myst_disable_syntax = ["myst_line_comment"]
myst_links_external_new_tab = False
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = "playpath"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_search_scorer = str(Path(__file__).parent / "scorer.js")


def contents(pages: list[str], *options: str) -> str:
    """A part of the table of contents, in the margin only."""
    return (
        "\n".join(["\n```{toctree}", ":hidden:", *options, "\n"]) + "\n".join(f"/{page}" for page in pages) + "\n```\n"
    )


def crates() -> str:
    """The crates of the workspace, with links into the reference that `cargo doc` made."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    lines = ["| crate | what it is |", "|---|---|"]
    for package in sorted(packages, key=lambda p: p["name"]):
        for target in package["targets"]:
            if target["doc"] and {"lib", "cdylib", "bin"} & set(target["kind"]):
                page = f"rust/{target['name'].replace('-', '_')}/index.html"
                lines.append(f'| <a href="../../{page}">{package["name"]}</a> | {package["description"] or ""} |')
                break
    return "\n".join(lines)


def complete(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds what Markdown in the repository should not hold: tables of contents, the list of crates, the way to the explorer."""
    if page in (root_doc, "docs/explorer") and app.tags.has("explorer"):
        title, _, text = source[0].partition("\n\n")
        way = "../" * page.count("/") + "explorer.html"
        link = f'<a href="{way}">Open the explorer</a>: change a path by hand, and see who keeps playing.'
        source[0] = f"{title}\n\n{link}\n\n{text}"
    if page == root_doc:
        known = {p for pages in CONTENTS.values() for p in pages}
        others = sorted(
            p for p in app.env.found_docs if p.startswith("docs/") and not p.startswith(FOLDERS) and p not in known
        )
        CONTENTS["Look things up"] += others
        source[0] += "".join(contents(pages, f":caption: {caption}") for caption, pages in CONTENTS.items())
        source[0] += contents(
            sorted(p for p in app.env.found_docs if p.startswith(("crates/", "bpf/"))), ":caption: Parts of the code"
        )
    folder, _, name = page.rpartition("/")
    if folder in FOLDERS and name == "README":
        source[0] += contents(sorted(p for p in app.env.found_docs if p.startswith(f"{folder}/") and p != page))
    if page == "docs/site/rust":
        source[0] += crates()


class RustSources(SphinxPostTransform):
    """A link to a Rust file of a crate leads to the reference's page of that file."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Replace the links of this page."""
        for link in list(self.document.findall(addnodes.download_reference)):
            file = Path(os.path.normpath(Path(self.env.docname).parent / link["reftarget"]))
            if file.suffix == ".rs" and file.parts[:1] == ("crates",) and "src" in file.parts:
                inside = Path(*file.parts[file.parts.index("src") + 1 :])
                module = "_engine" if file.parts[1] == "python" else f"playpath_{file.parts[1].replace('-', '_')}"
                page = Path("rust/src") / module / f"{inside}.html"
                up = "../" * self.env.docname.count("/")
                link.replace_self(nodes.reference("", "", *link.children, refuri=f"{up}{page}"))


ATTRIBUTES = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
    (r'<aside class="toc-drawer( no-toc)?">', r'<aside class="toc-drawer\1" aria-label="On this page">'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    (r'<th class="head([^"]*)"><p></p></th>', r'<td class="head\1"></td>'),
    ('<div id="search-results">', '<h1>Search</h1><div id="search-results">'),
)
"""What readers of screens and keys miss in the theme's HTML: levels and names, code and tables that keys can scroll."""


def for_everybody(app: Sphinx, _: Exception | None) -> None:
    """Writes `ATTRIBUTES` into every page."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for found, given in ATTRIBUTES:
            text = re.sub(found, given, text)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", complete)
    app.connect("build-finished", for_everybody)
    app.add_post_transform(RustSources)

"""The project's own checks find what they are there for."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import check_dependencies
import check_links
import check_site


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Classpath-exception-2.0", False),
        ("", False),
    ],
)
def test_licences(expression, is_allowed):
    assert check_dependencies.is_allowed(expression) is is_allowed


def test_links_that_lead_nowhere_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(check_links, "ROOT", tmp_path)
    (tmp_path / "other.md").write_text("# The `gr-sty` rule\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    good = "[a](other.md#the-gr-sty-rule) [b](other.md#twice-1) [c](#here) ![d](other.md) [e](https://example.org)\n"
    page.write_text(f"# Here\n\n{good}\n| [f](gone.md) | [g](other.md#twice-2) |\n|---|---|\n\n[h](#there) `[i](x)`\n")
    assert list(check_links.faults(page)) == [
        "page.md:5: gone.md: no such file",
        "page.md:5: other.md#twice-2: no such heading",
        "page.md:8: #there: no such heading",
    ]


def test_pages_of_the_site_with_bad_links_are_found(tmp_path):
    (tmp_path / "rust").mkdir()
    (tmp_path / "rust" / "index.html").write_text('<a href="gone.html">not ours</a>')
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1>')
    good = '<a href="b.html#here"></a><a href="rust/index.html#x"></a><a href="https://example.org"></a><a href="#top"></a>'
    bad = '<a href="b.html#there"></a><a href="../out.html"></a><script src="//example.org/x.js"></script>'
    (tmp_path / "a.html").write_text(f'<p id="top">{good}{bad}')
    assert check_site.faults(tmp_path) == [
        "a.html: b.html#there: no such anchor",
        "a.html: ../out.html: no such page",
        "a.html: //example.org/x.js: is loaded from elsewhere",
    ]

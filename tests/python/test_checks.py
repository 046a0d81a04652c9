"""The project's own checks find what they are there for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import check_dependencies
import check_links
import check_site

ALLOWED = check_dependencies.rules_of(str(ROOT / "Cargo.toml"))["licenses"]["allow"]


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
    assert check_dependencies.is_allowed(expression, ALLOWED) is is_allowed


def test_dependencies_without_a_use_are_found(tmp_path):
    for file, text in (("src/lib.rs", "use serde_json::json;"), ("tests/a.rs", "proptest! { rand::random() }")):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    kinds = {"serde-json": None, "rand": None, "proptest": "dev", "cc": "dev", "native": None}
    needs = [{"name": name, "rename": None, "kind": kind} for name, kind in kinds.items()]
    package = {"manifest_path": str(tmp_path / "Cargo.toml"), "dependencies": needs}
    assert check_dependencies.unused(package, {"native"}) == ["rand", "cc"]


def test_checking_no_manifest_is_a_fault():
    script = Path(check_dependencies.__file__)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MANIFEST" in done.stderr


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


def test_nothing_that_is_fetched_is_built():
    """Building a source distribution runs what it brings, as root where the test bed fetches its clip."""
    folders = ("python", "media", "tools", "docs", "tests", "bpf")
    texts = {file: file.read_text() for folder in folders for file in (ROOT / folder).rglob("*.py")}
    fetching = {file.name: text for file, text in texts.items() if re.search(r'"pip",\s*"download"', text)}
    assert sorted(fetching) == ["make_frames.py", "media.py"]
    assert [name for name, text in fetching.items() if '"--only-binary", ":all:"' not in text] == []


def test_what_an_attack_found_is_held_by_tests_that_exist():
    """The last column of docs/appendix/attacks.md names tests."""
    page = (ROOT / "docs/appendix/attacks.md").read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`([\w.]+)`", row[-1])}
    assert len(named) > 80
    folders = (ROOT / "tests", ROOT / "crates", ROOT / "fuzz")
    files = [file for folder in folders for end in ("py", "rs") for file in folder.rglob(f"*.{end}")]
    text = "\n".join(file.read_text() for file in files if "target" not in file.parts)
    there = set(re.findall(r"^\s*(?:def|fn) (\w+)\(", text, re.MULTILINE))
    there |= {file.name for file in (ROOT / "tests/packets").iterdir()}
    assert named - there == set()

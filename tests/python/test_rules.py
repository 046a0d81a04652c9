"""The page of TCP's rules says of every packet script what it is and whether Linux keeps it."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_has_every_script() -> None:
    made = runpy.run_path(str(ROOT / "docs/rules.py"))
    told = (ROOT / "docs/appendix/tcp-rules.md").read_text(encoding="utf-8")
    rows = [line for line in made["page"]().splitlines() if line.startswith("| `")]
    assert [line for line in told.splitlines() if line.startswith("| `")] == rows, "run docs/rules.py"
    count = len(list((ROOT / "tests/packets").glob("*.pkt")))
    assert len(rows) == count
    assert f"All {count} hold for our" in " ".join(told.split())

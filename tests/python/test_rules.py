"""The pages of TCP's and QUIC's rules say of every packet script and test what it is, and whether Linux keeps it."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_has_every_script() -> None:
    made = runpy.run_path(str(ROOT / "docs/rules.py"))
    shown = (ROOT / "docs/appendix/tcp-rules.md").read_text(encoding="utf-8")
    rows = [line for line in made["page"]().splitlines() if line.startswith("| `")]
    assert [line for line in shown.splitlines() if line.startswith("| `")] == rows, "run docs/rules.py"
    count = len(list((ROOT / "tests/packets").glob("*.pkt")))
    assert len(rows) == count
    assert f"All {count} hold for our" in " ".join(shown.split())


def test_the_page_of_quic_has_every_test() -> None:
    made = runpy.run_path(str(ROOT / "docs/rules.py"))
    shown = (ROOT / "docs/appendix/quic-rules.md").read_text(encoding="utf-8")
    rows = [line for line in made["quic_page"]().splitlines() if line.startswith("| `")]
    assert [line for line in shown.splitlines() if line.startswith("| `")] == rows, "run docs/rules.py"
    tests = [ROOT / f"crates/transport/tests/quic_{name}.rs" for name in ("rules", "frames", "musts")]
    count = sum(file.read_text(encoding="utf-8").count("#[test]") for file in tests)
    assert len(rows) == count
    assert f"All {count} hold" in " ".join(shown.split())
    assert all("§" in row or "loss was none" in row or "sends nothing although" in row for row in rows)

"""What scripts write into pages that people write: what stands between a script's marks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def fill(page: Path, mark: str, text: str) -> None:
    """Put `text` between `<!-- begin: MARK -->` and `<!-- end: MARK -->`, and format the page."""
    begin, end = f"<!-- begin: {mark} -->\n", f"<!-- end: {mark} -->\n"
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{rest.split(end)[1]}")
    subprocess.run([sys.executable, "-m", "mdformat", page], check=True)

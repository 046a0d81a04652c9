"""The report: one HTML file with everything inside, for a screen, a phone or paper."""

from __future__ import annotations

from pathlib import Path

from playpath.compare import Comparison
from playpath.files import write_text
from playpath.record import Session
from playpath.report.comparison_page import comparison_page
from playpath.report.session_page import session_page

__all__ = ["comparison_page", "session_page", "write_report"]


def write_report(result: Comparison | Session, path: str | Path) -> Path:
    """Write the report of a comparison or of a traced session; returns the path.

    The file needs no network, no other file and no server.
    """
    page = comparison_page(result) if isinstance(result, Comparison) else session_page(result)
    target = Path(path)
    write_text(target, page)
    return target

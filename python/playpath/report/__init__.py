"""The report: one HTML file with everything inside, for a screen, a phone or paper."""

from __future__ import annotations

from pathlib import Path

from playpath.compare import Comparison
from playpath.files import write_text
from playpath.record import Session
from playpath.report.comparison_page import comparison_page
from playpath.report.session_page import session_page
from playpath.report.sweep_page import sweep_page
from playpath.sweep.result import SweepResult

__all__ = ["comparison_page", "session_page", "sweep_page", "write_report"]


def write_report(result: Comparison | Session | SweepResult, path: str | Path) -> Path:
    """Write the report of a comparison, a traced session or a sweep; returns the path.

    The file needs no network, no other file and no server.
    """
    if isinstance(result, Comparison):
        page = comparison_page(result)
    else:
        page = session_page(result) if isinstance(result, Session) else sweep_page(result)
    target = Path(path)
    write_text(target, page)
    return target

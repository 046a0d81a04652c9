"""The report: one HTML file with everything inside, for a screen, a phone or paper."""

from pathlib import Path

from playpath.base.errors import InputError
from playpath.base.files import write_text
from playpath.population.answer import PopulationResult
from playpath.results.comparison import Comparison
from playpath.results.packets import Window
from playpath.results.record import Session
from playpath.show.report.comparison_page import comparison_page
from playpath.sweep.result import SweepResult

__all__ = ["comparison_page", "write_report"]


def write_report(
    result: Comparison | Session | SweepResult | PopulationResult, path: str | Path, *, window: Window | None = None
) -> Path:
    """Write the report of a comparison, a traced session, a sweep or a population; returns the path.

    The file needs no network, no other file and no server. `window` (begin and end in seconds) selects the part that is shown
    packet by packet.
    """
    if isinstance(result, Comparison):
        page = comparison_page(result, window)
    elif isinstance(result, Session):
        from playpath.show.report.session_page import session_page

        page = session_page(result, window)
    elif window is not None:
        raise InputError(f"--window {window[0]:g}..{window[1]:g}: these results keep no packets")
    elif isinstance(result, PopulationResult):
        from playpath.show.report.population_page import population_page

        page = population_page(result)
    else:
        from playpath.show.report.sweep_page import sweep_page

        page = sweep_page(result)
    target = Path(path)
    write_text(target, page)
    return target

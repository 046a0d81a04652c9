"""`playpath report`: one HTML file from a folder of results."""

import math
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import InputError
from playpath.base.files import check_file, is_special
from playpath.population import PopulationResult
from playpath.results.comparison import Comparison
from playpath.results.record import Session
from playpath.show import console
from playpath.sweep import SweepResult


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by compare, run --trace, sweep or population.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The HTML file; by default DIR/report.html.")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="FROM..TO", help="Show the packets between these seconds."),
    ] = None,
) -> None:
    """Draw one self-contained HTML file from stored results."""
    from playpath.show.report import write_report

    if out is not None:
        check_file(out, "--out")
    part = None if window is None else _window(window)
    result = load_results(folder)
    if out is None:
        out = folder / "report.html"
        check_file(out, "--out")
    console.out.print(console.plain(str(write_report(result, out, window=part))), soft_wrap=True)


def _window(text: str) -> tuple[float, float]:
    begin, dots, end = text.partition("..")
    try:
        found = float(begin), float(end)
    except ValueError:
        found = (0.0, 0.0)
    if not dots or not 0 <= found[0] < found[1] < math.inf:
        raise InputError(f"--window {text}: expected FROM..TO in seconds, for example 20..20.5")
    return found


def load_results(folder: Path) -> Comparison | Session | SweepResult | PopulationResult:
    """Read a comparison, a session, a sweep or a population, depending on the files in the folder."""
    kinds = (
        ("comparison.json", Comparison),
        ("record.json", Session),
        ("sweep.json", SweepResult),
        ("population.json", PopulationResult),
    )
    for name, kind in kinds:
        if (folder / name).is_file():
            if special := next(filter(is_special, folder.rglob("*")), None):
                raise InputError(f"{special}: is a device, a pipe or a socket; results have none")
            try:
                return kind.load(folder)
            except InputError:
                raise
            except Exception as error:  # a damaged file may raise anything
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                raise InputError(f"{folder / name}: damaged or of another version ({reason}); run it again") from None
    raise InputError(f"{folder}: no results here; give a folder written by compare, run --trace, sweep or population")

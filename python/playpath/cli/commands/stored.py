"""Shared by `population compare` and `sweep`: a store, executors, progress, Ctrl-C, the report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from playpath.base.errors import unknown_name
from playpath.base.files import check_writable
from playpath.cli.commands.compare import INTERRUPTED
from playpath.cli.commands.results import results_folder
from playpath.population import PopulationResult
from playpath.results.record import slug
from playpath.show import console
from playpath.sweep import Store, SweepResult
from playpath.sweep.executors import NAMES

Executor = Annotated[str, typer.Option("--executor", metavar="NAME", help=f"One of: {', '.join(NAMES)}.")]
Result = TypeVar("Result", PopulationResult, SweepResult)


def check_executor(name: str) -> None:
    if name not in NAMES:
        raise unknown_name("executor", name, NAMES)


def answer(
    name: str,
    file: str,
    question: Mapping[str, Any],
    run: Callable[..., Result],
    show: Callable[[Result], None],
    *,
    unit: str,
    store: Path | None,
    out: Path | None,
    json: bool,
) -> Result:
    """Run a job that resumes from a store, then write, show and return its result.

    `name`, `file` and `question`: as `results_folder` takes them. `run`: called with `store`, `progress`, `on_interrupt`. `unit`:
    what is counted, "sessions". Exits with INTERRUPTED after Ctrl-C.
    """
    kept = store or (out or Path("out") / slug(name)) / "store"
    check_writable(kept, "--store" if store else "--out")
    console.warn_of_other_builds(Store(kept).of_other_builds(), "shards", kept)
    with results_folder(out, name, file, question) as folder:
        with console.progress(unit) as progress:
            result = run(store=kept, progress=progress, on_interrupt=_report_interrupt)
        _finish(result, folder, show, unit=unit, json=json)
    return result


def _report_interrupt() -> None:
    console.message("stopping: finishing the chunks under way; Ctrl-C again drops them")


def _finish(result: Result, folder: Path, show: Callable[[Result], None], *, unit: str, json: bool) -> None:
    from playpath.show.report import write_report

    result.save(folder)
    if json:
        console.print_json(result.to_dict())
    else:
        show(result)
    console.message(f"report: {write_report(result, folder / 'report.html')}")
    if result.interrupted:
        console.message(f"interrupted: finished {unit} are stored; run the same command again to resume")
        raise typer.Exit(INTERRUPTED)

"""`playpath reproduce`: a paper's grid, figures and claims, judged."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from playpath import console
from playpath.commands import options
from playpath.commands.compare import INTERRUPTED
from playpath.errors import unknown_name
from playpath.files import check_writable
from playpath.studies import NAMES, StudyResult, run_study, study

_STYLES = {"reproduced": "green", "not reproduced": "red", "undecided": "yellow"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(command)


def command(
    name: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of: {', '.join(NAMES)}, all.")] = "all",
    seeds: options.Seeds = None,
    jobs: options.Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Short media, three seeds: to see that all works.")] = False,
    figures: Annotated[bool, typer.Option("--figures", help="Also write every figure as PNG.")] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Run a paper's whole grid, draw its figures and judge its claims; resumable at any moment.

    Results go to --out, by default out/reproduce: for each study a report, the tidy table and the verdicts.
    """
    if name not in (*NAMES, "all"):
        raise unknown_name("study", name, [*NAMES, "all"])
    root = out or Path("out/reproduce")
    check_writable(root)
    results = []
    for one in NAMES if name == "all" else (name,):
        result = _run(one, root / one, seeds, jobs, quick)
        if result.interrupted:
            console.message("interrupted: finished cells are stored; run the same command again to go on")
            raise typer.Exit(INTERRUPTED)
        _write(result, root / one, figures)
        results.append(result)
        if not json:
            print_claims(result)
    if json:
        console.print_json([result.to_dict() for result in results])


def _run(name: str, folder: Path, seeds: int | None, jobs: int | None, quick: bool) -> StudyResult:
    begin = time.perf_counter()
    with console.progress(name) as progress:
        result = run_study(
            study(name),
            folder,
            seeds=seeds,
            quick=quick,
            jobs=jobs,
            progress=progress,
            on_interrupt=lambda running: console.message(
                f"stopping: finishing {running} sessions; Ctrl-C again drops them"
            ),
        )
    console.message(f"{name}: {result.table.height} sessions in {time.perf_counter() - begin:.1f} s")
    return result


def _write(result: StudyResult, folder: Path, figures: bool) -> None:
    from playpath.studies.results import save, save_figures  # matplotlib takes its time

    console.message(f"report: {save(result, folder)}")
    if figures:
        save_figures(result, folder / "figures")


def print_claims(result: StudyResult) -> None:
    """The table of verdicts."""
    table = Table(title=escape(result.study.title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for title in ("claim", "verdict", "what decides", "figures"):
        table.add_column(title, overflow="fold")
    for claim in result.claims:
        deciding = claim.deciding
        verdict = f"[{_STYLES[claim.verdict]}]{claim.verdict}[/]"
        table.add_row(claim.claim.id, verdict, escape(deciding.check.says), escape(deciding.figures()))
    console.print_table(table)
    console.out.print(f"[dim]digest {result.digest[:16]}[/dim]")

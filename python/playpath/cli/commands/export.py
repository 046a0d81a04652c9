"""`playpath export`: an experiment in one file."""

import os
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import InputError
from playpath.base.files import check_file
from playpath.cli.commands.report import load_results
from playpath.results.archive.bundle import check_kind, export
from playpath.results.archive.question import question_of
from playpath.show import console


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by compare, sweep or population.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The archive; by default DIR.playpath.zip.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--population",
            metavar="FILE",
            help="A population's file; needed if it names files and these are not found from here.",
        ),
    ] = None,
) -> None:
    """Bundle an experiment into one archive that `playpath verify` plays again and compares.

    It holds the scenario with every default, seeds, versions, digests, tables, the report with its figures, and the traces and
    manifests that were used; no other file is needed. Equal results give equal bytes.
    """
    target = out or Path(f"{os.path.normpath(folder)}.playpath.zip")
    check_file(target, "--out")
    if os.path.lexists(target):
        raise InputError(f"--out {target}: exists already and is not overwritten; give another file")
    result = check_kind(load_results(folder), folder)
    export(folder, result, question_of(result, source), target)
    console.out.print(console.plain(str(target)), soft_wrap=True)

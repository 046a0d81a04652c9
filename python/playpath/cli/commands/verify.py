"""`playpath verify`: an archive played again."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import PlaypathError, RunError
from playpath.cli.commands import options
from playpath.cli.commands.report import load_results
from playpath.results.archive.unpack import unpack
from playpath.results.archive.verify import Finding, other_version, verify
from playpath.show import console


def command(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="Archive written by `playpath export`.")],
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Play every session of an archive again and compare: exit status 0 if everything is the same, 1 if not.

    It says where the first differences are, whether the answer follows from the tables, which files could not be compared with
    anything, and whether the archive was made by another version.
    """
    with tempfile.TemporaryDirectory(prefix="playpath-verify-") as place:
        folder = Path(place)
        manifest = unpack(archive, folder)
        if note := other_version(manifest):
            console.message(note)
        try:
            with console.progress("sessions") as progress:
                found = verify(folder, manifest, load_results, jobs=jobs, progress=progress)
        except PlaypathError as error:
            raise type(error)(f"{archive}: {str(error).replace(f'{folder}/', '')}") from None
    if json:
        console.print_json({"same": found.is_same, **found.__dict__, "digest": manifest["digest"]})
    else:
        _print(found, str(manifest["digest"]))
    if not found.is_same:
        raise typer.Exit(RunError.exit_status)


def _print(found: Finding, digest: str) -> None:
    if found.is_same:
        console.out.print(
            f"same: {found.sessions} sessions played again, digest {console.plain(digest)}", soft_wrap=True
        )
    else:
        statements = (
            f"; {found.wrong} statement{'s do' if found.wrong > 1 else ' does'} not follow" if found.wrong else ""
        )
        console.out.print(f"differs: {found.differing} of {found.sessions} sessions{statements}", soft_wrap=True)
    for text in found.differences:
        console.out.print(f"  {console.plain(text)}", soft_wrap=True)
    if (more := found.differing + found.wrong - len(found.differences)) > 0:
        console.out.print(f"  … and {more} more")
    if found.not_verified:
        console.out.print(console.plain(f"not verified: {', '.join(found.not_verified)}"), soft_wrap=True)

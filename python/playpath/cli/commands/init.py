"""`playpath init`: write a scenario from a few answers, given by flags or at a terminal."""

import filecmp
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from playpath.base.errors import InputError, RunError
from playpath.base.files import check_file, replaced
from playpath.cli.commands import options
from playpath.cli.init.answers import shipped_trace, text
from playpath.cli.init.interview import Interview
from playpath.results.record import slug
from playpath.show import console


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What to write.")] = Path("my-scenario.toml"),
    video: Annotated[
        str | None,
        typer.Option("--video", metavar="WHAT", help='A rate ("5 Mbit/s"), a file (.mp4), a manifest (.mpd, .m3u8).'),
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="How long the video plays.")
    ] = None,
    ladder: Annotated[
        str | None, typer.Option("--ladder", metavar="RATES", help='Rates to switch between: "1 Mbit/s, 3 Mbit/s".')
    ] = None,
    buffer: Annotated[
        str | None, typer.Option("--buffer", metavar="TIME", help="Buffer of the player; only with a single rate.")
    ] = None,
    rate: Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Rate of the path.")] = None,
    rtt: Annotated[
        str | None, typer.Option("--rtt", metavar="TIME", help="Round-trip time of the path, without queues.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss", metavar="SHARE", help='Random loss of the path: "0.1 %", or "bursts(every=10 s, duration=20 ms)".'
        ),
    ] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="SIZE", help='Queue of the path: "1 bdp", "100 packets", "50 ms".')
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE", help="A bandwidth trace in place of --rate.")
    ] = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="NAME", help="The path of a shipped scenario: mobile, satellite, …")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="URL", help="Measure this machine's link by a download of up to 8 s."),
    ] = None,
    cc: options.Cc = None,
    seeds: options.Seeds = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="Ask nothing; use defaults for the rest.")] = False,
) -> None:
    """Write a scenario of your own, with comments: video, path, senders.

    At a terminal it asks for everything that no flag gives; elsewhere, and with --defaults, it takes defaults. It never overwrites
    a file, and it writes one only when all answers are valid.
    """
    target = _target(file)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not defaults
    flags = {
        "video": video, "duration": duration, "ladder": ladder, "buffer": buffer,
        "rate": rate, "rtt": rtt, "loss": loss, "queue": queue, "trace": trace, "like": like, "measure": measure,
        "cc": cc, "seeds": None if seeds is None else str(seeds),
    }  # fmt: skip
    if asks:
        console.message(
            f"This writes {target}. Enter accepts the value in [brackets]; Ctrl-C quits and writes nothing."
        )
    given = {name: value for name, value in flags.items() if value is not None}
    answers = Interview(target.parent, given, asks=asks).answers()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _new_file(target) as scenario:
        scenario.write(text(answers, slug(target.stem), target.parent))
        if (shipped := shipped_trace(answers)) is not None:
            _copy(shipped, target.parent)
    console.message(f"wrote {target}; next: playpath show {target}, playpath compare {target}")


def _target(file: Path) -> Path:
    if file.name in ("", ".."):
        raise InputError(f"FILE {file}: is a folder; give a file")
    target = file if file.suffix == ".toml" else file.with_name(f"{file.name}.toml")
    if os.path.lexists(target):
        raise _kept(target)
    check_file(target, "FILE")
    return target


@contextmanager
def _new_file(target: Path) -> Iterator[TextIO]:
    """Create a new file; it is removed if the block fails."""
    try:
        with target.open("x", encoding="utf-8") as file:
            try:
                yield file
                file.flush()
            except BaseException:
                target.unlink()
                raise
    except FileExistsError:
        raise _kept(target) from None
    except OSError as error:
        raise RunError(f"cannot write {target}: {error.strerror or error}") from None


def _kept(target: Path) -> InputError:
    return InputError(f"{target}: exists already and is not overwritten; give another name")


def _copy(trace: Path, folder: Path) -> None:
    """Copy a shipped trace next to the scenario, unless it is already there."""
    target = folder / trace.name
    if os.path.lexists(target):
        if not filecmp.cmp(trace, target, shallow=False):
            raise InputError(f"{target}: exists already, and is not the trace of this name that playpath ships")
        return
    with replaced(target) as temporary:
        shutil.copyfile(trace, temporary)

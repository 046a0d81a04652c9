"""`playpath convert`: bandwidth traces in and out."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import InputError
from playpath.base.files import check_file, read_text, write_text
from playpath.cli.commands import options
from playpath.scenario import traces
from playpath.show import console

_FINEST_MS, _COARSEST_MS = 1, 3_600_000
"""Upper limit of --bin: an hour."""


def command(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A trace file; omit it with --generate.")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help=f"Write as one of: {', '.join(traces.FORMATS)}.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="The trace's format; by default it is recognised.")
    ] = None,
    bin_ms: Annotated[
        float, typer.Option("--bin", metavar="MS", help="Interval over which delivery opportunities become a rate.")
    ] = 100.0,
    generate: Annotated[
        str | None,
        typer.Option("--generate", metavar="KIND", help=f"Generate a trace: {', '.join(traces.GENERATORS)}."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help='Setting of the generator: mean_rate="6 Mbit/s". Repeatable.'),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of the generator.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write; by default stdout.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Recognise, check, preview and convert bandwidth traces, or make one from a seeded generator.

    Without --to and --out the trace is only checked and previewed.
    """
    if (file is None) == (generate is None):
        raise InputError("give either a trace file or --generate KIND")
    if not _FINEST_MS <= bin_ms <= _COARSEST_MS:
        raise InputError(f"--bin {bin_ms}: give milliseconds from {_FINEST_MS} to {_COARSEST_MS}")
    if out is not None:
        check_file(out, "--out", [file] if file else ())
    target = to or (traces.format_of(out) if out else None)
    if out is not None and target is None:
        raise InputError(f"--out {out}: cannot tell the format from the file's ending; give --to")
    if generate is not None:
        given = {key: str(value) for key, value in options.settings(setting).items()}
        text = traces.generate(generate, given, seed=seed, to=target or "csv")
        _finish(text, target, out, None, json)
    else:
        assert file is not None
        text = read_text(file)
        with _naming(file):
            converted = traces.convert(text, target, source, bin_ms=bin_ms) if target else text
            _finish(converted, target, out, source if target is None else None, json)


def _finish(text: str, target: str | None, out: Path | None, source: str | None, json: bool) -> None:
    if out is not None:
        write_text(out, text)
        console.message(f"written: {out}")
    elif target is not None and not json:
        sys.stdout.write(text)
        return
    found = traces.preview(text, target or source)
    if json:
        console.print_json(found.to_dict())
    else:
        print_preview(found)


def print_preview(found: traces.Preview) -> None:
    console.out.print(f"{found.format}: {found.period_s:.6g} s a lap, mean {found.mean_mbps:.4g} Mbit/s")
    console.out.print(
        f"slowest {found.min_mbps:.4g}, fastest {found.max_mbps:.4g} Mbit/s over {len(found.bins_mbps)} parts; "
        f"{found.outage_share * 100:.3g} % of them without capacity"
    )
    console.out.print(f"[dim]│[/dim]{traces.sparkline(found.bins_mbps)}[dim]│[/dim]")


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Prefix errors raised in the block with the file's name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file}: {error}") from None

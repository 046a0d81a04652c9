"""`playpath list`: what there is, from the registries."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from playpath import console, engine
from playpath.commands import completing, options
from playpath.errors import unknown_name

KINDS = {
    "cc": "congestion controls",
    "scheduler": "MPTCP schedulers",
    "queue": "queues and their management",
    "loss": "loss models",
    "player": "players",
    "abr": "adaptive bitrate rules",
    "validation": "congestion window validation",
    "pacing": "pacing of a sender",
    "profile": "bundles of TCP settings",
    "traffic": "cross traffic",
    "trace": "bandwidth-trace formats and generators",
    "metric": "metrics of a record, and how rankings use them",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(command)


def command(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help=f"One of: {', '.join(KINDS)}.", autocompletion=completing.words(*KINDS)),
    ] = None,
    json: options.Json = False,
) -> None:
    """List congestion controls, schedulers, queues, players … with parameters and defaults."""
    if kind is None:
        _print_kinds(json)
        return
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    entries = engine.registry(kind)
    if json:
        console.print_json(entries)
        return
    for entry in entries:
        _print_entry(entry)


def _print_kinds(json: bool) -> None:
    if json:
        console.print_json([{"kind": kind, "summary": text} for kind, text in KINDS.items()])
        return
    table = Table(box=None, show_header=False)
    for kind, text in KINDS.items():
        table.add_row(f"[bold]{kind}[/bold]", text)
    console.out.print(table)
    console.out.print("[dim]playpath list KIND shows names, parameters and references[/dim]")


def _print_entry(entry: dict[str, Any]) -> None:
    twin = f" [green]kernel: {console.plain(entry['in_kernel'])}[/green]" if entry.get("in_kernel") else ""
    console.out.print(f"[bold]{console.plain(entry['name'])}[/bold]  {console.plain(entry['summary'])}{twin}")
    if entry.get("reference"):
        console.out.print(f"    [dim]{console.plain(entry['reference'])}[/dim]")
    if entry.get("params"):
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 4))
        for param in entry["params"]:
            table.add_row(
                param["name"],
                console.plain(_default(param)),
                console.plain(param["allowed"]),
                console.plain(param["doc"]),
            )
        console.out.print(table)


def _default(param: dict[str, Any]) -> str:
    value = param["default"]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"= {text} {param.get('unit') or ''}".rstrip()

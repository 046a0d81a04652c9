"""`playpath list`: what there is, from the registries."""

from typing import Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from playpath.base import engine
from playpath.base.declared import Component, DeclaredKey
from playpath.base.errors import unknown_name
from playpath.cli.commands import completing, options
from playpath.show import console

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
    table = Table.grid(padding=(0, 2))
    for kind, text in KINDS.items():
        table.add_row(f"[bold]{kind}[/bold]", text)
    console.print_table(table, below="")
    console.out.print("[dim]playpath list KIND shows names, parameters and references[/dim]")


def _print_entry(entry: Component) -> None:
    console.out.print(f"[bold]{console.plain(entry['name'])}[/bold]  {console.plain(entry['summary'])}")
    about = Text(entry.get("reference") or "", style="dim")
    if about:
        console.out.print(Padding(about, (0, 0, 0, 4)))
    if "quic_stacks" in entry:
        console.out.print(Padding(_where(entry), (0, 0, 0, 4)))
    if entry.get("params"):
        console.print_table(_params(entry["params"]), below="")


def _where(entry: Component) -> Text:
    """Where a congestion control runs, and why it does not run elsewhere."""
    places = ["simulator", *([f"Linux as {entry['in_kernel']}"] if entry.get("in_kernel") else [])]
    places += [one["stack"] for one in entry["quic_stacks"] if one["refused"] is None]
    text = Text(f"runs in: {', '.join(places)}", style="green")
    whys: dict[str, list[str]] = {}
    for one in entry["quic_stacks"]:
        if one["refused"] is not None:
            whys.setdefault(one["refused"], []).append(one["stack"])
    for why, stacks in whys.items():
        text.append(f"; not in {' and '.join(stacks)}: {why}", style="dim")
    return text


def _params(params: list[DeclaredKey]) -> Table:
    """One line for each parameter; if that is too wide, its values and its description go on separate lines."""
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 4))
    for param in params:
        table.add_row(
            param["name"], *(console.plain(text) for text in (_default(param), param["allowed"], param["doc"]))
        )
    if console.fits(table):
        return table
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 4))
    table.add_column()
    table.add_column(ratio=1)
    for param in params:
        allowed = f"{_default(param)} [dim]({console.plain(param['allowed'])})[/dim]"
        table.add_row(param["name"], f"{allowed}\n{console.plain(param['doc'])}")
    return table


def _default(param: DeclaredKey) -> str:
    value = param["default"]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"= {text} {param.get('unit') or ''}".rstrip()

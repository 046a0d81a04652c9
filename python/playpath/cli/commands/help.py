"""`playpath help KEY`: what a key of a scenario, sweep or population does."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from playpath.base import engine
from playpath.base.declared import DeclaredKey, DeclaredMetric
from playpath.base.errors import InputError
from playpath.cli.commands import options
from playpath.scenario import keys
from playpath.scenario.keys import Key
from playpath.show import console

_BETTER = {"lower": "less is better", "higher": "more is better", "neither": "neither way is better"}


def command(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="A key (path.queue, loss, run.seeds), or a metric (stall time).")
    ] = None,
    json: options.Json = False,
) -> None:
    """Say what a key does: type, default, range, example, what it does in each world; or what a metric is.

    Without KEY, all tables with their keys. Help on a command: playpath COMMAND --help.
    """
    try:
        found = list(keys.all_keys()) if key is None else keys.find(key)
    except InputError:
        metrics = _metrics(key or "")
        if not metrics:
            raise
        if json:
            console.print_json(metrics)
            return
        for metric in metrics:
            _print_metric(metric)
        return
    if json:
        console.print_json([_plain(one) for one in found])
        return
    if key is None:
        _print_tables()
        return
    for one in found:
        _print_key(one)


def _metrics(text: str) -> list[DeclaredMetric]:
    """Metrics whose name or label contains the words."""
    asked = text.strip().lower().replace("_", " ").removesuffix("s")
    return [m for m in engine.metrics() if asked in m["label"].lower() or asked in m["name"].replace("_", " ")]


def _print_metric(metric: DeclaredMetric) -> None:
    title = Text(metric["name"], style="bold")
    unit = f", in {metric['unit']}" if metric["unit"] else ""
    title.append(f"  metric: {metric['label']}{unit}; {_BETTER[metric['better']]}", style="dim")
    console.out.print(title)
    console.out.print(Text(f"  {metric['summary']}"))
    console.out.print()


def _plain(key: Key) -> dict[str, object]:
    return {"document": key.document, "place": key.place, "of": key.of, **key.declared}


def _print_key(key: Key) -> None:
    about = key.declared
    title = Text(key.place, style="bold")
    of = f" of {key.of}" if key.of else ""
    title.append(f"  {about['type']}{of}, in a {key.document} since {about['since']}", style="dim")
    console.out.print(title)
    also = [place for place in keys.places(key) if place != key.place]
    rows = {
        "": about["doc"],
        "default": key.default,
        "allowed": about["allowed"],
        **dict(about["words"]),
        "example": f"{key.name} = {about['example']}" if about["example"] else "",
        "kernel": about["kernel"],
        "also at": ", ".join(also),
        "its keys": ", ".join(inner["name"] for inner in _inner(key)),
    }
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", min_width=8)
    table.add_column()
    for name, text in rows.items():
        if text:
            table.add_row(Text(f"  {name}"), Text(text))
    console.out.print(table)
    console.out.print()


def _inner(key: Key) -> list[DeclaredKey]:
    return list(keys.table_keys(key.declared["table"])) if key.declared["table"] else []


def _print_tables() -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", overflow="fold")
    table.add_column()
    for name, declared in keys.tables().items():
        own = [key["name"] for key in declared["keys"]]
        choice = declared["choice"]
        if choice:
            own = [choice["tag"], *own, f"and the keys of each {choice['what']}"]
        own += [f"and those of {other}" for other in declared["with"]]
        table.add_row(Text(name), Text(", ".join(own)))
    console.out.print(table)
    console.out.print(
        Text("playpath help KEY explains a key; playpath list shows what can be chosen by name", style="dim")
    )

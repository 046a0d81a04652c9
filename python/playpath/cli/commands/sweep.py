"""`playpath sweep`: many cells, on one machine or a cluster."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from playpath.base.manifest import compared
from playpath.base.metrics import format_difference, format_more_runs, format_value, metric
from playpath.cli.commands import options
from playpath.cli.commands.stored import Executor, answer, check_executor
from playpath.run.sanity import doubts_of_design
from playpath.show import console
from playpath.sweep import SweepResult, load_design, sweep
from playpath.sweep.result import shown_difference
from playpath.sweep.runner import estimate

_MAX_ROWS = 60
_MAX_MEANS = 5


def command(
    design: Annotated[
        Path,
        typer.Argument(
            metavar="DESIGN", help="Design file (TOML: scenario, axes, seeds), or the name of a shipped one."
        ),
    ],
    executor: Executor = "local",
    cc: options.Cc = None,
    abr: options.Abr = None,
    vary: options.Vary = None,
    seeds: options.Seeds = None,
    jobs: options.Jobs = None,
    until_decided: options.UntilDecided = False,
    most: options.Most = None,
    resume: Annotated[bool, typer.Option("--resume/--no-resume", help="Skip cells that the store holds.")] = True,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="Folder for the cells; several sweeps may share it.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the number of cells and an estimate; run nothing.")
    ] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Run a design of many points, senders and seeds; resumable at any moment; writes tables and a report.

    Results go to --out, by default out/NAME; cells to --store, by default the folder `store` in --out.
    """
    check_executor(executor)
    loaded = load_design(
        design,
        seeds=seeds,
        cc=options.choices(cc, "--cc"),
        abr=options.choices(abr, "--abr"),
        vary=options.varied(vary),
    )
    console.warn(doubts_of_design(loaded))
    if dry_run:
        _print_estimate(estimate(loaded, jobs), json)
        return
    bound = options.until_decided(until_decided, most)
    manifest = {"scenario": loaded.base.resolved, "design": loaded.source}
    question = {"manifest": {**manifest, **compared(loaded.base)}}
    run = partial(sweep, loaded, executor=executor, jobs=jobs, until_decided=bound, resume=resume)
    answer(loaded.name, "sweep.json", question, run, print_sweep, unit="cells", store=store, out=out, json=json)


def _print_estimate(found: dict[str, float], json: bool) -> None:
    if json:
        console.print_json(found)
        return
    console.out.print(
        f"{found['cells']:.0f} cells at {found['points']:.0f} points; about {found['cell_s'] * 1e3:.3g} ms a cell, "
        f"{found['total_s']:.3g} s on {found['jobs']:.0f} workers"
    )


def _short(keys: Sequence[str]) -> list[str]:
    """The shortest endings of dotted keys, of equally many parts, that still tell the keys apart.

    >>> _short(["path.wifi.rate", "path.wifi.loss"]), _short(["path.a.rate", "path.b.rate"])
    (['rate', 'loss'], ['a.rate', 'b.rate'])
    """
    parts = 1
    while len(set(ends := [".".join(key.split(".")[-parts:]) for key in keys])) < len(keys):
        parts += 1
    return ends


def print_sweep(result: SweepResult) -> None:
    """Print the headline and a table: the decisions between senders, the effects of choices, or the means of a single sender."""
    console.out.print(f"[bold]{console.plain(result.headline)}[/bold]", soft_wrap=not console.out.is_terminal)
    if not result.is_comparison:
        _print_means(result)
    elif result.base.asks_for_whom:
        _print_effects(result)
    else:
        _print_decisions(result)
    if result.errors.height:
        first = result.errors["error"][0]
        console.warn([f"{result.errors.height} cells failed, the first with: {first}"])


def _new_table(result: SweepResult, heads: Iterable[str], left: Sequence[str] | None = None) -> Table:
    """A table with a column for each key of the design, not wrapped, followed by these columns."""
    keys = [console.plain(key) for key in _short(result.keys)]
    table = console.new_table((*keys, *heads), left=None if left is None else (*keys, *left))
    for column in table.columns[: len(keys)]:
        column.no_wrap = True
    return table


def _print_means(result: SweepResult) -> None:
    means = result.means()
    names = result.varied[:_MAX_MEANS]
    figures = [f"{metric(name).label}\n{metric(name).unit}" for name in names]
    table = _new_table(result, ("seeds", *figures), left=())
    for row in means.head(_MAX_ROWS).iter_rows(named=True):
        values = ("–" if row[name] is None else format_value(row[name]) for name in names)
        table.add_row(*(console.plain(str(row[key])) for key in result.keys), str(row["seeds"]), *values)
    console.print_table(table)
    _print_left(means.height)


def _print_effects(result: SweepResult) -> None:
    """A row for each point and value, a column for each sender."""
    senders = list(dict.fromkeys(choice.sender for choice in result.base.choices.values()))
    table = _new_table(result, ("value", "against", *(f"for {console.plain(sender)}" for sender in senders)))
    for row in result.decisions.head(_MAX_ROWS).iter_rows(named=True):
        at_point: dict[tuple[str, str], dict[str, str]] = {}
        for e in result.effects[row["point"]]:
            outcome = f"{e.outcome} ({e.detail})" if e.detail else e.outcome
            at_point.setdefault((e.value, e.against), {})[e.sender] = outcome
        for named, by_sender in at_point.items():
            cells = (str(row[key]) for key in result.keys)
            table.add_row(
                *map(console.plain, (*cells, *named)), *(console.plain(by_sender.get(s, "–")) for s in senders)
            )
    console.print_table(table)
    _print_left(result.decisions.height)


def _print_left(points: int) -> None:
    if points > _MAX_ROWS:
        console.out.print(f"[dim]… and {points - _MAX_ROWS} more points in the report[/dim]")


def _print_decisions(result: SweepResult) -> None:
    table = _new_table(result, ("best", "decided", "seeds", "second", "criterion", "second\nminus best"))
    for row in result.decisions.head(_MAX_ROWS).iter_rows(named=True):
        gap = shown_difference(row)
        shown = "–" if gap is None else f"{format_difference(gap)} {metric(row['criterion']).unit}".strip()
        more = f" (~{format_more_runs(row['more_runs'])})" if row["more_runs"] else ""
        decided = "yes" if row["is_decided"] else f"[yellow]no[/yellow]{more}"
        names = [console.plain(str(row[key])) for key in result.keys]
        decided += "" if row["is_random"] else " (nothing is random)"
        best, second = console.plain(", ".join(row["winners"])), console.plain(row["second"] or "–")
        table.add_row(
            *names,
            best,
            decided,
            str(row["seeds"]),
            second,
            metric(row["criterion"]).label if row["criterion"] else "–",
            shown,
        )
    console.print_table(table)
    _print_left(result.decisions.height)

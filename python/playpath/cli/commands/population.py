"""`playpath population`: which sender for which viewers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from playpath.base.files import check_file, write_text
from playpath.base.manifest import compared
from playpath.base.metrics import about_runs, format_value, signed
from playpath.cli.commands import options, population_logs
from playpath.cli.commands.stored import Executor, answer, check_executor
from playpath.population import Estimate, PopulationResult, Versus, load_population, population
from playpath.population.logs import KINDS, read_logs
from playpath.run.sanity import doubts_of_population
from playpath.show import console

Source = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="Scenario in which something is drawn (TOML or JSON).")
]
Paths = Annotated[
    int | None, typer.Option("--paths", metavar="N", min=2, help="Number of paths; default: every trace or user once.")
]
Sessions = Annotated[int | None, typer.Option("--sessions", metavar="N", min=1, help="Sessions on each path.")]

_NEIGHBOURS = {
    "goodput_ratio": "goodput\n×",
    "retransmission_ratio": "retransmits\n×",
    "stall_s_with_sender": "stall time\ns",
    "stall_s_with_other": "before\ns",
}

commands = typer.Typer(no_args_is_help=True, help="Answer for a population of paths and viewers instead of one path.")


population_logs.register(commands)


@commands.command("compare")
def compare(
    scenario: Source,
    cc: options.Cc = None,
    scheduler: options.Scheduler = None,
    abr: options.Abr = None,
    paths: Paths = None,
    sessions: Sessions = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", metavar="SENDER", help="The sender that viewers have today; default: the first sender."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="LIST", help='Columns by which the answer is also broken down: "country,device".'
        ),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option("--until-decided", help="Add paths until the best is decided; senders proven worse stop early."),
    ] = False,
    most: Annotated[
        int | None,
        typer.Option("--most", metavar="N", min=2, help="With --until-decided: at most N paths; 320 by default."),
    ] = None,
    setting: options.Set = None,
    vary: options.Vary = None,
    transport: options.Transport = None,
    prefer: options.Prefer = None,
    executor: Executor = "local",
    jobs: options.Jobs = None,
    resume: Annotated[bool, typer.Option("--resume/--no-resume", help="Skip sessions that the store holds.")] = True,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Where sessions are kept; default: the folder store in --out."),
    ] = None,
    out: options.Out = None,
    json: options.Json = False,
) -> PopulationResult:
    """Say which sender serves a population best: how many viewers it helps and harms, and what it costs the network.

    Results go to --out, by default out/NAME. Ctrl-C keeps the finished sessions; the same command goes on from there.
    """
    check_executor(executor)
    setting, vary = options.of_transport(setting, vary, transport)
    loaded = load_population(
        scenario,
        cc=options.choices(cc, "--cc"),
        scheduler=options.choices(scheduler, "--scheduler"),
        abr=options.choices(abr, "--abr"),
        vary=options.varied(vary),
        set=options.settings(setting) | ({} if prefer is None else {"verdict.prefer": prefer}),
        paths=paths,
        sessions=sessions,
        baseline=baseline,
        group=options.choices(group, "--group"),
    )
    console.warn(doubts_of_population(loaded))
    manifest = {"scenario": loaded.base.resolved, "population": loaded.source, **compared(loaded.base)}
    question = {"manifest": manifest, "baseline": loaded.baseline}
    bound = options.until_decided(until_decided, most)
    run = partial(
        population,
        loaded,
        paths=paths,  # not possible in a race
        sessions=sessions,
        until_decided=bound,
        executor=executor,
        jobs=jobs,
        resume=resume,
    )
    return answer(
        loaded.name,
        "population.json",
        question,
        run,
        print_population,
        unit="sessions",
        store=store,
        out=out,
        json=json,
    )


def print_population(result: PopulationResult) -> None:
    """The headline, the table of shares, the fine print, the warnings."""
    console.out.print(f"[bold]{console.plain(result.headline)}[/bold]", soft_wrap=not console.out.is_terminal)
    if result.against_baseline:
        console.print_table(_shares(result))
    if any(versus.neighbours for versus in _others(result)):
        console.print_table(_neighbours(result))
    for name in result.population.group if result.against_baseline else ():
        title = f"by {name}: helped minus harmed, in percentage points, against {result.baseline}"
        console.out.print(f"\n[dim]{console.plain(title)}[/dim]", soft_wrap=True)
        console.print_table(_by_group(result, name), below="")
    console.out.print()
    if (trial := result.trial) is not None:
        note = (
            f"To find {trial.difference_text}, {trial.sender} against {trial.best}, a real trial needs about "
            f"{about_runs(trial.viewers_per_arm)} viewers per arm (80 % power, 5 %), if viewers differ as these sessions do."
        )
        console.out.print(console.plain(note), soft_wrap=not console.out.is_terminal)
    console.out.print(f"[dim]{console.plain(result.fine_print)}[/dim]", soft_wrap=not console.out.is_terminal)
    console.warn(result.warnings)


def _shares(result: PopulationResult) -> Table:
    title = f"viewers, each once with {result.baseline} and once with the other sender"
    heads = ("sender", "better\n%", "worse\n%", "net\npoints", "network\npoints", "retransmits\n×", "")
    table = console.new_table(heads, title, left=("sender", ""))
    for name, versus in result.against_baseline.items():
        table.add_row(console.plain(name), *_cells(versus))
    return table


def _neighbours(result: PopulationResult) -> Table:
    title = f"the other flows on the path, compared with sharing it with {result.baseline}"
    shown = {key: head for key, head in _NEIGHBOURS.items() if any(key in v.neighbours for v in _others(result))}
    table = console.new_table(("sender", *shown.values()), title, left=("sender",))
    for versus in _others(result):
        found = versus.neighbours
        table.add_row(
            console.plain(versus.sender), *(format_value(found[key], 2) if key in found else "–" for key in shown)
        )
    return table


def _by_group(result: PopulationResult, name: str) -> Table:
    table = console.new_table(
        map(console.plain, (name, "users", *result.against_baseline)), left=(console.plain(name),)
    )
    found = [result.by_group(f"group.{name}", sender, result.baseline) for sender in result.against_baseline]
    for own in zip(*found, strict=True):
        label, units, *_ = own[0]
        table.add_row(console.plain(label), str(units), *(_interval(net, signed).replace(" ", "\n") for *_, net in own))
    return table


def _others(result: PopulationResult) -> list[Versus]:
    return list(result.against_baseline.values())


def _cells(versus: Versus) -> list[str]:
    ratio = versus.retransmission_ratio
    words = {
        "better": "[green]better[/green]",
        "worse": "worse",
        "alike": "alike",
        "open": "[yellow]undecided[/yellow]",
    }
    level = " (network)" if versus.decided_by == "network" else ""
    return [
        _interval(versus.helped),
        _interval(versus.harmed),
        _interval(versus.net, signed),
        _interval(versus.network, signed),
        "–" if ratio is None else format_value(ratio, 2),
        words[versus.relation] + level,
    ]


def _interval(found: Estimate, write: Callable[[float], str] = "{:.0f}".format) -> str:
    value, low, high = (write(100 * x) for x in (found.value, found.low, found.high))
    return f"{value} ({low}…{high})"


@commands.command("inspect")
def inspect(
    scenario: Source,
    paths: Paths = None,
    setting: options.Set = None,
    json: options.Json = False,
) -> None:
    """Show how a population is read, before anything runs: links, users, distributions, and their spread."""
    from playpath.population.inspection import inspect as look

    found = look(load_population(scenario, set=options.settings(setting), paths=paths))
    if json:
        console.print_json(found.to_dict())
        return
    for line in found.lines():
        console.out.print(console.plain(line))


@commands.command("import")
def import_logs(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Access logs, CMCD, beacons or TCP_INFO samples.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The users' table to write (CSV).")],
    kind: Annotated[str, typer.Option("--kind", metavar="NAME", help=f"auto, {', '.join(KINDS)}.")] = "auto",
    log_format: Annotated[
        str,
        typer.Option(
            "--log-format",
            metavar="TEXT",
            help="nginx's log_format; by default combined, followed by $request_time and $tcpinfo_rtt (or rt=… rtt=…).",
        ),
    ] = "",
    fields: Annotated[
        str,
        typer.Option(
            "--fields",
            metavar="LIST",
            help='What your columns mean: "session=viewer,bytes=size,duration_ms=took,rtt_ms=ping".',
        ),
    ] = "",
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="LIST",
            help='Columns to group the answer by: "country,device,day"; day and hour are read from the time.',
        ),
    ] = "",
    keep_names: options.KeepNames = False,
) -> None:
    """Make a users' table (rate and RTT of each session's path) from logs; see `[population] users`.

    A rate is the throughput of today's sender, a lower bound of what the path can carry; the notes say what was left out.
    """
    check_file(out, "--out", files)
    found = read_logs(files, kind, log_format=log_format, fields=fields, keep=keep, keep_names=keep_names)
    write_text(out, found.to_csv())
    console.out.print(console.plain(f"{out}: {len(found.rows)} sessions"), soft_wrap=True)
    group = f" --group {','.join(found.kept)}" if found.kept else ""
    console.message(
        f'next: write [population] users = "{out.name}" into a scenario; playpath population compare SCENARIO{group}'
    )
    console.warn(found.notes, "note")

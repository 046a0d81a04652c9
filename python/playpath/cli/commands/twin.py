"""`playpath twin`: the same scenario in the simulator and in a world of real time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from playpath.base.files import write_text
from playpath.base.metrics import format_value, metric
from playpath.base.worlds import REAL
from playpath.cli.commands import options
from playpath.cli.commands.compare import INTERRUPTED, sessions
from playpath.cli.commands.results import results_folder
from playpath.judge.stats import MIN_FOR_INTERVAL
from playpath.real.twin import MetricTwin, Twin
from playpath.real.twin_run import twin
from playpath.results.comparison import format_summary
from playpath.run.session_store import of_other_builds
from playpath.scenario import load
from playpath.show import console


def command(
    scenario: options.ScenarioFile,
    cc: options.Cc = None,
    seeds: options.Seeds = None,
    jobs: options.Jobs = None,
    parallel: Annotated[
        int,
        typer.Option(
            "--parallel", metavar="N", min=1, help="Kernel sessions at a time; more than one needs idle cores."
        ),
    ] = 1,
    tolerance: options.Tolerance = None,
    world: Annotated[
        str,
        typer.Option(
            "--world", metavar="NAME", help=f"The other world: {', '.join(REAL)} (in wire our own transport sends)."
        ),
    ] = "kernel",
    player: options.Player = None,
    setting: options.Set = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Run a scenario in both worlds: one table, the differences with intervals, a verdict on each figure and on the ranking.

    Kernel sessions take as long as their videos and need root. Each is saved in --out (by default out/NAME-twin) when it ends, so
    that Ctrl-C loses at most one and the next call resumes.

    Without a [video], groups of [[traffic]] are compared instead of senders: each group by the mean of its flows, and all flows and
    links together.
    """
    loaded = load(scenario, cc=options.choices(cc, "--cc"), seeds=seeds, set=options.settings(setting))
    question = {"sim": {"manifest": {"scenario": loaded.resolved}}}
    place = options.world_with(world, player)
    suffix = "-".join(["twin", *(word for word in place.split(":") if word != "kernel")])
    with results_folder(out, f"{loaded.name}-{suffix}", "twin.json", question) as folder:
        console.warn_of_other_builds(of_other_builds(folder / "sessions"), "sessions", folder)
        with console.progress(f"{place} sessions") as progress:
            result = twin(
                loaded,
                jobs=jobs,
                store=folder / "sessions",
                parallel=parallel,
                tolerance=options.check_tolerance(tolerance),
                progress=progress,
                on_interrupt=_report_interrupt,
                world=place,
            )
        _write(result, folder)
    if json:
        console.print_json(result.to_dict())
    else:
        print_twin(result)
    if result.interrupted:
        finished = f"{len(result.kernel.seeds)} of {len(loaded.seeds)}"
        console.message(f"interrupted: the result holds {finished} seeds; run the same command again to resume")
        raise typer.Exit(INTERRUPTED)


def _report_interrupt(running: int) -> None:
    under_way = (
        f"finishing {sessions(running)} under way; Ctrl-C again drops them" if running else "the test bed is torn down"
    )
    console.message(f"stopping: {under_way}; finished sessions are kept")


def _write(result: Twin, folder: Path) -> None:
    from playpath.show.report.twin_page import twin_page

    result.save(folder)
    write_text(folder / "report.html", twin_page(result))
    console.message(f"report: {folder / 'report.html'}")


def print_twin(result: Twin) -> None:
    shown = "median (95 % interval)" if len(result.seeds) >= MIN_FOR_INTERVAL else "mean"
    more = f", to {result.sim.seeds[-1]} in the simulator" if len(result.sim.seeds) > len(result.seeds) else ""
    console.out.print(f"[dim]{shown}; seeds {result.seeds[0]} to {result.seeds[-1]} in both worlds{more}[/dim]")
    if result.judges_traffic:
        console.out.print("[dim]a group of traffic: the mean of its flows[/dim]")
    for name in dict.fromkeys(m.metric for m in result.metrics):
        console.print_table(_table(metric(name).axis, result.of(name), result.kernel.world))
    goodput = [m for m in result.cross_traffic if m.metric == "goodput_mbps"]
    if goodput:
        title = f"cross traffic, mean of a group's flows: {metric('goodput_mbps').axis}"
        console.print_table(_table(title, goodput, result.kernel.world))
    console.out.print()
    console.out.print(f"[bold]{console.plain(result.sentence)}[/bold]", soft_wrap=not console.out.is_terminal)
    console.warn((*result.left_out.values(), *result.kernel.warnings))


def _table(title: str, rows: Sequence[MetricTwin], world: str) -> Table:
    heads = ("", "simulator", world, f"{world} - simulator", "95 % interval", "margin", "verdict")
    table = console.new_table(heads, title, left=("", "verdict"))
    for row in rows:
        interval = "–" if row.ci95 is None else f"{format_value(row.ci95[0])} to {format_value(row.ci95[1])}"
        share = (
            f" ({100 * row.mean / row.sim.mean:+.1f} %)" if row.mean is not None and row.sim and row.sim.mean else ""
        )
        table.add_row(
            console.plain(row.sender), format_summary(row.sim), format_summary(row.kernel), f"{format_value(row.mean)}{share}",
            interval, f"± {format_value(row.margin)}", row.verdict,
        )  # fmt: skip
    return table

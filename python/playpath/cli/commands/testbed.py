"""`playpath testbed`: clean up, show, calibrate, and run any program behind a scenario's path."""

from dataclasses import asdict
from typing import Annotated

import typer

from playpath.cli.commands import options
from playpath.show import console

commands = typer.Typer(help="The kernel world: clean up, show, calibrate, run a program.", no_args_is_help=True)


@commands.command()
def clean() -> None:
    """Remove what killed runs left: processes, namespaces, files. Runs that are alive are not touched."""
    from playpath.real.testbed.state import clean as remove

    removed = remove()
    for line in removed:
        console.message(f"removed {line}")
    if not removed:
        console.message("nothing was left behind")


@commands.command()
def show(json: options.Json = False) -> None:
    """Show the runs on this machine, and those that a killed process left behind."""
    from playpath.real.testbed.state import all_runs

    runs = [
        {"name": run.name, "is_alive": run.is_alive, "namespaces": run.namespaces(), "folder": str(run.folder)}
        for run in all_runs()
    ]
    if json:
        console.print_json(runs)
        return
    for run in runs:
        state = "runs" if run["is_alive"] else "left behind; `playpath testbed clean` removes it"
        console.out.print(f"{run['name']}  {state}")


@commands.command()
def calibrate(
    seconds: Annotated[float, typer.Option(min=0.5, help="Length of each measurement.")] = 3.0,
    json: options.Json = False,
) -> None:
    """Measure how exact emulated links are on this machine: one CUBIC transfer over each, with a queue that keeps the link busy.

    Required: payload rate within 0.2 % of the link's rate less headers, one-way delay within 100 us (median) and 500 us (99th
    percentile), no drop before the emulator. Links that miss a limit are named; a busy machine is the usual cause.
    """
    from playpath.real.testbed.tools import calibrate as measure

    rows = []
    for row in measure(seconds=seconds):
        rows.append(row)
        console.message(f"{row.rate_mbps:g} Mbit/s, {row.rtt_ms:g} ms: payload share {row.goodput_share:.4f}")
    if json:
        console.print_json([asdict(row) | {"problems": row.problems} for row in rows])
        return
    measured = ("payload share", "delay error p50 / p99", "late p50 / p99", "hidden drops", "CPU")
    table = console.new_table(("link", "queue", *measured, "out of bounds"))
    for row in rows:
        late = row.lateness_us
        table.add_row(
            f"{row.rate_mbps:g} Mbit/s, {row.rtt_ms:g} ms",
            f"{row.queue_packets} packets",
            f"{row.goodput_share:.4f}",
            f"{row.delay_error_us['p50']:.0f} / {row.delay_error_us['p99']:.0f} us",
            f"{late.get('p50', 0):.1f} / {late.get('p99', 0):.0f} us",
            str(row.hidden_drops),
            f"{100 * row.cpu_share:.0f} %",
            ", ".join(row.problems) or "–",
        )
    console.print_table(table, below="")


@commands.command("exec")
def execute(
    scenario: options.ScenarioFile,
    program: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="Program and its arguments.")],
    cc: Annotated[str, typer.Option("--cc", metavar="NAME", help="The server's congestion control.")] = "cubic",
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", min=0, max=2**64 - 1, help="Seed of the links' random loss.")
    ] = 1,
    media: Annotated[
        bool, typer.Option("--media", help="Encode the scenario's video; its address is in $PLAYPATH_VIDEO.")
    ] = False,
) -> int:
    """Run any program behind a scenario's path.

    The program finds the web server's URL in $PLAYPATH_URL, its address in $PLAYPATH_SERVER and its network namespace in
    $PLAYPATH_SERVER_NAMESPACE; with --media the scenario's video (a file, or the manifest of a ladder) in $PLAYPATH_VIDEO.
    The exit status is the program's.
    """
    from playpath.real.testbed.tools import execute as run
    from playpath.run.worlds import KernelWorld
    from playpath.scenario import load

    loaded = load(scenario, cc=[cc])
    KernelWorld().refuse(loaded)
    return run(loaded.resolved, program, sender=loaded.sender(loaded.senders[0]), seed=seed, media=media)

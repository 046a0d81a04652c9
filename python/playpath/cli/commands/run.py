"""`playpath run`: one session, its flows and links, and its time series on request."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.files import check_file, write_text
from playpath.base.metrics import format_value, metric
from playpath.base.worlds import DEFAULT, is_exact
from playpath.cli.commands import options
from playpath.cli.commands.results import results_folder
from playpath.results.record import Session
from playpath.run import worlds
from playpath.run.compare import pick_sender, run
from playpath.run.sanity import doubts
from playpath.run.worlds import Files
from playpath.scenario import LAST_SEED, load, shipped
from playpath.show import console


def command(
    scenario: options.ScenarioFile,
    sender: Annotated[str | None, typer.Option("--sender", metavar="NAME", help="The sender to play.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, max=LAST_SEED, help="Seed of the session.")] = 1,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="DIR",
            help="Write record.json, time series (Parquet) and, for QUIC in the simulator, qlogs (.sqlog) here.",
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap", metavar="FILE", help="Write the packets seen at the server (pcapng, headers only) here."
        ),
    ] = None,
    p1203: Annotated[
        Path | None,
        typer.Option("--p1203", metavar="FILE", help="Write the session as input for ITU-T P.1203 tools (JSON) here."),
    ] = None,
    cc: options.Cc = None,
    scheduler: options.Scheduler = None,
    abr: options.Abr = None,
    transport: Annotated[
        str | None, typer.Option("--transport", metavar="NAME", help="Transport of the sender: tcp, quic.")
    ] = None,
    setting: options.Set = None,
    world: options.WorldName = DEFAULT,
    player: options.Player = None,
    tolerance: options.Tolerance = None,
    json: options.Json = False,
) -> None:
    """Run one session and print its metrics, flows and links."""
    setting = options.of_one_transport(setting, transport)
    loaded = load(
        scenario,
        cc=options.choices(cc, "--cc"),
        scheduler=options.choices(scheduler, "--scheduler"),
        abr=options.choices(abr, "--abr"),
        set=options.settings(setting),
    )
    console.warn(doubts(loaded))
    for option, file in (("--pcap", pcap), ("--p1203", p1203)):
        if file is not None:
            check_file(file, option, [shipped.find(scenario)])
    place = options.world_with(world, player)
    is_sim = is_exact(place)
    logs = trace / "logs" if trace is not None and not is_sim else None
    files = Files(logs, pcap, p1203)
    if pcap is not None:
        pcap.parent.mkdir(parents=True, exist_ok=True)
    name = pick_sender(loaded, sender)
    spoken = worlds.transport_of(loaded.sender(name)) if name else "tcp"
    if pcap is not None and spoken != "tcp":
        raise InputError(
            f"--pcap: sender '{name}' uses {spoken.upper()}, whose packets cannot be captured; --trace keeps its time series"
            " (and, for QUIC, a qlog)"
        )
    question = {"world": worlds.world(place).name, "sender": name, "manifest": {"scenario": loaded.resolved}}
    where = results_folder(trace, "", "record.json", question, "--trace")
    with nullcontext() if trace is None else where as folder:
        with console.progress("seconds played") as tell:
            session = run(
                loaded,
                sender=name,
                seed=seed,
                trace=trace is not None,
                world=place,
                files=files,
                tolerance=options.check_tolerance(tolerance),
                watch=lambda played_s, expected_s: tell(round(played_s), round(expected_s)),
            )
        if folder is not None:
            session.save(folder)
            if is_sim and "quic" in {spoken, *map(worlds.transport_of, loaded.resolved.get("traffic", []))}:
                engine.qlogs(loaded.text, session.sender, seed, str(folder))
            console.message(f"time series: {folder}")
    if pcap is not None:
        if is_sim:
            engine.capture(loaded.text, session.sender, seed, str(pcap))
        console.message(f"capture: {pcap}")
    if p1203 is not None:
        if is_sim:
            write_text(p1203, engine.p1203(loaded.text, session.sender, seed))
        console.message(f"P.1203 input: {p1203}")
    if json:
        console.print_json(session.to_dict())
    else:
        print_session(session)


def print_session(session: Session) -> None:
    if session.metrics:
        table = Table(
            title=f"{console.plain(session.sender or session.scenario)}, seed {session.seed}",
            box=None,
            show_header=False,
        )
        for name, value in session.metrics.items():
            table.add_row(metric(name).label, format_value(value), metric(name).unit, f"[dim]{name}[/dim]")
        console.print_table(table, below="")
    for title, rows in (("flows", session.flows), ("links", session.links)):
        if rows:
            console.print_records(title, _shown(rows))
    console.warn(session.warnings)


def _shown(rows: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    names = [name for name, value in rows[0].items() if not isinstance(value, list)]
    return [{name.replace("_", " "): _cell(row.get(name)) for name in names} for row in rows]


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(inner)}" for key, inner in value.items() if inner) or "0"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return "" if value is None else str(value)
    return format_value(float(value)) if isinstance(value, float) else str(value)

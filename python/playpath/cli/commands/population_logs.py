"""`playpath population infer`, `replay` and `answer`: from a log to the paths behind it, and to a decision."""

import hashlib
import json as json_text
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.files import write_text
from playpath.cli.commands import options
from playpath.cli.commands.compare import INTERRUPTED
from playpath.cli.commands.results import results_folder
from playpath.population.transfers import KINDS
from playpath.results.record import slug
from playpath.scenario import load, shipped
from playpath.show import console

if TYPE_CHECKING:
    from playpath.population import PopulationResult
    from playpath.population.inference import Assumptions, Inferred
    from playpath.population.replay import Replay

Logs = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG…",
        help="Chunk logs, access logs or beacons, also compressed with gzip, bzip2 or xz. `viewers` is an example.",
    ),
]
Deployed = Annotated[
    str | None,
    typer.Option(
        "--sender",
        metavar="LIST",
        help="The congestion control that was deployed (over QUIC cubic/quic), or candidates; left out, it is inferred.",
    ),
]
InitialWindow = Annotated[
    int,
    typer.Option(
        "--initial-window", metavar="PACKETS", min=1, help="Initial window of the deployed sender, in packets."
    ),
]
IdleRestart = Annotated[
    bool,
    typer.Option(
        "--idle-restart/--no-idle-restart",
        help="The deployed sender reduces its window after idle periods, as Linux does.",
    ),
]
Kind = Annotated[str, typer.Option("--kind", metavar="NAME", help=f"{', '.join(KINDS)}.")]
LogFormat = Annotated[str, typer.Option("--log-format", metavar="TEXT", help="nginx's log_format.")]
Fields = Annotated[
    str, typer.Option("--fields", metavar="LIST", help='What your columns mean: "session=viewer,bytes=size".')
]
Draws = Annotated[int, typer.Option("--draws", metavar="N", min=10, help="Number of draws of each path.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of the draws.")]


def register(commands: typer.Typer) -> None:
    """Add the commands to `playpath population`."""
    commands.command("infer")(infer_paths)
    commands.command("replay")(replay)
    commands.command("answer")(answer)


def infer_paths(
    files: Logs,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the inferred paths.")],
    sender: Deployed = None,
    initial_window: InitialWindow = 10,
    idle_restart: IdleRestart = True,
    kind: Kind = "auto",
    log_format: LogFormat = "",
    fields: Fields = "",
    step: Annotated[str, typer.Option("--step", metavar="TIME", help="Time step of capacity.csv.")] = "5 s",
    draws: Draws = 100,
    traces: Annotated[
        int, typer.Option("--traces", metavar="N", min=1, help="How many draws of each path become traces.")
    ] = 4,
    seed: Seed = 1,
    keep_names: options.KeepNames = False,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Infer the path behind each session of a log: its capacity over time and its RTT, as draws, and a population of them."""
    from playpath.population.inference import CANDIDATES, Assumptions

    named = _senders(sender) or CANDIDATES
    step_s = engine.number(step) if options.is_time(step) else 0.0
    if not 0.1 <= step_s <= 3600:
        raise InputError(f'--step "{step}": give a time from 0.1 s to an hour, for example "5 s"')
    asked = Assumptions(named, float(initial_window), idle_restart, step_s, draws, traces, seed)
    if traces > draws:
        raise InputError(f"--traces {traces}: more than --draws {draws}, of which traces are made")
    files = [shipped.find_log(file) for file in files]
    done = _infer(files, out, _question(files, asked, kind, log_format, fields, keep_names), asked, jobs)
    if json:
        console.print_json({"folder": str(out), "sessions": done.sessions, "steps": done.steps, "notes": done.notes})
        return
    console.out.print(console.plain(f"{out}: {done.sessions} sessions, {done.steps} steps of {step}"), soft_wrap=True)
    console.message(f"next: playpath population compare {out / 'population.toml'}")
    console.warn(done.notes, "note")


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by `playpath population infer`.")],
    json: options.Json = False,
) -> None:
    """Say whether the deployed sender, played on the inferred paths, reproduces the log; exit status 1 if not."""
    from playpath.population.replay import judge

    found = judge(folder)
    if json:
        console.print_json({**asdict(found), "is_reproduced": found.is_reproduced, "notes": found.lines()})
    else:
        for line in found.lines():
            console.out.print(console.plain(line), soft_wrap=True)
    if not found.is_reproduced:
        raise typer.Exit(1)


def answer(
    files: Logs,
    sender: Annotated[
        str,
        typer.Option(
            "--sender", metavar="NAME", help="The congestion control that was deployed; over QUIC cubic/quic."
        ),
    ],
    tried: Annotated[str, typer.Option("--try", metavar="LIST", help='Senders to try instead: "bbr3,copa".')],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for paths, sessions and the report.")],
    initial_window: InitialWindow = 10,
    idle_restart: IdleRestart = True,
    kind: Kind = "auto",
    log_format: LogFormat = "",
    fields: Fields = "",
    draws: Draws = 100,
    seed: Seed = 1,
    keep_names: options.KeepNames = False,
    setting: options.Set = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """From a log to an answer: infer the paths, check that the deployed sender reproduces the log on them, then compare senders.

    If the log is not reproduced there is no verdict, and the exit status is 1. If many sessions cannot show which sender was deployed,
    the answer under another one follows. Run the same command again to resume.
    """
    from playpath.cli.commands.population import compare
    from playpath.population.inference import Assumptions, rivals_of

    folder = out / "paths"
    controls = _controls(_senders(sender), _senders(tried))
    _check(controls, setting)
    files = [shipped.find_log(file) for file in files]
    asked = Assumptions(_senders(sender), float(initial_window), idle_restart, draws=draws, seed=seed)
    how = (kind, log_format, fields, keep_names)
    found = _judged(files, folder, asked, how, jobs)
    for line in found.lines():
        console.message(line)
    if not found.is_reproduced:
        raise typer.Exit(1)
    if found.leaves_open:
        console.warn(
            [
                f"the paths are known only within a factor of {found.width:.1f}: if the answer is undecided, your logs cannot decide it; "
                "also logging the smallest RTT, the congestion window (TCP_INFO) and the time of the first byte would help, except "
                "where random losses keep the deployed sender far below the link's rate"
            ]
        )
    result = compare(
        folder / "population.toml",
        cc=",".join(controls),
        setting=setting,
        jobs=jobs,
        out=out / "answer",
        json=json,
    )
    if found.hides_sender and len(asked.senders) == 1:
        rival = rivals_of(sender)[0]
        others = out / f"paths-{slug(rival)}"
        if _judged(files, others, replace(asked, senders=(rival,)), how, jobs).is_reproduced:
            _compare_under(rival, others, result, controls, setting, jobs)
        else:
            console.message(f"{rival}, named instead of {sender}, does not reproduce the log")


def _judged(
    files: list[Path], folder: Path, asked: "Assumptions", how: tuple[str, str, str, bool], jobs: int | None
) -> "Replay":
    """Judge the paths of a folder, which are inferred first unless they are those of this question."""
    from playpath.population.replay import judge

    question = _question(files, asked, *how)
    if _last(folder) != json_text.dumps(question):
        console.warn(_infer(files, folder, question, asked, jobs).notes, "note")
    return judge(folder)


def _compare_under(
    rival: str, folder: Path, result: "PopulationResult", controls: list[str], setting: options.Set, jobs: int | None
) -> None:
    """Compare the same senders on the paths that the log has if `rival` was deployed, and warn if the answer is another one."""
    from playpath.population import population

    with console.progress("sessions") as progress:
        other = population(
            folder / "population.toml",
            cc=controls,
            baseline=controls[0],
            set=options.settings(setting),
            store=folder / "store",
            jobs=jobs,
            progress=progress,
        )
    if other.interrupted:
        raise typer.Exit(INTERRUPTED)
    relations, others = (
        {name: versus.relation for name, versus in one.against_baseline.items()} for one in (result, other)
    )
    if relations == others:
        console.message(f"the answer is the same if {rival} was deployed")
    else:
        console.warn(
            [f"the log does not show whether {controls[0]} or {rival} was deployed; if {rival} was: {other.headline}"]
        )


def _question(
    files: list[Path], asked: "Assumptions", kind: str, log_format: str, fields: str, keep_names: bool
) -> dict[str, Any]:
    """What is asked of which logs; a log may have grown or changed since."""
    return {
        "logs": [str(file.resolve()) for file in files],
        "fingerprint": _fingerprint(files),
        "asked": asdict(asked),
        "kind": kind,
        "log_format": log_format,
        "fields": fields,
        "keep_names": keep_names,
    }


def _infer(
    files: list[Path], folder: Path, question: dict[str, Any], asked: "Assumptions", jobs: int | None
) -> "Inferred":
    """Infer the paths into a folder that holds those of the same question, or none."""
    from playpath.population.inference import infer

    how = {name: question[name] for name in ("kind", "log_format", "fields", "keep_names")}
    with (
        results_folder(folder, "", "question.json", question),
        console.progress("sessions inferred") as progress,
    ):
        done = infer(files, folder, asked, **how, jobs=jobs, progress=progress)
        write_text(folder / "question.json", json_text.dumps(question))
    return done


def _controls(deployed: tuple[str, ...], tried: tuple[str, ...]) -> list[str]:
    """The names of the congestion controls without transports, which the senders of the population give."""
    _, over, transport = (deployed[:1] or ("",))[0].partition("/")
    for name in tried:
        if "/" in name and name.partition("/")[1:] != (over, transport):
            raise InputError(
                f"--try {name}: plays over the transport of the deployed sender; leave /{name.partition('/')[2]} out"
            )
    return [name.partition("/")[0] for name in (*deployed[:1], *tried)]


def _check(controls: list[str], setting: list[str] | None) -> None:
    """Check senders and settings before hours of inference. Names of paths and traffic are known only in the inferred population."""
    settings = options.settings(setting)
    known = {key: value for key, value in settings.items() if key.partition(".")[0] not in ("path", "traffic")}
    try:
        load("adaptive", cc=controls, set=known)
    except InputError as error:
        raise InputError(re.sub("^cc: ", "--sender, --try: ", str(error))) from None


def _senders(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _fingerprint(files: list[Path]) -> str:
    """A digest of the files' names, sizes and times, to tell whether an inference is of the same files."""
    try:
        lines = [f"{file.resolve()} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    except OSError as error:
        raise InputError(f"{error.filename}: {(error.strerror or str(error)).lower()}") from None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _last(folder: Path) -> str:
    file = folder / "question.json"
    return file.read_text() if file.is_file() else ""

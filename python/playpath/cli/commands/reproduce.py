"""`playpath reproduce`: a paper's claims, judged, and its figures."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import InputError, unknown_name
from playpath.base.metrics import format_value, metric
from playpath.base.optional import need_drawing
from playpath.base.tabular import Named
from playpath.base.worlds import DEFAULT, REAL, is_exact
from playpath.cli.commands import options
from playpath.cli.commands.compare import INTERRUPTED, sessions
from playpath.cli.commands.results import results_folder
from playpath.papers import NAMES, Options, StudyResult, run_study, study
from playpath.papers.joint_space import Joint, run_joint, sentences
from playpath.papers.study import Settings
from playpath.papers.two_worlds import SideBySide, run_side_by_side
from playpath.run.worlds import SimWorld
from playpath.show import console
from playpath.sweep import Store

_ENDS = ("", "_min", "_max")
_STYLES = {
    "reproduced": "green",
    "reproduced by count only": "cyan",
    "rests on our guard": "cyan",
    "nothing to test": "yellow",
    "undecided": "yellow",
    "not reproduced by count only": "red",
    "not reproduced": "red",
}


def command(
    name: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of: {', '.join(NAMES)}, all.")] = "all",
    seeds: options.Seeds = None,
    jobs: options.Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Short media, three seeds: for a quick look.")] = False,
    joint: Annotated[
        int | None,
        typer.Option(
            "--joint",
            metavar="POINTS",
            help="Also vary what the paper leaves unstated, all together, at this many points (170: 3 to 20 min a study).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An unstated parameter at a value of your own; repeatable."),
    ] = None,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Also play what no claim needs: draw every figure, rank today's senders."),
    ] = False,
    world: Annotated[
        str,
        typer.Option(
            "--world",
            metavar="NAME",
            help=f"{', '.join(REAL)}: play a part of the grid, shortened, and compare it with the simulator.",
        ),
    ] = DEFAULT,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Play the sessions that a paper's claims are about, and judge the claims; resumable at any moment.

    Results go to --out, by default out/reproduce: for each study a report, the tidy table and the verdicts; with --figures
    also its figures, in the report and as PNG, and which of today's senders is best. With `--world kernel` (root) a part of a
    study runs on real Linux TCP, with `--world wire` (root) it runs over real packets of the simulator's own TCP and MPTCP;
    both run at reduced length, and their figures are shown next to the simulator's.
    """
    if name not in (*NAMES, "all"):
        raise unknown_name("study", name, [*NAMES, "all"])
    need_drawing("reproduce")
    root = out or Path("out/reproduce")
    studies = NAMES if name == "all" else (name,)
    own = _settings(studies, settings or [], world)
    how = Options(root, seeds, quick, jobs, world, own, figures)
    with ExitStack() as held:
        for one in studies:  # lock all folders before the first study runs
            question = {"study": one, "media_share": how.share, "settings": own}
            held.enter_context(results_folder(root / one, one, "claims.json", question))
        if not is_exact(world):
            _run_side_by_side(name, root, how, json)
            return
        found: list[_Ran] = []
        for one in studies:
            ran = _run(one, replace(how, folder=root / one), joint)
            found.append(ran)
            if not json:
                print_study(ran)
            _write(ran, root / one, figures)
    if json:
        console.print_json([_json(ran) for ran in found])


def _settings(studies: Sequence[str], texts: list[str], world: str) -> Settings:
    if not texts:
        return {}
    if len(studies) > 1:
        raise InputError(f"--set belongs to one study: name one of {', '.join(NAMES)}")
    if world != SimWorld.name:
        raise InputError("--set is for the simulator; the other worlds use the study's own values")
    return study(studies[0]).settings(texts)


@dataclass(frozen=True)
class _Ran:
    """The results of one study: always its claims, the rest if requested."""

    result: StudyResult
    joint: Joint | None


def _run(name: str, how: Options, points: int | None) -> _Ran:
    console.warn_of_other_builds(Store(how.folder / "store").of_other_builds(), "shards", how.folder)
    joint = None
    with _timed(name, how) as options:
        result = run_study(study(name), options)
        _stop_if(result.interrupted)
    cut = f", {result.cut} of them cut off before their end" if result.cut else ""
    console.message(f"{name}: {result.table.height} sessions{cut}")
    if points is not None:
        with _timed(f"{name}, joint", how) as options:
            joint = run_joint(result, points, options)
            _stop_if(joint.interrupted)
    return _Ran(result, joint)


@contextmanager
def _timed(title: str, how: Options) -> Iterator[Options]:
    """The options with a progress bar; says how long the block took, unless it was interrupted."""
    begin = time.perf_counter()
    with console.progress(title) as progress:
        yield replace(how, progress=progress, on_interrupt=_report_interrupt)
    console.message(f"{title}: {time.perf_counter() - begin:.1f} s")


def _run_side_by_side(name: str, root: Path, how: Options, json: bool) -> None:
    named = [one for one in NAMES if study(one).two_worlds is not None] if name == "all" else [name]
    shown = []
    for one in named:
        begin = time.perf_counter()
        with console.progress(f"{one}, both worlds") as progress:
            options = replace(how, folder=root / one, progress=progress, on_interrupt=_report_interrupt)
            result = run_side_by_side(study(one), options)
        _stop_if(result.interrupted)
        console.message(f"{one}: both worlds in {time.perf_counter() - begin:.0f} s; {result.save(root / one)}")
        shown.append(result.to_dict())
        if not json:
            _print_side_by_side(result)
    if json:
        console.print_json(shown)


def _print_side_by_side(result: SideBySide) -> None:
    rows = result.rows()
    labels = [name for name in rows[0] if name not in ("metric", *(f"{w}{end}" for w in result.ran for end in _ENDS))]
    title = f"{result.study.title}: mean over {result.seeds} seed{'' if result.seeds == 1 else 's'} (range)"
    table = console.new_table((*labels, "metric", *result.ran), title)
    for row in rows:
        cells = [_with_range(row, world) for world in result.ran]
        table.add_row(*(console.plain(str(row[name])) for name in labels), metric(row["metric"]).axis, *cells)
    console.print_table(table)


def _with_range(row: Named, world: str) -> str:
    if row[world] is None:
        return "-"
    least, most = (format_value(row[f"{world}_{end}"]) for end in ("min", "max"))
    return f"{format_value(row[world])} ({least} to {most})" if least != most else format_value(row[world])


def _report_interrupt(running: int) -> None:
    console.message(f"stopping: finishing {sessions(running)}; Ctrl-C again drops them")


def _stop_if(interrupted: bool) -> None:
    if interrupted:
        console.message("interrupted: finished cells are stored; run the same command again to resume")
        raise typer.Exit(INTERRUPTED)


def _write(ran: _Ran, folder: Path, figures: bool) -> None:
    from playpath.papers.results import save, save_figures

    console.message(f"report: {save(ran.result, folder, ran.joint)}")
    if figures:
        save_figures(ran.result, folder / "figures", ran.joint)


def _json(ran: _Ran) -> dict[str, object]:
    scenes = [scene.to_dict() for scene in ran.result.scenes]
    joint = {} if ran.joint is None else {"joint": ran.joint.to_dict()}
    return ran.result.to_dict() | {"today": scenes} | joint


def print_study(ran: _Ran) -> None:
    """Print verdicts, which of today's senders is best, and what the claims depend on."""
    print_claims(ran.result)
    for scene in ran.result.scenes:
        console.out.print(f"[bold]today, {console.plain(scene.name)}[/bold]: {console.plain(scene.says)}")
    for sentence in sentences(ran.joint) if ran.joint else []:
        console.out.print(f"[bold]joint[/bold] {console.plain(sentence)}")
    console.out.print(f"[dim]digest {ran.result.digest[:16]}[/dim]")


def print_claims(result: StudyResult) -> None:
    table = console.new_table(("claim", "verdict", "what decides", "figures", "the viewer sees"), result.study.title)
    for claim in result.claims:
        deciding = claim.deciding
        verdict = f"[{_STYLES[claim.verdict]}]{claim.verdict}[/]"
        cells = (deciding.check.says, deciding.figures(), claim.seen)
        table.add_row(claim.claim.id, verdict, *map(console.plain, cells))
    console.print_table(table)

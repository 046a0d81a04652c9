"""`playpath compare`: rank senders on a scenario."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import InputError, RunError
from playpath.base.files import check_file, write_text
from playpath.base.manifest import manifest
from playpath.base.metrics import about_runs, format_value, metric
from playpath.base.parallel import import_ahead
from playpath.base.signals import spare_next_ctrl_c
from playpath.base.worlds import DEFAULT
from playpath.cli.commands import options
from playpath.cli.commands.results import results_folder
from playpath.results.comparison import Comparison
from playpath.results.sensitivity import Sensitivity
from playpath.run import worlds
from playpath.run.compare import compare
from playpath.run.sanity import doubts, inert
from playpath.run.sensitivity import MAX_SEEDS, check, sensitivity
from playpath.run.session_store import of_other_builds
from playpath.scenario import load, shipped
from playpath.show import console

INTERRUPTED = 130
_HIGHEST_PRICE = 1e9
"""Price of 10^9 bytes, in any currency."""
_MAX_CAUSES = 3
"""For so many senders, from the best on, the causes are shown; those of the last sender are always shown."""


def command(
    scenario: options.ScenarioFile,
    cc: options.Cc = None,
    scheduler: options.Scheduler = None,
    abr: options.Abr = None,
    seeds: options.Seeds = None,
    until_decided: options.UntilDecided = False,
    most: options.Most = None,
    jobs: options.Jobs = None,
    setting: options.Set = None,
    vary: options.Vary = None,
    transport: options.Transport = None,
    prefer: options.Prefer = None,
    world: options.WorldName = DEFAULT,
    player: options.Player = None,
    tolerance: options.Tolerance = None,
    price_per_gb: options.PricePerGb = None,
    sensitive: options.Sensitivity = False,
    latex: options.Latex = None,
    out: options.Out = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="In the kernel world: play only what failed or is missing in --out.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Rank the senders of a scenario, or any other choice in it: table, paired intervals, verdict, and a one-file HTML report.

    Results go to --out, by default out/NAME; with --json only if --out is given. Ctrl-C keeps the finished seeds. In the kernel
    world --out also keeps each session with its logs; a session that fails is named, and the others are ranked (status 1).
    """
    setting, vary = options.of_transport(setting, vary, transport)
    loaded = load(
        scenario,
        cc=options.choices(cc, "--cc"),
        scheduler=options.choices(scheduler, "--scheduler"),
        abr=options.choices(abr, "--abr"),
        seeds=seeds,
        set=options.settings(setting) | ({} if prefer is None else {"verdict.prefer": prefer}),
        vary=options.varied(vary),
    )
    console.warn([*doubts(loaded), *inert(loaded)])
    place = options.world_with(world, player)
    keeps = (out is not None or not json) and not worlds.world(place).is_parallel
    if resume and not keeps:
        raise InputError("--resume: only with --world kernel and a folder of results (--out)")
    bound = options.until_decided(until_decided, most)
    if price_per_gb is not None and not price_per_gb <= _HIGHEST_PRICE:
        raise InputError(f"--price-per-gb {price_per_gb}: give a number up to {_HIGHEST_PRICE:.0e}, for example 0.02")
    if latex is not None:
        check_file(latex, "--latex", [shipped.find(scenario)])
    if sensitive:
        count = check(loaded, worlds.world(place).name)
        console.message(f"sensitivity: {count} variations of the path follow, each with at most {MAX_SEEDS} seeds")
    name = worlds.world(place).name
    question = {"world": name, "manifest": manifest(loaded, name, loaded.seeds)}
    where = results_folder(out, loaded.name, "comparison.json", question)
    with nullcontext() if json and out is None else where as folder:
        if folder is not None:
            import_ahead("polars", "playpath.show.report.comparison_page")  # imported while sessions play
            stale = of_other_builds(folder / "sessions") if resume else 0
            console.warn_of_other_builds(stale, "sessions", folder)
        results = None if folder is None else _Results(folder)
        with console.progress("sessions") as progress:
            result = compare(
                loaded,
                until_decided=bound,
                jobs=jobs,
                world=place,
                timelines=folder is not None,
                store=folder / "sessions" if folder is not None and keeps else None,
                resume=resume,
                tolerance=options.check_tolerance(tolerance),
                progress=progress,
                on_interrupt=_report_interrupt,
                # A second Ctrl-C that arrives from now on was meant for the sessions, not for saving what is finished.
                on_stopped=spare_next_ctrl_c,
                meanwhile=lambda result: None if results is None else results.begin(result),
            )
        if sensitive and not result.interrupted:
            with console.progress("sessions of variations") as progress:
                found = sensitivity(result, jobs=jobs, progress=progress, on_interrupt=_report_interrupt)
            result = result.with_sensitivity(found)
        if results is not None:
            results.finish(result)
    if latex is not None:
        write_text(latex, result.to_latex())
        console.message(f"LaTeX table: {latex}")
    if json:
        costs = [cost.to_dict() for cost in result.costs(price_per_gb)]
        console.print_json({**result.to_dict(), "costs_per_hour": costs})
    else:
        console.print_comparison(result)
        _print_act_on(result, price_per_gb)
    if result.interrupted:
        console.message(
            f"interrupted: the result holds the {len(result.seeds)} of {result.planned} seeds that were finished"
        )
        raise typer.Exit(INTERRUPTED)
    if result.failures:
        raise typer.Exit(RunError.exit_status)


def _print_act_on(result: Comparison, price_per_gb: float | None) -> None:
    """The cost of an hour, the goodput of neighbours on the path, what was measured on it, what the answer depends on, and how large
    a real trial must be.
    """
    who = "choice" if result.scenario.choices else "sender"
    if costs := result.costs(price_per_gb):
        rows = [
            {
                who: cost.sender,
                "sent (GB)": format_value(cost.sent_gb),
                "sent again (GB)": format_value(cost.retransmitted_gb),
                **({} if price_per_gb is None else {"price": format_value(cost.price)}),
            }
            for cost in costs
        ]
        console.print_records("for each hour of video shown", rows)
    if result.neighbours:
        rows = [
            {
                who: found.sender,
                "their goodput (Mbit/s)": format_value(found.goodput_mbps),
                "their packets lost (%)": format_value(100 * found.loss_ratio),
            }
            for found in result.neighbours
        ]
        console.print_records("the other flows on the path", rows)
    if result.causes:
        console.out.print("\nmeasured on the path")
        for text in _causes([f"{cause.sender}: {cause.sentence}" for cause in result.causes]):
            console.out.print(console.plain(f" {text}"), soft_wrap=not console.out.is_terminal)
    if result.sensitivity is not None:
        _print_sensitivity(result.sensitivity)
    for trial in result.trials[:1]:  # that of the next best sender, which needs the most viewers
        console.out.print(
            console.plain(
                f"To find {trial.difference_text}, {trial.sender} against {trial.best}, a real trial needs at least "
                f"{about_runs(trial.viewers_per_arm)} viewers per arm (80 % power, 5 %), if they differ as these runs do."
            ),
            soft_wrap=True,
        )


def _causes(lines: list[str]) -> list[str]:
    """The first, and the last; how many are between.

    >>> _causes(list("abcde")), _causes(list("abcdef"))
    (['a', 'b', 'c', 'd', 'e'], ['a', 'b', 'c', '2 more, in the report', 'f'])
    """
    between = len(lines) - _MAX_CAUSES - 1
    if between < 2:
        return lines
    return [*lines[:_MAX_CAUSES], f"{between} more, in the report", lines[-1]]


def _print_sensitivity(found: Sensitivity) -> None:
    rows = [
        {
            "setting": shift.setting,
            "from": shift.was,
            "to": shift.now,
            "leads": shift.leads,
            f"{found.rival} - {found.best}": found.difference_text(shift),
            "p of no change": format_value(shift.p, 2),
        }
        for shift in found.shifts
    ]
    entry = metric(found.metric).label
    title = f"{entry} on variations of the path, {found.seeds} seeds each, {found.sessions} sessions in all"
    if rows:
        console.print_records(title, rows)
    console.out.print(f"[bold]{console.plain(found.sentence)}[/bold]", soft_wrap=not console.out.is_terminal)


def sessions(count: int) -> str:
    return f"{count} session{'' if count == 1 else 's'}"


def _report_interrupt(running: int) -> None:
    console.message(f"stopping: finishing {sessions(running)} under way; Ctrl-C again drops them")


class _Results:
    """A folder with a comparison and its report; everything but the timelines is written while these are played."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_saved = False

    def begin(self, result: Comparison) -> None:
        result.save(self._folder)
        self._is_saved = True

    def finish(self, result: Comparison) -> None:
        from playpath.show.report import comparison_page

        if self._is_saved and result.sensitivity is None:
            with ThreadPoolExecutor(1) as pool:  # the page does not read the saved files
                saved = pool.submit(result.save_timelines, self._folder)
                page = comparison_page(result)
                saved.result()
        else:
            result.save(self._folder)
            page = comparison_page(result)
        report = self._folder / "report.html"
        write_text(report, page)
        console.message(f"report: {report}")

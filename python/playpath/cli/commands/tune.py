"""`playpath tune`: find parameters of a congestion control."""

from pathlib import Path
from typing import Annotated

import typer

from playpath.base.errors import Interrupted
from playpath.cli.commands import options
from playpath.cli.commands.results import results_folder
from playpath.run.sanity import doubts
from playpath.scenario import load
from playpath.show import console


def command(
    train: Annotated[
        list[Path], typer.Argument(metavar="SCENARIO...", help="Scenarios on which parameters are searched.")
    ],
    param: Annotated[
        list[str],
        typer.Option("--param", metavar="CC.NAME=LOW..HIGH", help="Parameter to search and its range. Repeatable."),
    ],
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--held-out", metavar="SCENARIO", help="Scenarios on which they are judged. Repeatable."),
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", metavar="N", min=2, help="Maximum number of parameter sets to try.")
    ] = 60,
    seeds: options.Seeds = None,
    setting: options.Set = None,
    jobs: options.Jobs = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of the optimiser.")] = 1,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Find parameters on train scenarios and judge them on held-out ones, against the defaults.

    Without --held-out they are judged on the train scenarios with other seeds. Results go to --out, by default out/tune-NAME. Ctrl-C
    keeps the scores found so far; run the same command again to resume.
    """
    from playpath.run.tune import ANY_CONTROL, Range, question, scores_of_other_builds, tune

    changes = options.settings(setting)
    scenarios = {source: load(source, cc=[ANY_CONTROL], set=changes) for source in (*train, *(held_out or ()))}
    for scenario in scenarios.values():
        console.warn(f"{scenario.name}: {text}" for text in doubts(scenario))
    ranges = [Range.parse(text) for text in param]
    asked = question(train, ranges, held_out=held_out or (), set=changes)
    with (
        results_folder(out, f"tune-{scenarios[train[0]].name}", "tune.json", asked) as folder,
        console.progress("parameter sets") as progress,
    ):
        console.warn_of_other_builds(scores_of_other_builds(folder), "files of scores", folder)
        try:
            found = tune(
                train,
                ranges,
                held_out=held_out or (),
                seeds=seeds,
                set=changes,
                budget=budget,
                jobs=jobs,
                seed=seed,
                store=folder,
                progress=progress,
            )
        except Interrupted as stopped:
            raise Interrupted(
                f"{stopped}; the scores found so far are stored: run the same command again to resume"
            ) from None
        found.save(folder)
    if json:
        console.print_json(found.to_dict())
        return
    console.out.print(
        f"[bold]{console.plain(found.sender)}[/bold], the best of {found.evaluations} parameter sets{found.caveat}"
    )
    # Of many sets that are equal in truth, too, the one that did best there looks better.
    chosen = "train (the sessions by which it was chosen: they prove nothing)"
    for title, comparisons in ((chosen, found.train), ("held out", found.held_out)):
        for comparison in comparisons:
            seeds_shown = f"seeds {comparison.seeds[0]} to {comparison.seeds[-1]}"
            console.out.print(f"[dim]{title}: {console.plain(comparison.scenario.name)}, {seeds_shown}[/dim]")
            console.out.print(f"  {console.plain(comparison.headline)}")
            if comparison.verdict != comparison.headline:
                console.out.print(f"  [dim]{console.plain(comparison.verdict)}[/dim]")

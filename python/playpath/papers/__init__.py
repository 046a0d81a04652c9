"""The papers' studies: their grids, figures and claims as data, judged by one evaluator.

A new study consists of its data in `studies/`, its grid in a module, and a name in `NAMES`; see docs/recipes/add-a-study.md.
"""

from pathlib import Path

from playpath.base.errors import unknown_name
from playpath.papers.claims import CheckResult, ClaimResult, evaluate
from playpath.papers.reading import study
from playpath.papers.runner import Options, StudyResult, run_study
from playpath.papers.study import Study

__all__ = [
    "NAMES",
    "CheckResult",
    "ClaimResult",
    "Options",
    "Study",
    "StudyResult",
    "evaluate",
    "reproduce",
    "run_study",
    "study",
]

NAMES = ("ccp", "sticky", "vegas", "newcwv")


def reproduce(
    name: str,
    folder: str | Path = "out/reproduce",
    *,
    seeds: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    figures: bool = False,
) -> StudyResult:
    """Play the sessions that a paper's claims are about, and judge the claims, as `playpath reproduce` does in the simulator.

    Args:
        name: One of `NAMES`.
        folder: Finished cells are kept in a folder of the study's name in it; a second call resumes from there.
        seeds, jobs: By default the study's seeds, and all cores.
        quick: Short media and three seeds, to see that everything works.
        figures: Also play what only the figures and the ranking of today's senders need (`StudyResult.scenes`).
    """
    if name not in NAMES:
        raise unknown_name("study", name, NAMES)
    return run_study(study(name), Options(Path(folder) / name, seeds, quick, jobs, figures=figures))

"""The papers' studies: their grids, figures and claims as data, judged by one evaluator.

A new study is a file with a `STUDY` and a name in `NAMES`; see docs/recipes/add-a-study.md.
"""

from importlib import import_module

from playpath.studies.claims import CheckResult, ClaimResult, evaluate
from playpath.studies.runner import Options, StudyResult, run_study
from playpath.studies.sensitivity import Sensitivity, run_sensitivity
from playpath.studies.study import Study

__all__ = [
    "NAMES",
    "CheckResult",
    "ClaimResult",
    "Options",
    "Sensitivity",
    "Study",
    "StudyResult",
    "evaluate",
    "run_sensitivity",
    "run_study",
    "study",
]

NAMES = ("ccp", "sticky", "vegas", "newcwv")


def study(name: str) -> Study:
    """A study by name."""
    found: Study = import_module(f"{__name__}.{name}").STUDY
    return found

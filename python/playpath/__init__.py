"""playpath: on this network path, which sender keeps the viewer's video playing?

>>> import playpath
>>> result = playpath.compare("wireless", seeds=10)  # doctest: +SKIP
>>> result.verdict  # doctest: +SKIP

Names are imported when they are first used: the command line answers `--help` without numpy, polars and scipy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playpath import plots
    from playpath.compare import compare, run
    from playpath.comparison import Comparison
    from playpath.document import Design, Document, Link, Origin, Path, Player, Run, Sender, Traffic, Video, Viewer
    from playpath.errors import InputError, PlaypathError, RunError
    from playpath.population import PopulationResult, population
    from playpath.record import Session
    from playpath.scenario import Scenario, load
    from playpath.studies import StudyResult, reproduce
    from playpath.sweep import SweepResult, sweep
    from playpath.tune import Tuning, tune
    from playpath.twin import Twin
    from playpath.twin_run import twin

    __version__: str

__all__ = [
    "Comparison",
    "Design",
    "Document",
    "InputError",
    "Link",
    "Origin",
    "Path",
    "Player",
    "PlaypathError",
    "PopulationResult",
    "Run",
    "RunError",
    "Scenario",
    "Sender",
    "Session",
    "StudyResult",
    "SweepResult",
    "Traffic",
    "Tuning",
    "Twin",
    "Video",
    "Viewer",
    "__version__",
    "compare",
    "load",
    "plots",
    "population",
    "reproduce",
    "run",
    "sweep",
    "tune",
    "twin",
]

_MODULES = {
    "compare": ("compare", "run"),
    "comparison": ("Comparison",),
    "document": (
        "Design",
        "Document",
        "Link",
        "Origin",
        "Path",
        "Player",
        "Run",
        "Sender",
        "Traffic",
        "Video",
        "Viewer",
    ),
    "errors": ("InputError", "PlaypathError", "RunError"),
    "population": ("PopulationResult", "population"),
    "record": ("Session",),
    "scenario": ("Scenario", "load"),
    "studies": ("StudyResult", "reproduce"),
    "sweep": ("SweepResult", "sweep"),
    "tune": ("Tuning", "tune"),
    "twin": ("Twin",),
    "twin_run": ("twin",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from playpath.manifest import package_version

        return package_version()
    if name == "plots":
        return import_module("playpath.plots")
    if name not in _HOME:
        raise AttributeError(f"module 'playpath' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(f"playpath.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__


class _Namespace(ModuleType):
    """Importing the module `playpath.compare` would bind it on the package, in place of the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Namespace

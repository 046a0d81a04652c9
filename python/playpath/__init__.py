"""playpath: on this network path, which sender keeps the viewer's video playing?

>>> import playpath
>>> result = playpath.compare("wireless", seeds=10)  # doctest: +SKIP
>>> result.verdict  # doctest: +SKIP

Names are imported when they are first used: the command line answers `--help` without numpy and polars.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {
    # Each name is in __init__.pyi, too.
    "run.compare": ("compare", "run"),
    "results.comparison": ("Comparison",),
    "scenario.document": (
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
    "base.errors": ("InputError", "PlaypathError", "RunError"),
    "population": ("PopulationResult", "population"),
    "results.record": ("Session",),
    "scenario": ("Scenario", "load"),
    "papers": ("StudyResult", "reproduce"),
    "sweep": ("SweepResult", "sweep"),
    "run.sensitivity": ("sensitivity",),
    "run.tune": ("Tuning", "tune"),
    "real.twin": ("Twin",),
    "real.twin_run": ("twin",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted([*_HOME, "__version__", "plots"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from playpath.base.manifest import package_version

        return package_version()
    if name == "plots":
        from playpath.base.optional import need_drawing

        need_drawing("playpath.plots")
        return import_module("playpath.plots")
    if name not in _HOME:
        raise AttributeError(f"module 'playpath' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(f"playpath.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__


class _Namespace(ModuleType):
    """Importing the module `playpath.compare` would bind the module to the package, in place of the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Namespace

"""Optional dependencies: packages that only some commands need and that a plain installation lacks."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from playpath.base.errors import InputError


def scipy(part: str, what: str) -> Any:
    """Import a module of SciPy, such as `stats`, which `what` needs. InputError if SciPy is not installed."""
    try:
        return import_module(f"scipy.{part}")
    except ImportError:
        raise InputError(f"{what}: SciPy is not installed; pip install 'playpath[scipy]'") from None


def can_draw() -> bool:
    """Whether Matplotlib is installed, which draws figures for papers and notebooks."""
    return find_spec("matplotlib") is not None


def need_drawing(what: str) -> None:
    """Raise InputError, naming `what` needs it, if Matplotlib is not installed."""
    if not can_draw():
        raise InputError(f"{what}: Matplotlib is not installed; pip install 'playpath[plots]'")

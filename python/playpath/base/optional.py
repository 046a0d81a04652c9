"""What only some commands need, and a plain installation does not bring."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from playpath.base.errors import InputError


def scipy(part: str, what: str) -> Any:
    """A module of SciPy, such as `stats`, for `what` is asked. InputError where it is not installed."""
    try:
        return import_module(f"scipy.{part}")
    except ImportError:
        raise InputError(f"{what}: SciPy is not installed; pip install 'playpath[scipy]'") from None


def can_draw() -> bool:
    """Whether Matplotlib is installed, which draws figures for papers and notebooks."""
    return find_spec("matplotlib") is not None


def need_drawing(what: str) -> None:
    """InputError where Matplotlib is not installed, for `what` is asked."""
    if not can_draw():
        raise InputError(f"{what}: Matplotlib is not installed; pip install 'playpath[plots]'")

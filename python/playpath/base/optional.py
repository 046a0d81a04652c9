"""What only some commands need, and a plain installation does not bring."""

from importlib import import_module
from typing import Any

from playpath.base.errors import InputError


def scipy(part: str, what: str) -> Any:
    """A module of SciPy, such as `stats`, for `what` is asked. InputError where it is not installed."""
    try:
        return import_module(f"scipy.{part}")
    except ImportError:
        raise InputError(f"{what}: SciPy is not installed; pip install 'playpath[scipy]'") from None

"""Polars as `pl`, imported at its first use rather than with the module that uses it, so that sessions can start earlier."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("polars"), name)

    pl = _Polars()

__all__ = ["pl"]

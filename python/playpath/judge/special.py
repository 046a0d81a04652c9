"""`scipy.special`, imported when one of its functions is first used: it takes as long as numpy and polars together."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)

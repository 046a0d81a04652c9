"""The values of a sweep's settings as positions on an axis."""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

_NUMBER = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


def at_values(table: pl.DataFrame, where: Mapping[str, Any]) -> pl.DataFrame:
    """The rows with these settings."""
    for key, value in where.items():
        table = table.filter(pl.col(key) == value)
    return table


def levels(table: pl.DataFrame, key: str) -> list[Any]:
    """The values of a setting, in numeric order if they are numbers."""
    found = table[key].unique(maintain_order=True).to_list()
    try:
        return sorted(found, key=number)
    except ValueError:
        return found


def number(value: Any) -> float:
    """The number of a quantity: 50 for `"50 ms"`.

    >>> number("50 ms"), number(1.5)
    (50.0, 1.5)
    """
    if isinstance(value, int | float):
        return float(value)
    found = _NUMBER.match(str(value))
    if found is None:
        raise ValueError(f"'{value}' does not begin with a number")
    return float(found[0])


def is_numeric(table: pl.DataFrame, key: str) -> bool:
    """Whether all values of a setting are quantities with the same unit."""
    values = table[key].unique().to_list()
    try:
        for value in values:
            number(value)
    except ValueError:
        return False
    return len({unit(value) for value in values}) == 1


def unit(value: Any) -> str:
    """The unit of a quantity.

    >>> unit("50 ms"), unit(3)
    ('ms', '')
    """
    return "" if isinstance(value, int | float) else _NUMBER.sub("", str(value), count=1).strip()


def bare(value: Any) -> str:
    """The number of a quantity, in the written form."""
    found = _NUMBER.match(str(value))
    return found[0] if found else str(value)

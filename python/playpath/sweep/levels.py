"""The values of a sweep's axes as positions in a figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from playpath.base.errors import InputError
from playpath.base.quantity import BYTES, MBPS, SECONDS, parse
from playpath.sweep.result import SweepResult

_JOINT = ", "


@dataclass(frozen=True)
class Levels:
    """The values of an axis in order, and where they lie."""

    values: list[Any]
    numbers: list[float]
    """In `unit`; 0, 1, 2, … if the values are no quantities of one kind."""
    unit: str
    is_numeric: bool

    @property
    def words(self) -> list[str]:
        """The values as written, without the unit that the axis bears."""
        return [str(value).removesuffix(f" {self.unit}") for value in self.values]


def levels(table: pl.DataFrame, key: str) -> Levels:
    found = table[key].unique(maintain_order=True).to_list()
    measured = _measured(found)
    if measured is None:
        return Levels(found, [float(i) for i in range(len(found))], "", is_numeric=False)
    numbers, unit = measured
    order = sorted(range(len(found)), key=numbers.__getitem__)
    return Levels([found[i] for i in order], [numbers[i] for i in order], unit, is_numeric=True)


def _measured(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """The numbers of quantities in the unit of the first, and that unit; None if these are no quantities of one kind.

    >>> _measured(["4 Mbit/s", "900 kbit/s"]), _measured([1, 2.5]), _measured(["1 bdp", "50 kB"])
    (([4.0, 0.9], 'Mbit/s'), ([1.0, 2.5], ''), None)
    """
    try:
        parsed = [parse(value, "value") for value in values]
    except InputError:
        return None
    unit = parsed[0][1] if parsed else ""
    factors = next((known for known in (MBPS, SECONDS, BYTES) if unit in known), {unit: 1.0})
    if _JOINT in unit or any(own not in factors for _, own in parsed):
        return None
    return [number * factors[own] / factors[unit] for number, own in parsed], unit


def at_values(table: pl.DataFrame, where: Mapping[str, Any]) -> pl.DataFrame:
    """The rows with these settings."""
    for key, value in where.items():
        table = table.filter(pl.col(key) == value)
    return table


def by_axis(result: SweepResult) -> SweepResult:
    """A sweep with one setting for each axis: those that change together are one, `"path.rate, path.queue"`."""
    linked = [axis["keys"] for axis in result.source.get("axis", ()) if len(axis.get("keys", ())) > 1]
    joint = {key: _JOINT.join(keys) for keys in linked for key in keys}
    if not linked:
        return result

    def joined(table: pl.DataFrame) -> pl.DataFrame:
        columns = (
            pl.Series(_JOINT.join(keys), [_JOINT.join(map(str, level)) for level in table.select(keys).iter_rows()])
            for keys in linked
        )
        return table if table.is_empty() else table.with_columns(columns).drop(*joint)

    keys = list(dict.fromkeys(joint.get(key, key) for key in result.keys))
    made = replace(result, keys=keys, table=joined(result.table))
    vars(made)["_judged"] = (joined(result.decisions).to_dicts(), result.effects)
    return made

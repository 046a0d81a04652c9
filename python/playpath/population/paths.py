"""The table of a population's paths, with the values drawn for each."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.tabular import Row
from playpath.population.spec import DrawnPath, Population
from playpath.sweep.design import at_point

_FIGURES = ("rate_mbps", "rtt_ms", "loss_percent")


def path_table(population: Population, numbers: Iterable[int]) -> pl.DataFrame:
    """A row for each path: `path`, `unit`, `name`, `weight`, columns `group.…`, the figures of the scenario's first path, and the other
    drawn settings.
    """
    return pl.DataFrame([_row(population, population.path(number)) for number in numbers], infer_schema_length=None)


def _row(population: Population, path: DrawnPath) -> Row:
    try:
        figures: Mapping[str, Any] = engine.path_figures(at_point(population.base, dict(path.settings)).text)[0]
    except InputError as error:
        message = population.explain(path.index, str(error))
        raise InputError(f"{path.name}: {message}" if message == str(error) else message) from None
    plain = {key: value for key, value in path.settings.items() if not isinstance(value, Mapping)}
    others = {key: str(value) for key, value in plain.items() if not key.startswith("path.")}
    return {
        "path": path.index,
        "unit": path.unit,
        "name": path.name,
        "weight": path.weight,
        **{f"group.{key}": value for key, value in path.groups.items()},
        **{name: figures[name] for name in _FIGURES},
        **others,
    }

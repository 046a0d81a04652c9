"""Shows how a population was read: its links, users and distributions, and how widely they spread."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from playpath.base.metrics import format_value
from playpath.population.paths import path_table
from playpath.population.spec import Population
from playpath.scenario.traces import sparkline
from playpath.sweep.design import at_point

_BINS = 24
_LOOKED_AT = 8
_SHOWN = ("rate_mbps", "rtt_ms", "loss_percent")


@dataclass(frozen=True)
class Inspection:
    """A population as read, with its paths and their spread."""

    population: Population
    paths: pl.DataFrame
    """A row for each path; see `playpath.population.paths`."""

    def figures(self) -> dict[str, dict[str, float]]:
        """Quantiles over paths of the quantities that differ between them."""
        found = {}
        for name in self._numbers():
            values = self.paths[name].drop_nulls().to_numpy()
            levels = dict(zip(("min", "p5", "median", "p95", "max"), (0, 0.05, 0.5, 0.95, 1), strict=True))
            found[name] = {key: float(np.quantile(values, level)) for key, level in levels.items()}
        return found

    def _numbers(self) -> list[str]:
        return [n for n in _SHOWN if n in self.paths.columns and self.paths[n].null_count() < self.paths.height]

    def to_dict(self) -> dict[str, object]:
        own = self.population
        return {
            "population": own.name,
            "paths": own.paths,
            "units": own.unit_count,
            "sessions": own.sessions,
            "senders": own.base.senders,
            "baseline": own.baseline,
            "drawn": {key: d.text for key, d in own.draws.items()},
            "figures": self.figures(),
        }

    def lines(self) -> list[str]:
        own = self.population
        total = own.paths * own.sessions * len(own.base.senders)
        unit = f"{own.unit_count} links or users" if own.units else f"{own.paths} paths, each drawn independently"
        lines = [
            f"{own.name}: {own.paths} paths of {unit}; {own.sessions} sessions on each, {len(own.base.senders)} senders: {total} sessions",
            f"intervals will be over {own.unit_count} {own.unit_word}; baseline: {own.baseline}",
        ]
        lines += [f"drawn: {key}: {d.text}" for key, d in own.draws.items()]
        for name, found in self.figures().items():
            numbers = ", ".join(f"{key} {format_value(value)}" for key, value in found.items())
            lines.append(f"{name:13} {self._bars(name)}  {numbers}")
        return lines

    def _bars(self, name: str) -> str:
        values = self.paths[name].drop_nulls().to_numpy()
        if values.min() == values.max():
            return " " * _BINS
        positive = values.min() > 0 and values.max() > 10 * values.min()
        counts, _ = np.histogram(np.log(values) if positive else values, bins=_BINS)
        return sparkline([float(c) for c in counts])


def inspect(population: Population) -> Inspection:
    """Look at a population without playing it."""
    return Inspection(population, path_table(population, range(population.paths)))


def document(population: Population) -> Mapping[str, Any]:
    """The scenario as written, except for settings in the users' table, which each user has their own value of."""
    raw = copy.deepcopy(dict(population.source))
    declared = raw.pop("population", {})
    for key in dict.fromkeys(key for unit in population.units for key in unit.settings if "users" in declared):
        write(raw, key.split("."), f"of each user ({declared['users']})")
    return raw


def write(node: Any, parts: list[str], value: object) -> None:
    """Set a dotted setting as `--set` does: in a list by number or name, otherwise in all its entries."""
    if isinstance(node, list):
        named = {**{str(i): entry for i, entry in enumerate(node)}, **{entry.get("name"): entry for entry in node}}
        chosen = parts[0] in named
        for entry in [named[parts[0]]] if chosen else node:
            write(entry, parts[1:] if chosen else parts, value)
    elif len(parts) == 1:
        node[parts[0]] = value
    else:
        if not isinstance(node.get(parts[0]), dict | list):  # `queue = "1 bdp"` gives way to a table
            node[parts[0]] = {}
        write(node[parts[0]], parts[1:], value)


def constant(population: Population) -> Mapping[str, Any]:
    """The resolved scenario without the settings that differ between its first paths, since none of these values is a default."""
    paths = (population.path(number) for number in range(min(population.paths, _LOOKED_AT)))
    first, *others = (at_point(population.base, dict(path.settings)).resolved for path in paths)
    found: Any = first
    for other in others:
        found = _common(found, other)
    return dict(found)


def _common(one: Any, other: Any) -> Any:
    """The part that two documents have in common."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        shared = {key: _common(one[key], other[key]) for key in one if key in other}
        return {key: value for key, value in shared.items() if value is not ...}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_common(a, b) for a, b in zip(one, other, strict=True)]
    return one if one == other else ...

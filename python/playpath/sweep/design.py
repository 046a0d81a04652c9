"""A design: the scenario to vary, the axes, how points are drawn from them, and the seeds.

A design is a TOML file:

    scenario = "wireless.toml"            # in the design file's folder
    cc = ["cubic", "ccplb(pob_rate=2)"]   # optional: instead of the scenario's senders
    seeds = 5
    [[axis]]
    key = "path.loss"
    values = ["0 %", "0.5 %", "2 %"]      # a list
    [[axis]]
    key = "path.rtt"
    from = "10 ms"                        # a range
    to = "200 ms"
    steps = 5
    scale = "log"
    [[axis]]
    keys = ["path.rate", "path.queue"]    # several settings that change together
    values = [["5 Mbit/s", "50 kB"], ["20 Mbit/s", "200 kB"]]
    [sample]                              # optional: without it, the full grid
    kind = "latin_hypercube"              # or "random"
    points = 100
    seed = 1
"""

import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack, cast

import numpy as np

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.files import read_text
from playpath.base.optional import scipy
from playpath.base.quantity import parse, quantity
from playpath.scenario import Choices, Scenario, load, shipped

Point = dict[str, object]
"""Dotted setting → value, as for `--set`."""

_MAX_POINTS = 10**7


@dataclass(frozen=True)
class Axis:
    """One or several settings that change together."""

    keys: tuple[str, ...]
    """Dotted settings of the scenario."""
    values: tuple[tuple[Any, ...], ...]
    """The levels: for each, a value for every key."""
    low: float = 0.0
    high: float = 0.0
    """`low` and `high` are the ends of a range, and equal for a list."""
    unit: str = ""
    """Unit of a range."""
    is_log: bool = False
    """Whether a range is divided, and drawn from, on a logarithmic scale."""
    is_range: bool = False

    def at(self, share: float) -> tuple[Any, ...]:
        """The level at a position in [0, 1) along the axis: any value of a range, or one of a list."""
        if not self.is_range:
            return self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        return (quantity(self._number(share), self.unit),)

    def _number(self, share: float) -> float:
        if self.is_log:
            return math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class Design:
    name: str
    base: Scenario
    """The resolved scenario that is varied."""
    axes: tuple[Axis, ...]
    sample: Literal["grid", "latin_hypercube", "random"] = "grid"
    sample_points: int = 0
    """Number of points drawn; unused for a grid."""
    sample_seed: int = 1
    source: Mapping[str, Any] = field(default_factory=dict)
    """The design as read, for the manifest."""

    @property
    def keys(self) -> list[str]:
        return [key for axis in self.axes for key in axis.keys]

    @property
    def size(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes) if self.sample == "grid" else self.sample_points

    def points(self) -> Iterator[Point]:
        for levels in self._levels():
            yield {
                key: value
                for axis, level in zip(self.axes, levels, strict=True)
                for key, value in zip(axis.keys, level, strict=True)
            }

    def _levels(self) -> Iterator[Sequence[tuple[Any, ...]]]:
        if self.sample == "grid":
            yield from itertools.product(*(axis.values for axis in self.axes))
            return
        for row in self._shares():
            yield [axis.at(float(share)) for axis, share in zip(self.axes, row, strict=True)]

    def _shares(self) -> np.ndarray:
        random = np.random.default_rng(self.sample_seed)
        if self.sample == "random":
            return random.random((self.sample_points, len(self.axes)))
        qmc = scipy("stats", "sample.kind: latin_hypercube").qmc
        return qmc.LatinHypercube(len(self.axes), rng=random).random(self.sample_points)


def load_design(
    source: Any,
    *,
    seeds: int | None = None,
    **senders: Unpack[Choices],
) -> Design:
    """Read and check a design: a path, or a mapping whose `scenario`, like the options, is anything that `playpath.load` takes."""
    raw, text, folder, name = _read(source)
    called = "" if isinstance(source, Mapping) else str(source)
    if not {"axis", "scenario"} & raw.keys() and (error := shipped.mistaken(raw, folder, called, "design")):
        raise error
    _check(raw, text, called)
    axes = tuple(_axis(entry, i) for i, entry in enumerate(raw["axis"]))
    if not axes:
        raise InputError("the design has no [[axis]]; give at least one, with `key` and `values`")
    keys = [key for axis in axes for key in axis.keys]
    if given := next((key for key in keys if key in ("run.seeds", "run.first_seed")), None):
        raise InputError(f'`key` = "{given}": cannot vary, as all points play the same seeds; give the design `seeds`')
    if again := next((key for key in keys if keys.count(key) > 1), None):
        raise InputError(f"the design has two axes for `{again}`; give one")
    base = _base(raw, folder, seeds, senders)
    sample, points, seed = _sample(raw.get("sample"))
    design = Design(str(raw.get("name", name)), base, axes, sample, points, seed, _plain(raw))
    if design.size > _MAX_POINTS:
        raise InputError(f"the design has {design.size} points; allowed: up to {_MAX_POINTS}")
    _check_first_point(design)
    return design


def _read(source: Any) -> tuple[Mapping[str, Any], str, Path, str]:
    """The document, its text, the folder that file names are relative to, and a name."""
    if isinstance(source, Mapping):
        return source, json.dumps({**source, "scenario": str(source.get("scenario"))}, default=str), Path(), "sweep"
    path = shipped.find(source)
    text = read_text(path, remedy="give the path of a design")
    try:
        return tomllib.loads(text), text, path.parent, path.stem
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None


def _check(raw: Mapping[str, Any], text: str, called: str) -> None:
    """Check keys, types and ranges against the declaration."""
    try:
        engine.check("sweep", text)
    except InputError as error:
        raise InputError(f"{called}: {error}" if called else str(error)) from None
    if not raw["axis"]:
        raise InputError("the design has no [[axis]]; give at least one, with `key` and `values`")


def _base(raw: Mapping[str, Any], folder: Path, seeds: int | None, senders: Choices) -> Scenario:
    scenario = raw["scenario"]
    if not isinstance(scenario, str | Path | Mapping | Scenario):
        raise InputError(f"`scenario` = {scenario}: must be the name of a file")
    if isinstance(scenario, str) and "\n" not in scenario:
        scenario = folder / scenario
    wanted = seeds if seeds is not None else raw.get("seeds")
    chosen = dict(senders) | {key: senders.get(key) or raw.get(key) for key in ("cc", "scheduler", "abr")}
    try:
        return load(scenario, seeds=wanted, **cast("Choices", chosen))
    except InputError as error:
        raise InputError(str(error) if seeds is not None else re.sub("^seeds:", "`seeds`:", str(error))) from None


def _plain(raw: Mapping[str, Any]) -> dict[str, object]:
    """The design for the manifest, which has the resolved form of a scenario given as an object elsewhere."""
    return {key: value if key != "scenario" else str(value) for key, value in raw.items()}


def _check_first_point(design: Design) -> None:
    """Check the first point: a misspelt key is wrong at every point and should be reported once, not in every row."""
    point = next(iter(design.points()), None)
    if point is None:
        raise InputError("the design has no points")
    at_point(design.base, point)


def at_point(base: Scenario, point: Point) -> Scenario:
    """The scenario at a point, as `--set` would change the written one.

    Errors name the axis where those of `load` would name an option.
    """
    try:
        return load(base, set=point)
    except InputError as error:
        raise InputError(re.sub(r'^set\["(.+?)"\]', r"axis \1", str(error))) from None


def _axis(entry: Mapping[str, Any], index: int) -> Axis:
    where = f"axis {index + 1}"
    if ("key" in entry) == ("keys" in entry):
        raise InputError(f"{where}: give either `key` or `keys`")
    if "values" in entry:
        return _list_axis(entry, where)
    return _range_axis(entry, where)


def _list_axis(entry: Mapping[str, Any], where: str) -> Axis:
    keys, values = _keys(entry), entry["values"]
    levels = tuple(tuple(v) if "keys" in entry and isinstance(v, Sequence) else (v,) for v in values)
    seen = set[str]()
    for level in levels:
        if len(level) != len(keys):
            raise InputError(f"{where}: {list(level)} has {len(level)} values for {len(keys)} keys")
        written = json.dumps(level, ensure_ascii=False, default=str)[1:-1]
        if written in seen:
            raise InputError(f"{where}: {written} stands twice in its values")
        seen.add(written)
    return Axis(keys, levels)


def _range_axis(entry: Mapping[str, Any], where: str) -> Axis:
    if "keys" in entry or "from" not in entry or "to" not in entry:
        raise InputError(f"{where}: give `values`, or `key` with `from` and `to`")
    (low, unit), (high, other) = (parse(entry[end], where) for end in ("from", "to"))
    if unit != other:
        raise InputError(f"{where}: `from` is in '{unit}', `to` in '{other}'; use one unit")
    scale, steps = entry.get("scale", "linear"), entry.get("steps", 2)
    if scale == "log" and min(low, high) <= 0:
        raise InputError(f"{where}: a log scale needs `from` and `to` above zero")
    axis = Axis(_keys(entry), (), low, high, unit, scale == "log", is_range=True)
    levels = tuple(axis.at(i / (steps - 1)) for i in range(steps))
    return Axis(axis.keys, levels, low, high, unit, axis.is_log, is_range=True)


def _sample(entry: Mapping[str, Any] | None) -> tuple[Literal["grid", "latin_hypercube", "random"], int, int]:
    if entry is None:
        return "grid", 0, 1
    return entry["kind"], int(entry["points"]), int(entry.get("seed", 1))


def _keys(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings of an axis."""
    return tuple(entry["keys"]) if "keys" in entry else (entry["key"],)

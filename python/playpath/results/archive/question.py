"""The question of an experiment, with everything that determines the answer, so that no other file is needed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from playpath.base.errors import InputError
from playpath.population import PopulationResult, load_population
from playpath.results.comparison import Comparison
from playpath.scenario import Scenario, Written, at, load
from playpath.scenario.resolved import Document
from playpath.sweep import SweepResult
from playpath.sweep.cells import Cell, Variant, cell_id, variants
from playpath.sweep.design import at_point, load_design

Result = Comparison | SweepResult | PopulationResult
_NAMES_FILES = ("trace", "source", "manifest")
"""Last parts of settings whose values may be file names."""


@dataclass(frozen=True)
class Question:
    """A scenario, and the points at which it was played."""

    kind: str
    """One of "comparison", "sweep", "population"."""
    scenario: Mapping[str, Any]
    points: Mapping[int, Mapping[str, Any]] = field(default_factory=lambda: {0: {}})
    """Settings of each point; a comparison has one, without any."""
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Setting → file name → the file's content in the form of a resolved scenario."""
    written: Written | None = None
    """The scenario without its defaults, to which the settings of points are applied."""
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """If choices other than senders are compared: name → its resolved scenario, before the settings of points are applied."""

    def to_dict(self) -> dict[str, object]:
        points = [{"number": number, "settings": settings} for number, settings in self.points.items()]
        document: dict[str, object] = {
            "kind": self.kind,
            "scenario": self.scenario,
            "points": points,
            "contents": self.contents,
        }
        if self.choices:
            document["choices"] = self.choices
        return document if self.written is None else {**document, "written": self.written}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Question:
        points = {int(point["number"]): point["settings"] for point in stored["points"]}
        return cls(
            str(stored["kind"]),
            dict(stored["scenario"]),
            points,
            dict(stored["contents"]),
            stored.get("written"),
            dict(stored.get("choices", {})),
        )

    @property
    def is_written_so(self) -> bool:
        """Whether the written scenario, to which the settings of points are applied, is the one that was played."""
        if self.written is None:
            return True
        base = Scenario.stored(cast("Document", self.scenario), self.written)
        try:
            return load(base, seeds=len(base.seeds)).resolved == self.scenario
        except InputError:
            return False

    def cells(self, table: pl.DataFrame, version: str) -> Iterator[tuple[Cell, str | None]]:
        """Every session of a table of results as a cell, with its digest; None if it failed.

        Args:
            table: Columns `sender`, `seed`, `digest`, and `point` or `path` if there are several.
            version: Version of the engine, on which the ids of cells depend.
        """
        number = next((name for name in ("point", "path") if name in table.columns), None)
        rows = table.with_columns(pl.lit(0).alias("point")) if number is None else table.rename({number: "point"})
        known: dict[int, dict[str, Variant]] = {}
        for point, sender, seed, digest in rows.select("point", "sender", "seed", "digest").iter_rows():
            if not isinstance(sender, str) or not isinstance(seed, int) or seed < 0:
                raise InputError(f"a table names a sender {sender!r} with seed {seed!r}; needed: a name and a number")
            if point not in known:
                known = {point: self._variants(point)}  # tables are in the order of points
            variant = known[point].get(sender)
            if variant is None:
                raise InputError(f"point {point}: has no sender '{sender}'")
            yield Cell(cell_id(variant, seed, version), point, variant, seed), digest

    def _variants(self, point: int) -> dict[str, Variant]:
        base = Scenario.stored(cast("Document", self.scenario), self.written)
        if self.kind == "comparison":  # played unchanged, with its name
            texts = {name: json.dumps(choice, ensure_ascii=False) for name, choice in self.choices.items()}
            return {name: Variant(name, "", texts.get(name, base.text), "") for name in base.senders}
        settings = {
            key: self.contents[key][value] if isinstance(value, str) and value in self.contents.get(key, {}) else value
            for key, value in self.points[point].items()
        }
        return {variant.sender: variant for variant in variants(base, settings)}


def question_of(result: Result, source: Path | None) -> Question:
    """The question that a stored result answers.

    Args:
        source: The population's file. By default its document as stored with the results, whose file names are then relative to the
            working directory.
    """
    if isinstance(result, Comparison):
        scenario = result.scenario
        if scenario.choices.keys() - scenario.variants.keys():
            raise InputError(
                "this comparison varies its scenario and was made by a version that did not store that; run it again"
            )
        return Question("comparison", dict(scenario.resolved), choices=_compared(scenario))
    question = _of_sweep(result) if isinstance(result, SweepResult) else _of_population(result, source)
    _check_cells(question, result)
    return question


def _of_sweep(result: SweepResult) -> Question:
    own = {key: value for key, value in result.source.items() if key in ("name", "axis", "sample")}
    design = load_design({**own, "scenario": result.base})
    points = dict(enumerate(design.points()))
    contents = _contents(result.base, points.values())
    return Question("sweep", dict(result.base.resolved), points, contents, result.base.written, _compared(result.base))


def _of_population(result: PopulationResult, source: Path | None) -> Question:
    played = result.population
    try:
        found = load_population(source or played.source)
    except InputError as error:
        if source is not None:
            raise
        raise InputError(f"{error}; give the population's file: --population FILE") from None
    drawn = replace(
        found,
        base=played.base,
        paths=played.paths,
        sessions=played.sessions,
        seed=played.seed,
        is_shuffled=result.most is not None,
    )
    numbers = sorted(set(result.table["path"].to_list()))
    points = {number: dict(drawn.path(number).settings) for number in numbers}
    contents = _contents(played.base, points.values())
    return Question(
        "population", dict(played.base.resolved), points, contents, played.base.written, _compared(played.base)
    )


def _compared(scenario: Scenario) -> dict[str, Mapping[str, Any]]:
    return {name: dict(variant.resolved) for name, variant in scenario.variants.items()}


def _contents(base: Scenario, points: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, object]]:
    """The contents of the files that settings name."""
    found: dict[str, dict[str, object]] = {}
    for settings in points:
        for key, value in settings.items():
            if isinstance(value, str) and key.rpartition(".")[2] in _NAMES_FILES and value not in found.get(key, {}):
                found.setdefault(key, {})[value] = at(at_point(base, {key: value}).resolved, key)
    return found


def _check_cells(question: Question, result: SweepResult | PopulationResult) -> None:
    """Make sure that the question is the original one: the id of a cell depends on everything that determines its result."""
    table = result.table
    version = str(result.to_dict()["manifest"]["engine_version"])
    for (cell, _), known in zip(question.cells(table, version), table["cell"].to_list(), strict=True):
        if cell.id != known:
            raise InputError(
                f"point {cell.point}, {cell.variant.sender}: a file that it names has changed since this was run; run it again"
            )

"""Cells: one sender, one seed, one point of a design. Their ids depend only on what determines the result."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.scenario import Scenario
from playpath.sweep.design import Design, Point, at_point


@dataclass(frozen=True)
class Variant:
    """One sender at one point, which all its seeds have in common."""

    sender: str
    cc: str
    text: str
    """The resolved scenario with only this sender, as canonical JSON; empty if the point is wrong."""
    sha256: str
    """Of `text`."""
    error: str = ""
    """Why the point cannot be run; empty if it can."""


@dataclass(frozen=True)
class Cell:
    id: str
    """A hash, in 32 hexadecimal digits, of scenario, sender, seed and engine version."""
    point: int
    """Index of the point in the design."""
    variant: Variant
    seed: int


def cells(
    design: Design, seeds: Sequence[int] | None = None, racing: Mapping[int, Collection[str] | None] | None = None
) -> Iterator[Cell]:
    """The cells of a design in the order of points, seeds, senders.

    Args:
        seeds: Seeds to use instead of the design's.
        racing: Only these points, each with only these senders (None: with all).
    """
    wanted = design.base.seeds if seeds is None else seeds
    version = engine.version()
    for index, point in enumerate(design.points()):
        if racing is not None and index not in racing:
            continue
        chosen = (racing or {}).get(index)
        found = [v for v in variants(design.base, point) if chosen is None or v.sender in chosen]
        for seed in wanted:
            for variant in found:
                yield Cell(cell_id(variant, seed, version), index, variant, seed)


def variants(scenario: Scenario, point: Point) -> list[Variant]:
    """The senders of a scenario at a point. For a wrong point the variants carry an error; no exception is raised."""
    try:
        changed = at_point(scenario, point)
    except InputError as error:
        return [_wrong(scenario, sender, point, str(error)) for sender in scenario.senders]
    return [_variant(changed.playing(sender), sender) for sender in changed.senders]


def _variant(scenario: Scenario, sender: str) -> Variant:
    entry = scenario.sender(sender)
    whole: Mapping[str, Any] = scenario.resolved
    alone = {key: value for key, value in whole.items() if key not in ("name", "description")}
    alone["sender"] = [entry]
    alone["run"] = {key: value for key, value in alone["run"].items() if key not in ("seeds", "first_seed")}
    text = json.dumps(alone, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Variant(sender, entry["cc"]["name"], text, _sha256(text))


def _wrong(base: Scenario, sender: str, point: Point, error: str) -> Variant:
    text = base.text + json.dumps(point, sort_keys=True, ensure_ascii=False)
    return Variant(sender, "", "", _sha256(text), error)


def cell_id(variant: Variant, seed: int, version: str) -> str:
    """The stable id of a cell."""
    return _sha256(f"{version}\n{variant.sha256}\n{variant.sender}\n{seed}")[:32]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""What a result depends on, stored with it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, NotRequired, TypedDict

from playpath.base import engine
from playpath.base.worlds import is_exact
from playpath.scenario.resolved import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playpath.scenario import Scenario, Written


class Compared(TypedDict, total=False):
    """If choices other than senders are compared: what each name stands for, and the scenario that it plays."""

    choices: dict[str, dict[str, object]]
    variants: dict[str, Document]


class Manifest(Compared):
    scenario: Document
    scenario_sha256: str
    world: str
    seeds: list[int]
    playpath_version: str
    engine_version: str
    python_version: str
    platform: str
    kernel: str
    until_decided: NotRequired[int]


class PopulationManifest(Manifest):
    """The manifest of a population: `population` is its document as read, `written` its scenario with the changes of each point."""

    written: Written
    population: Mapping[str, object]
    paths: int
    sessions: int
    seed: int
    intervals_over: str
    units_in_all: float | None
    heaviest: float


class RunManifest(TypedDict):
    """The manifest of one session; the kernel world adds the machine."""

    engine: str
    scenario: Document
    sender: str
    seed: int
    world: NotRequired[str]
    player: NotRequired[str]
    kernel: NotRequired[str]
    machine: NotRequired[str]
    cpus: NotRequired[int | None]
    sysctls: NotRequired[dict[str, str]]


def package_version() -> str:
    return metadata.version("playpath")


def manifest(scenario: Scenario, world: str, seeds: Sequence[int]) -> Manifest:
    """Everything needed to reproduce the result. It holds no time of day: equal inputs give equal bytes."""
    found: Manifest = {
        "scenario": scenario.resolved,
        "scenario_sha256": scenario.digest,
        "world": world,
        "seeds": list(seeds),
        "playpath_version": package_version(),
        "engine_version": engine.version(),
        "python_version": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "kernel": platform.release(),
    }
    return {**found, **compared(scenario)}


def compared(scenario: Scenario) -> Compared:
    """The choices other than senders that are compared; empty if there are none."""
    if not scenario.choices:
        return {}
    choices: dict[str, dict[str, object]] = {
        name: {"sender": choice.sender, "value": choice.value, "settings": dict(choice.settings)}
        for name, choice in scenario.choices.items()
    }
    return {"choices": choices, "variants": {name: variant.resolved for name, variant in scenario.variants.items()}}


def again(world: str) -> str:
    """What to expect when the same is run again."""
    if is_exact(world):
        return "Equal scenario, seeds and engine version give equal results, bit for bit."
    return (
        "Real time: a seed fixes the losses and the draws of the traffic, not how the machine schedules processes. Another run gives "
        "similar figures, not the same ones."
    )

"""What a result depends on, stored with it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from playpath import engine

if TYPE_CHECKING:
    from playpath.scenario import Scenario


def package_version() -> str:
    """Version of the installed package."""
    return metadata.version("playpath")


def manifest(scenario: Scenario, world: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Everything needed to get the same result again. Holds no time of day: equal inputs give equal bytes."""
    return {
        "scenario": dict(scenario.resolved),
        "scenario_sha256": scenario.digest,
        "world": world,
        "seeds": list(seeds),
        "playpath_version": package_version(),
        "engine_version": engine.version(),
        "python_version": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "kernel": platform.release(),
    }


def again(world: str) -> str:
    """What to expect of another run of the same."""
    if world == "sim":
        return "Equal scenario, seeds and engine version give equal results, bit for bit."
    return (
        "Real time: a seed gives the same losses and the same draws of the traffic, not the same scheduling of the machine. Another run of "
        "the same gives figures like these, not these."
    )

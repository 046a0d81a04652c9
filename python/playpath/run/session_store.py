"""Keeps finished sessions in a folder, for worlds in which a session takes as long as its video, so that none is played twice.

`FOLDER/SENDER-KEY/SEED/` holds `record.json` and time series of a finished session, and in `build` the build of the engine that made
them; `logs/` holds the output of its programs, with a `failed.json` if it failed. KEY is a hash of everything except the seed that the
session depends on.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import playpath
from playpath.base import engine
from playpath.base.files import write_text
from playpath.results.record import Session, slug
from playpath.run.worlds import World
from playpath.scenario import Scenario

_BUILD = "build"


def session_key(scenario: Scenario, name: str) -> str:
    """Everything except the seed that a session depends on: the scenario without other senders and number of seeds."""
    whole: Mapping[str, Any] = scenario.playing(name).resolved
    resolved = {key: value for key, value in whole.items() if key != "sender"}
    resolved["run"] = {key: value for key, value in resolved.get("run", {}).items() if key != "seeds"}
    known = [resolved, scenario.sender(name), playpath.__version__]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]


def session_folder(store: str | Path, scenario: Scenario, name: str, seed: int) -> Path:
    return Path(store) / f"{slug(name)}-{session_key(scenario, name)}" / str(seed)


def finished_session(folder: Path, world: str) -> Session | None:
    """The finished session of this world and this build in `folder`, if there is one; a failed session leaves none."""
    try:
        found = Session.load(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, incomplete after a full disk, or of another version
    return found if found.world == world and _is_of_this_build(folder) else None


def of_other_builds(store: Path) -> int:
    """The number of finished sessions that another build of the engine recorded."""
    return sum(not _is_of_this_build(record.parent) for record in store.glob("*/*/record.json"))


def _is_of_this_build(folder: Path) -> bool:
    made_by = folder / _BUILD
    return made_by.exists() and made_by.read_text(encoding="utf-8") == engine.build()


def play_and_keep(scenario: Scenario, name: str, seed: int, world: World, folder: Path, *, trace: bool) -> Session:
    """Run a session and save its record and logs in `folder`; an earlier record is removed first, even if the run fails."""
    (folder / "record.json").unlink(missing_ok=True)
    session = world.keeping(folder / "logs").session(scenario, name, seed, trace=trace)
    session.save(folder)
    write_text(folder / _BUILD, engine.build())
    return session

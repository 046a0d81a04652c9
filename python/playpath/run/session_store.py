"""Finished sessions in a folder, for worlds where one takes as long as its video: none is played twice for nothing.

`FOLDER/SENDER-KEY/SEED/` holds `record.json` and time series of a session that was finished; `logs/` what its programs wrote, with a
`failed.json` if it failed. KEY stands for everything that the session depends on beside its seed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import playpath
from playpath.results.record import Session, slug
from playpath.run.worlds import World
from playpath.scenario import Scenario


def session_key(scenario: Scenario, name: str) -> str:
    """What a session depends on beside its seed: the scenario without its other senders and its number of seeds."""
    whole: Mapping[str, Any] = scenario.playing(name).resolved
    resolved = {key: value for key, value in whole.items() if key != "sender"}
    resolved["run"] = {key: value for key, value in resolved.get("run", {}).items() if key != "seeds"}
    known = [resolved, scenario.sender(name), playpath.__version__]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]


def session_folder(store: str | Path, scenario: Scenario, name: str, seed: int) -> Path:
    """Where a session of this sender and seed is kept."""
    return Path(store) / f"{slug(name)}-{session_key(scenario, name)}" / str(seed)


def finished_session(folder: Path, world: str) -> Session | None:
    """The session that was finished in this world and kept in `folder`, if there is one; a failed one left none."""
    try:
        found = Session.load(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, of a disk that was full, or of another version
    return found if found.world == world else None


def play_and_keep(scenario: Scenario, name: str, seed: int, world: World, folder: Path, *, trace: bool) -> Session:
    """Run a session now and put its record and logs into `folder`; no earlier record stays if it fails."""
    (folder / "record.json").unlink(missing_ok=True)
    session = world.keeping(folder / "logs").session(scenario, name, seed, trace=trace)
    session.save(folder)
    return session

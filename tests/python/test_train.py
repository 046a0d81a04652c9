"""What `make fast` lays the engine out by: the command that pyproject.toml names is there and plays scenarios of either kind."""

import importlib.util
import tomllib
from pathlib import Path

from conftest import BULK, SMALL

ROOT = Path(__file__).resolve().parents[2]


def test_the_training_plays_sessions_and_bulk_flows_and_tells_their_results():
    command = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["pgo-command"]
    spec = importlib.util.spec_from_file_location("train", ROOT / command.removeprefix("python "))
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    two_seconds = train.MINUTE.replace("60 s", "2 s")
    digests = [train.play(scenario, two_seconds) for scenario in (SMALL, BULK, SMALL)]
    assert digests[0] == digests[2] != digests[1]
    assert train.play(SMALL, train.MINUTE.replace("60 s", "2.5 s")) != digests[0]

"""Scenarios that the tests share, small enough for a second, and the command line as a function."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from forked import forks
from hypothesis import HealthCheck, settings

import playpath

# How long an example takes says nothing of what is tested.
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")


ROOT = Path(__file__).parents[2]
SCENARIOS = sorted(file for folder in ("", "l4s", "interop") for file in (ROOT / "scenarios" / folder).glob("*.toml"))

SMALL = """
name = "small"
description = "Ten seconds of video over a lossy path."
[video]
rate = "4 Mbit/s"
duration = "10 s"
fps = 25
[player]
kind = "progressive"
buffer = "1 s"
[[path]]
rate = "6 Mbit/s"
rtt = "60 ms"
loss = "1 %"
[[sender]]
cc = "newreno"
[[sender]]
cc = "cubic"
[run]
seeds = 3
"""

BULK = """
name = "bulk"
[[path]]
rate = "10 Mbit/s"
rtt = "20 ms"
[[traffic]]
kind = "bulk"
cc = "newreno"
count = 2
[run]
duration = "5 s"
seeds = 2
"""

TINY_POPULATION = (
    SMALL.replace('duration = "10 s"', 'duration = "3 s"').replace(
        'rtt = "60 ms"', 'rtt = { uniform = ["20 ms", "90 ms"] }'
    )
    + "[population]\npaths = 3\nsessions = 2\n"
)
"""Three paths, two sessions on each."""


@dataclass
class Finished:
    """A finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def assert_refused(self, *words: str, status: int = 2) -> None:
        """One line on standard error, with these words; nothing on standard output, no fault of playpath."""
        assert (self.status, self.out) == (status, ""), (self.out, self.err)
        assert self.err.startswith("error: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert [word for word in words if word not in self.err] == [], self.err
        assert [word for word in ("Traceback", "bug in playpath") if word in self.err] == [], self.err


def playpath_command(*arguments: object, cwd: Path | None = None, **variables: str) -> Finished:
    """Run `playpath` in its own process; with variables of its own it is started, without it is a fork."""
    if not variables:
        return Finished(*forks("200").run(list(map(str, arguments)), cwd or Path.cwd()))
    environment = {**os.environ, "COLUMNS": "200", **variables}
    command = [sys.executable, "-m", "playpath", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300, check=False)
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cli(tmp_path):
    """The command line, in a folder of its own."""
    return lambda *arguments, **variables: playpath_command(*arguments, cwd=tmp_path, **variables)


@pytest.fixture
def small(tmp_path):
    """A small scenario as a file."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def bulk(tmp_path):
    """A scenario with traffic and no video, as a file."""
    file = tmp_path / "bulk.toml"
    file.write_text(BULK)
    return file


@pytest.fixture(scope="session")
def switching():
    """A comparison in which one sender shows a quarter more and switches 24 times, which weighs more; the other steps are the same."""
    played = playpath.compare(SMALL, cc="newreno,cubic", seeds=16)
    rows = list(played.table.select("sender", "seed").iter_rows())
    shown, switched = {"newreno": 500.0, "cubic": 620.0}, {"newreno": 0.0, "cubic": 24.0}
    columns = {
        "played_s": [100.0] * len(rows),
        "stall_time_s": [0.0] * len(rows),
        "discarded_pictures": [0] * len(rows),
        "startup_delay_s": [0.3] * len(rows),
        "mean_rate_kbps": [shown[sender] + seed for sender, seed in rows],
        "switched_doublings": [switched[sender] for sender, _ in rows],
    }
    return replace(played, table=played.table.with_columns(pl.Series(name, found) for name, found in columns.items()))


@pytest.fixture(scope="session")
def comparison():
    """The small scenario compared, with timelines."""
    return playpath.compare(SMALL, timelines=True)


def figures_of(page: str) -> list[dict[str, Any]]:
    """What a report's script is given of each figure that it draws."""
    found = re.findall(
        r"<div data-figure='(\w+)'(?: class='full')?><script type='application/json'>(.*?)</script></div>", page
    )
    return [{"drawn": kind, **json.loads(shown)} for kind, shown in found]

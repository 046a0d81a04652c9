"""The plan of a run: the input of `playpath-client`, and its description of a scenario before anything is created."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.own import program
from playpath.real.testbed.programs import JsonObject
from playpath.scenario import resolved

FILE = "zeros"
"""The large file on the web server: an object of any size is the beginning of it."""


class Plan:
    """A scenario, a seed, and where everything is served.

    Attributes:
        described: The output of `playpath-client describe`: `limit_s`, `sample_interval_s`, `duration_s`, `sources` of
            the traffic (`name`, `group`, `kind`, `extra_rtt_s`); with a video also what the player reports to a sender:
            `playout_buffer_bytes`, `video_kbps`.
    """

    def __init__(self, scenario: resolved.Document, seed: int, packet_bytes: int, *, trace: bool) -> None:
        self._entries: dict[str, object] = {
            "scenario": dict(scenario),
            "seed": seed,
            "packet_bytes": packet_bytes,
            "trace": trace,
        }
        self.described = self._describe()

    def _describe(self) -> JsonObject:
        with tempfile.TemporaryDirectory(prefix="playpath-") as folder:
            file = Path(folder) / "plan.json"
            self.write(file)
            done = subprocess.run(
                [program(), "describe", str(file)], check=False, capture_output=True, text=True, timeout=60
            )
        if done.returncode != 0:
            raise TestbedError(done.stderr.strip().removeprefix(f"playpath-client: {file}: "))
        return json.loads(done.stdout)

    def add(self, **entries: Any) -> None:
        """Add entries: `video`, `origin`, `sources`, `until_s`, `start_ns`; see crates/client/src/plan.rs."""
        self._entries |= entries

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(self._entries))

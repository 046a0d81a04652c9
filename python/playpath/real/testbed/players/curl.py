"""curl: bulk transfer by a plain client, as large as the video or as long as `run.duration`."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from playpath.base.engine import number
from playpath.base.errors import InputError
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.scene import Played, Scene, Watch, require
from playpath.real.testbed.server import over_mptcp

if TYPE_CHECKING:
    from playpath.scenario import resolved


BULK = "bulk"
_ENDLESS = 1 << 36
_GRACE_S = 10.0
_TIMED_OUT = 28
"""curl's status when its time is over: that is how a transfer of a stated length ends."""


class Curl:
    """Downloads a file of zeros."""

    name = "curl"
    ports: tuple[int, ...] = ()
    sends_cmcd = False
    reads_server_data = False

    def check(self, scenario: resolved.Document) -> None:
        """Needs curl, and a video or `run.duration`."""
        require("curl", "curl")
        length_of(scenario)

    def prepare(self, scene: Scene) -> str:
        """A file of zeros."""
        return serve_bulk(scene)

    def play(self, scene: Scene, url: str) -> Played:
        """Download; figures are curl's own."""
        seconds = length_of(scene.scenario)
        until = scene.until_s if seconds is None else min(scene.until_s, seconds)
        command = [
            *over_mptcp(scene.protocol == "mptcp"),
            "curl",
            "--silent",
            "--show-error",
            "--output",
            "/dev/null",
            "--max-time",
            f"{until:.3f}",
        ]
        child = scene.bed.start("curl", "client", [*command, "--write-out", "%{json}", url])
        watch = Watch(scene.bed, child, until + _GRACE_S)
        while child.process.poll() is None:
            watch.check()
            time.sleep(0.02)
        if child.process.returncode not in (0, _TIMED_OUT):
            raise TestbedError(child.words() or f"curl ended with status {child.process.returncode}")
        told = json.loads(child.output.read_text())
        return Played(
            events=[],
            told={"first_byte_s": float(told["time_starttransfer"])},
            body_bytes=int(told["size_download"]),
            elapsed_s=float(told["time_total"]),
            warnings=[],
        )


def serve_bulk(scene: Scene) -> str:
    """A file of zeros, as large as the video, or without end where the transfer's length is stated; its URL."""
    is_endless = length_of(scene.scenario) is not None
    size = _ENDLESS if is_endless else scene.described["video_kbps"] * 125 * scene.described["duration_s"]
    scene.server.serve_zeros(BULK, round(size))
    return scene.url(BULK)


def length_of(scenario: resolved.Document) -> float | None:
    """Seconds of a transfer whose length is stated; None: as large as the video."""
    stated = scenario["run"].get("duration")
    if stated is None and not scenario.get("video"):
        raise InputError("a bulk transfer needs a [video], for its size, or run.duration")
    return number(stated) if stated else None

"""curl: bulk transfer by a plain client, as large as the video or as long as `run.duration`."""

import json

from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.bulk import Bulk, length_of
from playpath.real.testbed.players.scene import Played, Scene, Watch
from playpath.real.testbed.server import over_mptcp

_GRACE_S = 10.0
_TIMED_OUT = 28
"""curl's status at its time limit, which is how a transfer of a given duration ends."""


class Curl(Bulk):
    name = program = package = "curl"

    def play(self, scene: Scene, url: str) -> Played:
        seconds = length_of(scene.scenario)
        until = scene.until_s if seconds is None else min(scene.until_s, seconds)
        command = [*over_mptcp(scene.protocol == "mptcp"), "curl", *(["--insecure"] if scene.key else [])]
        command += ["--silent", "--show-error", "--output", "/dev/null", "--max-time", f"{until:.3f}"]
        child = scene.bed.start("curl", "client", [*command, "--write-out", "%{json}", url])
        status = Watch(scene.bed, child, until + _GRACE_S).wait()
        if status not in (0, _TIMED_OUT):
            raise TestbedError(child.words() or f"curl ended with status {status}")
        timing = json.loads(child.output.read_text())
        return Played(
            reported={"first_byte_s": float(timing["time_starttransfer"])},
            body_bytes=int(timing["size_download"]),
            elapsed_s=float(timing["time_total"]),
        )

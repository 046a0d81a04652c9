"""ngtcp2's client (`gtlsclient`): bulk transfer over HTTP/3, as large as the video or as long as `run.duration`."""

import time
from pathlib import Path

from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.bulk import BULK, Bulk, length_of
from playpath.real.testbed.players.scene import Played, Scene, Watch

_GRACE_S = 10.0


class Ngtcp2(Bulk):
    """Downloads a file of zeros into the run's folder, where its size is read and it is deleted."""

    name = "ngtcp2"
    program = "gtlsclient"
    package = "ngtcp2-client"

    def play(self, scene: Scene, url: str) -> Played:
        """Download; a transfer of a given duration is killed at its end."""
        seconds = length_of(scene.scenario)
        address, _, port = scene.origin.rpartition(":")
        folder = scene.bed.folder / "ngtcp2"
        folder.mkdir()
        command = ["gtlsclient", "--quiet", "--exit-on-all-streams-close", f"--download={folder}", address, port, url]
        child = scene.bed.start("ngtcp2", "client", command, realtime=True)
        watch = Watch(scene.bed, child, scene.until_s + _GRACE_S)
        while child.process.poll() is None and (seconds is None or watch.elapsed < min(seconds, scene.until_s)):
            watch.check()
            time.sleep(0.02)
        status = child.process.poll()
        child.end()
        elapsed = (
            watch.elapsed
        )  # it keeps downloading until it has ended, however long this process waits for a processor
        got = folder / BULK
        body_bytes = _taken_away(got)
        if status not in (0, None) or body_bytes == 0:
            raise TestbedError(child.words() or f"gtlsclient ended with status {status} and {body_bytes} bytes")
        return Played(body_bytes, elapsed)


def _taken_away(file: Path) -> int:
    """Size of the downloaded file in bytes; the file is deleted."""
    if not file.exists():
        return 0
    size = file.stat().st_size
    file.unlink()
    return size

"""What following a real player by the lines that it writes takes: its time, new lines, a picture that stands still or moves."""

from __future__ import annotations

from typing import Any

from playpath.testbed.errors import TestbedError
from playpath.testbed.players.events import EventLog
from playpath.testbed.players.scene import Scene, Watch
from playpath.testbed.processes import Child


class Following:
    """Follows a player from its start to the end of the video; what its lines mean is its subclass's.

    Parameters
    ----------
    scene : Scene
    child : Child
        Whose standard error has the lines.
    grace_s : float
        What it may take beyond the scene's time.
    silence_s : float
        How long it may say nothing.
    """

    def __init__(self, scene: Scene, child: Child, grace_s: float, silence_s: float) -> None:
        self._scene = scene
        self._child = child
        self._watch = Watch(scene.bed, child, scene.until_s + grace_s, silence_s)
        self._log = EventLog()
        self._read = 0
        self._stalled_since: float | None = None
        self._has_started = False

    def _check_alive(self, program: str) -> None:
        """Raise TestbedError if it has ended by itself."""
        if self._child.process.poll() is not None:
            raise TestbedError(f"{program} ended with status {self._child.process.returncode}: {self._child.words()}")

    def _fresh_lines(self) -> list[str]:
        """The whole lines that it wrote since the last call."""
        with self._child.log.open("rb") as file:
            file.seek(self._read)
            fresh = file.read()
        end = fresh.rfind(b"\n") + 1
        self._read += end
        return fresh[:end].decode(errors="replace").splitlines()

    def _stands_still(self, at_s: float, **more: Any) -> None:
        """The picture stands still since `at_s`, if it did not before."""
        if self._stalled_since is None:
            self._stalled_since = at_s
            self._log.add("underflow_start", at_s, **more)
            self._log.add("stall_start", at_s, since_s=at_s, **more)

    def _moves(self, at_s: float) -> None:
        """The picture moves since `at_s`: for the first time, or again."""
        if not self._has_started:
            self._has_started = True
            self._log.add("playback_started", at_s)
        elif self._stalled_since is not None:
            self._log.add("underflow_end", at_s)
            self._log.add("stall_end", at_s, frozen_s=round(at_s - self._stalled_since, 6))
            self._stalled_since = None

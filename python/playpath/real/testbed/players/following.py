"""Follows a real player by the lines that it writes: time limit, new lines, playback log."""

from playpath.real.testbed.players.events import EventLog
from playpath.real.testbed.players.scene import Scene, Watch
from playpath.real.testbed.processes import Child


class Following:
    """Follows a player from its start to the end of the video; subclasses interpret its lines.

    Args:
        child: The process, which writes the lines to its standard error.
        grace_s: How long it may take beyond the scene's time.
        silence_s: How long it may be silent.
    """

    def __init__(self, scene: Scene, child: Child, grace_s: float, silence_s: float) -> None:
        self._scene = scene
        self._child = child
        self._watch = Watch(scene.bed, child, scene.until_s + grace_s, silence_s)
        self._log = EventLog()
        self._read = 0

    def _fresh_lines(self) -> list[str]:
        """The complete lines written since the last call."""
        with self._child.log.open("rb") as file:
            file.seek(self._read)
            fresh = file.read()
        end = fresh.rfind(b"\n") + 1
        self._read += end
        return fresh[:end].decode(errors="replace").splitlines()

"""What following a real player by the lines that it writes takes: its time, new lines, its log."""

from playpath.real.testbed.players.events import EventLog
from playpath.real.testbed.players.scene import Scene, Watch
from playpath.real.testbed.processes import Child


class Following:
    """Follows a player from its start to the end of the video; what its lines mean is its subclass's.

    Args:
        child: Whose standard error has the lines.
        grace_s: What it may take beyond the scene's time.
        silence_s: How long it may say nothing.
    """

    def __init__(self, scene: Scene, child: Child, grace_s: float, silence_s: float) -> None:
        self._scene = scene
        self._child = child
        self._watch = Watch(scene.bed, child, scene.until_s + grace_s, silence_s)
        self._log = EventLog()
        self._read = 0

    def _fresh_lines(self) -> list[str]:
        """The whole lines that it wrote since the last call."""
        with self._child.log.open("rb") as file:
            file.seek(self._read)
            fresh = file.read()
        end = fresh.rfind(b"\n") + 1
        self._read += end
        return fresh[:end].decode(errors="replace").splitlines()

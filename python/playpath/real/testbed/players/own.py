"""The project's own player: the simulator's code on the wall clock (`playpath-client`). The default: exact and robust."""

import json

from playpath.real.testbed import programs
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.scene import Played, Scene, Watch
from playpath.scenario import resolved

_GRACE_S = 10.0


class Own:
    """Runs `playpath-client`, with all kinds of players of the simulator."""

    name = "own"
    ports: tuple[int, ...] = ()
    sends_cmcd = False
    reads_server_data = True
    takes: tuple[str, ...] = ()
    """Nothing is compared with it: it is the simulator's player."""

    def check(self, scenario: resolved.Document) -> None:
        program()

    def prepare(self, scene: Scene) -> str:
        """Nothing to prepare: it knows the sizes of pictures and segments, and the server's file of zeros is enough."""
        return scene.settings

    def play(self, scene: Scene, url: str) -> Played:
        """Play what the plan describes, from a file of zeros."""
        child = scene.bed.start("player", "client", [program(), "play", url], realtime=True)
        status = Watch(scene.bed, child, scene.until_s + _GRACE_S).wait()
        scene.bed.check()  # if the server ended, its error says more than the player's
        if status != 0:
            raise TestbedError(child.words() or f"the player ended with status {status}")
        output = json.loads(child.output.read_text())
        return Played(
            events=output["events"],
            body_bytes=output["body_bytes"],
            read_bytes=output["read_bytes"],
            elapsed_s=output["elapsed_s"],
            connections=output["connections"],
            series=output["series"],
            p1203=output.get("p1203", {}),
            cut_at_s=scene.until_s if output["is_cut"] else None,
        )


def program() -> str:
    return programs.find("playpath-client")

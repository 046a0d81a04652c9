"""iperf3: bulk transfer from its own server, as long as `run.duration` or the video."""

import json
import math
import time

from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.bulk import Bulk, length_of
from playpath.real.testbed.players.scene import Played, Scene, Watch

_PORT = 5201
_GRACE_S = 15.0


class Iperf3(Bulk):
    """Runs `iperf3 --reverse`: the server sends."""

    name = program = package = "iperf3"
    ports: tuple[int, ...] = (_PORT,)

    def prepare(self, scene: Scene) -> str:
        command = ["iperf3", "--server", "--one-off", "--port", str(_PORT), "--bind", scene.address]
        scene.bed.start("iperf3-server", "server", command)
        return scene.address

    def play(self, scene: Scene, url: str) -> Played:
        seconds = math.ceil(length_of(scene.scenario) or scene.described["duration_s"])
        command = ["iperf3", "--client", url, "--port", str(_PORT), "--reverse", "--json"]
        command += ["--time", str(seconds), "--connect-timeout", "3000"]
        for _ in range(20):  # its server takes a moment to listen
            if (played := self._transfer(scene, command, seconds)) is not None:
                return played
            time.sleep(0.1)
        raise TestbedError("iperf3's server does not listen")

    def _transfer(self, scene: Scene, command: list[str], seconds: float) -> Played | None:
        child = scene.bed.start("iperf3", "client", command)
        status = Watch(scene.bed, child, seconds + _GRACE_S).wait()
        output = json.loads(child.output.read_text() or "{}")
        error = str(output.get("error") or "")
        if "Connection refused" in error:
            return None
        if status != 0 or error:
            raise TestbedError(f"iperf3: {error or child.words() or f'status {status}'}")
        received = output["end"]["sum_received"]
        return Played(body_bytes=int(received["bytes"]), elapsed_s=float(received["seconds"]))

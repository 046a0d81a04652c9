"""Shared by players that only download: a transfer as large as the video, or as long as `run.duration`."""

from playpath.base.engine import number
from playpath.base.errors import InputError
from playpath.real.testbed.players.scene import Scene, require
from playpath.scenario import resolved

BULK = "bulk"
_ENDLESS = 1 << 36


class Bulk:
    """Downloads a file of zeros with `program` from Debian's `package`."""

    program: str
    package: str
    ports: tuple[int, ...] = ()
    sends_cmcd = False
    reads_server_data = False
    takes: tuple[str, ...] = ("kind", "client")

    def check(self, scenario: resolved.Document) -> None:
        """Require the program, and a video or `run.duration`."""
        require(self.package, self.program)
        length_of(scenario)

    def prepare(self, scene: Scene) -> str:
        """Provide a file of zeros, as large as the video, or endless if the transfer's duration is given; return its URL."""
        is_endless = length_of(scene.scenario) is not None
        size = _ENDLESS if is_endless else scene.described["video_kbps"] * 125 * scene.described["duration_s"]
        scene.server.serve_zeros(BULK, round(size))
        return scene.url(BULK)


def length_of(scenario: resolved.Document) -> float | None:
    """The transfer's duration in seconds if it is given; None if it is as large as the video."""
    stated = scenario["run"].get("duration")
    if stated is None and not scenario.get("video"):
        raise InputError("a bulk transfer needs a [video], for its size, or run.duration")
    return number(stated) if stated else None

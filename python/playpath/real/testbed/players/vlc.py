"""VLC without a window: progressive files and DASH.

Information comes from two sources. Its HTTP interface has counters, updated every 250 ms: pictures displayed and lost, audio
buffers lost, bytes read. Its log (-vv, kept as `vlc.log`), read 20 times a second, has the times of events:

| message | event |
|---|---|
| `Stream buffering done` | the clock starts, or a stall is over |
| `PCR is called too late` | an underflow, and a stall until buffering is done, unless that took less than a picture (`in 2 ms`) |
| `picture is too late to be displayed` | a discarded picture |

`--network-caching` is the scenario's playout buffer. VLC 3 also reads up to 25 MiB ahead: that is reduced to 64 kB, unless the
scenario says `read_ahead = "vlc"`; the socket's buffer still fills. For a ladder, the requested representations are read from the
server's log.
"""

import base64
import http.client
import json
import re
import time

from playpath.base.errors import InputError
from playpath.real.testbed import namespaces
from playpath.real.testbed.players.events import EventLog
from playpath.real.testbed.players.following import Following
from playpath.real.testbed.players.scene import Played, Scene, as_nobody, kind_of, ladder_of, require
from playpath.real.testbed.processes import Child
from playpath.real.testbed.server import over_mptcp
from playpath.scenario import resolved

_PORT = 8090
_PASSWORD = "playpath"
_NO_READING_AHEAD = ("--prefetch-buffer-size", "64", "--prefetch-read-size", "16384")
"""In kB and in bytes; the buffer is never smaller than one read, whose default is 16 MB."""
_INTERVAL = 0.05
_SILENCE_S = 5.0
_GRACE_S = 20.0
_PICTURE_S = 0.04
_DONE = re.compile(r"Stream buffering done \(-?\d+ ms in (\d+) ms\)")
_SEGMENT = re.compile(r"^GET /dash-[0-9a-f]+/(\d+)-(\d+)\.m4s")


class Vlc:
    """Runs `vlc -I http` as the user nobody."""

    name = "vlc"
    ports: tuple[int, ...] = ()
    sends_cmcd = False
    reads_server_data = False
    takes: tuple[str, ...] = ("kind", "client", "buffer", "read_ahead", "ladder", "segment")

    def check(self, scenario: resolved.Document) -> None:
        """Require VLC, and a player of kind `progressive` or `dash`."""
        require("vlc-bin vlc-plugin-base", "vlc")
        if kind_of(scenario, self.name, "progressive", "dash") == "dash":
            ladder_of(scenario)
        elif _read_ahead(scenario) not in ("none", "vlc"):
            raise InputError(f'player vlc: `player.read_ahead` = "{_read_ahead(scenario)}"; allowed: none, vlc')

    def prepare(self, scene: Scene) -> str:
        """Encode the scenario's video and return its URL."""
        return scene.serve_ladder() if _is_dash(scene) else scene.serve_progressive()

    def play(self, scene: Scene, url: str) -> Played:
        """Play until VLC stops by itself."""
        _, user = as_nobody(scene.bed, "vlc-home")
        command = [*user, *over_mptcp(scene.protocol == "mptcp"), "vlc", "-I", "http"]
        command += ["--http-host", "127.0.0.1", "--http-port", str(_PORT)]
        command += ["--http-password", _PASSWORD, "--vout", "dummy", "--aout", "adummy", "-vv", "--no-color"]
        if not _is_dash(scene):  # VLC's DASH reader has its own buffer
            own = () if _read_ahead(scene.scenario) == "vlc" else _NO_READING_AHEAD
            command += ["--network-caching", str(round(scene.buffer_s * 1000)), *own]
        child = scene.bed.start("vlc", "client", [*command, url])
        session = _Session(scene, child)
        played: Played = namespaces.call_inside(scene.bed.client, session.follow)
        child.end()
        if _is_dash(scene):
            session.add_segments(played)
        return played


def _read_ahead(scenario: resolved.Document) -> str:
    return str((scenario.get("player") or {}).get("read_ahead", "none"))


def _is_dash(scene: Scene) -> bool:
    return kind_of(scene.scenario, Vlc.name, "progressive", "dash") == "dash"


class _Session(Following):
    """Follows a VLC from its start to the end of its item."""

    def __init__(self, scene: Scene, child: Child) -> None:
        super().__init__(scene, child, _GRACE_S, _SILENCE_S)
        self._stats: dict[str, float] = {}
        self._begin: float | None = None
        self._seconds = 0.0

    def follow(self) -> Played:
        """Poll until it stops; called inside the client's namespace."""
        finished = "stopped"
        while True:
            self._watch.check()
            self._child.check()
            state = self._poll()
            self._take_log()
            if self._begin is not None and state == "stopped":
                finished = "played"
                break
            if self._begin is not None and self._now() > self._scene.until_s:
                break
            time.sleep(_INTERVAL)
        return self._played(finished)

    def _now(self) -> float:
        """Seconds since VLC opened its item."""
        return self._watch.elapsed - (self._begin or 0.0)

    def _poll(self) -> str | None:
        connection = http.client.HTTPConnection("127.0.0.1", _PORT, timeout=1)
        secret = base64.b64encode(f":{_PASSWORD}".encode()).decode()
        try:
            connection.request("GET", "/requests/status.json", headers={"Authorization": f"Basic {secret}"})
            status = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            return None  # not yet started, or hanging: the watch will tell
        finally:
            connection.close()
        self._watch.alive()
        state = str(status["state"])
        if state != "stopped":
            if self._begin is None:
                self._begin = self._watch.elapsed
                self._log.begin(0.0, self._scene.described)
            self._stats = status.get("stats") or self._stats
            self._seconds = float(status.get("position") or 0.0) * float(status.get("length") or 0.0)
            with (self._scene.bed.folder / "vlc-status.jsonl").open("a") as file:
                file.write(json.dumps({"time_s": round(self._now(), 3), "state": state, **self._stats}) + "\n")
        return state

    def _take_log(self) -> None:
        late = 0
        is_refilling = False
        lines = self._fresh_lines()
        for place, line in enumerate(lines):
            if "picture is too late to be displayed" in line:
                late += 1
            elif "called too late" in line and self._log.has_started:
                if self._log.is_stalled or not _is_refilled_at_once(lines[place:]):
                    self._log.stands_still(self._now())
                elif not is_refilling:
                    is_refilling = True
                    self._log.underflows(self._now())
            elif "Stream buffering done" in line:
                is_refilling = False
                self._buffered()
        if late:
            self._log.add("pictures_discarded", self._now(), first=0, count=late, cause="late")

    def _buffered(self) -> None:
        if not self._log.has_started:
            self._log.add("buffer_filled", self._now())
        self._log.moves(self._now())

    def _played(self, finished: str) -> Played:
        elapsed = self._now()
        if self._log.is_stalled:
            self._buffered()
        total = self._scene.described["duration_s"] if finished == "played" else self._seconds
        discarded = sum(e["count"] for e in self._log.events if e["event"] == "pictures_discarded")
        displayed = self._stats.get("displayedpictures")
        self._log.finish(elapsed, finished, max(0.0, total - discarded * _PICTURE_S), int(displayed or 0))
        return Played(
            events=self._log.events,
            reported={"displayed_pictures": displayed, "lost_audio_buffers": self._stats.get("lostabuffers")},
            body_bytes=int(self._stats.get("readbytes") or 0),
            elapsed_s=elapsed,
            warnings=[] if self._log.has_started else ["vlc never started playing"],
        )

    def add_segments(self, played: Played) -> None:
        """The events of requested segments, from the server's log."""
        rates, segment_s = ladder_of(self._scene.scenario)
        lines = [json.loads(line) for line in self._scene.server.access_log.read_text().splitlines()]
        origin = time.time() - self._watch.elapsed + (self._begin or 0.0)
        segments = EventLog()
        for number, line in enumerate(lines):
            found = _SEGMENT.match(line["request"])
            if found and line["status"] == 200:
                representation = int(found[1])
                segments.add(
                    "segment_downloaded",
                    line["time"] - origin,
                    request=number,
                    kind="video",
                    segment=int(found[2]) - 1,
                    representation=representation,
                    rate_mbps=rates[representation] / 1e6,
                    body_bytes=line["bytes"],
                    media_duration_s=segment_s,
                    download_time_s=line["took"],
                )
        played.events = sorted([*played.events, *segments.events], key=lambda event: float(event["time_s"]))
        # Segments of a ladder are read by a separate reader, whose bytes the counters leave out.
        played.body_bytes = sum(int(line["bytes"]) for line in lines)


def _is_refilled_at_once(lines: list[str]) -> bool:
    """Whether the next buffering took less than a picture's time, so that no viewer can see it; for instance because a DASH reader
    already had the data.
    """
    found = next(filter(None, map(_DONE.search, lines)), None)
    return found is not None and int(found[1]) < 1000 * _PICTURE_S

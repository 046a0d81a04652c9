"""Web players in headless Chromium: the common part of dash.js, hls.js and Shaka.

The page (`NAME.html`, with `page.js`) is a local file of the browser, not on the server: only manifest and segments cross the measured
path. It reports events on the console, which Chromium writes to its standard error, so that no remote control is needed. The output is
kept as `chromium.log`; the player's lines alone, as JSON, in `NAME.jsonl`.

Times count from the player's start, since the browser's start-up is not the viewer's waiting. A stall lasts from the video element's
`waiting` to its `playing`, after the first picture; `discarded_pictures` are those that the browser's decoder dropped. If segments
arrived out of order (dash.js fetches some again in a better quality), a player may fail to tell the browser that the stream is
complete: the picture then stops a few frames before the end, forever. Such a session counts as played, with a warning.
"""

import json
import shutil
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playpath.base.engine import number
from playpath.real.testbed import media
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.players.following import Following
from playpath.real.testbed.players.library import Library
from playpath.real.testbed.players.scene import Played, Scene, as_nobody, kind_of, ladder_of, require
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import JsonObject
from playpath.scenario import resolved

_INTERVAL = 0.05
_SILENCE_S = 20.0
"""Longer than a browser takes to start on a busy machine."""
_GRACE_S = 30.0
_MARK = "CONSOLE"
_LAST_S = 0.5
"""In the last half second of the video a `waiting` event is no stall."""
_PATIENCE_AT_END_S = 1.0
_STARVED_S = 1.0
"""The page reports four times a second; if it is silent for this long, the machine was too busy."""
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # the sandbox needs its own user namespaces; the page is ours
    "--disable-web-security",  # the page is a local file, the segments come from the server
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--autoplay-policy=no-user-gesture-required",
    "--enable-logging=stderr",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)


class InChromium:
    """Runs Chromium as the user nobody. A player adds its name, its library and its page's settings."""

    name: str
    library: Library
    ports: tuple[int, ...] = ()
    sends_cmcd = True
    reads_server_data = False
    takes: tuple[str, ...] = ("kind", "client", "ladder", "segment", "audio", "http", "cmcd")
    manifest = media.MANIFEST

    def check(self, scenario: resolved.Document) -> None:
        """Require Chromium, the player's script, and a player of kind `dash`."""
        require("chromium", "chromium", "chromium-browser", "google-chrome")
        kind_of(scenario, self.name, "dash")
        ladder_of(scenario)
        self.refuse(scenario)
        self.library.script()

    def refuse(self, scenario: resolved.Document) -> None:
        """Raise UnsupportedError if the scenario needs something that this player does not do."""

    def prepare(self, scene: Scene) -> str:
        """Encode the scenario's ladder and return its URL."""
        return scene.serve_ladder(audio_bps(scene.scenario), self.manifest)

    def settings(self, scene: Scene) -> dict[str, Any]:
        """The settings that the page passes to its player."""
        return {}

    def play(self, scene: Scene, url: str) -> Played:
        """Play until the video has ended."""
        wanted = urllib.parse.quote(json.dumps({"url": url, "settings": self.settings(scene)}))
        home, user = as_nobody(scene.bed, "chromium-home")
        here = Path(__file__).parent
        shutil.copy(here / f"{self.name}.html", home / "page.html")
        shutil.copy(here / "page.js", home / "page.js")
        shutil.copy(self.library.script(), home / "player.js")
        for file in home.iterdir():
            file.chmod(0o644)
        browser = require("chromium", "chromium", "chromium-browser", "google-chrome")
        page = f"file://{home}/page.html#{wanted}"
        options = [*_OPTIONS, *_of_tls(scene), f"--user-data-dir={home}/profile"]
        child = scene.bed.start("chromium", "client", [*user, browser, *options, page])
        played = _Session(scene, child, self.name, self.library.title).follow()
        child.end()
        return played


def _of_tls(scene: Scene) -> list[str]:
    """Options that make Chromium accept a self-signed certificate, and start with QUIC if that is used."""
    forced = [f"--origin-to-force-quic-on={scene.origin}"] if scene.protocol == "quic" else []
    return [*forced, f"--ignore-certificate-errors-spki-list={scene.key}"] if scene.key else []


def audio_bps(scenario: resolved.Document) -> float:
    """Rate of the audio in bit/s; 0 if there is none."""
    rate = (scenario.get("player") or {}).get("audio", "none")
    return number(rate) if rate and rate != "none" else 0.0


class _Session(Following):
    """Follows a page from its start to the end of the video."""

    def __init__(self, scene: Scene, child: Child, name: str, title: str) -> None:
        super().__init__(scene, child, _GRACE_S, _SILENCE_S)
        self._name, self._title = name, title
        self._bytes = 0
        self._there: set[int] = set()
        self._position = 0.0
        self._at = self._moved_at = self._longest_silence = 0.0
        self._pictures = self._dropped = 0
        self._warnings: list[str] = []
        self._buffer: list[tuple[float, float]] = []

    def follow(self) -> Played:
        """Read until the video has ended or the time limit is reached."""
        finished = ""
        while not finished:
            self._watch.check()
            for line in self._lines():
                self._watch.alive()
                finished = self._take(line) or finished
            if self._at > self._scene.until_s:
                finished = finished or "stopped"
            if not finished:
                self._child.check()
            time.sleep(_INTERVAL)
        return self._played(finished)

    def _lines(self) -> Iterator[JsonObject]:
        for line in self._fresh_lines():
            if _MARK not in line or '"playpath {' not in line:
                continue
            text = line[line.index('"playpath {') + len('"playpath ') : line.rindex('", source:')]
            with (self._scene.bed.folder / f"{self._name}.jsonl").open("a") as file:
                file.write(text + "\n")
            yield json.loads(text)

    def _take(self, message: JsonObject) -> str:
        """Handle one line of the page. Returns why the session is over, or an empty text."""
        event, previous, self._at = message["event"], self._at, float(message["at_s"])
        self._longest_silence = max(self._longest_silence, self._at - previous)
        if event == "start":
            self._log.begin(self._at, self._scene.described)
        elif event == "playing":
            self._log.moves(self._at)
        elif event == "waiting" and self._log.has_started and not self._is_at_end(message):
            self._log.stands_still(self._at, float(message["position_s"]))
        elif event == "loaded":
            self._loaded(message)
        elif event == "alive":
            if self._is_stuck_at_end(message):
                self._warnings.append(f"{self._title} did not end by itself although all data were there")
                return "played"
            self._pictures, self._dropped = int(message["total"]), int(message["dropped"])
            if message["buffer_s"] is not None:
                self._buffer.append((self._at, float(message["buffer_s"])))
        elif event == "error":
            raise TestbedError(f"{self._title}: {message['message']}")
        elif event == "ended":
            self._position = float(message["position_s"])
            return "played"
        return ""

    def _is_at_end(self, event: JsonObject) -> bool:
        return float(event["position_s"]) > self._scene.described["duration_s"] - _LAST_S

    def _is_stuck_at_end(self, event: JsonObject) -> bool:
        """Whether playback stands still although the last picture is in the buffer."""
        position = float(event["position_s"])
        if position != self._position:
            self._position, self._moved_at = position, self._at
        is_complete = position + float(event["buffer_s"] or 0.0) > self._scene.described["duration_s"] - 0.05
        return self._is_at_end(event) and is_complete and self._at - self._moved_at > _PATIENCE_AT_END_S

    def _loaded(self, event: JsonObject) -> None:
        self._bytes += int(event["bytes"] or 0)
        if event["error"]:
            self._warnings.append(f"{self._title} could not load segment {event['index']}: {event['error']}")
        elif event["type"] == "MediaSegment" and event["media"] == "video":
            rates, _ = ladder_of(self._scene.scenario)
            rate_bps = 1000 * float(event["kbps"])
            number = min(range(len(rates)), key=lambda i: abs(rates[i] - rate_bps))
            # Fetched again (fast switch) while its first version was already playing: that one is shown to its end.
            is_late = event["index"] in self._there and event["position_s"] > event["begins_s"]
            self._there.add(event["index"])
            late: JsonObject = {"is_late": True} if is_late else {}
            self._log.add(
                "segment_downloaded",
                self._at,
                request=event["index"],
                kind="video",
                segment=event["index"],
                representation=number,
                rate_mbps=rates[number] / 1e6,
                body_bytes=event["bytes"],
                media_duration_s=event["duration_s"],
                download_time_s=event["took_s"],
                **late,
            )

    def _played(self, finished: str) -> Played:
        if self._log.is_stalled:
            self._log.moves(self._at)
        if self._dropped:
            self._log.add("pictures_discarded", self._at, first=0, count=self._dropped, cause="late")
        displayed = self._pictures - self._dropped
        self._log.finish(self._at, finished, self._position, displayed)
        reported: dict[str, float | None] = {"displayed_pictures": displayed}
        if self._buffer:
            reported["mean_buffer_s"] = sum(level for _, level in self._buffer) / len(self._buffer)
        if self._longest_silence > _STARVED_S:
            silence = f"{self._longest_silence:.1f} s"
            self._warnings.append(
                f"the machine was too busy for Chromium, which froze for {silence}: stalls may be due to that"
            )
        if not self._log.has_started:
            self._warnings.append(f"{self._title} never started playing")
        return Played(
            events=self._log.events,
            reported=reported,
            body_bytes=self._bytes,
            elapsed_s=self._at,
            warnings=self._warnings,
        )

"""The interface of players of the kernel world: their input, their methods and their results."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from playpath.base.engine import number
from playpath.base.errors import InputError
from playpath.real.testbed import media
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.errors import MissingToolError, TestbedError
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import JsonObject
from playpath.real.testbed.senders import without_effect
from playpath.real.testbed.server import Server
from playpath.results.recorded import EventRecord
from playpath.scenario import Scenario, load, resolved

_STOPPED_PATIENCE = 3.0
"""A player that is stopped by a signal (or traced) for so long counts as hanging."""


@dataclass
class Played:
    """A player's results, with the record's names; not every player knows those with a default."""

    body_bytes: int
    """Bytes of response bodies."""
    elapsed_s: float
    events: list[EventRecord] = field(default_factory=list)
    """Its playback log; empty for a plain download."""
    reported: dict[str, float | None] = field(default_factory=dict)
    """Figures that it reports itself, by metric name."""
    warnings: list[str] = field(default_factory=list)
    read_bytes: int | None = None
    """`body_bytes` and headers."""
    cut_at_s: float | None = None
    """When it was cut off, if it was not played to its end."""
    connections: list[JsonObject] = field(default_factory=list)
    """Each with the client's `port`, `read_bytes`, `start_s`, `end_s`."""
    series: dict[str, list[float]] = field(default_factory=dict)
    """Columns `time_s`, `buffer_level_s`, `buffer_bytes`."""
    p1203: dict[str, object] = field(default_factory=dict)
    """The session as input for P.1203 tools."""


@dataclass(frozen=True)
class Scene:
    """A session about to begin: namespaces, server and path exist."""

    bed: Testbed
    server: Server
    scenario: resolved.Document
    described: Mapping[str, float]
    """Figures of the scenario's video and player: `playout_buffer_bytes`, `video_kbps`, `duration_s`; empty without a video."""
    settings: str
    """The plan file for `playpath-client`; written once the run's start is known, just before `play`."""
    until_s: float
    """The session is cut off after this time, in seconds."""
    origin: str = ""
    """Address and port that the player connects to, if different from the web server's own."""
    protocol: str = "tcp"
    """`tcp`, `mptcp` or `quic`."""
    collector: str = ""
    """Address and port for the player's reports."""
    key: str = ""
    """Fingerprint of the server's public key, if it uses TLS."""

    @property
    def scheme(self) -> str:
        return "https" if self.key else "http"

    @property
    def address(self) -> str:
        return self.bed.ends[0].server_address

    @property
    def buffer_s(self) -> float:
        """The playout buffer in media time; a player of segments keeps its own default (0)."""
        return self.described["playout_buffer_bytes"] * 8e-3 / self.described["video_kbps"]

    def url(self, path: str) -> str:
        return f"{self.scheme}://{self.origin or f'{self.address}:{self.server.port}'}/{path}"

    def serve_progressive(self) -> str:
        """Encode the scenario's video as a file; return its URL."""
        made = media.progressive(self.described["video_kbps"] * 1e3, self.described["duration_s"])
        return self.url(media.link_into(self.server.www, made))

    def serve_ladder(self, audio_bps: float = 0.0, manifest: str = media.MANIFEST) -> str:
        """Encode the scenario's ladder, with an audio set if that has a rate; return the URL of its manifest or playlist."""
        has_playlists = manifest == media.PLAYLIST
        made = media.ladder(
            *ladder_of(self.scenario), self.described["duration_s"], audio_bps, has_playlists=has_playlists
        )
        return self.url(f"{media.link_into(self.server.www, made)}/{manifest}")


def not_taken(scenario: resolved.Document, player: Player) -> list[str]:
    """A warning that names the settings of `[player]` that `player` does not take."""
    asked = scenario.get("player") or {}
    here = {key: value for key, value in _usual(asked.get("kind", "progressive")).items() if key not in player.takes}
    return without_effect(f"{player.name} has its own", asked, here)


@cache
def _usual(kind: str) -> Mapping[str, object]:
    """What `kind` alone resolves to."""
    video, path = {"rate": "1 Mbit/s", "duration": "1 s"}, {"rate": "1 Mbit/s", "rtt": "10 ms"}
    found: Scenario = load({"video": video, "player": {"kind": kind}, "path": [path], "sender": [{"cc": "cubic"}]})
    return found.resolved["player"] or {}


class Player(Protocol):
    """A kind of player. `check` is called before anything is created, `prepare` before the clock starts, then `play`."""

    name: str
    ports: tuple[int, ...]
    """Server ports that it uses in addition to the web server's."""
    sends_cmcd: bool
    """Whether it reports its buffer with every request."""
    reads_server_data: bool
    """Whether it reads server data (CMSD) and can send reports separately from its requests."""
    takes: tuple[str, ...]
    """Keys of `[player]` that it honours, or that this choice of a player replaces."""

    def check(self, scenario: resolved.Document) -> None:
        """Raise MissingToolError if a program is missing, TestbedError if it cannot play this scenario."""

    def prepare(self, scene: Scene) -> str:
        """Put the media on the server; return what `play` has to request, usually a URL."""

    def play(self, scene: Scene, url: str) -> Played:
        """Play what `prepare` returned to its end. TestbedError if the player, or a program that the run depends on, failed."""


class Watch:
    """Watches a running player: the programs that the run depends on, signs of life, the deadline."""

    def __init__(self, bed: Testbed, child: Child, until_s: float, silence_s: float | None = None) -> None:
        self._bed = bed
        self._child = child
        self._start = time.monotonic()
        self._until_s = until_s
        self._silence_s = silence_s
        self._seen_running = self._seen_alive = self._start

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    def alive(self) -> None:
        """Note a sign of life of the player."""
        self._seen_alive = time.monotonic()

    def wait(self) -> int:
        """Check until it has ended; returns its exit status."""
        while (status := self._child.process.poll()) is None:
            self.check()
            time.sleep(0.05)
        return status

    def check(self) -> None:
        """Raise TestbedError if the server, the emulator or the loader ended, or the player hangs."""
        self._bed.check()
        now = time.monotonic()
        if not self._child.is_stopped:
            self._seen_running = now
        name = self._child.name
        if now - self._seen_running > _STOPPED_PATIENCE:
            raise TestbedError(f"{name} hangs: it is stopped (process state T) for {_STOPPED_PATIENCE:g} s")
        if self._silence_s is not None and now - self._seen_alive > self._silence_s:
            raise TestbedError(f"{name} hangs: no sign of life for {self._silence_s:g} s")
        if self.elapsed > self._until_s:
            raise TestbedError(f"{name} hangs: it did not end {self._until_s:.0f} s after its start")


def require(package: str, *names: str) -> str:
    """The path of the first of these programs that exists; MissingToolError with the package to install."""
    if found := next(filter(None, map(shutil.which, names)), None):
        return found
    raise MissingToolError(f"{names[0]} is missing: apt install {package} (bpf/setup.sh)")


def as_nobody(bed: Testbed, name: str) -> tuple[Path, list[str]]:
    """A home folder for the user `nobody`, and a command prefix that runs a command as that user (players need no privileges)."""
    user = pwd.getpwnam("nobody")
    home = bed.folder / name
    home.mkdir()
    os.chown(home, user.pw_uid, user.pw_gid)
    home.chmod(0o700)
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return home, [
        require("util-linux", "setpriv"),
        *ids,
        "env",
        *(f"{key}={home}" for key in ("HOME", "XDG_RUNTIME_DIR", "TMPDIR")),
    ]


def ladder_of(scenario: resolved.Document) -> tuple[list[float], float]:
    """Rates of the ladder in bit/s, and the length of a segment in seconds."""
    player = scenario.get("player") or {}
    ladder = player.get("ladder")
    if not isinstance(ladder, str) or "bit/s" not in ladder:
        raise InputError(f'[player] ladder = {ladder!r}: a real player needs rates, "1 Mbit/s, 2 Mbit/s"')
    return [number(rate) for rate in ladder.split(",")], number(player["segment"])


def describe_ladder(scenario: resolved.Document) -> dict[str, float]:
    """`Scene.described` for a ladder: its top rate; the buffer is left to the player."""
    rates, _ = ladder_of(scenario)
    stated = (scenario.get("video") or {}).get("duration")
    duration_s = number(stated) if stated else media.CLIP_S
    return {"playout_buffer_bytes": 0.0, "video_kbps": max(rates) / 1e3, "duration_s": duration_s}


def kind_of(scenario: resolved.Document, player: str, *allowed: str) -> str:
    """The scenario's kind of player; InputError if it is not one of those that `player` supports."""
    if not scenario.get("video"):
        raise InputError(f"player {player}: the scenario has no [video]")
    kind = str((scenario.get("player") or {}).get("kind", "progressive"))
    if kind not in allowed:
        raise InputError(f"player {player}: [player] kind = '{kind}'; allowed: {', '.join(allowed)}")
    return kind

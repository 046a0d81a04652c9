"""What player and server tell one another beside requests and responses: client data (CMCD) and server data (CMSD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from playpath.base.worlds import WORLDS
from playpath.real.testbed.errors import UnsupportedError
from playpath.scenario import resolved

if TYPE_CHECKING:
    from playpath.real.testbed.bed import Testbed
    from playpath.real.testbed.players import Player


COLLECTOR_PORT = 8082
"""Where nginx takes players' reports: not a port of the video, so that its connections are no flows of the record."""
COLLECTOR_PATH = "/cmcd"
REPORTS = "reports.jsonl"
"""In the run's folder: a JSON line for each report, `time`, `peer`, `port`, `report`."""


@dataclass(frozen=True)
class Signalling:
    """What is told in a run."""

    requests: bool = False
    """The player tells of itself with each request (CMCD), and the congestion control takes it."""
    reports: bool = False
    """And with reports of their own (event mode)."""
    server_data: bool = False
    """The server tells of itself with each response (CMSD)."""
    max_rate: str | None = None
    """And this as the highest rate that a session should choose."""

    @property
    def server_data_options(self) -> list[str]:
        """Of the programs that write the header."""
        suggestion = [] if self.max_rate is None else ["--cmsd-mb", self.max_rate]
        return ["--cmsd", *suggestion] if self.server_data else []

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return self.requests or self.reports or self.server_data


def signalling_of(scenario: resolved.Document, player: Player, *, listens: bool) -> Signalling:
    """What a scenario wants told; `listens`: the congestion control takes what a player tells."""
    wanted = scenario.get("player") or {}
    max_rate = wanted.get("cmsd_mb", "none")
    return Signalling(
        requests=listens and (player.sends_cmcd or wanted.get("cmcd", "off") != "off"),
        reports=wanted.get("cmcd_events", "none") != "none",
        server_data=bool(wanted.get("cmsd")),
        max_rate=None if max_rate == "none" else max_rate,
    )


def unheard(scenario: resolved.Document, player: Player) -> str:
    """Why nobody hears what a player tells with its requests, in one line; empty: somebody does, or it tells nothing."""
    cmcd = (scenario.get("player") or {}).get("cmcd", "off")
    what = beyond_nginx(scenario) if player.name == "own" and cmcd != "off" else ""
    return what and (
        f'`player.cmcd` = "{cmcd}": the server that {what} needs hands nothing on, so the congestion control is told of the '
        "video at the start only"
    )


def check(scenario: resolved.Document, player: Player, world: str, paths: int) -> None:
    """Refuse what cannot be told here."""
    wanted = scenario.get("player") or {}
    events = wanted.get("cmcd_events", "none")
    stated = f'`player.cmcd_events` = "{events}"' if events != "none" else ""
    stated = "`player.cmsd` = true" if wanted.get("cmsd") else stated
    if not stated:
        return
    if not player.reads_server_data:
        raise UnsupportedError(f"{stated}: {player.name} neither reports nor reads server data; own and dashjs do")
    if player.name == "own" and (what := beyond_nginx(scenario)):
        raise UnsupportedError(
            f"{stated}: the server that {what} needs takes no reports and tells nothing; allowed: without {what}"
        )
    if any(group["kind"] == "video" for group in scenario.get("traffic") or []):
        raise UnsupportedError(
            f"{stated}: competing sessions have a server that takes no reports and tells nothing; allowed: [[traffic]] of "
            "other kinds"
        )
    if events != "none" and wanted.get("cmcd", "off") == "off":
        raise UnsupportedError(
            f'`player.cmcd_events` = "{events}": a server knows by the session id of the requests whose connections a report is '
            'about; allowed here: with `cmcd` = "v2"'
        )
    if wanted.get("cmsd") and not WORLDS[world].has_own_endpoint and paths > 1:
        raise UnsupportedError(
            "`player.cmsd` = true over several paths: nginx knows the rate of one connection, not of the paths; allowed: one "
            "path, or the world wire"
        )


def beyond_nginx(scenario: resolved.Document) -> str:
    """What of a scenario nginx does not write: the agent's chunks, live media as it is encoded, an [origin]'s delays; empty: nothing."""
    player = scenario.get("player") or {}
    if player.get("kind") == "agent":
        return '`kind` = "agent"'
    if player.get("low_latency", "off") != "off":
        return "`low_latency`"
    return "[origin]" if scenario.get("origin") else ""


def not_believed(bed: Testbed) -> list[str]:
    """Claims of a player that the CMCD bridge cut to what can be, a line for each session."""
    bridge = bed.children.get("agent")
    lines = bridge.log.read_text(errors="replace").splitlines() if bridge is not None else []
    return [line.removeprefix("playpath-bpf agent: ") for line in lines if "not believed" in line]

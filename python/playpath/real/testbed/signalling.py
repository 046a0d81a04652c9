"""Data that player and server send in addition to requests and responses: client data (CMCD) and server data (CMSD)."""

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
"""nginx's port for players' reports: not a port of the video, so that its connections are not flows of the record."""
COLLECTOR_PATH = "/cmcd"
REPORTS = "reports.jsonl"
"""File in the run's folder with a JSON line for each report: `time`, `peer`, `port`, `report`."""


@dataclass(frozen=True)
class Signalling:
    """The signalling used in a run."""

    requests: bool = False
    """The player sends client data with each request (CMCD), and the congestion control uses them."""
    reports: bool = False
    """The player also sends separate reports (event mode)."""
    server_data: bool = False
    """The server sends server data with each response (CMSD)."""
    max_rate: str | None = None
    """The highest rate that the server suggests to a session."""

    @property
    def server_data_options(self) -> list[str]:
        """Command-line options for the programs that write the header."""
        suggestion = [] if self.max_rate is None else ["--cmsd-mb", self.max_rate]
        return ["--cmsd", *suggestion] if self.server_data else []

    def __bool__(self) -> bool:
        """Whether anything is sent."""
        return self.requests or self.reports or self.server_data


def signalling_of(scenario: resolved.Document, player: Player, *, listens: bool) -> Signalling:
    """The signalling that a scenario asks for. `listens`: whether the congestion control uses client data."""
    wanted = scenario.get("player") or {}
    max_rate = wanted.get("cmsd_mb", "none")
    return Signalling(
        requests=listens and (player.sends_cmcd or wanted.get("cmcd", "off") != "off"),
        reports=wanted.get("cmcd_events", "none") != "none",
        server_data=bool(wanted.get("cmsd")),
        max_rate=None if max_rate == "none" else max_rate,
    )


def why_unused(scenario: resolved.Document, player: Player) -> str:
    """Why the client data in a player's requests are not used, in one line; empty if they are, or if it sends none."""
    cmcd = (scenario.get("player") or {}).get("cmcd", "off")
    what = beyond_nginx(scenario) if player.name == "own" and cmcd != "off" else ""
    return what and (
        f'`player.cmcd` = "{cmcd}": the server that {what} needs passes nothing on, so the congestion control learns about the '
        "video only at the start"
    )


def check(scenario: resolved.Document, player: Player, world: str, paths: int) -> None:
    """Refuse signalling that is not supported here."""
    wanted = scenario.get("player") or {}
    events = wanted.get("cmcd_events", "none")
    stated = f'`player.cmcd_events` = "{events}"' if events != "none" else ""
    stated = "`player.cmsd` = true" if wanted.get("cmsd") else stated
    if not stated:
        return
    if not player.reads_server_data:
        raise UnsupportedError(
            f"{stated}: {player.name} neither sends reports nor reads server data; own and dashjs do"
        )
    if player.name == "own" and (what := beyond_nginx(scenario)):
        raise UnsupportedError(
            f"{stated}: the server that {what} needs accepts no reports and sends no server data; allowed: without {what}"
        )
    if any(group["kind"] == "video" for group in scenario.get("traffic") or []):
        raise UnsupportedError(
            f"{stated}: the server of competing sessions accepts no reports and sends no server data; allowed: [[traffic]] of "
            "other kinds"
        )
    if events != "none" and wanted.get("cmcd", "off") == "off":
        raise UnsupportedError(
            f'`player.cmcd_events` = "{events}": a server assigns reports to connections by the session id in the requests; '
            'allowed here: with `cmcd` = "v2"'
        )
    if wanted.get("cmsd") and not WORLDS[world].has_own_endpoint and paths > 1:
        raise UnsupportedError(
            "`player.cmsd` = true over several paths: nginx knows the rate of one connection, not of the paths; allowed: one "
            "path, or the world wire"
        )


def beyond_nginx(scenario: resolved.Document) -> str:
    """What a scenario needs that nginx does not support: the agent's chunks, live media as it is encoded, an [origin]'s delays; or ""."""
    player = scenario.get("player") or {}
    if player.get("kind") == "agent":
        return '`kind` = "agent"'
    if player.get("low_latency", "off") != "off":
        return "`low_latency`"
    return "[origin]" if scenario.get("origin") else ""


def not_believed(bed: Testbed) -> list[str]:
    """Claims of a player that the CMCD bridge limited to plausible values, a line for each session."""
    bridge = bed.children.get("agent")
    lines = bridge.log.read_text(errors="replace").splitlines() if bridge is not None else []
    return [line.removeprefix("playpath-bpf agent: ") for line in lines if "not believed" in line]

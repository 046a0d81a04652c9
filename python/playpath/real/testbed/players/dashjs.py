"""dash.js in Chromium, with CMCD: the reference player of DASH in a real browser.

Jumping over gaps is turned off, so that a missing segment causes a stall.
"""

from typing import Any

from playpath.base.engine import number
from playpath.real.testbed.errors import UnsupportedError
from playpath.real.testbed.players.chromium import InChromium, audio_bps
from playpath.real.testbed.players.library import Library
from playpath.real.testbed.players.scene import Scene
from playpath.real.testbed.signalling import COLLECTOR_PATH
from playpath.scenario import resolved

LIBRARY = Library(
    title="dash.js",
    package="dashjs",
    version="5.2.1",
    member="package/dist/modern/umd/dash.all.min.js",
    sha256="3a22b1f4576ab294f41e56f156cec7972a5f83edda379416778293ff22d2eb49",
    variable="PLAYPATH_DASHJS",
)
_SIGNALLING = ("cmcd_events", "cmcd_interval", "cmsd", "cmsd_mb", "apply_mb", "etp_weight")
_EVENTS = ("ps", "t", "e", "rr")
_REPORT_KEYS = [
    "bl", "br", "bs", "d", "dl", "e", "msd", "mtp", "ot", "pr", "rc", "rtp", "sf", "sid", "sn", "st", "sta", "su", "tb", "tbl", "ts",
    "ttfb", "ttlb", "url", "v",
]  # fmt: skip
"""Keys of a report; without this list reports have only the event and its time."""


class DashJs(InChromium):
    """As `InChromium`; it also sends reports separately from its requests, and reads server data."""

    name = "dashjs"
    library = LIBRARY
    reads_server_data = True
    takes: tuple[str, ...] = (*InChromium.takes, *_SIGNALLING)

    def refuse(self, scenario: resolved.Document) -> None:
        check_settings(scenario)

    def settings(self, scene: Scene) -> dict[str, Any]:
        """The page's settings: client data and server data as in the scenario."""
        settings = settings_of(scene.scenario, f"{scene.scheme}://{scene.collector}")
        return {"streaming": {"gaps": {"jumpGaps": False}, **settings}}


def settings_of(scenario: resolved.Document, collector: str) -> dict[str, object]:
    """The part of dash.js's `settings.streaming` that a scenario sets: client data and server data.

    By default CMCD version 1 in the query, which is what the CMCD bridge expects from this player.
    """
    wanted = scenario.get("player") or {}
    cmcd: dict[str, object] = {"enabled": True, "version": 2 if wanted.get("cmcd") == "v2" else 1, "mode": "query"}
    if (events := wanted.get("cmcd_events", "none")) != "none":
        target: dict[str, object] = {
            "enabled": True,
            "url": f"{collector}{COLLECTOR_PATH}",
            "events": _words(events),
        }
        target |= {"interval": number(wanted["cmcd_interval"]), "batchSize": 1, "enabledKeys": _REPORT_KEYS}
        cmcd["eventTargets"] = [target]
    abr = {"applyMb": bool(wanted.get("apply_mb")), "etpWeightRatio": _share(wanted.get("etp_weight", "0 %"))}
    return {"cmcd": cmcd, "cmsd": {"enabled": bool(wanted.get("cmsd")), "abr": abr}}


def check_settings(scenario: resolved.Document) -> None:
    """Refuse events that dash.js does not report, and settings that it does not support."""
    wanted = scenario.get("player") or {}
    strange = [event for event in _words(wanted.get("cmcd_events", "none")) if event not in (*_EVENTS, "none")]
    if strange:
        raise UnsupportedError(
            f"`player.cmcd_events`: dash.js {LIBRARY.version} reports no {strange[0]}; allowed with it: {', '.join(_EVENTS)}"
        )
    if wanted.get("apply_mb") and not audio_bps(scenario):
        raise UnsupportedError(
            f"`player.apply_mb` = true: dash.js {LIBRARY.version} subtracts the audio's rate from the suggested one, and ignores the "
            'suggestion if there is no audio; give `audio`, such as "96 kbit/s"'
        )


def _words(events: str) -> list[str]:
    return [event.strip() for event in events.split(",")]


def _share(percent: str) -> float:
    return float(percent.removesuffix("%")) / 100

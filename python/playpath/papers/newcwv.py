"""The grid of the study `newcwv`: senders and clients, alone and beside another flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playpath.papers.newcwv_series import STEP_S, measure, trace
from playpath.papers.study import Case, Labels
from playpath.scenario.document import Sender

__all__ = ["cases", "measure", "side_by_side_cases", "trace"]
LADDER = "200 kbit/s, 250 kbit/s, 300 kbit/s, 400 kbit/s, 500 kbit/s, 600 kbit/s, 700 kbit/s"
NEWRENO, NEWCWV, PACED = "NewReno", "newCWV", "newCWV + pacing"
_SENDERS: dict[str, Sender] = {
    NEWRENO: {"cc": "newreno", "validation": "rfc2861"},
    NEWCWV: {"cc": "newreno", "validation": "newcwv"},
    PACED: {"cc": "newreno", "validation": "newcwv", "pacing": {"gain": 1.0}},
}
_PACED_NEWCWV: Sender = {"validation": "newcwv", "pacing": "linux"}
_CURRENT_SENDERS: dict[str, Sender] = {
    "CUBIC HyStart++": {"cc": {"name": "cubic", "slow_start": "hystart++"}, "pacing": "linux"},
    "CUBIC + newCWV": {"cc": {"name": "cubic", "slow_start": "hystart++"}, **_PACED_NEWCWV},
    "BBR": {"cc": "bbr"},
    "BBRv3": {"cc": "bbr3"},
    "CCPLB": {"cc": "ccplb", "pacing": "linux"},
    "CCPLB + newCWV": {"cc": "ccplb", **_PACED_NEWCWV},
    "CCPLB + newCWV + level": {"cc": {"name": "ccplb", "pob_mode": "free"}, **_PACED_NEWCWV},
}
CLIENTS = {"DASH-JS": "dash-js", "VLC": "vlc", "dash.js": "dash.js"}
PAPERS_CLIENTS = ("DASH-JS", "VLC")


@dataclass(frozen=True)
class SetUp:
    """What the paper leaves unstated; studies/newcwv.toml has the reasons."""

    gain: float = 1.0
    rtt_ms: float = 200.0
    size_cv: float = 10.0
    bucket_kb: float = 0.0
    socket_mb: float = 6.3
    pipeline: str = "80 %"
    iw: int = 10
    profile: str = "linux"
    rule: str = "newcwv"
    http_kb: float = 50.0
    http_pause_s: float = 0.5


CHOSEN = SetUp()


def _case(part: str, variant: str, client: str, share: float, *, competing: str = "no", setup: SetUp = CHOSEN) -> Case:
    """A session; `competing` names the competing flow: none ("no"), FTP ("yes") or HTTP ("http")."""
    sender = dict((_SENDERS | _CURRENT_SENDERS)[variant])
    if sender.get("validation") == "newcwv":
        sender["validation"] = setup.rule
    if variant == PACED:
        sender["pacing"] = {"gain": setup.gain}
    length = max(140, round((600 if competing == "no" else 400) * share))
    player = {"kind": "dash", "client": CLIENTS[client], "ladder": LADDER, "size_cv": f"{setup.size_cv:g} %"}
    if client == "VLC":
        player["pipeline_at"] = setup.pipeline
    if variant in _CURRENT_SENDERS:
        player["cmcd"] = "v2"
    path = {"name": "bottleneck", "rate": "1 Mbit/s", "rtt": f"{setup.rtt_ms:g} ms", "queue": "30 kB"}
    scenario = {
        "video": {"rate": "700 kbit/s", "duration": f"{length} s"},
        "player": player,
        "path": [path | ({"burst": f"{setup.bucket_kb:g} kB"} if setup.bucket_kb else {})],
        "traffic": _traffic(competing, setup),
        "sender": [
            {
                "name": "sender",
                "profile": setup.profile,
                "initial_window": setup.iw,
                "receive_buffer": f"{setup.socket_mb * 1000:g} kB",
                **sender,
            }
        ],
        "run": {"sample_interval": f"{round(STEP_S * 1000)} ms"},
    }
    labels: Labels = {
        "part": part,
        "variant": variant,
        "client": client,
        "ftp": competing,
    }
    return Case(labels, scenario, is_traced=True)


def _traffic(competing: str, setup: SetUp) -> list[Mapping[str, object]]:
    common = {"cc": "newreno", "start": "60 s", "start_spread": "2 s"}
    http = {"think_time": f"{setup.http_pause_s:g} s", "mean_size": f"{setup.http_kb:g} kB"}
    found: dict[str, list[Mapping[str, object]]] = {
        "no": [],
        "yes": [{"name": "ftp", "kind": "bulk", **common}],
        "http": [{"name": "http", "kind": "web", **common, **http}],
    }
    return found[competing]


def cases(share: float, **settings: Any) -> list[Case]:
    """One flow, two flows, then today's senders and today's client."""
    setup = SetUp(**settings)
    found = [
        _case("paper", v, c, share, competing=competing, setup=setup)
        for competing in ("no", "yes")
        for c in PAPERS_CLIENTS
        for v in _SENDERS
    ]
    found += [_case("paper", v, "VLC", share, competing="http", setup=setup) for v in _SENDERS]
    today = [(b, c, v) for b in ("no", "yes") for c in ("VLC", "dash.js") for v in _CURRENT_SENDERS]
    today += [(b, "dash.js", v) for b in ("no", "yes") for v in _SENDERS]
    return found + [_case("today", v, c, share, competing=b, setup=setup) for b, c, v in today]


def side_by_side_cases(share: float) -> list[Case]:
    """For both worlds: the paper's senders, one flow."""
    return [_case("beside", v, "VLC", share) for v in _SENDERS]

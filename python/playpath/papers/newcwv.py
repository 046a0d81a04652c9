"""Study `newcwv`: newCWV and pacing under DASH (2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from playpath.papers.claims import between, fewer, ratio_at_least
from playpath.papers.newcwv_series import (
    AFTER,
    ALONE,
    COLLAPSES,
    CWND,
    FTP,
    IDLE_FALLS,
    LOSSES,
    LOST_AFTER_PAUSE,
    LOST_AT_START,
    LOST_ELSE,
    SHARE,
    SPREAD,
    STEP_S,
    SUM,
    measure,
    trace,
)
from playpath.papers.study import (
    Case,
    Check,
    Claim,
    FigureSpec,
    Labels,
    Panel,
    Settings,
    Study,
    Term,
    Today,
    TwoWorlds,
    unstated,
)
from playpath.scenario.document import Sender

LADDER = "200 kbit/s, 250 kbit/s, 300 kbit/s, 400 kbit/s, 500 kbit/s, 600 kbit/s, 700 kbit/s"
NEWRENO, NEWCWV, PACED = "NewReno", "newCWV", "newCWV + pacing"
_SENDERS: dict[str, Sender] = {
    NEWRENO: {"cc": "newreno", "validation": "rfc2861"},
    NEWCWV: {"cc": "newreno", "validation": "newcwv"},
    PACED: {"cc": "newreno", "validation": "newcwv", "pacing": {"gain": 1.0}},
}
_PACED_NEWCWV: Sender = {"validation": "newcwv", "pacing": "linux"}
_TODAY: dict[str, Sender] = {
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
    """What the paper leaves unstated; `UNSTATED` has the reasons."""

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


def _case(part: str, variant: str, client: str, share: float, *, beside: str = "no", setup: SetUp = CHOSEN) -> Case:
    """A session; `beside` it nothing ("no"), an FTP ("yes") or an HTTP flow ("http")."""
    sender = dict((_SENDERS | _TODAY)[variant])
    if variant in (NEWCWV, PACED):
        sender["validation"] = setup.rule
    if variant == PACED:
        sender["pacing"] = {"gain": setup.gain}
    length = max(140, round((600 if beside == "no" else 400) * share))
    player = {"kind": "dash", "client": CLIENTS[client], "ladder": LADDER, "size_cv": f"{setup.size_cv:g} %"}
    if client == "VLC":
        player["pipeline_at"] = setup.pipeline
    if variant in _TODAY:
        player["cmcd"] = "v2"
    path = {"name": "bottleneck", "rate": "1 Mbit/s", "rtt": f"{setup.rtt_ms:g} ms", "queue": "30 kB"}
    scenario = {
        "video": {"rate": "700 kbit/s", "duration": f"{length} s"},
        "player": player,
        "path": [path | ({"burst": f"{setup.bucket_kb:g} kB"} if setup.bucket_kb else {})],
        "traffic": _traffic(beside, setup),
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
        "ftp": beside,
    }
    return Case(labels, scenario, is_traced=True)


def _traffic(beside: str, setup: SetUp) -> list[Mapping[str, object]]:
    common = {"cc": "newreno", "start": "60 s", "start_spread": "2 s"}
    http = {"think_time": f"{setup.http_pause_s:g} s", "mean_size": f"{setup.http_kb:g} kB"}
    found: dict[str, list[Mapping[str, object]]] = {
        "no": [],
        "yes": [{"name": "ftp", "kind": "bulk", **common}],
        "http": [{"name": "http", "kind": "web", **common, **http}],
    }
    return found[beside]


def _paper_cases(share: float, setup: SetUp = CHOSEN) -> list[Case]:
    found = [
        _case("paper", v, c, share, beside=beside, setup=setup)
        for beside in ("no", "yes")
        for c in PAPERS_CLIENTS
        for v in _SENDERS
    ]
    return found + [_case("paper", v, "VLC", share, beside="http", setup=setup) for v in _SENDERS]


def cases(share: float) -> list[Case]:
    """One flow, two flows, then today's senders and today's client."""
    found = _paper_cases(share)
    found += [_case("today", v, c, share, beside=b) for b in ("no", "yes") for c in ("VLC", "dash.js") for v in _TODAY]
    return found + [_case("today", v, "dash.js", share, beside=b) for b in ("no", "yes") for v in _SENDERS]


def vary(share: float, settings: Settings) -> list[Case]:
    """The paper's cases with unstated parameters at other values."""
    return _paper_cases(share, replace(CHOSEN, **settings))


def _at(variant: str, client: str = "VLC", ftp: str = "no") -> Labels:
    return {"part": "paper", "variant": variant, "client": client, "ftp": ftp}


def _losses(less: str, more: str, ftp: str = "no") -> list[Check]:
    return [
        fewer(LOSSES, _at(less, c, ftp), _at(more, c, ftp), f"{c}: fewer losses with {less} than with {more}")
        for c in ("VLC",)
    ]


def _each(make: Any) -> list[Check]:
    return [make(v, "VLC") for v in _SENDERS]


CLAIMS = [
    Claim(
        "newcwv-1",
        "newCWV holds cwnd through idle periods; NewReno falls back after each; NewReno collapses cwnd almost twice as often",
        "VLC, one flow: cwnd falls without a loss never under newCWV and more often under NewReno; all falls (to three "
        "quarters or less) of NewReno are at least 1.5 times as many",
        [
            between(IDLE_FALLS, _at(NEWCWV), "VLC: newCWV's cwnd does not fall without a loss", high=0.0),
            fewer(IDLE_FALLS, _at(NEWCWV), _at(NEWRENO), "VLC: NewReno's cwnd falls more often without a loss"),
            ratio_at_least(
                COLLAPSES, _at(NEWRENO), _at(NEWCWV), "VLC: NewReno collapses at least 1.5 times as often", least=1.5
            ),
        ],
    ),
    Claim(
        "newcwv-2",
        "DASH-JS meets more losses than VLC and has the lower cwnd",
        "under newCWV, one flow (the paper's Figure 2)",
        [
            fewer(LOSSES, _at(NEWCWV, "VLC"), _at(NEWCWV, "DASH-JS"), "VLC has fewer losses than DASH-JS"),
            fewer(CWND, _at(NEWCWV, "DASH-JS"), _at(NEWCWV, "VLC"), "DASH-JS has the lower mean cwnd"),
        ],
    ),
    Claim(
        "newcwv-3",
        "pacing lowers the variance of bytes sent per second",
        "deviation of newCWV + pacing below that of newCWV, VLC (the paper's Figure 4)",
        [fewer(SPREAD, _at(PACED), _at(NEWCWV), "VLC: deviation of bytes sent per second is lower with pacing")],
    ),
    Claim(
        "newcwv-4",
        "losses: newCWV > NewReno; newCWV + pacing fewer than both",
        "packets of DASH lost, one flow, VLC (the paper's Figure 5)",
        _losses(NEWRENO, NEWCWV) + _losses(PACED, NEWCWV) + _losses(PACED, NEWRENO),
    ),
    Claim(
        "newcwv-5",
        "with FTP: DASH takes the whole link alone, then adapts and shares; the sum stays near the capacity; after DASH "
        "ends FTP rises to about 90 %",
        "alone: its twenty busiest seconds at least 0.8 Mbit/s; then at most 0.7; the sum at least 0.8; FTP afterwards at "
        "least 0.8 (measured while the client plays what it has after its last download)",
        [
            *_each(lambda v, c: between(ALONE, _at(v, c, "yes"), f"{c}, {v}: DASH alone at least 0.8", low=0.8)),
            *_each(lambda v, c: between(SHARE, _at(v, c, "yes"), f"{c}, {v}: DASH beside FTP at most 0.7", high=0.7)),
            *_each(lambda v, c: between(SUM, _at(v, c, "yes"), f"{c}, {v}: the sum at least 0.8", low=0.8)),
            *_each(lambda v, c: between(AFTER, _at(v, c, "yes"), f"{c}, {v}: FTP afterwards at least 0.8", low=0.8)),
        ],
    ),
    Claim(
        "newcwv-6",
        "with FTP, losses are fewest with newCWV + pacing",
        "VLC, packets of DASH lost: the paper's Figure 8 shows the DASH flows' losses",
        _losses(PACED, NEWCWV, "yes") + _losses(PACED, NEWRENO, "yes"),
    ),
    Claim(
        "newcwv-7",
        "FTP gets about 0.25 Mbit/s less beside newCWV-pacing DASH than beside NewReno DASH",
        "0.15 to 0.35 less, VLC",
        [
            Check(
                FTP,
                Term(_at(NEWRENO, ftp="yes")),
                "FTP beside NewReno minus FTP beside newCWV + pacing: 0.15 to 0.35 Mbit/s",
                Term(_at(PACED, ftp="yes")),
                low=0.15,
                high=0.35,
            )
        ],
    ),
    Claim(
        "newcwv-8",
        "no flow is starved",
        "DASH and FTP each get at least 0.1 Mbit/s while both send",
        [
            *_each(lambda v, c: between(SHARE, _at(v, c, "yes"), f"{c}, {v}: DASH at least 0.1", low=0.1)),
            *_each(lambda v, c: between(FTP, _at(v, c, "yes"), f"{c}, {v}: FTP at least 0.1", low=0.1)),
        ],
    ),
    Claim(
        "newcwv-9",
        "similar results with a competing HTTP flow",
        "as newcwv-6 and newcwv-8: fewest losses with newCWV + pacing; DASH and HTTP each get at least 0.1 Mbit/s while both send",
        _losses(PACED, NEWCWV, "http")
        + _losses(PACED, NEWRENO, "http")
        + _each(lambda v, c: between(SHARE, _at(v, c, "http"), f"{c}, {v}: DASH at least 0.1", low=0.1))
        + _each(lambda v, c: between(FTP, _at(v, c, "http"), f"{c}, {v}: HTTP at least 0.1", low=0.1)),
    ),
]


def _traces(name: str, title: str, panel: str, trace_name: str | Sequence[str], **where: Any) -> FigureSpec:
    return FigureSpec(
        name, title, "traces", (Panel("", panel),), {"part": "paper", **where}, "client", "variant", trace=trace_name
    )


_LOSS_PANELS = (
    Panel(LOSSES, "packets of DASH lost"),
    Panel(CWND, "mean cwnd (packets)"),
    Panel(SPREAD, "deviation of kB sent per s"),
)
FIGURES = [
    _traces("2", "cwnd of DASH-JS and VLC under newCWV", "cwnd (packets)", "cwnd", ftp="no", variant=NEWCWV),
    _traces("3", "cwnd of one connection, VLC", "cwnd (packets)", "cwnd of one connection", ftp="no", client="VLC"),
    _traces("4", "bytes sent per second", "kB sent per s", "sent", ftp="no", client="VLC"),
    _traces("5", "losses per second", "packets lost per s", "losses", ftp="no", client="VLC"),
    _traces("7", "shares of the bottleneck", "Mbit/s", ("dash share", "ftp share"), ftp="yes", client="VLC"),
    _traces("8", "losses of DASH per second, with FTP", "packets lost per s", "losses", ftp="yes", client="VLC"),
    FigureSpec(
        "9",
        "distribution of FTP's rate in bins of a second",
        "traces",
        (Panel("", "share of bins"),),
        {"part": "paper", "ftp": "yes", "client": "VLC"},
        "client",
        "variant",
        "FTP (Mbit/s)",
        trace="ftp ecdf",
        is_overlaid=True,
    ),
    FigureSpec(
        "5m",
        "losses, window and burstiness, means",
        "bars",
        _LOSS_PANELS,
        {"part": "paper", "ftp": "no"},
        "client",
        whisker="ci95",
    ),
    FigureSpec(
        "t1",
        "VLC alone: a pause, and what each sender does with its window after it",
        "traces",
        (Panel("", "packets"),),
        {"part": "paper", "ftp": "no", "client": "VLC"},
        "client",
        "variant",
        trace=("cwnd of one connection", "in flight of one connection"),
        span=(35.0, 75.0),
    ),
    FigureSpec(
        "t2",
        "losses by what went before them, one flow",
        "bars",
        (
            Panel(LOST_AT_START, "lost, new connection"),
            Panel(LOST_AFTER_PAUSE, "lost, after a pause"),
            Panel(LOST_ELSE, "lost, else"),
        ),
        {"part": "paper", "ftp": "no"},
        "client",
        whisker="ci95",
    ),
]

_SWEPT_PANELS = (
    Panel(LOSSES, "packets of DASH lost"),
    Panel(COLLAPSES, "falls of cwnd per minute"),
    Panel(SPREAD, "deviation of kB sent per s"),
)
_SWEPT: Labels = {"client": "VLC", "ftp": "no"}
SWEEPS = [
    FigureSpec(
        "s1",
        "depth of the token bucket, VLC, one flow",
        "lines",
        _SWEPT_PANELS,
        {"parameter": "bucket_kb", **_SWEPT},
        "value",
        x_label="depth (kB)",
        whisker="ci95",
    ),
    FigureSpec(
        "s2",
        "gain of pacing, VLC, one flow",
        "lines",
        _SWEPT_PANELS,
        {"parameter": "gain", **_SWEPT},
        "value",
        x_label="gain",
        whisker="ci95",
    ),
]

UNSTATED = unstated("newcwv")

_SCENES: dict[str, Labels] = {
    f"{'beside an FTP' if ftp == 'yes' else 'alone'}, client {client}": {"client": client, "ftp": ftp}
    for ftp in ("no", "yes")
    for client in ("VLC", "dash.js")
}
TODAY = Today(scenes=_SCENES, ours=tuple(_TODAY), shown=("mean_rate_kbps", "stall_time_s"))

TWO_WORLDS = TwoWorlds(
    cases=lambda share: [_case("beside", v, "VLC", share) for v in _SENDERS],
    metrics=(COLLAPSES, IDLE_FALLS, CWND, "retransmitted_packets", SPREAD, "mean_rate_kbps", "stall_time_s"),
    share=0.15,
    notes="the client is the simulator's model of VLC in both worlds",
)

STUDY = Study(
    name="newcwv",
    title="newCWV and pacing under DASH",
    paper="TCP newCWV and pacing with DASH (2014)",
    seeds=10,
    cases=cases,
    claims=CLAIMS,
    figures=FIGURES,
    unstated=UNSTATED,
    vary=vary,
    sweeps=SWEEPS,
    today=TODAY,
    beside=TWO_WORLDS,
    measure=measure,
    trace=trace,
    series=("flow.", "link."),
    revision=4,
)

"""Study `newcwv`: newCWV and pacing under DASH (2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from playpath.studies.claims import between, fewer, ratio_at_least
from playpath.studies.study import (
    Beside,
    Case,
    Check,
    Claim,
    FigureSpec,
    Labels,
    Panel,
    Series,
    Study,
    Term,
    Today,
    Unstated,
)

COLLAPSES, IDLE_FALLS, LOSSES, CWND, SPREAD = (
    "cwnd_collapses_per_minute",
    "idle_falls_per_minute",
    "dash_lost_packets",
    "mean_cwnd_packets",
    "sent_deviation_kb",
)
SHARE, FTP, SUM, ALONE, AFTER = "dash_mbps", "ftp_mbps", "sum_mbps", "dash_alone_mbps", "ftp_after_mbps"
LADDER = "200 kbit/s, 250 kbit/s, 300 kbit/s, 400 kbit/s, 500 kbit/s, 600 kbit/s, 700 kbit/s"
NEWRENO, NEWCWV, PACED = "NewReno", "newCWV", "newCWV + pacing"
_SENDERS: dict[str, dict[str, Any]] = {
    NEWRENO: {"cc": "newreno", "validation": "rfc2861"},
    NEWCWV: {"cc": "newreno", "validation": "newcwv"},
    PACED: {"cc": "newreno", "validation": "newcwv", "pacing": {"gain": 1.0}},
}
_PACED_NEWCWV = {"validation": "newcwv", "pacing": "linux"}
_TODAY: dict[str, dict[str, Any]] = {
    "CUBIC HyStart++": {"cc": {"name": "cubic", "slow_start": "hystart++"}, "pacing": "linux"},
    "CUBIC + newCWV": {"cc": {"name": "cubic", "slow_start": "hystart++"}, **_PACED_NEWCWV},
    "BBR": {"cc": "bbr"},
    "BBRv3": {"cc": "bbr3"},
    "CCPLB": {"cc": "ccplb", "pacing": "linux"},
    "CCPLB + newCWV": {"cc": "ccplb", **_PACED_NEWCWV},
    "CCPLB + newCWV, level": {"cc": {"name": "ccplb", "pob_mode": "free"}, **_PACED_NEWCWV},
}
CLIENTS = {"DASH-JS": "dash-js", "VLC": "vlc", "dash.js": "dash.js"}
PAPERS_CLIENTS = ("DASH-JS", "VLC")
STEP_S = 0.1
_MSS = 1448
_FTP_START, _WARM_UP = 60.0, 20.0


@dataclass(frozen=True)
class SetUp:
    """What the paper leaves unstated; `UNSTATED` has the reasons."""

    gain: float = 1.0
    rtt_ms: float = 200.0
    size_cv: float = 10.0
    queue_kb: float = 30.0
    socket_mb: float = 6.3
    pipeline: str = "80 %"
    iw: int = 10


CHOSEN = SetUp()


def _case(part: str, variant: str, client: str, share: float, *, ftp: bool = False, setup: SetUp = CHOSEN) -> Case:
    sender = dict((_SENDERS | _TODAY)[variant])
    if variant == PACED:
        sender["pacing"] = {"gain": setup.gain}
    length = max(140, round((400 if ftp else 600) * share))
    bulk = {"name": "ftp", "kind": "bulk", "cc": "newreno", "start": "60 s", "start_spread": "2 s"}
    player = {"kind": "dash", "client": CLIENTS[client], "ladder": LADDER, "size_cv": f"{setup.size_cv:g} %"}
    if client == "VLC":
        player["pipeline_at"] = setup.pipeline
    if variant in _TODAY:
        player["cmcd"] = "v2"
    scenario = {
        "video": {"rate": "700 kbit/s", "duration": f"{length} s"},
        "player": player,
        "path": [
            {"name": "bottleneck", "rate": "1 Mbit/s", "rtt": f"{setup.rtt_ms:g} ms", "queue": f"{setup.queue_kb:g} kB"}
        ],
        "traffic": [bulk] if ftp else [],
        "sender": [
            {
                "name": "sender",
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
        "ftp": "yes" if ftp else "no",
    }
    return Case(labels, scenario, is_traced=True)


def _paper_cases(share: float, setup: SetUp = CHOSEN) -> list[Case]:
    return [
        _case("paper", v, c, share, ftp=ftp, setup=setup)
        for ftp in (False, True)
        for c in PAPERS_CLIENTS
        for v in _SENDERS
    ]


def cases(share: float) -> list[Case]:
    """One flow, two flows, then today's senders and today's client."""
    found = _paper_cases(share)
    found += [_case("today", v, c, share, ftp=ftp) for ftp in (False, True) for c in ("VLC", "dash.js") for v in _TODAY]
    return found + [_case("today", v, "dash.js", share, ftp=ftp) for ftp in (False, True) for v in _SENDERS]


def vary(share: float, knob: str, value: Any) -> list[Case]:
    """The paper's cases with one unstated parameter at another value."""
    return _paper_cases(share, replace(CHOSEN, **{knob: value}))


def measure(record: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Window, losses and shares, from samples of 100 ms.

    A collapse is a fall of cwnd to three quarters or less of what it was within the half second before, counted once a
    second; an idle fall is one right after an idle time, which no loss can have caused. Times in minutes of an open connection.
    `sent_deviation_kb` is the standard deviation of the bytes sent in a second.
    """
    flows = _dash_flows(series)
    falls = [_falls(flow) for flow in flows.values()]
    minutes = sum(len(f["snd_cwnd"]) for f in flows.values()) * STEP_S / 60
    sent = _sent_per_second(flows)
    own = [flow for flow in record["flows"] if flow["name"].split(".")[0] == "video"]
    found = {
        COLLAPSES: sum(len(f) for f in falls) / minutes,
        IDLE_FALLS: sum(is_idle for f in falls for is_idle in f) / minutes,
        LOSSES: float(sum(round(flow["loss_ratio"] * flow["sent_packets"]) for flow in own)),
        CWND: float(np.concatenate([f["snd_cwnd"] for f in flows.values()]).mean()),
        SPREAD: float(sent[int(_WARM_UP) :].std()) / 1000,
    }
    return found | (_shares(record, flows, series) if "flow.ftp" in series else {})


def _dash_flows(series: Series) -> dict[str, dict[str, np.ndarray]]:
    return {
        k: {c: np.asarray(v, dtype=float) for c, v in t.items()}
        for k, t in series.items()
        if k.startswith("flow.video")
    }


def _falls(flow: Mapping[str, np.ndarray]) -> list[bool]:
    """For each fall of cwnd: did it come with the first packets after an idle time, before any loss could be known?"""
    cwnd, unacked = flow["snd_cwnd"], flow["unacked"]
    falls, last = [], -100
    before, pause = round(0.5 / STEP_S), round(1 / STEP_S)
    for i in range(1, len(cwnd)):
        if cwnd[i] <= 0.75 * cwnd[max(0, i - before) : i].max() and i - last >= pause:
            last = i
            # Within one sample of an idle one: a round trip takes two.
            falls.append(bool(unacked[i - 1] == 0))
    return falls


def _sent_per_second(flows: Mapping[str, Mapping[str, np.ndarray]]) -> np.ndarray:
    """Bytes sent in each second: acknowledged since, plus the growth of what is in flight, plus retransmissions."""
    length = 1 + max(round(f["time_s"][-1] / STEP_S) for f in flows.values() if len(f["time_s"]))
    total = np.zeros(length)
    for flow in flows.values():
        if len(flow["time_s"]) < 2:
            continue
        acked = np.cumsum(flow["goodput_mbps"]) * STEP_S * 1e6 / 8
        sent = np.maximum.accumulate(acked + (flow["unacked"] + flow["total_retrans"]) * _MSS)
        first = round(flow["time_s"][0] / STEP_S)
        gained = np.diff(sent, prepend=0.0)
        total[first : first + len(gained)] += gained[: length - first]
    per_second = round(1 / STEP_S)
    whole: np.ndarray = total[: length // per_second * per_second].reshape(-1, per_second).sum(axis=1)
    return whole


def _lost_per_second(flows: Mapping[str, Mapping[str, np.ndarray]]) -> np.ndarray:
    """DASH's retransmissions in each second, as the losses are seen."""
    length = 2 + int(max(f["time_s"][-1] for f in flows.values() if len(f["time_s"])))
    total = np.zeros(length)
    for flow in flows.values():
        gained = np.diff(flow["total_retrans"], prepend=0.0)
        np.add.at(total, flow["time_s"].astype(int), gained)
    return total


def _rate_per_second(flow: Mapping[str, np.ndarray], seconds: int) -> np.ndarray:
    rate = np.zeros(seconds)
    for time_s, mbps in zip(flow["time_s"], flow["goodput_mbps"], strict=True):
        index = int(time_s - 1e-9)
        if index < seconds:
            rate[index] += mbps * STEP_S
    return rate


def _rates(flows: Mapping[str, Any], series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Mbit/s in bins of a second: DASH and FTP."""
    ftp = {c: np.asarray(v, dtype=float) for c, v in series["flow.ftp"].items()}
    seconds = int(ftp["time_s"][-1]) if len(ftp["time_s"]) else 0
    dash = sum((_rate_per_second(f, seconds) for f in flows.values()), np.zeros(seconds))
    return dash, _rate_per_second(ftp, seconds)


def _shares(record: Mapping[str, Any], flows: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Shares of the bottleneck: DASH alone, both, and FTP while the client plays what it has after its last download."""
    dash, ftp = _rates(flows, series)
    last = max(e["time_s"] for e in record["events"] if e["event"] == "segment_downloaded")
    begin, end = int(_FTP_START + _WARM_UP), int(last)
    both = slice(begin, end)
    after = ftp[end + 2 :]
    found = {
        SHARE: float(dash[both].mean()),
        FTP: float(ftp[both].mean()),
        SUM: float((dash + ftp)[both].mean()),
        # While it fills its buffer, that is before it first pauses.
        ALONE: float(np.sort(dash[5 : int(_FTP_START) - 5])[-20:].mean()),
    }
    return found | ({AFTER: float(after.mean())} if len(after) >= 5 else {})


def trace(record: Mapping[str, Any], series: Series) -> dict[str, tuple[list[float], list[float]]]:
    """Cwnd (the largest of the open connections), drops and bytes sent a second, shares, distribution of FTP's rate."""
    flows = _dash_flows(series)
    first = next(iter(flows.values()))
    newest = list(flows.values())
    time_s = np.concatenate([f["time_s"] for f in newest])
    cwnd = np.concatenate([f["snd_cwnd"] for f in newest])
    order = np.argsort(time_s, kind="stable")
    found = {
        "cwnd": _pair(time_s[order][::5], cwnd[order][::5]),
        "cwnd of one connection": _pair(first["time_s"][:1600], first["snd_cwnd"][:1600]),
        "losses": _pair(*_numbered(_lost_per_second(flows))),
        "in flight of one connection": _pair(first["time_s"][:1600], first["unacked"][:1600]),
        "sent": _pair(*_numbered(_sent_per_second(flows) / 1000)),
    }
    if "flow.ftp" in series:
        dash, ftp = _rates(flows, series)
        smooth = np.ones(5) / 5
        contended = np.sort(ftp[int(_FTP_START + _WARM_UP) :])
        found["dash share"] = _pair(*_numbered(np.convolve(dash, smooth, "same")))
        found["ftp share"] = _pair(*_numbered(np.convolve(ftp, smooth, "same")))
        found["ftp ecdf"] = _pair(contended, np.arange(1, len(contended) + 1) / len(contended))
    return found


def _numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(len(values), dtype=float), values


def _pair(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    return np.round(x, 3).tolist(), np.round(y, 4).tolist()


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
]


def _traces(name: str, title: str, panel: str, trace_name: str, **where: Any) -> FigureSpec:
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
    _traces("7a", "share of the bottleneck: DASH", "Mbit/s", "dash share", ftp="yes", client="VLC"),
    _traces("7b", "share of the bottleneck: FTP", "Mbit/s", "ftp share", ftp="yes", client="VLC"),
    _traces("8", "losses per second with FTP", "packets lost per s", "losses", ftp="yes", client="VLC"),
    _traces(
        "9", "distribution of FTP's rate in bins of a second", "share of bins", "ftp ecdf", ftp="yes", client="VLC"
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
        "queue and token bucket, VLC, one flow",
        "lines",
        _SWEPT_PANELS,
        {"parameter": "queue_kb", **_SWEPT},
        "value",
        x_label="queue (kB)",
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

UNSTATED = [
    Unstated(
        "gain of pacing",
        "1",
        "the text paces at cwnd per RTT; Linux 3.12, which ran, had 2",
        knob="gain",
        values=(1.0, 1.2, 2.0),
        chosen=1.0,
    ),
    Unstated(
        "RTT",
        "200 ms round trip",
        '"propagation delay of 200 ms": netem on one side gives a round trip of 200 ms, on both 400 ms',
        knob="rtt_ms",
        values=(200.0, 400.0),
        chosen=200.0,
        unit="ms",
    ),
    Unstated(
        "queue + bucket",
        "30 kB and no bucket",
        "30 kB is the paper's queue; what its token bucket takes besides in a burst is not stated, and acts as more queue",
        knob="queue_kb",
        values=(30.0, 40.0, 60.0, 90.0),
        chosen=30.0,
        unit="kB",
    ),
    Unstated(
        "variation of segment sizes",
        "10 %",
        "as published encodings at constant bitrate",
        knob="size_cv",
        values=(0.0, 10.0, 30.0),
        chosen=10.0,
        unit="%",
    ),
    Unstated(
        "VLC's next request at",
        "80 % of a segment",
        "VLC 2.1's source; the authors changed its buffer policy, not said whether this too",
        knob="pipeline",
        values=("80 %", "99 %"),
        chosen="80 %",
    ),
    Unstated(
        "initial window",
        "10",
        'Linux since 2.6.39; "kernel above 3.0"',
        knob="iw",
        values=(3, 10),
        chosen=10,
        unit="packets",
    ),
    Unstated(
        "client's socket buffer",
        "6.3 MB",
        "Linux's largest; the clients read at once, so it should not matter",
        knob="socket_mb",
        values=(0.1, 1.0, 6.3),
        chosen=6.3,
        unit="MB",
    ),
    Unstated("start of FTP", "60 s plus up to 2 s", "trials must differ in something"),
    Unstated("DASH-JS's first estimate", "0", "a setting of its page; 0 starts at the lowest rate"),
]

_SCENES: dict[str, Labels] = {
    f"{'beside an FTP' if ftp == 'yes' else 'alone'}, client {client}": {"client": client, "ftp": ftp}
    for ftp in ("no", "yes")
    for client in ("VLC", "dash.js")
}
TODAY = Today(scenes=_SCENES, ours=tuple(_TODAY), shown=("mean_rate_kbps", "stall_time_s"))

BESIDE = Beside(
    cases=lambda share: [_case("beside", v, "VLC", share) for v in _SENDERS],
    metrics=(COLLAPSES, CWND, LOSSES, SPREAD, "mean_rate_kbps", "stall_time_s"),
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
    beside=BESIDE,
    measure=measure,
    trace=trace,
)

"""Study `newcwv`: newCWV and pacing under DASH (2014)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from playpath.studies.claims import between, fewer, ratio_at_least
from playpath.studies.study import Case, Check, Claim, FigureSpec, Labels, Panel, Series, Study, Term, Unstated

COLLAPSES, CWND, DROPS, SPREAD = (
    "cwnd_collapses_per_minute",
    "mean_cwnd_packets",
    "dropped_packets",
    "sent_deviation_kb",
)
SHARE, FTP, SUM, ALONE, AFTER = "dash_mbps", "ftp_mbps", "sum_mbps", "dash_alone_mbps", "ftp_after_mbps"
LADDER = "200 kbit/s, 250 kbit/s, 300 kbit/s, 400 kbit/s, 500 kbit/s, 600 kbit/s, 700 kbit/s"
NEWRENO, NEWCWV, PACED = "NewReno", "newCWV", "newCWV + pacing"
_SENDERS: dict[str, dict[str, Any]] = {
    NEWRENO: {"validation": "rfc2861"},
    NEWCWV: {"validation": "newcwv"},
    PACED: {"validation": "newcwv", "pacing": {"gain": 1.0}},
}
CLIENTS = {"DASH-JS": "dash-js", "VLC": "vlc"}
STEP_S = 0.1
_MSS = 1448
_FTP_START, _WARM_UP = 60.0, 20.0


def _case(
    part: str,
    variant: str,
    client: str,
    share: float,
    *,
    ftp: bool = False,
    gain: float = 1.0,
    rtt: int = 200,
    size_cv: int = 10,
) -> Case:
    labels: Labels = {
        "part": part,
        "variant": variant,
        "client": client,
        "ftp": "yes" if ftp else "no",
        "gain": gain,
        "rtt": rtt,
        "size_cv": size_cv,
    }
    sender = dict(_SENDERS[variant])
    if "pacing" in sender:
        sender["pacing"] = {"gain": gain}
    length = max(140, round((400 if ftp else 600) * share))
    bulk = {"name": "ftp", "kind": "bulk", "cc": "newreno", "start": "60 s", "start_spread": "2 s"}
    scenario = {
        "video": {"rate": "700 kbit/s", "duration": f"{length} s"},
        "player": {"kind": "dash", "client": CLIENTS[client], "ladder": LADDER, "size_cv": f"{size_cv} %"},
        "path": [{"name": "bottleneck", "rate": "1 Mbit/s", "rtt": f"{rtt} ms", "queue": "30 kB"}],
        "traffic": [bulk] if ftp else [],
        "sender": [{"name": "sender", "cc": "newreno", **sender}],
        "run": {"sample_interval": f"{round(STEP_S * 1000)} ms"},
    }
    return Case(labels, scenario, is_traced=True)


def cases(share: float) -> list[Case]:
    """One flow, two flows, then the unstated parameters."""
    found = [_case("paper", v, c, share, ftp=ftp) for ftp in (False, True) for c in CLIENTS for v in _SENDERS]
    found += [_case("gain", PACED, c, share, gain=g) for g in (1.0, 1.2, 2.0) for c in CLIENTS]
    found += [_case("rtt", v, "VLC", share, rtt=r) for r in (200, 400) for v in _SENDERS]
    found += [_case("size", v, "VLC", share, size_cv=s) for s in (0, 10, 30) for v in _SENDERS]
    return found


def measure(record: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Window, losses and shares, from samples of 100 ms.

    A collapse is a sample whose cwnd is at most half of the one before; times in minutes of an open connection.
    `sent_deviation_kb` is the standard deviation of the bytes sent in a second.
    """
    flows = {
        k: {c: np.asarray(v, dtype=float) for c, v in t.items()}
        for k, t in series.items()
        if k.startswith("flow.video")
    }
    cwnds = [f["snd_cwnd"] for f in flows.values() if len(f["snd_cwnd"]) > 1]
    collapses = sum(int((c[1:] <= 0.5 * c[:-1]).sum()) for c in cwnds)
    samples = sum(len(c) for c in cwnds)
    sent = _sent_per_second(flows)
    link = next(v for k, v in series.items() if k.endswith("/down"))
    dropped = np.asarray(link["dropped_packets"], dtype=float)
    found = {
        COLLAPSES: collapses / (samples * STEP_S / 60),
        CWND: float(np.concatenate(cwnds).mean()),
        DROPS: float(dropped[-1]),
        SPREAD: float(sent[int(_WARM_UP) :].std()) / 1000,
    }
    return found | (_shares(record, flows, series) if "flow.ftp" in series else {})


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
    flows = {
        k: {c: np.asarray(v, dtype=float) for c, v in t.items()}
        for k, t in series.items()
        if k.startswith("flow.video")
    }
    first = next(iter(flows.values()))
    link = next(v for k, v in series.items() if k.endswith("/down"))
    per_second = round(1 / STEP_S)
    drops = np.diff(np.asarray(link["dropped_packets"], dtype=float)[::per_second])
    newest = list(flows.values())
    time_s = np.concatenate([f["time_s"] for f in newest])
    cwnd = np.concatenate([f["snd_cwnd"] for f in newest])
    order = np.argsort(time_s, kind="stable")
    found = {
        "cwnd": _pair(time_s[order][::5], cwnd[order][::5]),
        "cwnd of one connection": _pair(first["time_s"][:1600], first["snd_cwnd"][:1600]),
        "drops": _pair(np.arange(len(drops), dtype=float), drops),
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
        fewer(DROPS, _at(less, c, ftp), _at(more, c, ftp), f"{c}: fewer drops with {less} than with {more}")
        for c in ("VLC",)
    ]


def _each(make: Any) -> list[Check]:
    return [make(v, "VLC") for v in _SENDERS]


CLAIMS = [
    Claim(
        "newcwv-1",
        "newCWV holds cwnd through idle periods; NewReno falls back after each; NewReno collapses cwnd almost twice as often",
        "VLC, one flow: the mean cwnd is higher with newCWV, and NewReno's cwnd falls to half or less at least 1.5 times as often",
        [
            fewer(CWND, _at(NEWRENO), _at(NEWCWV), "VLC: mean cwnd of NewReno is below newCWV's"),
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
            fewer(DROPS, _at(NEWCWV, "VLC"), _at(NEWCWV, "DASH-JS"), "VLC has fewer drops than DASH-JS"),
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
        "drops at the bottleneck, one flow, VLC (the paper's Figure 5)",
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
        "VLC, all drops at the bottleneck",
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
    Panel(DROPS, "dropped packets"),
    Panel(CWND, "mean cwnd (packets)"),
    Panel(SPREAD, "deviation of kB sent per s"),
)
FIGURES = [
    _traces("2", "cwnd of DASH-JS and VLC under newCWV", "cwnd (packets)", "cwnd", ftp="no", variant=NEWCWV),
    _traces("3", "cwnd of one connection, VLC", "cwnd (packets)", "cwnd of one connection", ftp="no", client="VLC"),
    _traces("4", "bytes sent per second", "kB sent per s", "sent", ftp="no", client="VLC"),
    _traces("5", "losses per second", "drops per s", "drops", ftp="no", client="VLC"),
    _traces("7a", "share of the bottleneck: DASH", "Mbit/s", "dash share", ftp="yes", client="VLC"),
    _traces("7b", "share of the bottleneck: FTP", "Mbit/s", "ftp share", ftp="yes", client="VLC"),
    _traces("8", "losses per second with FTP", "drops per s", "drops", ftp="yes", client="VLC"),
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
    FigureSpec("s1", "gain of pacing", "lines", _LOSS_PANELS, {"part": "gain"}, "gain", "client", "gain", "ci95"),
    FigureSpec(
        "s2",
        "200 ms round trip or one way",
        "bars",
        _LOSS_PANELS,
        {"part": "rtt"},
        "rtt",
        "variant",
        "RTT (ms)",
        "ci95",
    ),
    FigureSpec(
        "s3",
        "variation of segment sizes",
        "lines",
        _LOSS_PANELS,
        {"part": "size"},
        "size_cv",
        "variant",
        "variation (%)",
        "ci95",
    ),
]
UNSTATED = [
    Unstated("gain of pacing", "1", "the text paces at cwnd per RTT; Linux 3.12, which ran, had 2", "gain", "gain"),
    Unstated(
        "200 ms: round trip or one way", "round trip", "netem on one side gives a round trip of 200 ms", "rtt", "rtt"
    ),
    Unstated("variation of segment sizes", "10 %", "as published encodings at constant bitrate", "size", "size_cv"),
    Unstated("start of FTP", "60 s plus up to 2 s", "trials must differ in something"),
    Unstated("DASH-JS's first estimate", "0", "a setting of its page; 0 starts at the lowest rate"),
]

STUDY = Study(
    name="newcwv",
    title="newCWV and pacing under DASH",
    paper="TCP newCWV and pacing with DASH (2014)",
    seeds=5,
    cases=cases,
    claims=CLAIMS,
    figures=FIGURES,
    unstated=UNSTATED,
    measure=measure,
    trace=trace,
)

"""The grid of the study `vegas`: quotations are the paper's; `SetUp` holds what it leaves unstated or states ambiguously."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from playpath.papers.study import Case, Labels, Series
from playpath.scenario.document import Sender

PAPER = ("NewReno", "Vegas")
# ns-2's Vegas agent has neither limited transmit nor NewReno's partial ACKs: after a retransmission it checks the first outstanding
# segment at two new ACKs; further losses in a window wait for duplicate ACKs or the timer.
_NS2_VEGAS: Sender = {"limited_transmit": False, "loss_detection": "ns2_vegas"}
VEGAS_WITH_PARTIAL_ACKS = "Vegas, with NewReno's partial ACKs"
# A current Linux server; packets are as long as the others' (1040 bytes), because the queue counts packets.
_LINUX: Sender = {"profile": "linux", "mss": 988}
CURRENT_SENDERS: dict[str, Sender] = {
    "CUBIC HyStart++": {**_LINUX, "cc": {"name": "cubic", "slow_start": "hystart++"}},
    "BBR": {**_LINUX, "cc": "bbr"},
    "BBRv3": {**_LINUX, "cc": "bbr3"},
    "Linux Vegas": {**_LINUX, "cc": "vegas-linux"},
    "CCPLB paced": {**_LINUX, "cc": "ccplb", "pacing": "linux"},
    "CCPLB + newCWV": {**_LINUX, "cc": "ccplb", "pacing": "linux", "validation": "newcwv"},
}
RTTS = (10, 50, 100, 150, 200)
MEDIA_RATES = (1, 2, 4, 8, 16)
QUEUE_RATES = (1, 2, 4)
"""Media rates under DropTail and RED in Mbit/s: the paper's figure 5, and "as the stream encoding rate is increased"."""
LOSSES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
BACKGROUNDS = ((1, 3), (2, 5), (3, 8), (4, 10), (5, 13), (6, 15), (7, 18), (8, 20))
DEFAULT_BACKGROUND = (4, 10)
BUFFER_S = 15
ACCEPTABLE_LATE = 0.1


class Scene(TypedDict, total=False):
    """How a scene of `TODAY` differs from the others: parameters of `_case`."""

    rtt: int
    queue: str
    loss: float
    background: tuple[int, int]


SCENES: dict[str, Scene] = {
    "RTT 50 ms, DropTail": {},
    "RTT 200 ms, DropTail": {"rtt": 200},
    "RTT 50 ms, RED": {"queue": "RED"},
    "RTT 50 ms, 1 % loss": {"loss": 1.0},
    "RTT 50 ms, 8:20": {"background": (8, 20)},
}


@dataclass(frozen=True)
class SetUp:
    """The parameters that we chose; studies/vegas.toml has the reasons."""

    heartbeat_ms: float = 100.0
    window_packets: int = 10_000
    gamma: float = 1.0
    base_rtt: str = "guarded"
    red_mean_bytes: int = 1000
    red_thresholds: str = "auto"
    web: str = "inter-arrival"
    web_kb: float = 50.0
    rtts: str = "whole"
    spread_s: float = 5.0
    jitter_ms: float = 0.4


CHOSEN = SetUp()


def _sender(variant: str, setup: SetUp) -> Sender:
    window: Sender = {"receive_buffer": f"{setup.window_packets} kB"}
    if variant in CURRENT_SENDERS:
        return {**CURRENT_SENDERS[variant], **window}
    if variant != "NewReno":
        cc = {"name": "vegas", "alpha": 8.0, "beta": 8.0, "gamma": setup.gamma, "base_rtt": setup.base_rtt}
        detection: Sender = {} if variant == "Vegas" else {"loss_detection": "newreno_steady"}
        return {"cc": cc, **_NS2_VEGAS, **detection, **window}
    return {"cc": "newreno", **window}


def _traffic(ftp: int, web: int, setup: SetUp) -> list[Mapping[str, object]]:
    """The background traffic that the paper describes.

    "4 FTP and 10 HTTP background flows"; "TCP NewReno"; "RTTs ... randomized between [20,440] ms (plus queuing delays)";
    "request inter-arrival times are exponential with mean 0.5 seconds"; "Pareto ... mean of 50 kB and a shape of 1.2".
    """
    tcp = {
        "cc": "newreno",
        "start_spread": f"{setup.spread_s:g} s",
        "rtt": {"uniform": ["20 ms", "440 ms"], "whole": setup.rtts == "whole"},
    }
    times = {"inter_arrival" if setup.web == "inter-arrival" else "think_time": "0.5 s"}
    objects = {"mean_size": f"{setup.web_kb:g} kB", "shape": 1.2}
    return [{"kind": "bulk", "count": ftp, **tcp}, {"kind": "web", "count": web, **tcp, **times, **objects}]


def _case(
    part: str,
    variant: str,
    share: float,
    *,
    media: int = 1,
    rtt: int = 50,
    loss: float = 0.0,
    background: tuple[int, int] | None = DEFAULT_BACKGROUND,
    queue: str = "DropTail",
    xfactor: int = 8,
    max_seeds: int | None = None,
    setup: SetUp = CHOSEN,
    scene: str = "",
) -> Case:
    """A session: 300 s of media, of which 5 % are buffered, and as many seconds of shorter media; "a 50 kilobyte Drop-Tail
    queue", 50 packets in ns-2.
    """
    ftp, web = background or (0, 0)
    labels: Labels = {
        "part": part,
        "variant": variant,
        "media_mbps": media,
        "rtt": rtt,
        "loss_percent": loss,
        "background": f"{ftp}:{web}",
        "queue": queue,
        "xfactor": xfactor,
        "scene": scene,
    }
    length = max(30, round(300 * share))
    red = {"kind": "red", "limit": "50 packets", "mean_packet_bytes": setup.red_mean_bytes}
    if setup.red_thresholds != "auto":
        low, high = map(float, setup.red_thresholds.split(","))
        red |= {"min_threshold_packets": low, "max_threshold_packets": high}
    path = {
        "name": "bottleneck",
        "rate": "10 Mbit/s",
        "rtt": f"{rtt} ms",
        "loss": f"{loss} %",
        "loss_place": "after_queue",
        "queue": red if queue == "RED" else "50 packets",
        "via": ["access"],
    }
    jitter = {"jitter": f"{setup.jitter_ms:g} ms"} if setup.jitter_ms else {}
    scenario = {
        "video": {"rate": f"{media} Mbit/s", "duration": f"{length} s"},
        "player": {
            "kind": "agent",
            "xfactor": xfactor,
            "heartbeat": f"{setup.heartbeat_ms:g} ms",
            "start_share": f"{100 * BUFFER_S / length} %",
        },
        # "connected to one of the core routers with a 100 Mbps full-duplex connection with negligible latency"
        "link": [{"name": "access", "rate": "100 Mbit/s", "rtt": "0 ms", "queue": "100000 packets"}],
        "path": [path | jitter],
        "traffic": _traffic(ftp, web, setup) if background else [],
        "sender": [{"name": "sender", **_sender(variant, setup)}],
        # A stream that needs more than four times its length is useless, while its background traffic would go on.
        "run": {"profile": "ns2", "sample_interval": "200 ms", "duration": f"{4 * length} s"},
    }
    return Case(labels, scenario, is_traced=True, max_seeds=max_seeds)


def cases(share: float, **settings: Any) -> list[Case]:
    """Figures 3 to 7, constrained sending, today's senders."""
    setup = SetUp(**settings)
    found = []
    for v in PAPER:
        # Without cross traffic hardly anything is random, so three seeds are enough.
        found += [_case("media", v, share, media=m, background=None, max_seeds=3, setup=setup) for m in MEDIA_RATES]
        found += [_case("rtt", v, share, rtt=rtt, setup=setup) for rtt in RTTS]
        found += [
            _case("queue", v, share, queue=q, media=m, setup=setup) for m in QUEUE_RATES for q in ("DropTail", "RED")
        ]
        found += [_case("loss", v, share, loss=p, setup=setup) for p in LOSSES]
        found += [_case("background", v, share, background=b, setup=setup) for b in BACKGROUNDS]
        # Constrained sending, which the paper also mentions; drawn, not judged.
        found += [_case("xfactor", v, share, xfactor=x, max_seeds=3, setup=setup) for x in (1, 2, 8)]
    # What the recovery of ns-2's agent costs Vegas.
    found += [_case("trace", v, share, rtt=200, setup=setup) for v in ("Vegas", VEGAS_WITH_PARTIAL_ACKS)]
    return found + [
        _case("today", v, share, scene=name, max_seeds=5, setup=setup, **varied)
        for name, varied in SCENES.items()
        for v in (*PAPER, *CURRENT_SENDERS)
    ]


def side_by_side_cases(share: float) -> list[Case]:
    """For both worlds: light background traffic and the usual one."""
    return [_case("beside", v, share, background=b) for b in ((1, 3), DEFAULT_BACKGROUND) for v in PAPER]


def measure(record: Mapping[str, Any], series: Series) -> dict[str, float]:
    """`stream_mbps` is the payload over the time in which the stream was being sent.

    Queue and jitter are those of the whole session, as in ns-2's queue monitor. By the paper's bound
    of 10 % late packets a stream is starved or spared; runs that fall behind mostly never recover, so a mean would hide how many do.
    """
    flow, metrics = series["flow.video"], record["metrics"]
    gained = np.asarray(flow["goodput_mbps"], dtype=float)
    time_s = np.asarray(flow["time_s"], dtype=float)
    active = np.flatnonzero(gained > 0)
    end = float(time_s[active[-1]]) if active.size else float(time_s[-1])
    found = {
        "stream_mbps": float(gained.sum() * float(time_s[1] - time_s[0]) / end),
        "queue_packets": float(metrics["mean_queue_packets"]),
        "queue_jitter_packets": float(metrics["sd_queue_packets"]),
    }
    late, fill = metrics.get("late_packet_ratio"), metrics.get("buffer_fill_time_s")
    found |= {} if late is None else {"late_percent": 100.0 * late, **by_lateness(found["stream_mbps"], late)}
    return found | ({} if fill is None else {"fill_time_s": float(fill)})


def by_lateness(stream_mbps: float, late: float) -> dict[str, float]:
    """Whether more than 10 % of the packets are late, and the throughput of a stream by whether they are: `spared_mbps` is missing if
    they are, `starved_mbps` is zero if they are not.
    """
    is_starved = late > ACCEPTABLE_LATE
    found = {"is_starved": float(is_starved), "starved_mbps": stream_mbps if is_starved else 0.0}
    return found if is_starved else {**found, "spared_mbps": stream_mbps}


def trace(record: Mapping[str, Any], series: Series) -> dict[str, tuple[list[float], list[float]]]:
    """Throughput in bins of a second; the stream's window and the packets that it considers lost, every 0.2 s."""
    flow = series["flow.video"]
    times = np.round(np.asarray(flow["time_s"], dtype=float), 3).tolist()
    windows = {"window": flow["snd_cwnd"], "taken for lost": flow["lost"]}
    gained = np.asarray(series["flow.video"]["goodput_mbps"], dtype=float)
    whole = gained[: len(gained) // 5 * 5].reshape(-1, 5).mean(axis=1)
    found = {name: (times, np.round(np.asarray(y, dtype=float), 1).tolist()) for name, y in windows.items()}
    return found | {"throughput": (np.arange(len(whole), dtype=float).tolist(), np.round(whole, 4).tolist())}

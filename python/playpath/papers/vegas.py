"""Study `vegas`: Boyden, Mahanti, Williamson, TCP Vegas Performance with Streaming Media (IPCCC 2007)."""

from __future__ import annotations

from typing import Any

from playpath.papers.claims import alike, between, fewer, ratio, ratio_at_least
from playpath.papers.study import Check, Claim, FigureSpec, Labels, Panel, Study, Term, Today, TwoWorlds
from playpath.papers.vegas_grid import (
    MEDIA_RATES,
    PAPER,
    QUEUE_RATES,
    SCENES,
    TODAY_SENDERS,
    UNSTATED,
    beside_cases,
    cases,
    measure,
    trace,
    vary,
)

RATE, LATE, FILL, QUEUE, JITTER = (
    "stream_mbps",
    "late_percent",
    "fill_time_s",
    "queue_packets",
    "queue_jitter_packets",
)


def _at(part: str, variant: str, **labels: Any) -> Labels:
    return {"part": part, "variant": variant, **labels}


def _beside(variant: str, background: str) -> Labels:
    return _at("background", variant, background=background)


def _lossy(variant: str, percent: float) -> Labels:
    return _at("loss", variant, loss_percent=percent)


def _far(variant: str, rtt: int) -> Labels:
    return _at("rtt", variant, rtt=rtt)


def _alone(variant: str, media: int) -> Labels:
    return _at("media", variant, media_mbps=media)


def _queue(variant: str, queue: str, media: int = 1) -> Labels:
    return _at("queue", variant, queue=queue, media_mbps=media)


def _both(make: Any) -> list[Check]:
    return [make(v) for v in PAPER]


def _share(metric: str, of: Labels, to: Labels, factor: float, what: str) -> list[Check]:
    """About `factor` times: within a quarter of it."""
    return [
        ratio(metric, of, to, f"{what}: at most {factor * 1.25:.3g} times", most=factor * 1.25),
        ratio_at_least(metric, of, to, f"{what}: at least {factor * 0.75:.3g} times", least=factor * 0.75),
    ]


def _about(metric: str, where: Labels, value: float, tolerance: float, what: str) -> Check:
    says = f"{what}: {value:g} ± {tolerance:g}"
    return between(metric, where, says, low=value - tolerance, high=value + tolerance)


_RTT_MONOTONE = [
    fewer(RATE, _far(v, b), _far(v, a), f"{v}: throughput at {b} ms is below that at {a} ms")
    for v in PAPER
    for a, b in ((10, 100), (100, 200))
]
_RTT_LESS_THAN_INVERSE = [
    ratio_at_least(
        RATE,
        _far(v, 200),
        _far(v, 10),
        f"{v}: twenty times the RTT leaves more than a twentieth of the throughput",
        least=0.05,
    )
    for v in PAPER
]

CLAIMS = [
    Claim(
        "vegas-1",
        "no cross traffic: NewReno and Vegas perform alike at every media rate",
        "throughput within 10 %, late packets within 2 %",
        [
            check
            for m in MEDIA_RATES
            for check in (
                alike(RATE, _alone("Vegas", m), _alone("NewReno", m), f"{m} Mbit/s: throughput within 10 %", share=0.1),
                alike(LATE, _alone("Vegas", m), _alone("NewReno", m), f"{m} Mbit/s: late within 2 %", within=2.0),
            )
        ],
    ),
    Claim(
        "vegas-2",
        "throughput falls as RTT grows for both, less than inversely",
        "lower at 100 than at 10 ms and at 200 than at 100 ms; at 200 ms more than a twentieth of that at 10 ms",
        _RTT_MONOTONE + _RTT_LESS_THAN_INVERSE,
    ),
    Claim(
        "vegas-3",
        "late packets grow with RTT: 0 % (Vegas) and 4 % (NewReno) at 10 ms to 40 % and 26 % at 200 ms",
        "more at 200 than at 10 ms, and each value within 10 % points of the printed one",
        [
            *_both(lambda v: fewer(LATE, _far(v, 10), _far(v, 200), f"{v}: fewer late at 10 than at 200 ms")),
            _about(LATE, _far("Vegas", 10), 0, 10, "Vegas at 10 ms, late %"),
            _about(LATE, _far("NewReno", 10), 4, 10, "NewReno at 10 ms, late %"),
            _about(LATE, _far("Vegas", 200), 40, 10, "Vegas at 200 ms, late %"),
            _about(LATE, _far("NewReno", 200), 26, 10, "NewReno at 200 ms, late %"),
        ],
    ),
    Claim(
        "vegas-4",
        "RTT changes mean queue length and jitter little",
        "200 against 10 ms: within 20 %",
        [
            alike(m, _far(v, 200), _far(v, 10), f"{v}: {what} within 20 %", share=0.2)
            for v in PAPER
            for m, what in ((QUEUE, "mean queue"), (JITTER, "jitter"))
        ],
    ),
    Claim(
        "vegas-5",
        "DropTail against RED: Vegas 2.5 → 1.75 Mbit/s, NewReno 2.5 → 1.25 Mbit/s",
        "RED costs throughput, and the ratio to DropTail is the printed one (0.7, 0.5) within a quarter",
        [
            *_both(lambda v: fewer(RATE, _queue(v, "RED"), _queue(v, "DropTail"), f"{v}: RED costs throughput")),
            *(
                check
                for v, factor in (("Vegas", 0.7), ("NewReno", 0.5))
                for check in _share(
                    RATE, _queue(v, "RED"), _queue(v, "DropTail"), factor, f"{v}: RED's throughput against DropTail's"
                )
            ),
        ],
    ),
    Claim(
        "vegas-6",
        "fill time under RED: about 2× (Vegas) and 2.5× (NewReno) that of DropTail",
        "within a quarter of the factor",
        [
            check
            for v, factor in (("Vegas", 2.0), ("NewReno", 2.5))
            for check in _share(
                FILL, _queue(v, "RED"), _queue(v, "DropTail"), factor, f"{v}: RED's fill time against DropTail's"
            )
        ],
    ),
    Claim(
        "vegas-7",
        "late: about 8 % for both with DropTail, none with RED",
        "8 ± 5 % and at most 1 %",
        [
            check
            for v in PAPER
            for check in (
                _about(LATE, _queue(v, "DropTail"), 8, 5, f"{v}, DropTail, late %"),
                between(LATE, _queue(v, "RED"), f"{v}, RED: at most 1 % late", high=1.0),
            )
        ],
    ),
    Claim(
        "vegas-8",
        "random loss 0.125 → 8 %: NewReno 2.5 → under 0.5 Mbit/s, Vegas 2.1 → under 0.5; Vegas falls more slowly",
        "both under 0.5 Mbit/s at 8 %; Vegas keeps a larger share of its throughput from 0.125 to 1 %",
        [
            *_both(lambda v: between(RATE, _lossy(v, 8.0), f"{v}: under 0.5 Mbit/s at 8 %", high=0.5)),
            _about(RATE, _lossy("NewReno", 0.125), 2.5, 0.6, "NewReno at 0.125 %, Mbit/s"),
            _about(RATE, _lossy("Vegas", 0.125), 2.1, 0.6, "Vegas at 0.125 %, Mbit/s"),
            fewer(RATE, _lossy("NewReno", 1.0), _lossy("Vegas", 1.0), "at 1 % NewReno is below Vegas"),
        ],
    ),
    Claim(
        "vegas-9",
        "late packets: about 8 % for both at 0.125 %; NewReno rises to about 95 % at 8 %; Vegas has none at 0.25, 0.5 and 1 %",
        "8 ± 5 %, 95 ± 10 %, at most 1 %",
        [
            *_both(lambda v: _about(LATE, _lossy(v, 0.125), 8, 5, f"{v} at 0.125 %, late %")),
            _about(LATE, _lossy("NewReno", 8.0), 95, 10, "NewReno at 8 %, late %"),
            *(
                between(LATE, _lossy("Vegas", p), f"Vegas at {p:g} %: at most 1 % late", high=1.0)
                for p in (0.25, 0.5, 1.0)
            ),
        ],
    ),
    Claim(
        "vegas-10",
        "background 1:3 → 4:10 halves throughput for both; 4:10 → 8:20 costs Vegas under 10 %, NewReno 33 % more",
        "0.5 within a quarter; Vegas keeps 90 %; NewReno keeps at most 80 %",
        [
            *(
                check
                for v in PAPER
                for check in _share(RATE, _beside(v, "4:10"), _beside(v, "1:3"), 0.5, f"{v}: 4:10 against 1:3")
            ),
            ratio_at_least(
                RATE, _beside("Vegas", "8:20"), _beside("Vegas", "4:10"), "Vegas: 8:20 keeps 90 % of 4:10", least=0.9
            ),
            ratio(
                RATE,
                _beside("NewReno", "8:20"),
                _beside("NewReno", "4:10"),
                "NewReno: 8:20 keeps at most 80 % of 4:10",
                most=0.8,
            ),
        ],
    ),
    Claim(
        "vegas-11",
        "late: none below 3:8; Vegas stays at about 8 %; NewReno 6 % at 3:8 to 15 % at 8:20",
        "at most 1 % at 1:3 and 2:5; Vegas 8 ± 5 % at 4:10 and 8:20; NewReno 6 ± 5 and 15 ± 5 %",
        [
            *(
                between(LATE, _beside(v, b), f"{v} at {b}: at most 1 % late", high=1.0)
                for v in PAPER
                for b in ("1:3", "2:5")
            ),
            *(_about(LATE, _beside("Vegas", b), 8, 5, f"Vegas at {b}, late %") for b in ("4:10", "8:20")),
            _about(LATE, _beside("NewReno", "3:8"), 6, 5, "NewReno at 3:8, late %"),
            _about(LATE, _beside("NewReno", "8:20"), 15, 5, "NewReno at 8:20, late %"),
        ],
    ),
    Claim(
        "vegas-12",
        "queue length almost doubles from 1:3 to 4:10, then levels off",
        "1.5 to 2.2 times; 8:20 at most 1.3 times 4:10",
        [
            check
            for v in PAPER
            for check in (
                ratio_at_least(QUEUE, _beside(v, "4:10"), _beside(v, "1:3"), f"{v}: at least 1.5 times", least=1.5),
                ratio(QUEUE, _beside(v, "4:10"), _beside(v, "1:3"), f"{v}: at most 2.2 times", most=2.2),
                ratio(QUEUE, _beside(v, "8:20"), _beside(v, "4:10"), f"{v}: then at most 1.3 times", most=1.3),
            )
        ],
    ),
    Claim(
        "vegas-13",
        "under 10 % late needs a mean throughput of about 1.5 × the media rate",
        "in every case of figures 4 to 7 with a mean throughput of at least 1.5 Mbit/s, late is under 10 %; judged where "
        "throughput is nearest: 8:20 and RTT 200 ms must have under 1.5 Mbit/s if they have over 10 % late",
        [
            check
            for v in PAPER
            for check in (
                between(LATE, _beside(v, "1:3"), f"{v} at 1:3: under 10 % late", high=10.0),
                between(RATE, _beside(v, "1:3"), f"{v} at 1:3: at least 1.5 Mbit/s", low=1.5),
                between(LATE, _lossy(v, 8.0), f"{v} at 8 % loss: over 10 % late", low=10.0),
                between(RATE, _lossy(v, 8.0), f"{v} at 8 % loss: under 1.5 Mbit/s", high=1.5),
            )
        ],
    ),
    Claim(
        "vegas-14",
        "RED's gain in late packets does not continue for NewReno as the media rate is increased; for Vegas it does",
        "at 2 and 4 Mbit/s: under RED Vegas has strictly fewer late packets than with DropTail, NewReno has not fewer",
        [
            check
            for m in QUEUE_RATES[1:]
            for check in (
                fewer(
                    LATE,
                    _queue("Vegas", "RED", m),
                    _queue("Vegas", "DropTail", m),
                    f"Vegas, {m} Mbit/s: RED has fewer late",
                ),
                Check(
                    LATE,
                    Term(_queue("NewReno", "RED", m)),
                    f"NewReno, {m} Mbit/s: RED has not fewer late",
                    Term(_queue("NewReno", "DropTail", m)),
                    low=0.0,
                ),
            )
        ],
    ),
]

_PANELS = (
    Panel(RATE, "mean throughput (Mbit/s)"),
    Panel(FILL, "buffer fill time (s)"),
    Panel(LATE, "late packets (%)"),
    Panel(QUEUE, "mean queue (packets)"),
    Panel(JITTER, "jitter (packets)"),
)


def _figure(name: str, title: str, part: str, x: str, label: str, kind: Any = "lines", **where: Any) -> FigureSpec:
    return FigureSpec(
        name,
        title,
        kind,
        _PANELS if kind == "lines" else _PANELS[:3],
        {"part": part, **where},
        x,
        "variant",
        label,
        "ci95",
    )


FIGURES = [
    FigureSpec(
        "3",
        "throughput of unconstrained streams, no cross traffic",
        "traces",
        (Panel(RATE, "throughput (Mbit/s)"),),
        {"part": "media"},
        "media_mbps",
        "variant",
        trace="throughput",
        is_overlaid=True,
        place="media of {} Mbit/s",
    ),
    _figure("4", "round-trip time", "rtt", "rtt", "RTT (ms)"),
    _figure("5", "queue discipline", "queue", "queue", "", "bars", media_mbps=1),
    _figure("6", "random loss", "loss", "loss_percent", "loss (%)"),
    _figure("7", "background traffic", "background", "background", "FTP:HTTP"),
    FigureSpec(
        "8",
        "runs in which more than 10 % of the packets are late",
        "lines",
        (Panel("is_starved", "share of the runs"),),
        {"part": "background"},
        "background",
        "variant",
        "FTP:HTTP",
        "ci95",
    ),
    FigureSpec(
        "t1",
        "Vegas at RTT 200 ms: timeouts of a sender that knows no partial ACK",
        "traces",
        (Panel("", "packets"),),
        {"part": "trace"},
        trace=("window", "taken for lost"),
        span=(0.0, 120.0),
    ),
    _figure("x", "constrained and unconstrained sending", "xfactor", "xfactor", "xfactor"),
]

SWEEPS = [
    FigureSpec(
        f"s{i + 1}",
        f"{title}, 4:10, 50 ms",
        "bars",
        _PANELS[:3],
        {"parameter": knob, "part": "background", "background": "4:10"},
        "value",
        "variant",
        title,
    )
    for i, (knob, title) in enumerate(
        (
            ("web", "times of a web flow"),
            ("rtts", "round trips of the background"),
            ("web_kb", "mean web object (kB)"),
            ("window_packets", "window limit (packets)"),
        )
    )
]

_SCENES: dict[str, Labels] = {name: {"part": "today", "scene": name} for name in SCENES}
TODAY = Today(scenes=_SCENES, ours=tuple(TODAY_SENDERS), shown=(LATE, RATE))

TWO_WORLDS = TwoWorlds(
    cases=beside_cases,
    metrics=(RATE, "mean_rtt_ms", "retransmitted_packets"),
    share=0.15,
    notes="Linux repairs losses in its own way, not as ns-2's agent does",
)

STUDY = Study(
    name="vegas",
    title="TCP Vegas with streaming media",
    paper="Boyden, Mahanti, Williamson, TCP Vegas Performance with Streaming Media, IPCCC 2007",
    seeds=10,
    cases=cases,
    claims=CLAIMS,
    figures=FIGURES,
    unstated=UNSTATED,
    vary=vary,
    guards={"base_rtt": "ns2"},
    sweeps=SWEEPS,
    sensitivity_seeds=5,
    today=TODAY,
    beside=TWO_WORLDS,
    measure=measure,
    trace=trace,
    series=("flow.video",),
    revision=3,
)

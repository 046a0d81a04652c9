"""Study `ccp`: Cavendish et al., Congestion Avoidance TCP Improvements for Video Streaming (INTERNET 2015)."""

from __future__ import annotations

from playpath.papers.ccp_grid import (
    BUFFERS,
    OF_CCPD,
    POB_NAMES,
    RTTS,
    TODAY_SENDERS,
    WITH_LEVEL,
    beside_cases,
    cases,
    trace,
    vary,
)
from playpath.papers.claims import alike, between, fewer
from playpath.papers.study import (
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

DISCARDS, UNDERFLOWS, RETRANSMITTED = "discarded_pictures", "underflow_events", "retransmitted_packets"


def _at(variant: str, rtt: int = 100, buffer: int = 448) -> Labels:
    return {"part": "paper", "variant": variant, "rtt": rtt, "buffer": buffer}


def _fewer_both(better: str, worse: str, rtt: int) -> list[Check]:
    return [
        fewer(m, _at(better, rtt), _at(worse, rtt), f"RTT {rtt}: {better} has fewer {what} than {worse}")
        for m, what in ((DISCARDS, "discards"), (UNDERFLOWS, "underflows"))
    ]


def _almost_none(variant: str, rtt: int) -> list[Check]:
    return [
        between(DISCARDS, _at(variant, rtt), f"RTT {rtt}: {variant} discards under one frame", high=1.0),
        between(UNDERFLOWS, _at(variant, rtt), f"RTT {rtt}: {variant} has at most five underflows", high=5.0),
    ]


def _two_worst(rtt: int) -> list[Check]:
    others = ("CCP", "CCPLCA", "CCPLB(1)")
    return [c for worse in ("Cubic", "Compound") for better in others for c in _fewer_both(better, worse, rtt)]


def _ccp_better(rtt: int) -> list[Check]:
    return _fewer_both("CCP", "Cubic", rtt) + _fewer_both("CCP", "Compound", rtt)


def _alike_both(a: str, b: str, rtt: int, buffer: int = 448, other_buffer: int = 448) -> list[Check]:
    return [
        alike(m, _at(a, rtt, buffer), _at(b, rtt, other_buffer), f"RTT {rtt}: {a} ≈ {b} in {what}", within=within)
        for m, what, within in ((DISCARDS, "discards", 5.0), (UNDERFLOWS, "underflows", 2.0))
    ]


def _best_of_all(rtt: int) -> list[Check]:
    """CCPLB(1) is the best: next to nothing wrong, and better than CCP, which the paper sets out to improve."""
    return _almost_none("CCPLB(1)", rtt) + _fewer_both("CCPLB(1)", "CCP", rtt)


def _spread_falls(metric: str, what: str) -> Check:
    where: dict[str, str | float] = {"part": "paper", "rtt": 100}
    pob: dict[str, str | float] = {"is_pob": "yes"}
    return Check(
        metric,
        Term({**where, **pob, "buffer": 897}, "range"),
        f"range of {what} over POBRates at 897 is at most half of that at 448",
        Term({**where, **pob, "buffer": 448}, "range"),
        scale=0.5,
        high=0.0,
    )


CLAIMS = [
    Claim(
        "ccp-1",
        "RTT 3: Cubic and Compound have no discarded frames and very few underflows",
        "under one discard, at most five underflows",
        _almost_none("Cubic", 3) + _almost_none("Compound", 3),
    ),
    Claim(
        "ccp-2",
        "RTT 3: CCP has significantly more discards and underflows than Cubic, Compound and CCPLB(1)",
        "strictly more of both, against each",
        [c for better in ("Cubic", "Compound", "CCPLB(1)") for c in _fewer_both(better, "CCP", 3)],
    ),
    Claim(
        "ccp-3",
        "RTT 3: CCPLCA is the worst of the five in discards and underflows",
        "strictly more of both than each other variant",
        [c for better in ("Cubic", "Compound", "CCP", "CCPLB(1)") for c in _fewer_both(better, "CCPLCA", 3)],
    ),
    Claim(
        "ccp-4",
        "RTT 3: CCPLB(1) is as good as Cubic and Compound",
        "within 5 discards and 2 underflows",
        _alike_both("CCPLB(1)", "Cubic", 3) + _alike_both("CCPLB(1)", "Compound", 3),
    ),
    Claim(
        "ccp-5",
        "RTT 3: CCPLB(1) retransmits more packets than any other variant",
        "strictly more than each",
        [
            fewer(RETRANSMITTED, _at(v, 3), _at("CCPLB(1)", 3), f"RTT 3: {v} retransmits less than CCPLB(1)")
            for v in ("Cubic", "Compound", "CCP", "CCPLCA")
        ],
    ),
    Claim(
        "ccp-6",
        "RTT 100: Cubic and Compound are the two worst in discards and underflows",
        "each of the other three has strictly fewer of both than either",
        _two_worst(100),
    ),
    Claim(
        "ccp-7", "RTT 100: CCP has fewer discards and underflows than Cubic and Compound", "strictly", _ccp_better(100)
    ),
    Claim(
        "ccp-8",
        "RTT 100: CCPLB(1) is the best: no discards, very few underflows",
        "under one discard, at most five underflows; strictly fewer of both than CCP, the next in the paper",
        _best_of_all(100),
    ),
    Claim(
        "ccp-9",
        "RTT 100: CCP and CCPLB(1) retransmit about the same number of packets",
        "within 20 %",
        [alike(RETRANSMITTED, _at("CCP"), _at("CCPLB(1)"), "RTT 100: CCP within 20 % of CCPLB(1)", share=0.2)],
    ),
    Claim(
        "ccp-10",
        "RTT 200: as ccp-6, ccp-7 and ccp-8",
        "the same checks at 200 ms",
        _two_worst(200) + _ccp_better(200) + _best_of_all(200),
    ),
    Claim(
        "ccp-11",
        "buffer 448, RTT 100: overbooking, CCPLB(0.5), hurts; underbooking, (2) and (3), does not matter",
        "(0.5) strictly worse than (1) in both; (2) and (3) within 5 discards and 2 underflows of (1)",
        _fewer_both("CCPLB(1)", "CCPLB(0.5)", 100)
        + _alike_both("CCPLB(2)", "CCPLB(1)", 100)
        + _alike_both("CCPLB(3)", "CCPLB(1)", 100),
    ),
    Claim(
        "ccp-12",
        "buffer 897 against 448: much less variation in discards and underflows between POBRates; retransmissions about the same",
        "range over POBRates at most half; retransmissions within 20 % for each POBRate",
        [
            _spread_falls(DISCARDS, "discards"),
            _spread_falls(UNDERFLOWS, "underflows"),
            *(
                alike(
                    RETRANSMITTED,
                    _at(v, 100, 897),
                    _at(v),
                    f"{v}: retransmissions at 897 within 20 % of 448",
                    share=0.2,
                )
                for v in POB_NAMES
            ),
        ],
    ),
    Claim(
        "ccp-13",
        "buffer 1345 against 897: no significant improvement",
        "within 5 discards and 2 underflows for each POBRate",
        [c for v in POB_NAMES for c in _alike_both(v, v, 100, 1345, 897)],
    ),
    Claim(
        "ccp-14",
        "buffer 448, RTT 100: small amounts of discards and underflows with every POBRate",
        "within the axes of the paper's figure 7: at most 20 discards and 40 underflows for each POBRate",
        [
            between(m, _at(v), f"{v}: at most {most} {what}", high=float(most))
            for v in POB_NAMES
            for m, what, most in ((DISCARDS, "discards", 20), (UNDERFLOWS, "underflows", 40))
        ],
    ),
    Claim(
        "ccp-15",
        "the changes to CCP can be equally applied to CCPD",
        "CCPD, CCPDLCA and CCPDLB(1) do as CCP, CCPLCA and CCPLB(1) at each RTT: within 5 discards and 2 underflows",
        [c for rtt in RTTS for ours, theirs in OF_CCPD.items() for c in _alike_both(ours, theirs, rtt)],
    ),
]

_TWO = (
    Panel(DISCARDS, "discarded frames", is_log=True),
    Panel(UNDERFLOWS, "underflow events", is_log=True),
    Panel(RETRANSMITTED, "retransmitted packets"),
)


def _as_printed(discards: int, underflows: int) -> tuple[Panel, ...]:
    """The paper's axes: up to these counts, and packets to 300 000."""
    return (
        Panel(DISCARDS, "discarded frames", ticks=range(0, discards + 1, 10 if discards > 20 else 5)),
        Panel(UNDERFLOWS, "underflow events", ticks=range(0, underflows + 1, 10)),
        Panel(RETRANSMITTED, "retransmitted packets", ticks=range(0, 300_001, 50_000)),
    )


_SWEPT: Labels = {"rtt": 100, "is_five": "yes"}
FIGURES = [
    *(
        FigureSpec(
            str(4 + i),
            f"the five variants at RTT {rtt} ms",
            "bars",
            _as_printed(70, 70),
            {"part": "paper", "rtt": rtt, "is_five": "yes"},
        )
        for i, rtt in enumerate(RTTS)
    ),
    *(
        FigureSpec(
            str(7 + i),
            f"POBRates at RTT 100 ms, buffer {buffer} packets",
            "bars",
            _as_printed(20, 40),
            {"part": "paper", "rtt": 100, "buffer": buffer, "is_pob": "yes"},
        )
        for i, buffer in enumerate(BUFFERS)
    ),
    *(
        FigureSpec(
            name,
            title,
            "traces",
            (Panel("", "packets"),),
            {"part": "trace", "rtt": rtt},
            x="variant",
            trace=("in flight", "playout buffer", "dropped in 0.1 s"),
            span=(0.0, 20.0),
        )
        for name, rtt, title in (
            ("t1", 3, "CCP at RTT 3 ms, without jitter and with it"),
            ("t2", 200, "CCP and CCPLB(1) at RTT 200 ms"),
        )
    ),
]

SWEEPS = [
    FigureSpec(
        f"s{i + 1}", f"{title}, RTT 100 ms", "lines", _TWO, {"parameter": knob, **_SWEPT}, "value", x_label=label
    )
    for i, (knob, title, label) in enumerate(
        (
            ("loss_percent", "loss of the wireless hop", "loss (%)"),
            ("socket_mb", "client's socket buffer", "buffer (MB)"),
            ("jitter_ms", "jitter of the wireless hop", "jitter (± ms)"),
        )
    )
]

UNSTATED = unstated("ccp")

_SCENES: dict[str, Labels] = {
    f"one file, RTT {rtt} ms": {"is_today": "yes", "player": "one file", "rtt": rtt} for rtt in RTTS
}
TODAY = Today(
    scenes=_SCENES | {"segments with CMCD, RTT 100 ms": {"is_today": "yes", "player": "segments"}},
    ours=(*TODAY_SENDERS, *WITH_LEVEL),
)

TWO_WORLDS = TwoWorlds(
    cases=beside_cases,
    metrics=(DISCARDS, UNDERFLOWS, "stall_time_s", RETRANSMITTED, "mean_rtt_ms"),
    share=0.1,
    notes="CCP's family with floor and guards in both worlds",
)

KNOWN: list[Settings] = [
    {"queue_kb": 1000.0, "loss_percent": 0.15, "jitter_ms": 7.0, "kp": 1.5},
    {"queue_kb": 100.0, "kp": 0.6},
]
"""From audits of the study: a deep queue, a delay that varies and a small gain; a shallow queue and a smaller gain."""

STUDY = Study(
    name="ccp",
    title="CCP: congestion avoidance for video streaming",
    paper="Cavendish et al., Congestion Avoidance TCP Improvements for Video Streaming, INTERNET 2015",
    seeds=10,
    cases=cases,
    claims=CLAIMS,
    figures=FIGURES,
    unstated=UNSTATED,
    vary=vary,
    known=KNOWN,
    guards={"law": "as printed"},
    sweeps=SWEEPS,
    sensitivity_seeds=3,
    today=TODAY,
    beside=TWO_WORLDS,
    trace=trace,
    revision=4,
)

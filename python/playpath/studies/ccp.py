"""Study `ccp`: Cavendish et al., Congestion Avoidance TCP Improvements for Video Streaming (INTERNET 2015)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playpath.studies.claims import alike, between, fewer
from playpath.studies.study import Case, Check, Claim, FigureSpec, Labels, Panel, Study, Term, Unstated

DISCARDS, UNDERFLOWS, RETRANSMITTED = "discarded_pictures", "underflow_events", "retransmitted_packets"
RATE, LOSS, QUEUE = "20 Mbit/s", "0.1 %", "100 kB"
POB_RATES = (3.0, 2.0, 1.0, 0.5)
RTTS = (3, 100, 200)
BUFFERS = {448: "1 s", 897: "2 s", 1345: "3 s"}

_CONTROLS: dict[str, dict[str, Any]] = {
    "Cubic": {"name": "cubic"},
    "Compound": {"name": "compound"},
    "CCP": {"name": "ccp", "mode": "paper"},
    "CCPLCA": {"name": "ccplca", "mode": "paper"},
} | {f"CCPLB({rate:g})": {"name": "ccplb", "mode": "paper", "pob_rate": rate} for rate in POB_RATES}
FIVE = ("Cubic", "Compound", "CCP", "CCPLCA", "CCPLB(1)")
BEYOND: dict[str, dict[str, Any]] = {"CCP, our law": {"name": "ccp"}, "CCPLB(1), our law": {"name": "ccplb"}}
BASELINES: dict[str, dict[str, Any]] = {"BBR": {"name": "bbr"}}


def _case(
    part: str,
    variant: str,
    control: dict[str, Any],
    share: float,
    rtt: int = 100,
    buffer: int = 448,
    loss: str = LOSS,
    rate: str = RATE,
    queue: str = QUEUE,
) -> Case:
    labels: Labels = {
        "part": part,
        "variant": variant,
        "rtt": rtt,
        "buffer": buffer,
        "loss_percent": float(loss.split(maxsplit=1)[0]),
        "wifi_mbps": float(rate.split(maxsplit=1)[0]),
        "queue_kb": float(queue.split(maxsplit=1)[0]),
    }
    scenario = {
        "video": {"source": "bigbuckbunny", "rate": "5.24 Mbit/s", "duration": f"{round(624 * share)} s"},
        "player": {"kind": "progressive", "buffer": BUFFERS[buffer]},
        "path": [{"name": "wifi", "rate": rate, "rtt": f"{rtt} ms", "loss": loss, "queue": queue}],
        "sender": [{"name": "sender", "cc": control}],
        # Beyond any use for the viewer: a sender that cannot carry the rate need not be watched for longer.
        "run": {"duration": f"{round(1000 * share)} s"},
    }
    return Case(labels, scenario, most_seeds=None if part == "paper" else 3)


def cases(share: float) -> list[Case]:
    """Figures 4 to 9, then one sweep for each unstated parameter, then today's senders."""
    found = [_case("paper", v, _CONTROLS[v], share, rtt=rtt) for rtt in RTTS for v in FIVE]
    for buffer in BUFFERS:
        rest = [r for r in POB_RATES if not (buffer == 448 and r == 1)]
        found += [_case("paper", f"CCPLB({r:g})", _CONTROLS[f"CCPLB({r:g})"], share, buffer=buffer) for r in rest]
    swept = ("Cubic", "Compound", "CCP", "CCPLB(1)")
    for loss in ("0.03 %", "0.3 %", "1 %"):
        found += [_case("loss", v, _CONTROLS[v], share, loss=loss) for v in swept]
    for rate in ("10 Mbit/s", "54 Mbit/s"):
        found += [_case("rate", v, _CONTROLS[v], share, rate=rate) for v in swept]
    for queue in ("30 kB", "1000 kB"):
        found += [_case("queue", v, _CONTROLS[v], share, queue=queue) for v in swept]
    # The chosen values again, so that each sweep is whole on its own.
    for part in ("loss", "rate", "queue"):
        found += [_case(part, v, _CONTROLS[v], share) for v in swept]
    found += [_case("law", v, c, share, rtt=rtt) for rtt in RTTS for v, c in (BEYOND | BASELINES).items()]
    return found


def _at(variant: str, rtt: int = 100, buffer: int = 448) -> Labels:
    return {"part": "paper", "variant": variant, "rtt": rtt, "buffer": buffer}


def _fewer_both(better: str, worse: str, rtt: int) -> list[Check]:
    return [
        fewer(m, _at(better, rtt), _at(worse, rtt), f"RTT {rtt}: {better} has fewer {what} than {worse}")
        for m, what in ((DISCARDS, "discards"), (UNDERFLOWS, "underflows"))
    ]


def _almost_none(variant: str, rtt: int) -> list[Check]:
    return [
        between(DISCARDS, _at(variant, rtt), f"RTT {rtt}: {variant} discards under one picture", high=1.0),
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


_POB_NAMES = [f"CCPLB({rate:g})" for rate in POB_RATES]


CLAIMS = [
    Claim(
        "ccp-1",
        "RTT 3: Cubic and Compound have no discarded pictures and very few underflows",
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
        "under one discard, at most five underflows; no variant has fewer",
        _almost_none("CCPLB(1)", 100),
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
        _two_worst(200) + _ccp_better(200) + _almost_none("CCPLB(1)", 200),
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
                for v in _POB_NAMES
            ),
        ],
    ),
    Claim(
        "ccp-13",
        "buffer 1345 against 897: no significant improvement",
        "within 5 discards and 2 underflows for each POBRate",
        [c for v in _POB_NAMES for c in _alike_both(v, v, 100, 1345, 897)],
    ),
]

_TWO = (
    Panel(DISCARDS, "discarded pictures", is_log=True),
    Panel(UNDERFLOWS, "underflow events", is_log=True),
    Panel(RETRANSMITTED, "retransmitted packets"),
)
FIGURES = [
    *(
        FigureSpec(
            str(4 + i),
            f"the five variants at RTT {rtt} ms",
            "bars",
            _TWO,
            {"part": "paper", "rtt": rtt, "is_five": "yes"},
        )
        for i, rtt in enumerate(RTTS)
    ),
    *(
        FigureSpec(
            str(7 + i),
            f"POBRates at RTT 100 ms, buffer {buffer} packets",
            "bars",
            _TWO,
            {"part": "paper", "rtt": 100, "buffer": buffer, "is_pob": "yes"},
        )
        for i, buffer in enumerate(BUFFERS)
    ),
    FigureSpec(
        "s1",
        "loss of the wireless hop, RTT 100 ms",
        "lines",
        _TWO,
        {"part": "loss"},
        "loss_percent",
        x_label="loss (%)",
    ),
    FigureSpec(
        "s2", "rate of the WiFi, RTT 100 ms", "lines", _TWO, {"part": "rate"}, "wifi_mbps", x_label="rate (Mbit/s)"
    ),
    FigureSpec(
        "s3",
        "queue in front of the WiFi, RTT 100 ms",
        "lines",
        _TWO,
        {"part": "queue"},
        "queue_kb",
        x_label="queue (kB)",
    ),
    FigureSpec("s4", "our law and BBR on the same paths", "bars", _TWO, {"part": "law"}, "rtt", x_label="RTT (ms)"),
]

UNSTATED = [
    Unstated(
        "loss of the wireless hop",
        LOSS,
        "CUBIC's underflows at 100 ms then lie on the paper's axis (0 to 70); with 0.3 % it cannot carry the video at all",
        "loss",
        "loss_percent",
    ),
    Unstated(
        "rate of the WiFi hop",
        RATE,
        "the paper says only that it is above the video's rate; 802.11g delivers about 20 Mbit/s to TCP",
        "rate",
        "wifi_mbps",
    ),
    Unstated(
        "queue in front of the WiFi hop", QUEUE, "about 70 packets, an access point's driver ring", "queue", "queue_kb"
    ),
    Unstated(
        "constants of CCP's law",
        "mode paper: Kp 2, CapProbe",
        "the text gives the law without constants; our own law, with guards, is shown beside it",
        "law",
        "variant",
    ),
]


def _with_groups(share: float) -> list[Case]:
    """Marks the cases that a figure groups."""
    marked = []
    for case in cases(share):
        name = case.labels["variant"]
        is_one_second = case.labels["buffer"] == 448
        five = "yes" if name in FIVE and is_one_second else "no"
        pob = "yes" if name in _POB_NAMES else "no"
        marked.append(replace(case, labels={**case.labels, "is_five": five, "is_pob": pob}))
    order = {name: i for i, name in enumerate(_POB_NAMES)}
    # Bars in the papers' order: the POBRates fall.
    return sorted(marked, key=lambda c: order.get(str(c.labels["variant"]), -1) if c.labels["is_pob"] == "yes" else -1)


STUDY = Study(
    name="ccp",
    title="CCP: congestion avoidance for video streaming",
    paper="Cavendish et al., Congestion Avoidance TCP Improvements for Video Streaming, INTERNET 2015",
    seeds=10,
    cases=_with_groups,
    claims=CLAIMS,
    figures=FIGURES,
    unstated=UNSTATED,
)

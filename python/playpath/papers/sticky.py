"""Study `sticky`: Nguyen, Cavendish et al., path-switching-aware MPTCP schedulers for video streaming."""

from __future__ import annotations

from dataclasses import replace

from playpath.papers.claims import alike, fewer, ratio_at_least
from playpath.papers.sticky_grid import (
    CONTROLS,
    SCENARIOS,
    STICKY,
    SUBFLOW,
    TODAY_SENDERS,
    UNLIKE,
    beside_cases,
    cases,
    measure,
    vary,
)
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

DISCARDS, UNDERFLOWS, SWITCHES = "discarded_pictures", "underflow_events", "path_switches"
RESENT = "retransmitted_packets"


def _at(control: str, scheduler: str, scene: str = "baseline") -> Labels:
    return {"part": "paper", "variant": control, "scheduler": scheduler, "scenario": scene}


def _fewer_both(control: str, less: str, more: str, scene: str = "baseline") -> list[Check]:
    return [
        fewer(
            m,
            _at(control, less, scene),
            _at(control, more, scene),
            f"{scene}, {control}: fewer {what} under {less} than {more}",
        )
        for m, what in ((UNDERFLOWS, "underflows"), (DISCARDS, "discards"))
    ]


def _alike_both(control: str, a: str, b: str, scene: str = "baseline") -> list[Check]:
    return [
        alike(
            m,
            _at(control, a, scene),
            _at(control, b, scene),
            f"{scene}, {control}: {a} ≈ {b} in {what}",
            within=w,
            share=0.1,
        )
        for m, what, w in ((UNDERFLOWS, "underflows", 2.0), (DISCARDS, "discards", 5.0))
    ]


def _no_worse(control: str, a: str, b: str) -> list[Check]:
    """`a` has at most as many as `b`, with the tolerance of "alike"."""
    return [
        Check(
            m,
            Term(_at(control, a)),
            f"baseline, {control}: not more {what} under {a} than under {b}",
            Term(_at(control, b)),
            high=w,
            share=0.1,
        )
        for m, what, w in ((UNDERFLOWS, "underflows", 2.0), (DISCARDS, "discards", 5.0))
    ]


def _improvement(control: str) -> Check:
    """The gain of TR-STY over DFT, as the paper compares it between scenarios."""
    return fewer(
        UNDERFLOWS,
        {**_at(control, "TR-STY", "3p-50")},
        {**_at(control, "DFT", "3p-50")},
        f"3p-50, {control}: TR-STY improves at all",
    )


_COUPLED = ("LIA", "OLIA")
_UNCOUPLED = ("Cubic", "Compound")

CLAIMS = [
    Claim(
        "sticky-1",
        "baseline, Cubic: GR-STY and TP-STY have fewer underflows and discards than DFT; TR-STY is like DFT",
        "strictly fewer; alike within 10 % plus 2 underflows or 5 discards",
        _fewer_both("Cubic", "GR-STY", "DFT")
        + _fewer_both("Cubic", "TP-STY", "DFT")
        + _alike_both("Cubic", "TR-STY", "DFT"),
    ),
    Claim(
        "sticky-2",
        "baseline, LIA, OLIA, Compound: best under DFT and TR-STY",
        "neither has more than GR-STY or TP-STY, within 10 % plus 2 underflows or 5 discards",
        [
            check
            for control in ("LIA", "OLIA", "Compound")
            for good in ("DFT", "TR-STY")
            for other in ("GR-STY", "TP-STY")
            for check in _no_worse(control, good, other)
        ],
    ),
    Claim(
        "sticky-3",
        "path switches: GR-STY fewest, TR-STY most of the sticky ones and close to DFT",
        "strictly fewest; strictly more than TP-STY; within 10 % of DFT; each control, baseline",
        [
            check
            for c in CONTROLS
            for check in (
                fewer(SWITCHES, _at(c, "GR-STY"), _at(c, "TP-STY"), f"{c}: GR-STY switches less than TP-STY"),
                fewer(SWITCHES, _at(c, "TP-STY"), _at(c, "TR-STY"), f"{c}: TP-STY switches less than TR-STY"),
                alike(SWITCHES, _at(c, "TR-STY"), _at(c, "DFT"), f"{c}: TR-STY within 10 % of DFT", share=0.1),
            )
        ],
    ),
    Claim(
        "sticky-4",
        "fewest switches is not the same as best video",
        "with LIA GR-STY switches less than DFT and yet has not fewer underflows",
        [
            fewer(SWITCHES, _at("LIA", "GR-STY"), _at("LIA", "DFT"), "LIA: GR-STY switches less than DFT"),
            Check(
                UNDERFLOWS,
                Term(_at("LIA", "GR-STY")),
                "LIA: GR-STY has not fewer underflows than DFT",
                Term(_at("LIA", "DFT")),
                low=0.0,
            ),
        ],
    ),
    Claim(
        "sticky-5",
        "baseline: DFT puts more on subflow 1 than the sticky schedulers do; those move traffic to subflow 3, most for LIA and OLIA",
        "strictly more on subflow 1 and strictly less on subflow 3 than GR-STY; the shift to subflow 3 with LIA and OLIA "
        "is not judged alone",
        [
            check
            for c in CONTROLS
            for check in (
                fewer(SUBFLOW[0], _at(c, "GR-STY"), _at(c, "DFT"), f"{c}: GR-STY puts less on subflow 1 than DFT"),
                fewer(SUBFLOW[2], _at(c, "DFT"), _at(c, "GR-STY"), f"{c}: GR-STY puts more on subflow 3 than DFT"),
            )
        ],
    ),
    Claim(
        "sticky-6",
        "2 % loss on one path degrades underflows and discards markedly against the baseline",
        "under DFT, each control: at least twice as many in 3p-50 and strictly more",
        [
            check
            for c in CONTROLS
            for m, what in ((UNDERFLOWS, "underflows"), (DISCARDS, "discards"))
            for check in (
                fewer(m, _at(c, "DFT"), _at(c, "DFT", "3p-50"), f"{c}: more {what} in 3p-50"),
                ratio_at_least(m, _at(c, "DFT", "3p-50"), _at(c, "DFT"), f"{c}: at least twice the {what}", least=2.0),
            )
        ],
    ),
    Claim(
        "sticky-7",
        "3p-50: Cubic and Compound improve under TR-STY against DFT; LIA and OLIA are alike under all schedulers",
        "strictly fewer; alike within 10 % plus 2 underflows or 5 discards",
        [
            *(check for c in _UNCOUPLED for check in _fewer_both(c, "TR-STY", "DFT", "3p-50")),
            *(check for c in _COUPLED for s in STICKY for check in _alike_both(c, s, "DFT", "3p-50")),
        ],
    ),
    Claim(
        "sticky-8",
        "3p-150: the improvements of Cubic and Compound are smaller than in 3p-50; LIA and OLIA are alike",
        "there is an improvement in 3p-50, and in 3p-150 TR-STY is alike DFT; coupled ones alike",
        [
            *(_improvement(c) for c in _UNCOUPLED),
            *(check for c in _UNCOUPLED for check in _alike_both(c, "TR-STY", "DFT", "3p-150")),
            *(check for c in _COUPLED for s in STICKY for check in _alike_both(c, s, "DFT", "3p-150")),
        ],
    ),
    Claim(
        "sticky-9",
        "baseline: sticky schedulers cause less overall retransmission than DFT",
        "strictly fewer packets under GR-STY, which moves most traffic, than under DFT; each control (the paper omits the graph)",
        [fewer(RESENT, _at(c, "GR-STY"), _at(c, "DFT"), f"{c}: GR-STY retransmits less than DFT") for c in CONTROLS],
    ),
]

_VIDEO = (Panel(UNDERFLOWS, "underflow events"), Panel(DISCARDS, "discarded frames"))
_SWEPT_VIDEO = tuple(replace(panel, is_log=True) for panel in _VIDEO)
FIGURES = [
    *(
        FigureSpec(
            n,
            f"underflows and discards, {scene}",
            "bars",
            _VIDEO,
            {"part": "paper", "scenario": scene},
            "variant",
            "scheduler",
        )
        for n, scene in (("4", "baseline"), ("7", "3p-50"), ("8", "3p-150"))
    ),
    FigureSpec(
        "5",
        "path switches, baseline",
        "bars",
        (
            Panel(SWITCHES, "path switches"),
            Panel("switches_underflow_predicted", "of them: underflow predicted"),
            Panel("switches_discard_predicted", "of them: discard predicted"),
        ),
        {"part": "paper", "scenario": "baseline"},
        "variant",
        "scheduler",
    ),
    *(
        FigureSpec(
            f"6{letter}",
            f"throughput of the subflows, baseline, {control}",
            "bars",
            tuple(Panel(m, f"subflow {i + 1} (Mbit/s)") for i, m in enumerate(SUBFLOW)),
            {"part": "paper", "scenario": "baseline", "variant": control},
            "scheduler",
            "scheduler",
        )
        for letter, control in zip("abcd", CONTROLS, strict=True)
    ),
    FigureSpec(
        "t1",
        "what a scheduler has to decide, baseline",
        "bars",
        (
            Panel("path_choices", "packets with a choice of paths"),
            Panel("switches_from_open_path", "switches of its own will"),
            Panel(SWITCHES, "all switches"),
        ),
        {"part": "paper", "scenario": "baseline"},
        "variant",
        "scheduler",
    ),
]

SWEEPS = [
    FigureSpec(
        f"s{i + 1}",
        f"{title}, baseline, DFT",
        "lines",
        (Panel(SWITCHES, "path switches"), *_SWEPT_VIDEO),
        {"parameter": knob, "scenario": "baseline", "scheduler": "DFT"},
        "value",
        "variant",
        label,
    )
    for i, (knob, title, label) in enumerate(
        (
            ("natural", "natural loss of the WiFi paths", "loss (%)"),
            ("socket_kb", "client's socket buffer", "buffer (kB)"),
        )
    )
]

UNSTATED = unstated("sticky")

KNOWN: list[Settings] = [
    {
        "natural": 0.005,
        "queue": "50 packets",
        "socket_kb": 600,
        "penalise": "off",
        "rate": "measured",
        "flip": "flipped",
    },
    {"natural": 0.005, "queue": "300 packets", "penalise": "off", "flip": "flipped"},
]
"""From audits of the study: hardly any loss of the WiFi's own, and little queue and socket buffer, or a deep queue."""

_SCENES: dict[str, Labels] = {name: {"is_today": "yes", "scenario": name} for name in (*SCENARIOS, UNLIKE)}
TODAY = Today(
    scenes=_SCENES, column="sender", ours=tuple(f"{c}/{s}" for c, s in TODAY_SENDERS), shown=(UNDERFLOWS, DISCARDS)
)

TWO_WORLDS = TwoWorlds(
    cases=beside_cases,
    metrics=(DISCARDS, UNDERFLOWS, "stall_time_s", SWITCHES, "mean_rtt_ms", "retransmitted_packets", *SUBFLOW),
    share=0.05,
    notes="in the world wire the sender is the simulator's and the client Linux's; as the sender Linux has none of these",
)

STUDY = Study(
    name="sticky",
    title="Path-switching-aware MPTCP schedulers",
    paper="Nguyen, Cavendish et al., Managing Path Switching in Multipath Video Streaming",
    seeds=5,
    cases=cases,
    claims=CLAIMS,
    figures=FIGURES,
    unstated=UNSTATED,
    vary=vary,
    known=KNOWN,
    sweeps=SWEEPS,
    sensitivity_seeds=3,
    today=TODAY,
    beside=TWO_WORLDS,
    measure=measure,
    revision=2,
)

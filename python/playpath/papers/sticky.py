"""Study `sticky`: Nguyen, Cavendish et al., path-switching-aware MPTCP schedulers for video streaming."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playpath.base.declared import Scalar
from playpath.papers.claims import alike, fewer, ratio_at_least
from playpath.papers.study import (
    Beside,
    Case,
    Check,
    Claim,
    ControlChoice,
    FigureSpec,
    Labels,
    Panel,
    Series,
    Settings,
    Study,
    Term,
    Today,
    unstated,
)
from playpath.scenario.document import Path

DISCARDS, UNDERFLOWS, SWITCHES = "discarded_pictures", "underflow_events", "path_switches"
RESENT = "retransmitted_packets"
SUBFLOW = tuple(f"subflow{i}_mbps" for i in (1, 2, 3))
CONTROLS = {"Cubic": "cubic", "Compound": "compound", "LIA": "lia", "OLIA": "olia"}
SCHEDULERS = {"DFT": "dft", "GR-STY": "gr-sty", "TP-STY": "tp-sty", "TR-STY": "tr-sty"}
STICKY = ("GR-STY", "TP-STY", "TR-STY")
TODAY_CONTROLS: dict[str, ControlChoice | str] = {
    "CUBIC HyStart++": {"name": "cubic", "slow_start": "hystart++"},
    "BBR": "bbr",
    "BBRv3": "bbr3",
    "BALIA": "balia",
    "CCPLB": "ccplb",
}
TODAY_SCHEDULERS = {"Linux": "linux", "BLEST": "blest", "ECF": "ecf"}
TODAY_SENDERS = (
    ("CUBIC HyStart++", "DFT"),
    ("CUBIC HyStart++", "Linux"),
    ("CUBIC HyStart++", "BLEST"),
    ("CUBIC HyStart++", "ECF"),
    ("BBR", "DFT"),
    ("BBRv3", "DFT"),
    ("BALIA", "DFT"),
    ("CCPLB", "DFT"),
    ("CCPLB", "GR-STY"),
    ("CCPLB", "TR-STY"),
)
_COMPARED = ("Cubic/DFT", "Cubic/GR-STY", "LIA/DFT", "OLIA/DFT")
SCENARIOS = {
    "baseline": ((50, 0.0), (100, 0.0), (100, 0.0)),
    "3p-50": ((50, 2.0), (100, 0.0), (100, 0.0)),
    "3p-150": ((150, 2.0), (200, 0.0), (200, 0.0)),
}
"""Round trip in ms and injected loss in per cent of each path; 2 Mbit/s each."""
UNLIKE = "20 ms, 10 Mbit/s; 200 ms, 2 Mbit/s"
"""A scene of ours, where a scheduler has most to decide: the first path carries the video alone, the second comes late."""
_UNLIKE_PATHS = ((20, 10), (200, 2))
_UNLIKE_SENDERS = tuple((c, s) for c in ("Cubic", "LIA") for s in SCHEDULERS)
LONGEST = 20
"""A session is played to its end, at most so many times its length."""
NATURAL, QUEUE, BUFFER, SOCKET_KB = 0.1, "1 bdp", "1 s", 1000


def _case(
    part: str,
    control: str,
    scheduler: str,
    share: float,
    *,
    scene: str = "baseline",
    natural: float = NATURAL,
    queue: str = QUEUE,
    buffer: str = BUFFER,
    socket_kb: int = SOCKET_KB,
    penalise: str = "on",
    opportunistic: str = "on",
    recovery: str = "congestion",
    rate: str = "window",
    flip: str = "as printed",
) -> Case:
    labels: Labels = {
        "part": part,
        "variant": control,
        "scheduler": scheduler,
        "scenario": scene,
        "natural_percent": natural,
        "queue": queue,
        "buffer": buffer,
        "socket_kb": socket_kb,
        "sender": f"{control}/{scheduler}",
        "is_today": "yes" if part == "today" or f"{control}/{scheduler}" in _COMPARED else "no",
    }
    options: dict[str, Scalar] = {}
    for name, where in (("penalise", penalise), ("opportunistic", opportunistic)):
        # Off also where a scheduler "from the round-robin template" would have none: in the sticky ones alone.
        if where == "off" or (where == "DFT only" and scheduler in STICKY):
            options[name] = False
    if recovery != "congestion" and scheduler in STICKY:
        options["recovery_is_congestion"] = False
    if rate != "window" and scheduler in ("TP-STY", "TR-STY"):
        options["rate"] = rate
    if flip != "as printed" and scheduler == "TR-STY":
        options["rtt_flip"] = True
    length = round(624 * share)
    scenario = {
        "video": {"source": "bigbuckbunny", "rate": "5.24 Mbit/s", "duration": f"{length} s"},
        "player": {"kind": "progressive", "buffer": buffer},
        "path": _paths(scene, natural, queue),
        "sender": [
            {
                "name": "sender",
                "cc": (CONTROLS | TODAY_CONTROLS)[control],
                "scheduler": {"name": (SCHEDULERS | TODAY_SCHEDULERS)[scheduler], **options},
                "receive_buffer": f"{socket_kb} kB",
                **({"pacing": "linux"} if control == "CCPLB" else {}),
            }
        ],
        "run": {"duration": f"{LONGEST * length} s"},
    }
    return Case(labels, scenario)


def _paths(scene: str, natural: float, queue: str) -> list[Path]:
    """The two WiFi paths have natural loss; what is injected comes on top."""
    if scene == UNLIKE:
        found = [(rtt, rate, natural) for rtt, rate in _UNLIKE_PATHS]
    else:
        found = [(rtt, 2, loss + (natural if i < 2 else 0.0)) for i, (rtt, loss) in enumerate(SCENARIOS[scene])]
    return [
        {"name": name, "rate": f"{rate} Mbit/s", "rtt": f"{rtt} ms", "loss": f"{loss:.4g} %", "queue": queue}
        for name, (rtt, rate, loss) in zip(("wifi 1", "wifi 2", "wired"), found, strict=False)
    ]


def cases(share: float) -> list[Case]:
    """Figures 4 to 8, then today's senders, and all of them where the paths are unlike."""
    found = _paper_cases(share)
    found += [_case("today", c, s, share, scene=n) for n in SCENARIOS for c, s in TODAY_SENDERS]
    return found + [_case("today", c, s, share, scene=UNLIKE) for c, s in (*_UNLIKE_SENDERS, *TODAY_SENDERS)]


def _paper_cases(share: float, **varied: Any) -> list[Case]:
    return [_case("paper", c, s, share, scene=n, **varied) for n in SCENARIOS for c in CONTROLS for s in SCHEDULERS]


def vary(share: float, settings: Settings) -> list[Case]:
    """The paper's cases with unstated parameters at other values."""
    pairs = zip(_paper_cases(share), _paper_cases(share, **settings), strict=True)
    return [replace(varied, labels=paper.labels) for paper, varied in pairs]


def beside_cases(share: float) -> list[Case]:
    """For both worlds: where schedulers have a choice (CUBIC in the baseline), a lossy path, and a coupled control."""
    found = [_case("beside", "Cubic", s, share, scene=n) for n in ("baseline", "3p-50") for s in SCHEDULERS]
    return found + [_case("beside", "LIA", s, share) for s in ("DFT", "GR-STY")]


def measure(record: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Mean payload of each subflow over the session."""
    (video,) = (flow for flow in record["flows"] if flow["name"] == "video")
    return {name: float(flow["goodput_mbps"]) for name, flow in zip(SUBFLOW, video["subflows"], strict=False)}


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
    scenes=_SCENES,
    column="sender",
    ours=tuple(f"{c}/{s}" for c, s in TODAY_SENDERS),
    shown=(UNDERFLOWS, DISCARDS),
)

BESIDE = Beside(
    cases=beside_cases,
    metrics=(DISCARDS, UNDERFLOWS, "stall_time_s", SWITCHES, "mean_rtt_ms", "retransmitted_packets", *SUBFLOW),
    share=0.05,
    notes="the simulator speaks MPTCP; the kernel world stripes over plain TCP (playpath relay), without penalisation",
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
    beside=BESIDE,
    measure=measure,
    revision=2,
)

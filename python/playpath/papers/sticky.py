"""The grid of the study `sticky`: paths, controls and schedulers, cases and metrics."""

from collections.abc import Mapping
from typing import Any

from playpath.base.declared import Scalar
from playpath.papers.study import Case, ControlChoice, Labels, Series
from playpath.scenario.document import Path

SUBFLOW = tuple(f"subflow{i}_mbps" for i in (1, 2, 3))
CONTROLS = {"Cubic": "cubic", "Compound": "compound", "LIA": "lia", "OLIA": "olia"}
SCHEDULERS = {"DFT": "dft", "GR-STY": "gr-sty", "TP-STY": "tp-sty", "TR-STY": "tr-sty"}
STICKY = ("GR-STY", "TP-STY", "TR-STY")
CURRENT_CONTROLS: dict[str, ControlChoice | str] = {
    "CUBIC HyStart++": {"name": "cubic", "slow_start": "hystart++"},
    "BBR": "bbr",
    "BBRv3": "bbr3",
    "BALIA": "balia",
    "CCPLB": "ccplb",
}
CURRENT_SCHEDULERS = {"Linux": "linux", "BLEST": "blest", "ECF": "ecf"}
CURRENT_SENDERS = (
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
"""Round-trip time (ms) and injected loss (per cent) of each path; each carries 2 Mbit/s."""
UNLIKE = "20 ms, 10 Mbit/s; 200 ms, 2 Mbit/s"
"""Our own scene, in which the scheduler matters most: the first path alone can carry the video, the second is slow."""
_UNLIKE_PATHS = ((20, 10), (200, 2))
_UNLIKE_SENDERS = tuple((c, s) for c in ("Cubic", "LIA") for s in SCHEDULERS)
LONGEST = 20
"""A session is played to its end, but for at most so many times its length."""
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
        "sender": f"{control}/{scheduler}",
        "is_today": "yes" if part == "today" or f"{control}/{scheduler}" in _COMPARED else "no",
    }
    options: dict[str, Scalar] = {}
    for name, where in (("penalise", penalise), ("opportunistic", opportunistic)):
        # Also off where a scheduler "from the round-robin template" would have none: only in the sticky ones.
        if (where == "off" and scheduler in SCHEDULERS) or (where == "DFT only" and scheduler in STICKY):
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
                "cc": (CONTROLS | CURRENT_CONTROLS)[control],
                "scheduler": {"name": (SCHEDULERS | CURRENT_SCHEDULERS)[scheduler], **options},
                "receive_buffer": f"{socket_kb} kB",
                **({"pacing": "linux"} if control == "CCPLB" else {}),
            }
        ],
        "run": {"duration": f"{LONGEST * length} s"},
    }
    return Case(labels, scenario)


def _paths(scene: str, natural: float, queue: str) -> list[Path]:
    """The two WiFi paths have natural loss; injected loss comes on top."""
    if scene == UNLIKE:
        found = [(rtt, rate, natural) for rtt, rate in _UNLIKE_PATHS]
    else:
        found = [(rtt, 2, loss + (natural if i < 2 else 0.0)) for i, (rtt, loss) in enumerate(SCENARIOS[scene])]
    return [
        {"name": name, "rate": f"{rate} Mbit/s", "rtt": f"{rtt} ms", "loss": f"{loss:.4g} %", "queue": queue}
        for name, (rtt, rate, loss) in zip(("wifi 1", "wifi 2", "wired"), found, strict=False)
    ]


def cases(share: float, **settings: Any) -> list[Case]:
    """Figures 4 to 8, then today's senders, then all senders on unlike paths."""
    papers = [(scene, c, s) for scene in SCENARIOS for c in CONTROLS for s in SCHEDULERS]
    today = [(scene, c, s) for scene in SCENARIOS for c, s in CURRENT_SENDERS]
    today += [(UNLIKE, c, s) for c, s in (*_UNLIKE_SENDERS, *CURRENT_SENDERS)]
    parts = {"paper": papers, "today": today}
    return [_case(part, c, s, share, scene=scene, **settings) for part in parts for scene, c, s in parts[part]]


def side_by_side_cases(share: float) -> list[Case]:
    """For both worlds: where schedulers have a choice (CUBIC in the baseline), a lossy path, and a coupled control."""
    found = [_case("beside", "Cubic", s, share, scene=n) for n in ("baseline", "3p-50") for s in SCHEDULERS]
    return found + [_case("beside", "LIA", s, share) for s in ("DFT", "GR-STY")]


def measure(record: Mapping[str, Any], series: Series) -> dict[str, float]:
    """Mean payload of each subflow over the session."""
    (video,) = (flow for flow in record["flows"] if flow["name"] == "video")
    return {name: float(flow["goodput_mbps"]) for name, flow in zip(SUBFLOW, video["subflows"], strict=False)}

"""The grid of the study `ccp`: its set-up, senders, cases and traces."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from playpath.papers.study import Case, ControlChoice, Labels, Series
from playpath.scenario.document import Player, Up, Video, Wifi

POB_RATES = (3.0, 2.0, 1.0, 0.5)
RTTS = (3, 100, 200)
LONGEST = 20
"""A session is played to its end, but for at most so many times its length; a sender that takes longer carries a twentieth of
the video's rate."""
BUFFERS = {448: "1 s", 897: "2 s", 1345: "3 s"}


@dataclass(frozen=True)
class SetUp:
    """What the paper leaves unstated; studies/ccp.toml has the reasons."""

    loss_percent: float = 0.1
    losses: str = "single"
    wifi: str = "constant"
    wifi_mbps: float = 20.0
    queue_kb: float = 300.0
    socket_mb: float = 1.0
    jitter_ms: float = 0.0
    """This and all above describe the wireless hop and the client."""
    kp: float = 2.0
    law: str = "as printed"
    kd: float = 0.25
    """`kp` and `kd` are the gains of CCP's law and of CCPD's derivative."""
    storage: str = "path"
    rtt: str = "ewma"
    window_in_recovery: str = "follow"
    bound: str = "rate_x_rtt"
    recovery: str = "rack_tlp"
    late: str = "discarded"
    shift_after: str = "the cache"
    """`late` says what happens to late frames; `shift_after` is the lateness from which the player's clock is set back."""
    film: str = "looped clip"
    """How the bit rate varies over time."""

    def loss(self) -> Any:
        """Single losses, or bursts of four packets at the same mean loss."""
        if self.losses == "single":
            return f"{self.loss_percent:g} %"
        p = 0.25 * self.loss_percent / (100 - self.loss_percent)
        return {"kind": "gilbert_elliott", "p": f"{100 * p:.6f} %", "r": "25 %"}

    def hop(self) -> Up:
        """The wireless hop: a rate with jitter, or a model of 802.11."""
        if self.wifi in _HOPS:
            return {"wifi": _HOPS[self.wifi]}
        jitter: Up = {"jitter": f"{self.jitter_ms:g} ms"} if self.jitter_ms else {}
        return {"rate": f"{self.wifi_mbps:g} Mbit/s", **jitter}

    def video(self, length_s: int) -> Video:
        """The clip, repeated, or a film with varying scenes and the same number of bytes."""
        common: Video = {"rate": "5.24 Mbit/s", "duration": f"{length_s} s"}
        if self.film == "looped clip":
            return {"source": "bigbuckbunny", **common}
        return {**common, "fps": 25, "scene_sd": 0.4}

    def late_frames(self) -> Player:
        """The player's settings for late frames."""
        return _SHIFTS[self.shift_after] | _LATE[self.late]


_HOPS: dict[str, Wifi] = {
    "802.11g": {"standard": "802.11g", "snr": 20, "snr_sd": 3},
    "802.11n": {"standard": "802.11n", "snr": 20, "snr_sd": 3},
    "802.11n, fading": {"standard": "802.11n", "snr": 15, "snr_sd": 6},
}
_LATE: dict[str, Player] = {
    "discarded": {},
    "clock references": {"references": "250 ms"},
    "played faster": {"late": "play-faster"},
}
_SHIFTS: dict[str, Player] = {
    "at once": {"shift_after": "0 s"},
    "250 ms": {"shift_after": "250 ms"},
    "the cache": {},
    "5 s": {"shift_after": "5 s"},
}
CHOSEN = SetUp()

_LEVELLED: dict[str, ControlChoice] = {f"CCPLB({rate:g})": {"name": "ccplb", "pob_rate": rate} for rate in POB_RATES}
_CONTROLS: dict[str, ControlChoice] = {
    "Cubic": {"name": "cubic"},
    "Compound": {"name": "compound"},
    "CCP": {"name": "ccp"},
    "CCPLCA": {"name": "ccplca"},
    **_LEVELLED,
}
# The changes "can be equally applied to CCPD TCP variant".
_OF_CCPD: dict[str, ControlChoice] = {
    "CCPD": {"name": "ccpd"},
    "CCPDLCA": {"name": "ccplca"},
    "CCPDLB(1)": {"name": "ccplb", "pob_rate": 1.0},
}
OF_CCPD = {"CCPD": "CCP", "CCPDLCA": "CCPLCA", "CCPDLB(1)": "CCPLB(1)"}
"""CCPD and the changes applied to it, each next to its counterpart for CCP."""
FIVE = ("Cubic", "Compound", "CCP", "CCPLCA", "CCPLB(1)")
PACED = "CCPLB paced"
CURRENT_SENDERS: dict[str, ControlChoice] = {
    "CUBIC HyStart++": {"name": "cubic", "slow_start": "hystart++"},
    "BBR": {"name": "bbr"},
    "BBRv3": {"name": "bbr3"},
    "CCPD": {"name": "ccpd", "mode": "paper"},
    "CCPLB guarded": {"name": "ccplb", "mode": "default"},
    PACED: {"name": "ccplb", "mode": "default"},
}
WITH_LEVEL: dict[str, ControlChoice] = {
    "CCPLB(1) + level": {"name": "ccplb", "mode": "paper", "pob_mode": "free"},
    f"{PACED} + level": {"name": "ccplb", "mode": "default", "pob_mode": "free"},
}


def _control(part: str, variant: str, setup: SetUp) -> ControlChoice:
    control = dict((CURRENT_SENDERS | WITH_LEVEL | _CONTROLS | (_OF_CCPD if part == "paper" else {}))[variant])
    if str(control["name"]).startswith("ccp"):
        # The law as the paper prints it has neither floor nor guards; a sender of today says which it has.
        control = {"mode": "paper" if setup.law == "as printed" else "default", **control}
        control |= {"kp": setup.kp, "rtt": setup.rtt, "recovery": setup.window_in_recovery, "storage": setup.storage}
    control |= {"kd": setup.kd} if variant in OF_CCPD else {}
    return control | ({"bound": setup.bound} if control["name"] == "ccplca" else {})


def _labels(part: str, variant: str, rtt: int, buffer: int, player: str) -> Labels:
    """`is_…` mark the cases that a figure or a ranking groups."""
    is_one_second = buffer == 448
    return {
        "part": part,
        "variant": variant,
        "rtt": rtt,
        "buffer": buffer,
        "player": player,
        "is_five": "yes" if part == "paper" and variant in FIVE and is_one_second else "no",
        "is_pob": "yes" if part == "paper" and variant in POB_NAMES else "no",
        "is_today": "yes" if is_one_second and (part == "today" or (part == "paper" and variant in FIVE)) else "no",
    }


def _case(
    part: str,
    variant: str,
    share: float,
    rtt: int = 100,
    buffer: int = 448,
    setup: SetUp = CHOSEN,
    player: str = "one file",
    called: str = "",
) -> Case:
    path = {
        "name": "wifi",
        "rtt": f"{rtt} ms",
        "loss": setup.loss(),
        "queue": f"{setup.queue_kb:g} kB",
        **setup.hop(),
    }
    sender = {"name": "sender", "cc": _control(part, variant, setup), "loss_detection": setup.recovery}
    if variant.startswith(PACED):
        sender |= {"pacing": "linux", "validation": "newcwv"}
    length = round(624 * share)
    scenario = {
        "video": setup.video(length),
        "player": _player(player, buffer, setup),
        "path": [path],
        "sender": [sender | {"receive_buffer": f"{setup.socket_mb * 1000:g} kB"}],
        "run": {"duration": f"{LONGEST * length} s"},
    }
    is_trace = part == "trace"
    return Case(
        _labels(part, called or variant, rtt, buffer, player),
        scenario,
        is_traced=is_trace,
        max_seeds=1 if is_trace else None,
    )


def _player(kind: str, buffer: int, setup: SetUp) -> Player:
    if kind == "one file":
        return {"kind": "progressive", "buffer": BUFFERS[buffer], **setup.late_frames()}
    return {
        "kind": "dash",
        "abr": "fixed",
        "ladder": "5.24 Mbit/s",
        "segment": "500 ms",
        "full_level": "1500 ms",
        "resume_level": "1500 ms",
        "cmcd": "v2",
    }


def _paper_cases(share: float, setup: SetUp) -> list[Case]:
    """Figures 4 to 9, with bars in the paper's order of falling POBRates; then the changes applied to CCPD."""
    found = [_case("paper", v, share, rtt=rtt, setup=setup) for rtt in RTTS for v in FIVE if v != "CCPLB(1)"]
    for name in POB_NAMES:
        found += [_case("paper", name, share, buffer=buffer, setup=setup) for buffer in BUFFERS]
    found += [_case("paper", "CCPLB(1)", share, rtt=rtt, setup=setup) for rtt in (3, 200)]
    return found + [_case("paper", v, share, rtt=rtt, setup=setup) for rtt in RTTS for v in OF_CCPD]


def cases(share: float, **settings: Any) -> list[Case]:
    """The paper's figures, today's senders, and traces of the cases that decide."""
    setup = SetUp(**settings)
    found = _paper_cases(share, setup)
    found += [_case("today", v, share, rtt=rtt, setup=setup) for rtt in RTTS for v in CURRENT_SENDERS]
    segmented = ("Cubic", "Compound", "CCP", "CCPLB(1)", *CURRENT_SENDERS, *WITH_LEVEL)
    found += [_case("today", v, share, player="segments", setup=setup) for v in segmented]
    found += [_case("trace", v, share, rtt=rtt, setup=setup) for rtt, v in TRACED]
    jitter = replace(setup, jitter_ms=20.0)
    return [*found, _case("trace", "CCP", share, rtt=3, setup=jitter, called="CCP, jitter of ± 20 ms")]


def side_by_side_cases(share: float) -> list[Case]:
    """For both worlds: the law with floor and guards, as it would be used; docs/papers_kernel.py runs it as the paper prints it."""
    guarded = replace(CHOSEN, law="guarded")
    return [*(_case("beside", v, share, setup=guarded) for v in FIVE), _case("beside", "BBR", share)]


TRACED = ((3, "CCP"), (200, "CCP"), (200, "CCPLB(1)"))
POB_NAMES = [f"CCPLB({rate:g})" for rate in POB_RATES]


def trace(record: Mapping[str, Any], series: Series) -> dict[str, tuple[list[float], list[float]]]:
    """Packets in flight, the playout buffer and drops in 0.1 s, all in packets: one second of video is 448 packets."""
    flow, player = series["flow.video"], series["player"]
    link = next(v for k, v in series.items() if k.endswith("/down"))
    dropped = np.diff(np.asarray(link["dropped_packets"], dtype=float), prepend=0.0)
    buffer = 448 * np.asarray(player["buffer_level_s"], dtype=float)
    named = {
        "in flight": (flow["time_s"], flow["unacked"]),
        "playout buffer": (player["time_s"], buffer),
        "dropped in 0.1 s": (link["time_s"], dropped),
    }
    return {name: (_rounded(x, 3), _rounded(y, 1)) for name, (x, y) in named.items()}


def _rounded(values: np.ndarray, digits: int) -> list[float]:
    return np.round(np.asarray(values, dtype=float), digits).tolist()

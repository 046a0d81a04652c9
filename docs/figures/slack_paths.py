"""Measure the sender `slack` over several paths beside its rivals; print the table of docs/appendix/slack.md.

Usage: python docs/figures/slack_paths.py STORE [PART…]    (needs playpath installed; two minutes of a core)

STORE keeps what was measured, a file for each part: a part that is there is not measured again.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import playpath

Row = dict[str, Any]
SENDERS: dict[str, Row] = {
    "slack, slack": {"cc": "slack", "scheduler": "slack"},
    "slack, xlink": {"cc": "slack", "scheduler": "xlink"},
    "slack, linux": {"cc": "slack", "scheduler": "linux"},
    "slack, blest": {"cc": "slack", "scheduler": "blest"},
    "cubic, linux": {"cc": "cubic", "scheduler": "linux"},
    "cubic, blest": {"cc": "cubic", "scheduler": "blest"},
    "cubic, xlink": {"cc": "cubic", "scheduler": "xlink"},
    "olia, dft": {"cc": "olia", "scheduler": "dft"},
    "bbr3, linux": {"cc": "bbr3", "scheduler": "linux"},
    "bbr3, blest": {"cc": "bbr3", "scheduler": "blest"},
}
"""Congestion control and scheduler."""
TRAIN, HELD_OUT = 11, 12
"""Seeds of the drawn scenes: the scheduler's constants were chosen on the first, and the page's figures are of the second."""
STALL_MARGIN_S = 0.25
"""Less stall time is nobody's reason to prefer a sender (the margin of the metric)."""
LENGTH_S = 60
KNOWN: Mapping[str, tuple[Sequence[tuple[float, float, float]], float]] = {
    "baseline": ([(50, 2, 0.1), (100, 2, 0.1), (100, 2, 0)], 5.24),
    "3p-50": ([(50, 2, 2.1), (100, 2, 0.1), (100, 2, 0)], 5.24),
    "3p-150": ([(150, 2, 2.1), (200, 2, 0.1), (200, 2, 0)], 5.24),
    "unlike": ([(20, 10, 0.1), (200, 2, 0.1)], 5.24),
    "outage": ([(20, 10, 0.1), (60, 6, 0)], 4),
}
"""Scenes of the sticky study (docs/papers.md), and two paths of which the first fails for ten seconds: RTT in ms, Mbit/s, loss in per
cent; rate of the video."""


def draw_scene(draw: random.Random) -> Row:
    """Two or three paths, one of which may fail for a while; a film in one file, or in segments with reports of the player."""
    count = draw.choice([2, 2, 3])
    paths: list[Row] = [
        {
            "name": f"path {index + 1}",
            "rate": f"{_log_uniform(draw, 1, 12):.2f} Mbit/s",
            "rtt": f"{_log_uniform(draw, 10, 200):.1f} ms",
            "jitter": "0.3 ms",
            "loss": f"{draw.choice([0, 0, 0.1, 0.5, 1.0])} %",
            "queue": f"{draw.choice([0.5, 1, 2, 4])} bdp",
        }
        for index in range(count)
    ]
    if draw.random() < 0.5:
        start = draw.uniform(10, 35)
        length = draw.uniform(2, 15)
        draw.choice(paths)["outage"] = {"from": f"{start:.1f} s", "until": f"{start + length:.1f} s"}
    total = sum(float(path["rate"].split()[0]) for path in paths)
    video = f"{min(8, max(0.3, total * draw.uniform(0.2, 0.85))):.2f} Mbit/s"
    buffer = f"{_log_uniform(draw, 1, 20):.1f} s"
    if draw.random() < 0.5:
        player = {"kind": "progressive", "buffer": buffer}
        return _scene({"source": "bigbuckbunny", "rate": video}, player, paths)
    player = {"kind": "dash", "abr": "fixed", "ladder": video, "segment": "2 s", "cmcd": "v2"}
    player["full_level"] = f"{max(4.0, float(buffer.split(maxsplit=1)[0])):.1f} s"
    return _scene({"source": "bigbuckbunny"}, player, paths)


def _scene(video: Row, player: Row, paths: list[Row]) -> Row:
    video = {**video, "duration": f"{LENGTH_S} s"}
    return {"name": "drawn", "video": video, "player": player, "path": paths, "run": {"duration": f"{3 * LENGTH_S} s"}}


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def drawn(seed: int, count: int, senders: dict[str, Row]) -> list[Row]:
    """The first `count` scenes of a seed under each sender."""
    draw = random.Random(seed)
    scenes = [draw_scene(draw) for _ in range(count)]
    return [
        {"scene": index, "sender": name} | play(scene, sender)
        for index, scene in enumerate(scenes)
        for name, sender in senders.items()
    ]


def play(scene: Row, sender: Row, seed: int = 1) -> Row:
    """Stalls, and what the network paid: packets sent again on their own path, copies on others, and use of the paths."""
    session = playpath.run({**scene, "sender": [{"name": "sender", **sender}]}, seed=seed)
    video = next(flow for flow in session.flows if flow["name"].startswith("video"))
    shares = sorted((subflow["share"] for subflow in video["subflows"]), reverse=True)
    metrics = session.metrics
    return {
        "stall": metrics["stall_time_s"],
        "startup": metrics["startup_delay_s"],
        "again": metrics["retransmitted_packets"],
        "copies": metrics["reinjections"],
        "switches": metrics["path_switches"],
        "others": 100 * (1 - shares[0]),
        "sent": sum(subflow["sent_packets"] for subflow in video["subflows"]),
        "queue": metrics.get("mean_queue_packets"),
    }


def tell(rows: list[Row]) -> None:
    """A row for each sender."""
    names = list(dict.fromkeys(row["sender"] for row in rows))
    by = {name: [row for row in rows if row["sender"] == name] for name in names}
    best = [min(row["stall"] for row in scene) for scene in zip(*by.values(), strict=True)]
    print(
        "| control, scheduler | stall (s a session) | scenes with the least stall | start (s) | retransmitted | copies |",
        end="",
    )
    print(" switches | on further paths | packets |\n" + "| -- " * 9 + "|")
    for name, own in by.items():
        least = sum(row["stall"] <= low + STALL_MARGIN_S for row, low in zip(own, best, strict=True))
        means = {key: fmean(row[key] or 0 for row in own) for key in own[0] if key not in ("scene", "sender")}
        print(
            f"| {name} | {means['stall']:.3g} | {least} of {len(own)} | {means['startup']:.3g} | {means['again']:.0f} "
            f"| {means['copies']:.0f} | {means['switches']:.0f} | {means['others']:.0f} % | {means['sent']:.0f} |"
        )


def known() -> list[Row]:
    """The named scenes, three seeds each: one file with the study's second of buffer, and segments with ten."""
    return [
        {"scene": f"{name}, {kind}", "sender": sender} | play(scene, SENDERS[sender], seed)
        for name, (paths, rate) in KNOWN.items()
        for kind, scene in _known(name, paths, rate).items()
        for sender in SENDERS
        for seed in (1, 2, 3)
    ]


def _known(name: str, paths: Sequence[tuple[float, float, float]], rate: float) -> dict[str, Row]:
    links: list[Row] = [
        {"name": f"path {i + 1}", "rate": f"{mbps} Mbit/s", "rtt": f"{rtt} ms", "loss": f"{loss} %", "queue": "1 bdp"}
        for i, (rtt, mbps, loss) in enumerate(paths)
    ]
    if name == "outage":
        links[0]["outage"] = {"from": "20 s", "until": "30 s"}
    film = {"source": "bigbuckbunny"}
    segments = {"kind": "dash", "abr": "fixed", "ladder": f"{rate} Mbit/s", "segment": "2 s", "cmcd": "v2"}
    return {
        "a file": _scene({**film, "rate": f"{rate} Mbit/s"}, {"kind": "progressive", "buffer": "1 s"}, links),
        "segments": _scene(film, {**segments, "full_level": "10 s"}, links),
    }


def main() -> None:
    """Every part, or those named."""
    store, *wanted = sys.argv[1:]
    Path(store).mkdir(parents=True, exist_ok=True)
    for name, measure in PARTS.items():
        if wanted and name not in wanted:
            continue
        file = Path(store) / f"paths-{name}.json"
        if not file.exists():
            file.write_text(json.dumps(measure()))
        rows: list[Row] = json.loads(file.read_text())
        for scene in ["all"] if name in ("train", "held-out") else list(dict.fromkeys(row["scene"] for row in rows)):
            print(f"\n## {name}: {scene}\n", flush=True)
            tell([row for row in rows if scene in ("all", row["scene"])])


PARTS: dict[str, Callable[[], list[Row]]] = {
    "train": lambda: drawn(TRAIN, 30, SENDERS),
    "held-out": lambda: drawn(HELD_OUT, 60, SENDERS),
    "known": known,
}

if __name__ == "__main__":
    main()

"""Viewers against neighbours: all senders on forty drawn scenes. Prints the tables of docs/appendix/slack.md and draws its figure.

Usage: python docs/figures/slack_front.py STORE [all | search | quic]    (needs playpath installed; two minutes of a core)

The even scenes are those that parameters are searched on (`search`), the odd ones those that all senders are judged on, with
`quic` some of them over QUIC. STORE is a file, a line for each session; what is in it is not played again.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any

import playpath
from playpath.plots import figure
from playpath.plots.style import INK, sender_styles

Row = dict[str, Any]
IMAGE = Path(__file__).parents[1] / "images" / "slack-front.png"
SEED, COUNT = 42, 40
SESSIONS = 5
"""Seeds of each scene; what is compared are means over them."""
SENDERS = [
    "slack",
    "sammy",
    "ledbatpp",
    "cubic",
    "newreno",
    "westwood",
    "compound",
    "vegas",
    "ccplca",
    "bbr",
    "bbr3",
    "copa",
]
OVER_QUIC = ["slack", "cubic", "newreno", "bbr", "bbr3", "copa"]
SEARCHED: list[Row] = [
    {},
    *(
        {name: value}
        for name, values in {
            "enough": (1.25, 2.0),
            "haste": (0.0, 0.67, 1.0),
            "ease": (1.5, 3.0),
            "reserve": (16, 32, 128),
            "allowance": (4, 16),
            "tolerance": (0.0, 0.02),
            "pace": (1.25, 1.5),
        }.items()
        for value in values
    ),
]
"""One constant changed at a time, and none."""
STALL_S, START, MOS = 0.25, 1.1, 0.1
"""What one notices: a stall, a start a tenth later than the best, a tenth of a point."""
METRICS = (
    "stall_time_s",
    "startup_delay_s",
    "p1203_o35",
    "mean_rate_kbps",
    "retransmitted_packets",
    "mean_queue_packets",
)
OTHERS = ("neighbours_goodput_mbps", "neighbours_retransmitted_packets")

LABELS = {
    "vegas": (0, 9, "center"),
    "ledbatpp": (-9, -3, "right"),
    "sammy": (-9, -3, "right"),
    "newreno": (-9, 2, "right"),
    "cubic": (-9, -3, "right"),
    "compound": (8, 7, "left"),
    "copa": (-9, 2, "right"),
    "ccplca": (-9, -8, "right"),
    "bbr3": (-9, -3, "right"),
    "slack": (10, -4, "left"),
    "bbr": (-8, 8, "left"),
}
"""Where a name stands beside its point, in points; right of it without a word."""

PATH = """
name = "front"
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "{jitter} ms"
loss = "{loss} %"
queue = {queue}
{more}
[video]
source = "bigbuckbunny"
duration = "90 s"
"""
FILM = """rate = "{video} Mbit/s"
[player]
kind = "progressive"
buffer = "{buffer} s"
"""
SEGMENTS = """[player]
kind = "dash"
abr = "{abr}"
ladder = "{ladder}"
segment = "{segment} s"
full_level = "{full} s"
cmcd = "v2"
"""
LADDERS = (
    "300 kbit/s, 750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s, 8 Mbit/s",
    "500 kbit/s, 1 Mbit/s, 2 Mbit/s, 3 Mbit/s, 4500 kbit/s, 6 Mbit/s",
    "200 kbit/s, 400 kbit/s, 800 kbit/s, 1600 kbit/s, 2500 kbit/s",
)
RIVAL = '[[traffic]]\nname = "other"\nkind = "{kind}"\ncc = "{cc}"\nstart_spread = "10 s"\ncount = {count}\n'
RIVALS = {
    "none": "",
    "web": RIVAL.format(kind="web", cc="cubic", count=2),
    **{cc: RIVAL.format(kind="bulk", cc=cc, count=1) for cc in ("cubic", "newreno", "bbr3")},
}


def main() -> None:
    """Play what is missing, then tell."""
    store, what = Path(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else "all")
    scenes = drawn()
    senders: list[Row]
    if what == "search":
        senders = [{"name": "slack", **change} for change in SEARCHED]
        tell_search(play(store, scenes, senders, range(0, COUNT, 2)))
    elif what == "quic":
        senders = [{"name": name} for name in OVER_QUIC]
        tell(play(store, scenes, senders, range(1, COUNT, 2), {"transport": "quic"}), OVER_QUIC)
    else:
        _draw(tell(play(store, scenes, [{"name": name} for name in SENDERS], range(1, COUNT, 2)), SENDERS))


def drawn() -> list[tuple[Row, str]]:
    """The scenes: what was drawn, and the scenario's text."""
    draw = random.Random(SEED)
    return [_scene(draw) for _ in range(COUNT)]


def _scene(draw: random.Random) -> tuple[Row, str]:
    rate, rtt = round(_log_uniform(draw, 2, 80), 1), round(_log_uniform(draw, 8, 250), 1)
    scene: Row = {
        "rate": rate,
        "rtt": rtt,
        "jitter": draw.choice([0.3, 0.3, 0.3, round(rtt / 10, 2)]),
        "loss": draw.choice([0, 0, 0, 0.1, 0.5]),
        "queue": draw.choice(['"0.5 bdp"', '"1 bdp"', '"2 bdp"', '"4 bdp"', '"8 packets"', '"codel"']),
        "more": draw.choice(["", "", "", "", 'outage = { from = "30 s", until = "33 s", spread = "5 s" }']),
        "video": round(min(8, max(0.3, rate * draw.uniform(0.15, 0.8))), 2),
        "buffer": round(_log_uniform(draw, 1, 20), 1),
        "abr": draw.choice(["dynamic", "throughput", "bola"]),
        "ladder": draw.choice(LADDERS),
        "segment": draw.choice([2, 4]),
        "full": draw.choice([12, 30, 60]),
        "rival": draw.choice(["none", "web", "cubic", "cubic", "newreno", "bbr3"]),
        "adapts": draw.random() < 0.5,
    }
    player = SEGMENTS if scene["adapts"] else FILM
    return scene, PATH.format(**scene) + player.format(**scene) + RIVALS[scene["rival"]]


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def play(
    store: Path, scenes: list[tuple[Row, str]], senders: list[Row], which: Iterable[int], more: Row | None = None
) -> list[Row]:
    """The sessions of these senders and scenes."""
    store.touch()
    kept = {(row["scene"], json.dumps(row["sender"])): row for row in map(json.loads, store.read_text().splitlines())}
    rows = []
    with store.open("a") as file:
        for index in which:
            scene, text = scenes[index]
            for sender in senders:
                key = (index, json.dumps(sender))
                if key not in kept:
                    made = {"sender": [{"cc": sender, **(more or {})}]}
                    played = [playpath.run(text, seed=seed, set=made).metrics for seed in range(1, SESSIONS + 1)]
                    figures = {name: _mean([one.get(name) for one in played]) for name in METRICS + OTHERS}
                    kept[key] = {"scene": index, "sender": sender, "adapts": scene["adapts"]} | figures
                    file.write(json.dumps(kept[key]) + "\n")
                    file.flush()
                rows.append(kept[key])
    return rows


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def tell(rows: list[Row], senders: list[str]) -> dict[str, tuple[float, float]]:
    """A row for each sender; gives what the figure draws of each."""
    by = {name: [row for row in rows if row["sender"] == {"name": name}] for name in senders}
    rivals = [name for name in senders if name not in ("slack", "sammy", "ledbatpp")]
    print(
        "| sender | stall (s a session) | stalls more than the best | starts a tenth later | MOS 0.1 lower | retransmitted"
        " | neighbour's rate | neighbour's retransmissions |"
    )
    print("| -- " * 8 + "|")
    points = {}
    for name, own in by.items():
        against = [[by[other][i] for other in rivals if other != name] for i in range(len(own))]
        cells = _against(own, against)
        shares = [
            row[OTHERS[0]] / ref[OTHERS[0]] for row, ref in zip(own, by["newreno"], strict=True) if ref[OTHERS[0]]
        ]
        resent = [
            row[OTHERS[1]] / ref[OTHERS[1]] for row, ref in zip(own, by["newreno"], strict=True) if ref[OTHERS[1]]
        ]
        stall = fmean(row["stall_time_s"] for row in own)
        points[name] = (100 * fmean(shares), stall)
        sent = fmean(row["retransmitted_packets"] for row in own)
        print(
            f"| {name} | {stall:.2f} | {cells[0]} | {cells[1]} | {cells[2]} | {sent:.0f} | {100 * fmean(shares):.0f} %"
            f" | × {median(resent):.2f} |"
        )
    return points


def _against(own: list[Row], against: list[list[Row]]) -> list[str]:
    stalls = starts = worse = adaptive = 0
    for row, others in zip(own, against, strict=True):
        stalls += row["stall_time_s"] > min(o["stall_time_s"] for o in others) + STALL_S
        starts += (row["startup_delay_s"] or 0.0) > START * min(o["startup_delay_s"] or math.inf for o in others)
        if row["adapts"]:
            adaptive += 1
            worse += (row["p1203_o35"] or 1.0) < max(o["p1203_o35"] or 1.0 for o in others) - MOS
    return [f"{stalls} of {len(own)}", f"{starts} of {len(own)}", f"{worse} of {adaptive}"]


def tell_search(rows: list[Row]) -> None:
    """A row for each setting."""
    print("| changed | stall (s a session) | MOS, adaptive | retransmitted | neighbour's rate (Mbit/s) |")
    print("| -- " * 5 + "|")
    for change in SEARCHED:
        own = [row for row in rows if row["sender"] == {"name": "slack", **change}]
        scores = [row["p1203_o35"] for row in own if row["adapts"] and row["p1203_o35"] is not None]
        others = [row[OTHERS[0]] for row in own if row[OTHERS[0]]]
        name = ", ".join(f"{key} {value:g}" for key, value in change.items()) or "nothing"
        means = (fmean(row[key] for row in own) for key in ("stall_time_s", "retransmitted_packets"))
        stall, sent = means
        print(f"| {name} | {stall:.2f} | {fmean(scores):.2f} | {sent:.0f} | {fmean(others):.2f} |")


def _draw(points: Mapping[str, tuple[float, float]]) -> None:
    drawing, ax = figure(6.4, 4.6)
    front = sorted(p for p in points.values() if not any(_beats(other, p) for other in points.values()))
    ax.plot(*zip(*front, strict=True), color=INK, linewidth=0.8, linestyle=":", zorder=1)
    for name, style in sender_styles(list(points)).items():
        is_own = name == "slack"
        ax.plot(*points[name], style.marker, color=style.colour, markersize=12 if is_own else 8)
        right, up, side = LABELS.get(name, (8, -3, "left"))
        at: Row = {"xytext": (right, up), "textcoords": "offset points", "ha": side}
        ax.annotate(name, points[name], fontsize=10, color=INK, weight="bold" if is_own else "normal", **at)
    ax.set_yscale("log")
    ax.set_yticks([3, 10, 30, 100], ["3", "10", "30", "100"])
    ax.set_yticks([], minor=True)
    ax.set_ylim(2, 250)
    ax.tick_params(labelsize=10)
    ax.set_xlabel("bulk neighbour's goodput (%), 100: beside a viewer with NewReno → better", fontsize=10)
    ax.set_ylabel("stall time (s a session), down is better", fontsize=10)
    drawing.savefig(IMAGE, dpi=180, facecolor="white", metadata={"Software": None})


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] <= other[1]


if __name__ == "__main__":
    main()

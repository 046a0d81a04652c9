"""Viewers against neighbours: all senders on drawn scenes. Prints the tables of docs/appendix/slack.md and draws its figure.

Usage: python docs/figures/slack_front.py STORE [search | quic]    (needs playpath installed; ten minutes of a core)

On the even scenes Slack's parameters are searched (`search`); all senders, and what the search found, are judged on the odd ones,
with `quic` some of them over QUIC. STORE is a file, a line for each sender and scene; what is in it is not played again.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import playpath
from playpath.plots import figure
from playpath.plots.style import INK, sender_styles

Row = dict[str, Any]
IMAGE = Path(__file__).parents[1] / "images" / "slack-front.png"
SEED, COUNT = 2026, 84
SEEDS = 2
"""Of each scene; what is compared are means over them."""
RIVALS = ["cubic", "newreno", "westwood", "compound", "vegas", "ccplca", "bbr", "bbr3", "copa"]
SENDERS: list[Row] = [{"name": name} for name in ("slack", *RIVALS, "sammy", "ledbatpp")]
OVER_QUIC: list[Row] = [{"name": name} for name in ("slack", "cubic", "newreno", "bbr", "bbr3", "copa")]
SPACE: dict[str, tuple[float, ...]] = {
    "weight": (3, 1, 1.5, 2, 4, 6, 8),
    "pace": (1.2, 1, 1.5, 2),
    "enough": (1.5, 1, 1.25, 2, 3),
    "ease": (1.5, 1.2, 2, 3),
    "haste": (0.5, 0, 0.25, 0.67),
    "tolerance": (0.05, 0, 0.02, 0.1),
    "floor": (1, 0, 0.5, 0.75),
    "allowance": (8, 2, 4, 16, 32),
    "calm": (0.8, 0.6, 1),
    "alarm": (0.4, 0.1, 0.25),
}
"""What the search draws from, what is shipped first; docs/appendix/slack.md says where the bounds come from."""
DRAWS = 16
"""Settings with all drawn, beside those that differ from the shipped one in one."""
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
NEIGHBOURS = {
    "none": "",
    "web": RIVAL.format(kind="web", cc="cubic", count=2),
    **{cc: RIVAL.format(kind="bulk", cc=cc, count=1) for cc in ("cubic", "newreno", "bbr3")},
}


class Point(NamedTuple):
    """A sender's place on the front: percent, seconds a session, points."""

    neighbour: float
    stall: float
    mos: float


def main() -> None:
    """Play what is missing, then tell."""
    store, what = Path(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else "all")
    scenes, odd = drawn(), range(1, COUNT, 2)
    if what == "quic":
        more = {"transport": "quic"}
        tell(play(store, scenes, OVER_QUIC, odd, SEEDS, more), OVER_QUIC)
        return
    found = search(store, scenes)
    if what == "all":
        senders = SENDERS + [sender for sender in found if sender not in SENDERS]
        _draw(tell(play(store, scenes, senders, odd, SEEDS), senders))


def search(store: Path, scenes: list[tuple[Row, str]]) -> list[Row]:
    """Settings of Slack that no other one beats on the even scenes in stalls, picture and the neighbour's rate."""
    draw = random.Random(SEED)
    settings: list[Row] = [{}, *({name: other} for name, values in SPACE.items() for other in values[1:])]
    settings += [{name: draw.choice(values) for name, values in SPACE.items()} for _ in range(DRAWS)]
    senders: list[Row] = [{"name": "slack", **setting} for setting in settings]
    reference: list[Row] = [{"name": "newreno"}]
    rows = play(store, scenes, senders + reference, range(0, COUNT, 2), SEEDS)
    by = {label(sender): point(_of(rows, sender), _of(rows, reference[0])) for sender in senders}
    for name, place in by.items():
        print(f"| {name} | {place.stall:.2f} | {place.mos:.2f} | {place.neighbour:.0f} % |")
    best = [sender for sender in senders if not any(_beats(other, by[label(sender)]) for other in by.values())]
    print("not beaten:", *(label(sender) for sender in best), sep="\n  ")
    return best


def label(sender: Row) -> str:
    """A sender in words."""
    return ", ".join([sender["name"], *(f"{key} {value:g}" for key, value in sender.items() if key != "name")])


def _of(rows: list[Row], sender: Row) -> list[Row]:
    return [row for row in rows if row["sender"] == sender]


def point(own: list[Row], reference: list[Row]) -> Point:
    """Where a sender stands: means, of rates the geometric one over bulk neighbours."""
    rates = [
        math.log(row[OTHERS[0]] / ref[OTHERS[0]]) for row, ref in zip(own, reference, strict=True) if row["has_bulk"]
    ]
    scores = [row["p1203_o35"] or 1.0 for row in own if row["adapts"]]
    return Point(100 * math.exp(fmean(rates)), fmean(row["stall_time_s"] for row in own), fmean(scores))


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
    return scene, PATH.format(**scene) + player.format(**scene) + NEIGHBOURS[scene["rival"]]


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def play(
    store: Path,
    scenes: list[tuple[Row, str]],
    senders: list[Row],
    which: Iterable[int],
    seeds: int,
    more: Row | None = None,
) -> list[Row]:
    """The sessions of these senders and scenes."""
    store.touch()
    kept = {row["key"]: row for row in map(json.loads, store.read_text().splitlines())}
    rows = []
    with store.open("a") as file:
        for sender in senders:
            for index in which:
                key = json.dumps([index, sender, seeds, more])
                if key not in kept:
                    kept[key] = {"key": key, "scene": index, "sender": sender} | _session(
                        scenes[index], sender, seeds, more
                    )
                    file.write(json.dumps(kept[key]) + "\n")
                    file.flush()
                rows.append(kept[key])
    return rows


def _session(scene: tuple[Row, str], sender: Row, seeds: int, more: Row | None) -> Row:
    """Means over the seeds."""
    drawn_as, text = scene
    made = {"sender": [{"cc": sender, **(more or {})}]}
    played = [playpath.run(text, seed=seed, set=made).metrics for seed in range(1, seeds + 1)]
    figures = {name: _mean([one.get(name) for one in played]) for name in METRICS + OTHERS}
    return {"adapts": drawn_as["adapts"], "has_bulk": drawn_as["rival"] not in ("none", "web")} | figures


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def tell(rows: list[Row], senders: list[Row]) -> dict[str, Point]:
    """A row for each sender; gives what the figure draws of each."""
    print(
        "| sender | stall (s a session) | stalls more than the best | starts a tenth later | MOS 0.1 lower | MOS"
        " | retransmitted | neighbour's rate | neighbour's retransmissions |"
    )
    print("| -- " * 9 + "|")
    reference = _of(rows, {"name": "newreno"})
    rivals = [sender for sender in senders if sender["name"] in RIVALS]
    points = {}
    for sender in senders:
        own = _of(rows, sender)
        against = [[_of(rows, rival)[i] for rival in rivals if rival != sender] for i in range(len(own))]
        cells = _against(own, against)
        place = points[label(sender)] = point(own, reference)
        resent = [row[OTHERS[1]] / ref[OTHERS[1]] for row, ref in zip(own, reference, strict=True) if ref[OTHERS[1]]]
        sent = fmean(row["retransmitted_packets"] for row in own)
        print(
            f"| {label(sender)} | {place.stall:.2f} | {cells[0]} | {cells[1]} | {cells[2]} | {place.mos:.2f} | {sent:.0f}"
            f" | {place.neighbour:.0f} % | × {median(resent):.2f} |"
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


LABELS = {
    "cubic": (8, -9, "left"),
    "newreno": (-9, 8, "right"),
    "compound": (0, 9, "left"),
    "westwood": (9, -8, "left"),
    "ledbatpp": (-10, -3, "right"),
    "vegas": (-2, -14, "right"),
    "slack": (9, 4, "left"),
    "ccplca": (-9, -3, "right"),
    "sammy": (0, 8, "right"),
    "bbr3": (-8, -12, "right"),
}
"""Where a name stands beside its point, in points; right of it without a word."""


def _draw(points: Mapping[str, Point]) -> None:
    drawing, axes = figure(10, 4.8, ncols=2)
    settings = [place for name, place in points.items() if name.startswith("slack, ")]
    senders = {name: place for name, place in points.items() if not name.startswith("slack, ")}
    for ax, value in zip(axes, ("stall", "mos"), strict=True):
        for place in settings:
            ax.plot(
                place.neighbour, getattr(place, value), "o", color=INK, markerfacecolor="none", markersize=5, zorder=1
            )
        for name, style in sender_styles(list(senders)).items():
            place, is_own = senders[name], name == "slack"
            at = (place.neighbour, getattr(place, value))
            ax.plot(*at, style.marker, color=style.colour, markersize=12 if is_own else 8)
            right, up, side = LABELS.get(name, (8, -3, "left"))
            beside: Row = {"xytext": (right, up), "textcoords": "offset points", "ha": side}
            ax.annotate(name, at, fontsize=10, color=INK, weight="bold" if is_own else "normal", **beside)
        ax.set_xlabel("bulk neighbour's goodput (%), 100: beside NewReno → better", fontsize=10)
        ax.tick_params(labelsize=10)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("stall time (s a session), down is better", fontsize=10)
    axes[1].set_ylabel("MOS of adaptive viewers, up is better", fontsize=10)
    drawing.savefig(IMAGE, dpi=180, facecolor="white", metadata={"Software": None})


def _beats(one: Point, other: Point) -> bool:
    no_worse = one.neighbour >= other.neighbour and one.stall <= other.stall and one.mos >= other.mos
    return one != other and no_worse


if __name__ == "__main__":
    main()

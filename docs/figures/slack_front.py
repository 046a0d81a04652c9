"""Viewers against neighbours: all senders on drawn scenes. Prints the tables of docs/appendix/slack.md and draws its figure.

Usage: python docs/figures/slack_front.py STORE [search | quic | once | chance]    (needs playpath installed; five minutes of a core)

On the even ones of the first 84 scenes Slack's parameters are searched (`search`); all senders are judged on the odd ones and on 84
drawn later, with `quic` some of them over QUIC, with `once` all that have rivals with a player that fetches no segment twice; `chance`
tells how often the best sender there could be would seem beaten. STORE is a file, a line for each session; what is in it is not played
again.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from operator import itemgetter
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from matplotlib.ticker import LogLocator
from slack_client_data import interval

import playpath
from playpath.plots import figure
from playpath.plots.style import INK, sender_styles

Row = dict[str, Any]
IMAGE = Path(__file__).parents[1] / "images" / "slack-front.png"
SEED, COUNT = 2026, 168
SEARCHED, KEPT, LATER, LAST = range(0, 84, 2), range(1, 84, 2), range(84, 126), range(126, COUNT)
"""Nobody had seen the last ones when the law was done."""
SEEDS = 2
"""Of each scene; what is compared are means over them."""
CHANCE_SEEDS, CHOICES = 12, 1000
Task = tuple[int, Row, int, Row | None]
Values = Mapping[int, list[float]]
RIVALS = ["cubic", "newreno", "westwood", "compound", "vegas", "ccplca", "bbr", "bbr3", "copa"]
SENDERS: list[Row] = [{"name": name} for name in ("slack", *RIVALS, "sammy", "ledbatpp")]
FRONT: list[Row] = [{"name": "slack", "weight": weight} for weight in (1, 2, 8)]
"""Settings along the front that the search found."""
REFERENCE: Row = {"name": "newreno"}
QUIC: Row = {"sender": {"transport": "quic"}}
ONCE: Row = {"player.fast_switch": "off"}
OVER_QUIC: list[Row] = [{"name": name} for name in ("slack", "cubic", "newreno", "bbr", "bbr3", "copa")]
SPACE: dict[str, tuple[float, ...]] = {
    "weight": (4, 1, 1.5, 2, 3, 5, 6, 8),
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
DRAWS = 32
"""Settings with all drawn, beside those that differ from the shipped one in one."""
ROUNDS = ((range(0, 84, 6), 2, 24), (SEARCHED, 2, 10), (SEARCHED, 4, 10))
"""Successive halving (Jamieson, Talwalkar, AISTATS 2016): scenes, seeds of each, and how many settings go on beside the shipped one."""
STALL_S, START, MOS = 0.25, 1.1, 0.1
"""What one notices: a stall, a start a tenth later than the best, a tenth of a point."""
RATE, AGAIN = "neighbours_goodput_mbps", "neighbours_retransmitted_packets"
METRICS = ("stall_time_s", "startup_delay_s", "p1203_o35", "mean_rate_kbps", "retransmitted_packets", RATE, AGAIN)
PACKET = 1448
PAYLOAD = PACKET / 1500
NEVER_S = 300
"""A start that never came."""

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
TRICKLE = """rate = "1 kbit/s"
[player]
kind = "progressive"
buffer = "1 s"
"""
"""A viewer who takes nothing."""
NEIGHBOURS = {
    "none": "",
    "web": RIVAL.format(kind="web", cc="cubic", count=2),
    **{cc: RIVAL.format(kind="bulk", cc=cc, count=1) for cc in ("cubic", "newreno", "bbr3")},
}


class Point(NamedTuple):
    """A sender's place on the front: percent, seconds a session, points, seconds."""

    neighbour: float
    stall: float
    mos: float
    start: float

    def beats(self, other: Point) -> bool:
        """No worse in anything, better in something."""
        pairs = zip(self._losses(), other._losses(), strict=True)
        return self != other and all(own <= others for own, others in pairs)

    def _losses(self) -> tuple[float, ...]:
        return (-self.neighbour, self.stall, -self.mos, self.start)

    def places(self, points: Iterable[Point]) -> int:
        """How many are better, summed over the four."""
        return sum(
            theirs < own for other in points for own, theirs in zip(self._losses(), other._losses(), strict=True)
        )


def main() -> None:
    """Play what is missing, then tell."""
    store, what = Path(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else "all")
    if what == "quic":
        tell(play(store, OVER_QUIC, KEPT, SEEDS, QUIC), OVER_QUIC)
        return
    if what == "once":
        for scenes in (KEPT, LAST):
            adaptive, rivals = [index for index in scenes if drawn()[index][0]["adapts"]], SENDERS[: 1 + len(RIVALS)]
            for more in (None, ONCE):
                tell(play(store, rivals, adaptive, SEEDS, more), rivals)
        return
    if what in ("search", "chance"):
        {"search": search, "chance": chance}[what](store)
        return
    for scenes in (KEPT, LAST, [*KEPT, *LATER, *LAST]):
        played = play(store, SENDERS + FRONT, scenes, SEEDS)
        points, most = tell(played, SENDERS + FRONT), most_left(played)
        print(f"\nleft to a neighbour at most: {most:.0f} %")
        for what, takes in (("takes nothing", lambda index: 0.0), ("takes what it needs, evenly", played.needed)):
            rate, again = alone(played, takes)
            print(f"beside a viewer who {what}: rate {rate:.0f} %, sent again x {again:.2f}")
    _draw(points, most)


def search(store: Path) -> None:
    """Print the settings of Slack that no other one beats on the even scenes, by successive halving."""
    draw = random.Random(SEED)
    settings: list[Row] = [{}, *({name: other} for name, values in SPACE.items() for other in values[1:])]
    settings += [{name: draw.choice(values) for name, values in SPACE.items()} for _ in range(DRAWS)]
    senders: list[Row] = [{"name": "slack", **setting} for setting in settings]
    by: dict[str, Point] = {}
    for scenes, seeds, keep in ROUNDS:
        played = play(store, [*senders, REFERENCE], scenes, seeds)
        by = {label(sender): point(played.of(sender), played.of(REFERENCE)) for sender in senders}
        print(f"\n{len(senders)} settings on {len(scenes)} scenes, {seeds} seeds\n")
        for name, place in by.items():
            print(f"| {name} | {place.stall:.2f} | {place.mos:.2f} | {place.start:.2f} | {place.neighbour:.0f} % |")
        rest = sorted(senders[1:], key=lambda sender: _rank(by, sender))
        senders = [senders[0], *rest[:keep]]
    best = [sender for sender in senders if _rank(by, sender)[0] == 0]
    print("not beaten:", *(label(sender) for sender in best), sep="\n  ")


def chance(store: Path) -> None:
    """Of how many of the scenes kept back a sender seems to miss the goals for stalls and starts, by the number of seeds that are played
    of each, mean and 90 % of a thousand choices of so many seeds for it and so many others for the rivals: of some senders, and of one
    who plays in each scene as the rival that is best there over all. And with all seeds in each mean."""
    everyone = [sender["name"] for sender in SENDERS[: 1 + len(RIVALS)]]
    kept = play(store, SENDERS[: 1 + len(RIVALS)], KEPT, CHANCE_SEEDS).kept
    rows = {
        (name, index): [kept[json.dumps((index, {"name": name}, 1 + seed, None))] for seed in range(CHANCE_SEEDS)]
        for name, index in itertools.product(everyone, KEPT)
    }
    for goal, measure, may in (
        ("stalls", _stall, lambda best: best + STALL_S),
        ("starts", _start, lambda b: START * b),
    ):
        values = {key: [measure(row) for row in of] for key, of in rows.items()}
        best = {index: min(RIVALS, key=lambda name: fmean(values[name, index])) for index in KEPT}
        for who in ("the best rival of each scene", "slack", "bbr", "bbr3", "copa", "cubic"):
            own = {index: values[who if who in everyone else best[index], index] for index in KEPT}
            against = [{index: values[name, index] for index in KEPT} for name in RIVALS if name != who]
            cells = [_missed_by_chance(own, against, may, count) for count in (2, 4, 6)]
            print(
                goal, who, *cells, [i for i in KEPT if fmean(own[i]) > may(min(fmean(rival[i]) for rival in against))]
            )


def _missed_by_chance(own: Values, against: list[Values], may: Callable[[float], float], count: int) -> str:
    draw, missed = random.Random(SEED), []
    for _ in range(CHOICES):
        chosen = draw.sample(range(CHANCE_SEEDS), 2 * count)
        mine, theirs = (itemgetter(*half) for half in (chosen[:count], chosen[count:]))
        best = {index: min(fmean(theirs(rival[index])) for rival in against) for index in own}
        missed.append(sum(fmean(mine(own[index])) > may(best[index]) for index in own))
    missed.sort()
    return f"| {fmean(missed):.1f} ({missed[CHOICES // 20]} to {missed[-CHOICES // 20]}) "


def _rank(by: Mapping[str, Point], sender: Row) -> tuple[int, int]:
    own = by[label(sender)]
    return sum(other.beats(own) for other in by.values()), own.places(by.values())


def label(sender: Row) -> str:
    """A sender in words."""
    return ", ".join([sender["name"], *(f"{key} {value:g}" for key, value in sender.items() if key != "name")])


def point(own: list[Row], reference: list[Row]) -> Point:
    """Where a sender stands: means, of rates over bulk neighbours and of starts the geometric one."""
    rates = [math.log(row[RATE] / ref[RATE]) for row, ref in zip(own, reference, strict=True) if row["has_bulk"]]
    scores = [row["p1203_o35"] or 1.0 for row in own if row["adapts"]]
    starts = [math.log(_start(row)) for row in own]
    stall = fmean(row["stall_time_s"] for row in own)
    return Point(100 * math.exp(fmean(rates)), stall, fmean(scores), math.exp(fmean(starts)))


@cache
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


def play(store: Path, senders: Iterable[Row], scenes: Iterable[int], seeds: int, more: Row | None = None) -> Played:
    """The sessions of these senders, scenes and seeds: two processes play what the store lacks."""
    store.touch()
    kept = {row["key"]: row for row in map(json.loads, store.read_text().splitlines())}
    tasks = [(index, sender, seed, more) for sender in senders for index in scenes for seed in range(1, seeds + 1)]
    missing = [task for task in tasks if json.dumps(task) not in kept]
    with ProcessPoolExecutor(2) as pool, store.open("a") as file:
        for row in pool.map(_session, missing, chunksize=4):
            kept[row["key"]] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
    return Played(kept, list(scenes), seeds, more)


def _session(task: Task) -> Row:
    index, sender, seed, more = task
    rest = dict(more or {})
    made = {"sender": [{"cc": sender, **rest.pop("sender", {})}], **rest}
    return {"key": json.dumps(task)} | _figures(playpath.run(drawn()[index][1], seed=seed, set=made))


def _figures(result: playpath.Session) -> Row:
    end = max(event["time_s"] for event in result.events)
    return {name: result.metrics.get(name) for name in METRICS} | {"end_s": end}


class Played(NamedTuple):
    """Sessions by their keys, and which of them are looked at."""

    kept: dict[str, Row]
    scenes: list[int]
    seeds: int
    more: Row | None

    def of(self, sender: Row) -> list[Row]:
        """A row for each scene: what was drawn, and means over the seeds."""
        return [self._mean(index, sender) for index in self.scenes]

    def _mean(self, index: int, sender: Row) -> Row:
        keys = [json.dumps((index, sender, seed, self.more)) for seed in range(1, self.seeds + 1)]
        scene = drawn()[index][0]
        means = {name: _mean([self.kept[key][name] for key in keys]) for name in (*METRICS, "end_s")}
        return {"adapts": scene["adapts"], "has_bulk": scene["rival"] not in ("none", "web")} | means

    def needed(self, index: int) -> float:
        """The film's rate, or the least with which a rival shows a picture within 0.1 of the best."""
        scene = drawn()[index][0]
        if not scene["adapts"]:
            return float(scene["video"])
        rows = [self._mean(index, {"name": name}) for name in RIVALS]
        shown = [(row["p1203_o35"] or 1.0, row["mean_rate_kbps"] / 1000) for row in rows]
        best = max(mos for mos, _ in shown)
        return float(min(rate for mos, rate in shown if mos >= best - MOS))


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def tell(played: Played, senders: list[Row]) -> dict[str, Point]:
    """A row for each sender, ± 95 % of what it differs by from Slack over the scenes; gives what the figure draws of each."""
    print(
        "\n| sender | stall (s a session) | stalls more than the best | starts a tenth later | MOS 0.1 lower | MOS",
        end="",
    )
    print(" | retransmitted | neighbour's rate | neighbour's retransmissions |\n" + "| -- " * 9 + "|")
    of = {label(sender): played.of(sender) for sender in [*senders, REFERENCE]}
    reference, points = of[label(REFERENCE)], {}
    for sender in senders:
        own, name = of[label(sender)], label(sender)
        rivals = [of[rival] for rival in RIVALS if rival != name and rival in of]
        cells = _against(own, list(zip(*rivals, strict=True)))
        place = points[name] = point(own, reference)
        stall, mos, rate = (_half(own, of["slack"], measure) for measure in (_stall, _mos, _log_rate))
        again = [_share(row) / _share(ref) for row, ref in zip(own, reference, strict=True) if _has_losses(ref)]
        print(
            f"| {name} | {place.stall:.2f} ± {stall:.2f} | {cells[0]} | {cells[1]} | {cells[2]} | {place.mos:.2f} ± {mos:.2f}"
            f" | {fmean(row['retransmitted_packets'] for row in own):.0f} | {place.neighbour:.0f} ± {100 * rate:.0f} %"
            f" | × {median(again):.2f} |"
        )
    return points


def _half(own: list[Row], others: list[Row], measure: Callable[[Row], float | None]) -> float:
    """Half of the 95 % interval of the mean difference over the scenes."""
    pairs = [(measure(row), measure(other)) for row, other in zip(own, others, strict=True)]
    mean, _, high = interval([one - other for one, other in pairs if one is not None and other is not None])
    return high - mean


def _stall(row: Row) -> float:
    return float(row["stall_time_s"])


def _start(row: Row) -> float:
    return float(row["startup_delay_s"] or NEVER_S)


def _mos(row: Row) -> float | None:
    return (row["p1203_o35"] or 1.0) if row["adapts"] else None


def _log_rate(row: Row) -> float | None:
    return math.log(row[RATE]) if row["has_bulk"] else None


def _has_losses(row: Row) -> bool:
    return bool(row["has_bulk"] and row[AGAIN])


def _share(row: Row) -> float:
    """Of the neighbour's packets, how many it sent again: sessions that stall last longer."""
    return float(row[AGAIN] / (row[RATE] * row["end_s"] * 1e6 / 8 / PACKET))


def _against(own: list[Row], against: Sequence[Sequence[Row]]) -> list[str]:
    stalls = starts = worse = adaptive = 0
    for row, others in zip(own, against, strict=True):
        stalls += row["stall_time_s"] > min(o["stall_time_s"] for o in others) + STALL_S
        starts += _start(row) > START * min(_start(other) for other in others)
        if row["adapts"]:
            adaptive += 1
            worse += (row["p1203_o35"] or 1.0) < max(o["p1203_o35"] or 1.0 for o in others) - MOS
    return [f"{stalls} of {len(own)}", f"{starts} of {len(own)}", f"{worse} of {adaptive}"]


def most_left(played: Played) -> float:
    """Percent that a neighbour can have at most beside a sender that nobody stalls with, and that shows all a picture within 0.1 of the
    best: what the viewer leaves of the link, and no more than it had beside any sender."""
    of = {label(sender): played.of(sender) for sender in SENDERS}
    logs = []
    for place, index in enumerate(played.scenes):
        scene, rows = drawn()[index][0], [own[place] for own in of.values()]
        if rows[0]["has_bulk"]:
            left = scene["rate"] * PAYLOAD * (1 - scene["loss"] / 100) - played.needed(index)
            logs.append(math.log(min(left, max(row[RATE] for row in rows)) / of["newreno"][place][RATE]))
    return 100 * math.exp(fmean(logs))


def alone(played: Played, takes: Callable[[int], float]) -> tuple[float, float]:
    """A bulk neighbour's rate in percent and its share of packets sent again, median ratio, both to those beside NewReno, with nobody on
    a link that is slower by what a viewer takes: one who takes it evenly, and whose packets wait for nobody."""
    logs, again = [], []
    for index, ref in zip(played.scenes, played.of(REFERENCE), strict=True):
        if not ref["has_bulk"]:
            continue
        rows = [_alone(index, seed, takes(index)) for seed in range(1, played.seeds + 1)]
        row = {name: _mean([row[name] for row in rows]) for name in (RATE, AGAIN, "end_s")}
        logs.append(math.log(row[RATE] / ref[RATE]))
        again += [_share(row) / _share(ref)] if ref[AGAIN] else []
    return 100 * math.exp(fmean(logs)), median(again)


def _alone(index: int, seed: int, taken: float) -> Row:
    scene = dict(drawn()[index][0])
    share, unit = scene["queue"].strip('"').partition(" bdp")[:2]
    if unit:
        packets = float(share) * scene["rate"] * 1e6 * scene["rtt"] / 1000 / 8 / 1500
        scene["queue"] = f'"{max(2, round(packets))} packets"'
    scene["rate"] = round(scene["rate"] - taken / PAYLOAD, 3)
    return _figures(
        playpath.run(PATH.format(**scene) + TRICKLE + NEIGHBOURS[scene["rival"]], cc=["newreno"], seed=seed)
    )


LABELS = {
    "cubic": (-9, -7, "right"),
    "newreno": (13, -2, "left"),
    "compound": (0, 9, "left"),
    "westwood": (9, -8, "left"),
    "ledbatpp": (-10, -3, "right"),
    "slack": (0, -22, "left"),
    "ccplca": (-16, -3, "right"),
    "sammy": (-9, -3, "right"),
    "bbr3": (-4, 11, "left"),
}
"""Where a name stands beside its point, in points; right of it without a word."""


def _draw(points: Mapping[str, Point], most: float) -> None:
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
        ax.axvline(most, color=INK, linestyle=":", linewidth=1)
        ax.set_xlabel("bulk neighbour's goodput (%), 100: beside NewReno → better", fontsize=10)
        ax.tick_params(labelsize=10)
        ax.margins(x=0.17, y=0.12)
    axes[0].set_yscale("log")
    axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].set_ylabel("stall time (s a session), down is better", fontsize=10)
    axes[1].set_ylabel("MOS of adaptive viewers, up is better", fontsize=10)
    drawing.savefig(IMAGE, dpi=180, facecolor="white", metadata={"Software": None})


if __name__ == "__main__":
    main()

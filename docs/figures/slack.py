"""Measure the control `slack` beside its rivals on drawn scenes, shared links and measured ones; print a table for each part.

Usage: python docs/figures/slack.py STORE [PART…]    (needs playpath installed; three minutes of a core)

STORE keeps what was measured, a file for each part: a part that is there is not measured again. The part `populations` needs
the environment variable TRACES, a folder with a folder of bandwidth traces for each set, and is left out without it.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import playpath
from playpath.base import engine
from playpath.results.bands import until_last_byte

Row = dict[str, Any]
RIVALS = [e["name"] for e in engine.registry("cc") if not e.get("is_coupled") and e["name"] != "slack"]
CLOSE = ["cubic", "newreno", "bbr", "bbr3", "copa"]
"""The rivals that a service would think of."""
TRAIN, HELD_OUT = 1, 2
"""Seeds of the drawn scenes: constants were chosen on the first, and the page's figures are of the second."""
STALL_MARGIN_S = 0.25
"""Less stall time is nobody's reason to prefer a sender (the margin of the metric)."""

DRAWN = """
name = "drawn"
[video]
source = "bigbuckbunny"
rate = "{video} Mbit/s"
duration = "60 s"
[player]
kind = "progressive"
buffer = "{buffer} s"
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "0.3 ms"
loss = "{loss} %"
queue = "{queue} bdp"
"""
BULK = """
[[traffic]]
name = "other"
kind = "bulk"
cc = "{cross}"
start = "15 s"
start_spread = "3 s"
stop = "45 s"
"""
WEB = """
[[traffic]]
name = "web"
kind = "web"
cc = "cubic"
count = 2
"""
PAIR = """
name = "pair"
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "0.6 ms"
queue = "{queue} bdp"
[run]
duration = "60 s"
"""
FLOW = '[[traffic]]\nkind = "bulk"\nname = "{name}"\ncc = "{cc}"\nstart_spread = "1 s"\ncount = {count}\n'
VIEWERS = """
name = "viewers"
[video]
source = "bigbuckbunny"
rate = "{video} Mbit/s"
duration = "120 s"
[player]
kind = "progressive"
buffer = "10 s"
[[path]]
rate = "{rate} Mbit/s"
rtt = "40 ms"
jitter = "0.6 ms"
queue = "{queue} bdp"
[[traffic]]
kind = "video"
name = "other"
count = 3
cc = "{cc}"
start_spread = "90 s"
"""
CLAIMANTS = """
name = "claimants"
[video]
source = "bigbuckbunny"
duration = "120 s"
[player]
kind = "dash"
abr = "fixed"
ladder = "2 Mbit/s"
segment = "2 s"
full_level = "10 s"
{claim}
[[path]]
rate = "{rate} Mbit/s"
rtt = "40 ms"
jitter = "0.6 ms"
queue = "{queue} bdp"
"""
OTHERS = """
[[traffic]]
kind = "video"
name = "other"
count = 3
cc = "slack"
start_spread = "90 s"
"""
GRID = """
name = "grid"
[video]
rate = "{video} Mbit/s"
duration = "30 s"
[player]
kind = "progressive"
buffer = "10 s"
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "0.05 ms"
queue = "{queue} packets"
"""
POPULATION = """
name = "{title}"
[video]
source = "bigbuckbunny"
duration = "120 s"
[player]
kind = "dash"
abr = "dynamic"
cmcd = "v1"
ladder = "230 kbit/s, 400 kbit/s, 750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s, 8 Mbit/s, 12 Mbit/s, 20 Mbit/s"
segment = "4 s"
[[path]]
trace = {traces}
rtt = {{ lognormal = {{ median = "{rtt}", sigma = 0.5 }}, min = "8 ms", max = "500 ms" }}
loss = {{ choice = ["0 %", "0.1 %", "1 %"], weights = [6, 3, 1] }}
queue = "100 packets"
[population]
sessions = 1
baseline = "cubic"
"""
CLAIMS = {
    "the truth": 'cmcd = "v2"',
    "late, 0.2 s": 'cmcd = "v2"\ncmcd_lag = "0.2 s"',
    "late, 1 s": 'cmcd = "v2"\ncmcd_lag = "1 s"',
    "late, 5 s": 'cmcd = "v2"\ncmcd_lag = "5 s"',
    "nothing": 'cmcd = "off"',
    "always empty": 'cmcd = "v2"\ncmcd_claim = "empty"',
    "always full": 'cmcd = "v2"\ncmcd_claim = "full"',
}
"""What a client may say of its buffer."""
SETS = {"hsdpa-norway": "90 ms", "lte-belgium": "45 ms", "fcc-sd": "30 ms", "fcc-hd": "30 ms"}
ABLATIONS: dict[str, Row] = {
    "slack": {},
    "never yields": {"allowance": 1000, "ease": 1000},
    "every loss counts": {"tolerance": 0},
    "and no floor": {"tolerance": 0, "floor": 0},
    "does not pace": {"pace": 0, "ease": 1000},
    **{
        f"{name} {value:g}": {name: value}
        for name, values in {
            "allowance": (4, 16),
            "calm": (0.6, 1.0),
            "alarm": (0.2, 0.6),
            "reserve": (16, 64),
            "tolerance": (0.02, 0.1),
            "pace": (1.25, 3),
            "ease": (1.1, 3),
        }.items()
        for value in values
    },
}
WATCHED = ("stall_time_s", "startup_delay_s", "retransmitted_packets", "mean_queue_packets")


def main() -> None:
    """Every part, or those named."""
    store, *wanted = sys.argv[1:]
    Path(store).mkdir(parents=True, exist_ok=True)
    for name, (measure, tell) in PARTS.items():
        if not wanted or name in wanted:
            tell(_stored(Path(store) / f"{name}.json", measure))


def _stored(file: Path, measure: Callable[[], list[Row]]) -> list[Row]:
    if not file.exists():
        file.write_text(json.dumps(measure()))
    rows: list[Row] = json.loads(file.read_text())
    print(f"\n## {file.stem}\n", flush=True)
    return rows


def draw_scene(draw: random.Random) -> Row:
    """A path, a video and a neighbour: rates 1 to 50 Mbit/s, round trips 5 to 300 ms, buffers 0.5 to 20 s."""
    rate = _log_uniform(draw, 1, 50)
    return {
        "rate": round(rate, 2),
        "rtt": round(_log_uniform(draw, 5, 300), 1),
        "queue": draw.choice([0.5, 1, 2, 4, 8]),
        "loss": draw.choice([0, 0, 0, 0.1, 0.5, 1.0]),
        "video": round(min(8, max(0.3, rate * draw.uniform(0.2, 0.85))), 2),
        "buffer": round(_log_uniform(draw, 0.5, 20), 1),
        "cross": draw.choice(["none", "none", "cubic", "newreno", "web"]),
    }


def scene_text(scene: Row) -> str:
    """Its scenario."""
    cross = {"none": "", "web": WEB}.get(scene["cross"], BULK)
    return DRAWN.format(**scene) + cross.format(**scene)


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _play(text: str, cc: str | Row, seed: int = 1) -> Row:
    session = playpath.run(text, cc=[cc], seed=seed)
    row = {name: session.metrics.get(name) for name in WATCHED}
    others = [flow["goodput_mbps"] for flow in session.flows if flow["name"].startswith("other")]
    return row | {"other_mbps": fmean(others) if others else None}


# ---- drawn scenes: the viewer, the network, the neighbour ----


def drawn_scenes(seed: int, count: int) -> list[Row]:
    """The first `count` scenes of a seed."""
    draw = random.Random(seed)
    return [draw_scene(draw) for _ in range(count)]


def measure_drawn() -> list[Row]:
    """Held-out scenes, all rivals."""
    return [
        {"scene": index, "sender": cc, "cross": scene["cross"]} | _play(scene_text(scene), cc)
        for index, scene in enumerate(drawn_scenes(HELD_OUT, 60))
        for cc in ("slack", *RIVALS)
    ]


def tell_drawn(rows: list[Row]) -> None:
    """A row for each sender."""
    by = {sender: [row for row in rows if row["sender"] == sender] for sender in ("slack", *RIVALS)}
    best = [min(s["stall_time_s"] for s in scene) for scene in zip(*by.values(), strict=True)]
    alone = [row["other_mbps"] for row in by["newreno"]]
    _head(
        "sender", "stall (s a session)", "scenes with the least stall", "retransmitted", "queue (packets)", "neighbour"
    )
    for sender, own in by.items():
        stalls = [row["stall_time_s"] for row in own]
        least = sum(stall <= low + STALL_MARGIN_S for stall, low in zip(stalls, best, strict=True))
        shares = [row["other_mbps"] / ref for row, ref in zip(own, alone, strict=True) if ref]
        network = [fmean(row[metric] for row in own) for metric in ("retransmitted_packets", "mean_queue_packets")]
        _line(sender, fmean(stalls), f"{least} of {len(own)}", *network, f"{100 * fmean(shares):.0f} %")
    _tell_goals(by)


def _tell_goals(by: Mapping[str, list[Row]]) -> None:
    never_worse = better = cheaper = 0
    for own, *others in zip(*by.values(), strict=True):
        best = min(others, key=lambda row: (max(0.0, row["stall_time_s"]), row["retransmitted_packets"]))
        never_worse += own["stall_time_s"] <= best["stall_time_s"] + STALL_MARGIN_S
        better += own["stall_time_s"] < best["stall_time_s"] - STALL_MARGIN_S
        alike = [row for row in others if row["stall_time_s"] <= best["stall_time_s"] + STALL_MARGIN_S]
        usual = sorted(row["retransmitted_packets"] for row in alike)[len(alike) // 2]
        cheaper += own["retransmitted_packets"] <= 1.05 * usual
    total = len(by["slack"])
    print(
        f"\nnot worse than the best of all rivals in {never_worse} of {total}, better in {better}; at most the median"
    )
    print(f"retransmissions of the rivals that serve the viewer best in {cheaper}\n")


# ---- strangers and its own kind ----

LINKS = [(10, 50), (4, 20), (25, 100), (2, 40), (40, 20)]
QUEUES = [0.5, 1, 4, 16]


def measure_fairness() -> list[Row]:
    """Shares beside NewReno and CUBIC, and Jain's index of four of its own."""
    return [
        {"rate": rate, "rtt": rtt, "queue": queue, "sender": cc, "neighbour": neighbour}
        | {"value": fmean(_shared(rate, rtt, queue, cc, neighbour, seed) for seed in (1, 2))}
        for rate, rtt in LINKS
        for queue in QUEUES
        for cc in ("slack", "cubic", "bbr3", "copa")
        for neighbour in dict.fromkeys(("newreno", "cubic", cc))
    ]


def _shared(rate: float, rtt: float, queue: float, cc: str, neighbour: str, seed: int) -> float:
    """The share in percent beside one neighbour; of one's own kind, the index of four."""
    flows = FLOW.format(name="tested", cc=cc, count=1) + FLOW.format(name="neighbour", cc=neighbour, count=1)
    if cc == neighbour != "cubic":
        flows = FLOW.format(name="tested", cc=cc, count=4)
    session = playpath.run(PAIR.format(rate=rate, rtt=rtt, queue=queue) + flows, seed=seed)
    got = [flow["goodput_mbps"] for flow in session.flows]
    if len(got) == 4:
        return float(sum(got) ** 2 / (4 * sum(x * x for x in got)))
    own = next(f["goodput_mbps"] for f in session.flows if f["name"].startswith("tested"))
    return float(100 * own / sum(got))


def tell_fairness(rows: list[Row]) -> None:
    """A row for each link and neighbour, and how many shares are within 35 to 65 %."""
    _head("sender", "link", "beside", *(f"{queue:g} BDP" for queue in QUEUES))
    for cc in ("slack", "cubic", "bbr3", "copa"):
        for rate, rtt in LINKS:
            for neighbour in dict.fromkeys(("newreno", "cubic", cc)):
                place = (cc, rate, neighbour)
                own = {r["queue"]: r["value"] for r in rows if (r["sender"], r["rate"], r["neighbour"]) == place}
                shown = "four of its own" if cc == neighbour != "cubic" else neighbour
                _line(cc, f"{rate} Mbit/s, {rtt} ms", shown, *(own[queue] for queue in QUEUES))
    for cc in ("slack", "bbr3", "copa"):
        shares = [row["value"] for row in rows if row["sender"] == cc and row["neighbour"] != cc]
        indices = [row["value"] for row in rows if row["sender"] == cc == row["neighbour"]]
        fair = sum(35 <= share <= 65 for share in shares)
        print(f"\n{cc}: {fair} of {len(shares)} shares within 35 to 65 %; smallest index {min(indices):.2f}")


# ---- several viewers ----

PLACES = [(rate, queue) for rate in (7, 8.5, 10) for queue in (1, 4)]


def measure_viewers() -> list[Row]:
    """Four viewers of 2 Mbit/s who come one after another behind one bottleneck."""
    return [
        {"rate": rate, "queue": queue, "sender": cc, "seed": seed} | _stalls(rate, queue, cc, seed)
        for rate, queue in PLACES
        for cc in ("slack", *CLOSE)
        for seed in range(1, 5)
    ]


def _stalls(rate: float, queue: float, cc: str, seed: int) -> Row:
    session = playpath.run(VIEWERS.format(video=2, rate=rate, queue=queue, cc=cc), cc=[cc], seed=seed)
    stalls = [viewer["metrics"]["stall_time_s"] for viewer in session.sessions]
    flows = session.flows
    return {
        "total": sum(stalls),
        "worst": max(stalls),
        "retransmitted": sum(flow["retransmitted_packets"] for flow in flows),
        "rtt": fmean(flow["mean_rtt_ms"] for flow in flows),
    }


def tell_viewers(rows: list[Row]) -> None:
    """A row for each sender and rate of the bottleneck."""
    _head("bottleneck", "sender", "stalls, all four (s)", "worst viewer (s)", "retransmitted", "mean RTT (ms)")
    for rate in dict.fromkeys(row["rate"] for row in rows):
        for cc in ("slack", *CLOSE):
            own = [row for row in rows if (row["rate"], row["sender"]) == (rate, cc)]
            _line(f"{rate} Mbit/s", cc, *(fmean(r[k] for r in own) for k in ("total", "worst", "retransmitted", "rtt")))


TIGHT = 22
"""Seed of the drawn scenes with several viewers; nothing was chosen on them."""


def measure_tight() -> list[Row]:
    """Three to six viewers whose videos need what the bottleneck has, or up to three tenths more; twelve scenes, two seeds each."""
    draw = random.Random(TIGHT)
    rows = []
    for index in range(12):
        others = draw.choice([2, 3, 5])
        video = round(draw.uniform(1, 3), 2)
        rate = round(video * (1 + others) * draw.uniform(0.7, 1.0), 2)
        buffer, rtt = draw.choice([4, 10, 20]), round(_log_uniform(draw, 10, 150), 1)
        scene = VIEWERS.replace("count = 3", f"count = {others}").replace('"10 s"', f'"{buffer} s"')
        scene = scene.replace("40 ms", f"{rtt} ms").replace("{queue}", str(draw.choice([0.5, 1, 2, 4])))
        for cc in ("slack", *CLOSE):
            text = scene.format(video=video, rate=rate, cc=cc)
            rows += [{"scene": index, "sender": cc} | _waits(text, cc, seed) for seed in (1, 2)]
    return rows


def _waits(text: str, cc: str, seed: int) -> Row:
    sessions = playpath.run(text, cc=[cc], seed=seed).sessions
    stalls, starts = ([viewer["metrics"][name] or 0.0 for viewer in sessions] for name in WATCHED[:2])
    return {"total": sum(stalls), "worst": max(stalls), "start": sum(starts)}


def tell_tight(rows: list[Row]) -> None:
    """A row for each sender: means over the scenes, and in how many its stalls are the least."""
    _head("sender", "stalls, all viewers (s)", "worst viewer (s)", "start, all viewers (s)", "scenes with the least")
    means = {
        cc: [[r for r in rows if (r["scene"], r["sender"]) == (index, cc)] for index in range(12)]
        for cc in ("slack", *CLOSE)
    }
    totals = {cc: [fmean(r["total"] for r in own) for own in scenes] for cc, scenes in means.items()}
    best = [min(scene) for scene in zip(*totals.values(), strict=True)]
    for cc, scenes in means.items():
        least = sum(own <= low + STALL_MARGIN_S for own, low in zip(totals[cc], best, strict=True))
        figures = (fmean(r[key] for own in scenes for r in own) for key in ("total", "worst", "start"))
        _line(cc, *figures, f"{least} of {len(best)}")


# ---- claims ----


def measure_claims() -> list[Row]:
    """Four viewers who all tell the same, and one beside a bulk flow."""
    return [
        {"claim": claim, "rate": rate, "queue": queue, "seed": seed} | _claimed(rate, queue, claim, seed)
        for claim in CLAIMS
        for rate, queue in PLACES
        for seed in range(1, 5)
    ]


def _claimed(rate: float, queue: float, claim: str, seed: int) -> Row:
    scene = CLAIMANTS.format(rate=rate, queue=queue, claim=CLAIMS[claim])
    four = playpath.run(scene + OTHERS, cc=["slack"], seed=seed)
    stalls = [viewer["metrics"]["stall_time_s"] for viewer in four.sessions]
    return {
        "total": sum(stalls),
        "worst": max(stalls),
        "retransmitted": sum(flow["retransmitted_packets"] for flow in four.flows),
        "rtt": fmean(flow["mean_rtt_ms"] for flow in four.flows),
        "bulk": _play(scene + BULK.format(cross="newreno"), "slack", seed)["other_mbps"],
    }


def tell_claims(rows: list[Row]) -> None:
    """A row for each claim and rate of the bottleneck."""
    _head(
        "bottleneck", "told", "stalls, all four (s)", "worst viewer (s)", "retransmitted", "mean RTT (ms)", "bulk flow"
    )
    for rate in dict.fromkeys(row["rate"] for row in rows):
        for claim in CLAIMS:
            own = [row for row in rows if (row["rate"], row["claim"]) == (rate, claim)]
            means = [fmean(row[k] for row in own) for k in ("total", "worst", "retransmitted", "rtt", "bulk")]
            _line(f"{rate} Mbit/s", claim, *means)


# ---- populations ----


def measure_populations() -> list[Row]:
    """Every second of the links, which no constant has seen; adaptive video with client data."""
    traces = os.environ.get("TRACES")
    with TemporaryDirectory() as store:
        sets = SETS.items() if traces else []
        return [row for name, rtt in sets for row in _population(Path(str(traces)) / name, rtt, Path(store))]


def _population(folder: Path, rtt: str, store: Path) -> list[Row]:
    held_out = [str(file.resolve()) for file in sorted(folder.iterdir()) if zlib.crc32(file.name.encode()) % 2]
    text = POPULATION.format(title=folder.name, traces=json.dumps(held_out), rtt=rtt)
    result = playpath.population(text, cc=["cubic", "slack", "bbr3", "copa"], store=store / folder.name)
    versus = [result.versus("slack", other) for other in result.senders if other != "slack"]
    return [
        {"set": folder.name, "links": result.units, "other": v.other, "relation": v.relation}
        | {name: [100 * e.value, 100 * e.low, 100 * e.high] for name, e in (("net", v.net), ("network", v.network))}
        | {"helped": 100 * v.helped.value, "harmed": 100 * v.harmed.value, "retransmission": v.retransmission_ratio}
        for v in versus
    ]


def tell_populations(rows: list[Row]) -> None:
    """Slack against each rival, for each set."""
    _head("links", "against", "better", "worse", "net (points)", "retransmissions", "relation")
    for row in rows:
        net, low, high = row["net"]
        shown = f"{net:+.0f} ({low:+.0f} to {high:+.0f})"
        shares = (f"{row['helped']:.0f} %", f"{row['harmed']:.0f} %", shown, f"× {row['retransmission']:.2g}")
        _line(f"{row['set']}, {row['links']}", row["other"], *shares, row["relation"])


# ---- stability ----

RTTS = [3, 10, 30, 100, 300, 600]
RATES = [0.5, 2, 10, 50, 200]


def measure_grid() -> list[Row]:
    """A viewer who uses seven tenths of the link, alone, over all round trips and rates."""
    return [
        {"rate": rate, "rtt": rtt, "sender": cc} | _play(_grid_text(rate, rtt), cc) | _swing(_grid_text(rate, rtt), cc)
        for rate in RATES
        for rtt in RTTS
        for cc in ("slack", "cubic", "bbr3")
    ]


def _swing(text: str, cc: str) -> Row:
    """How far the window swings in the second half of the transfer: 5th to 95th percentile, in medians."""
    flow = until_last_byte(playpath.run(text, cc=[cc], trace=True).series["flow.video"])
    half = max(flow["time_s"]) / 2
    sent = [cwnd for at, cwnd in zip(flow["time_s"], flow["snd_cwnd"], strict=True) if at > half and cwnd is not None]
    ranked = sorted(sent)
    low, middle, high = (ranked[int(share * (len(ranked) - 1))] for share in (0.05, 0.5, 0.95))
    return {"swing": (high - low) / middle, "low": low, "middle": middle, "high": high}


def _grid_text(rate: float, rtt: float) -> str:
    pipe = rate * 1e6 / 8 * rtt / 1e3 / 1500
    return GRID.format(rate=rate, rtt=rtt, video=0.7 * rate, queue=max(20, round(pipe)))


def tell_grid(rows: list[Row]) -> None:
    """Cells with a stall or more than 2 % retransmitted, and totals."""
    _head(
        "sender",
        "cells with stalls",
        "stall time (s), all cells",
        "retransmitted",
        "mean queue (packets)",
        "swing of the window, median cell",
        "cells above 0.5",
    )
    for cc in ("slack", "cubic", "bbr3"):
        own = [row for row in rows if row["sender"] == cc]
        stalled = [f"{row['rate']:g}/{row['rtt']}" for row in own if row["stall_time_s"] > STALL_MARGIN_S]
        sums = (sum(row[metric] for row in own) for metric in ("stall_time_s", "retransmitted_packets"))
        swings = sorted(row["swing"] for row in own)
        wide = [f"{row['rate']:g}/{row['rtt']}" for row in own if row["swing"] > 0.5]
        queue = fmean(row["mean_queue_packets"] for row in own)
        _line(cc, " ".join(stalled) or "none", *sums, queue, swings[len(swings) // 2], " ".join(wide) or "none")


# ---- ablations and sensitivity ----


def measure_ablation() -> list[Row]:
    """The held-out scenes with a part or a constant changed."""
    scenes = drawn_scenes(HELD_OUT, 30)
    return [
        {"variant": name} | _play(scene_text(scene), {"name": "slack", **change})
        for name, change in ABLATIONS.items()
        for scene in scenes
    ]


def tell_ablation(rows: list[Row]) -> None:
    """A row for each variant."""
    _head("variant", "stall (s a session)", "sessions with stalls", "retransmitted", "queue (packets)")
    for name in ABLATIONS:
        own = [row for row in rows if row["variant"] == name]
        stalled = sum(row["stall_time_s"] > STALL_MARGIN_S for row in own)
        means = [fmean(row[metric] for row in own) for metric in WATCHED]
        _line(name, means[0], stalled, means[2], means[3])


# ---- the worst ----


def measure_worst() -> list[Row]:
    """Where it loses most against BBRv3 and CUBIC: 80 drawn paths, then steps away from the worst."""
    draw = random.Random(3)
    found = [_duel(draw_scene(draw)) for _ in range(80)]
    for _ in range(40):
        found.sort(key=lambda row: -row["loss_s"])
        found.append(_duel(_nudged(draw, draw.choice(found[:8])["scene"])))
    return sorted(found, key=lambda row: -row["loss_s"])[:10]


def _duel(scene: Row) -> Row:
    stalls = {cc: _play(scene_text(scene), cc)["stall_time_s"] for cc in ("slack", "bbr3", "cubic")}
    return {"scene": scene, **stalls, "loss_s": stalls["slack"] - min(stalls["bbr3"], stalls["cubic"])}


def _nudged(draw: random.Random, scene: Row) -> Row:
    steps = {name: round(scene[name] * _log_uniform(draw, 0.8, 1.25), 2) for name in ("rate", "rtt", "video", "buffer")}
    return {**scene, **steps}


def tell_worst(rows: list[Row]) -> None:
    """The ten."""
    _head("path", "video", "beside", "slack's stalls (s)", "bbr3's", "cubic's")
    for row in rows:
        scene = row["scene"]
        path = f"{scene['rate']:g} Mbit/s, {scene['rtt']:g} ms, {scene['queue']:g} BDP, loss {scene['loss']:g} %"
        video = f"{scene['video']:g} Mbit/s, {scene['buffer']:g} s"
        _line(path, video, scene["cross"], row["slack"], row["bbr3"], row["cubic"])


# ---- tables ----


def _head(*names: str) -> None:
    print("| " + " | ".join(names) + " |\n" + "| -- " * len(names) + "|")


def _line(*cells: object) -> None:
    print("| " + " | ".join(_shown(cell) for cell in cells) + " |")


def _shown(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.3g}" if cell < 1000 else f"{cell:.0f}"


PARTS: dict[str, tuple[Callable[[], list[Row]], Callable[[list[Row]], None]]] = {
    "drawn": (measure_drawn, tell_drawn),
    "fairness": (measure_fairness, tell_fairness),
    "viewers": (measure_viewers, tell_viewers),
    "tight": (measure_tight, tell_tight),
    "claims": (measure_claims, tell_claims),
    "grid": (measure_grid, tell_grid),
    "ablation": (measure_ablation, tell_ablation),
    "worst": (measure_worst, tell_worst),
    "populations": (measure_populations, tell_populations),
}

if __name__ == "__main__":
    main()

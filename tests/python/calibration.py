"""Simulation-based calibration (Talts 2018): paths are drawn, a sender is played on them, and the path that was drawn is ranked among the
draws that `infer` gives for the log. Over many sessions the ranks are uniform if what `infer` says is as likely as it says.

    python tests/python/calibration.py play sessions.jsonl FIRST LAST [SENDER …]
    python tests/python/calibration.py rank sessions.jsonl ranks.jsonl
    python tests/python/calibration.py table ranks.jsonl

The first plays the sessions of these numbers that the file does not have yet, and the second ranks those that its file does not have, so
that both go on where they were interrupted; run by hand, as many as there is time for.
The paths come from the beliefs of `infer`: capacity and its changes (within 0.4 to 250 Mbit/s), queue, share of the paths that lose at
random, the server's time before the first byte, and what a log's times are off by. The engine plays them, not the model of the
inference, so that a fault of the model shows, too. The table says how many ranks lie in each fifth of 100, what that is off by (chi-squared
of 4 degrees of freedom: over 9.5 in a twentieth of cases if the ranks are uniform), and how many sessions a 90 % interval holds.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from known_truth import again_until

from playpath import run
from playpath.base import engine

SENDERS = ("cubic", "bbr", "bbr3", "newreno", "cubic/quic")
DRAWS = 99
FIFTHS = 5
SCENARIO = """[video]
source = "bigbuckbunny"
duration = "60 s"
[player]
kind = "dash"
abr = "dynamic"
ladder = "{rung:.3f} Mbit/s"
segment = "4 s"
[origin]
misses = "100 %"
miss_delay = "{think_ms} ms"
[[path]]
name = "link"
trace = "{trace}"
start = "0 s"
rtt = "{rtt_ms:.2f} ms"
loss = "{loss_percent:.4f} %"
queue = "{queue} packets"
[[sender]]
cc = "{cc}"
transport = "{transport}"
"""
THINKS_MS = (0.001, 1, 2, 3, 4.5, 7, 11, 17, 27, 42, 65)
"""The server's time before the first byte: `THINKS` of crates/infer/src/round_trips.rs."""
NOISES = ((3, 0.006), (5, 0.02), (12, 0.05), (40, 0.12))
"""What logged times are off by, in ms and as a share: `NOISES` of crates/infer/src/explain.rs."""
PAUSES = 0.03
RATES_MBPS = (0.4, 250.0)
"""Of what is believed 95 in 100 lie within; an engine that is played must come to an end."""
QUEUES = {15: 0.12, 45: 0.28, 130: 0.38, 400: 0.22}


def course(draw: random.Random, lasts_s: float = 400.0) -> list[tuple[float, float]]:
    """A capacity by the beliefs of `crates/infer/src/chain.rs`, within `RATES_MBPS`."""

    def anything() -> float:
        while not RATES_MBPS[0] < (rate := 10 * math.exp(1.5 * draw.gauss(0, 1))) < RATES_MBPS[1]:
            pass
        return rate

    def laplace(scale: float) -> float:
        return draw.choice((-1, 1)) * draw.expovariate(1 / scale)

    at, rate = 0.0, anything()
    found = [(at, rate)]
    kinds = {0.02: 0.15, 0.35: 0.05, math.inf: 0.002}
    while (at := at + draw.expovariate(sum(kinds.values()))) < lasts_s:
        [scale] = draw.choices(list(kinds), list(kinds.values()))
        rate = (
            anything() if scale == math.inf else min(RATES_MBPS[1], max(RATES_MBPS[0], rate * math.exp(laplace(scale))))
        )
        found.append((at, rate))
    return found


def session(sender: str, seed: int, folder: Path) -> dict[str, Any]:
    """A path, what its log says of it, and what was true of it."""
    draw = random.Random(f"{sender} {seed}")
    cc, _, transport = sender.partition("/")
    capacity = course(draw)
    loss = math.exp(draw.uniform(math.log(2e-4), math.log(0.05))) if draw.random() < 0.3 else 0.0
    [queue] = draw.choices(list(QUEUES), list(QUEUES.values()))
    while not 5 < (rtt_ms := 50 * math.exp(0.8 * draw.gauss(0, 1))) < 500:
        pass
    trace = folder / f"{cc}{transport}{seed}.csv"
    trace.write_text("time_s,rate_mbps\n" + "".join(f"{at:.4f},{rate:.5f}\n" for at, rate in capacity))
    rung, think_ms = draw.choice((0.6, 1.5, 3.0)), draw.choice(THINKS_MS)
    names = {
        "rung": rung,
        "think_ms": think_ms,
        "trace": trace,
        "rtt_ms": rtt_ms,
        "loss_percent": 100 * loss,
        "queue": queue,
        "cc": cc,
        "transport": transport or "tcp",
    }
    played = run(SCENARIO.format(**names), cc=cc, seed=seed, trace=True)
    counted = again_until(played.series, transport != "")
    asked: dict[int, dict[str, float]] = {}
    for event in played.events:
        if "request" in event:
            asked.setdefault(event["request"], {})[event["event"]] = event["time_s"]
            asked[event["request"]].setdefault("bytes", event.get("body_bytes", 0))
    # Half of the logs have first bytes; from the others the round trip is to be found.
    has_first_bytes = seed % 2 == 0
    lines = [one for one in asked.values() if {"request_sent", "segment_downloaded"} <= one.keys()]
    first = lines[0]["request_sent"]
    transfers = [
        {
            "at_s": one["request_sent"] - first,
            "took_s": one["segment_downloaded"] - one["request_sent"],
            "bytes": one["bytes"],
            "again": counted(one["segment_downloaded"]) - counted(one["request_sent"]),
            **({"first_byte_s": one["first_byte"] - one["request_sent"]} if has_first_bytes else {}),
        }
        for one in lines
    ]
    truth = {"capacity": capacity, "loss": loss, "rtt_s": rtt_ms / 1e3, "queue": queue, "think_s": think_ms / 1e3}
    off(transfers, draw)
    return {"transfers": transfers, "first_s": first, "has_first_bytes": has_first_bytes, **truth}


def off(transfers: list[dict[str, Any]], draw: random.Random) -> None:
    """What a log's clock and its host add: the noise that `infer` believes in, and now and then a pause of the application. A transfer that
    ends after the next was asked for puts off all that follow: cut at the next request, noise would only make transfers shorter."""
    absolute_ms, relative = draw.choice(NOISES)
    late = 0.0
    for one, following in itertools.pairwise([*transfers, {"at_s": math.inf}]):
        asked_for = one["at_s"]
        least = one.get("first_byte_s", 0.001)
        took = one["took_s"] + draw.gauss(0, math.hypot(absolute_ms / 1e3, relative * (one["took_s"] - least)))
        if draw.random() < PAUSES:
            took += draw.expovariate(1 / (0.1 + 0.3 * one["took_s"]))
        one["at_s"] += late
        one["took_s"] = max(took, least + 1e-4)
        late += max(0.0, one["took_s"] - (following["at_s"] - asked_for))


def mean_over(capacity: list[tuple[float, float]], begin: float, end: float) -> float:
    """Over time, from `begin` to `end`."""
    ends = [at for at, _ in capacity[1:]] + [math.inf]
    pieces = ((max(at, begin), min(until, end), rate) for (at, rate), until in zip(capacity, ends, strict=True))
    return sum(rate * (until - at) for at, until, rate in pieces if until > at) / (end - begin)


def ranks(one: dict[str, Any]) -> dict[str, Any]:
    """How many of the draws are below the truth; equals are shared out by chance."""
    transfers, seed = one["transfers"], one["session"]
    lasts = transfers[-1]["at_s"] + transfers[-1]["took_s"]
    packets = sum(transfer["bytes"] for transfer in transfers) / 1448
    repeated = sum(transfer["again"] for transfer in transfers)
    question = {
        "transfers": transfers,
        "senders": [one["sender"]],
        "initial_window": 10,
        "restarts_after_idle": True,
        "step_s": 5,
        "draws": DRAWS,
        "kept": DRAWS,
        "seed": seed,
        "retransmitted": repeated / (packets + repeated),
    }
    begin = time.process_time()
    draws = engine.infer(question)["draws"]
    took = time.process_time() - begin
    truth = {
        "capacity": mean_over(one["capacity"], one["first_s"], one["first_s"] + lasts),
        "rtt": one["rtt_s"],
        "loss": one["loss"],
    }
    found = {
        "capacity": [
            mean_over(list(zip(draw["from_s"], (bps / 1e6 for bps in draw["bps"]), strict=True)), 0, lasts)
            for draw in draws
        ],
        "rtt": [draw["rtt_s"] for draw in draws],
        "loss": [draw["loss"] for draw in draws],
    }
    chance = random.Random(seed)
    own = {
        name: sum(value < truth[name] for value in values)
        + chance.randint(0, sum(value == truth[name] for value in values))
        for name, values in found.items()
    }
    quarters = {name: sorted(values)[DRAWS // 10 :: DRAWS * 2 // 5] for name, values in found.items()}
    shown = {"retransmitted": question["retransmitted"], "queue": one["queue"], "first_bytes": one["has_first_bytes"]}
    return {"sender": one["sender"], "session": seed, **own, "truth": truth, "draws": quarters, **shown, "took_s": took}


def drawn(sender: str, seed: int) -> dict[str, Any]:
    """A session that is drawn and played."""
    with tempfile.TemporaryDirectory() as place:
        return {"sender": sender, "session": seed, **session(sender, seed, Path(place))}


def _added(file: Path, jobs: dict[tuple[str, int], Callable[[], Any]]) -> None:
    """Lines that a file does not have, as they are done."""
    known = {(one["sender"], one["session"]) for one in _read(file)}
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool, file.open("a") as out:
        for done in as_completed([pool.submit(job) for key, job in jobs.items() if key not in known]):
            print(json.dumps(done.result()), file=out, flush=True)


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(file: Path) -> None:
    """A row for each sender and quantity."""
    found = _read(file)
    for sender, name in itertools.product(SENDERS, ("capacity", "rtt", "loss")):
        own = [one[name] for one in found if one["sender"] == sender]
        if own:
            fifths = [sum(rank * FIFTHS // (DRAWS + 1) == part for rank in own) for part in range(FIFTHS)]
            held = sum(4 < rank < DRAWS - 4 for rank in own) / len(own)
            chi = sum((part - len(own) / FIFTHS) ** 2 / (len(own) / FIFTHS) for part in fifths)
            parts = ", ".join(map(str, fifths))
            print(f"| {sender}, {name} | {len(own)} | {parts} | {chi:.1f} | {100 * held:.0f} % |")


if __name__ == "__main__":
    what, file, *rest = sys.argv[1:]
    if what == "table":
        table(Path(file))
    elif what == "rank":
        shown = _read(Path(file))
        _added(Path(rest[0]), {(one["sender"], one["session"]): partial(ranks, one) for one in shown})
    else:
        numbers = itertools.product(range(int(rest[0]), int(rest[1]) + 1), rest[2:] or SENDERS)
        _added(Path(file), {(sender, number): partial(drawn, sender, number) for number, sender in numbers})

"""Scenarios drawn at random, and what must hold of every session, whatever is played.

One is repeated by its base seed and number, or by the TOML that a failure prints. `make soak` draws new ones for an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import playpath
from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.parallel import default_jobs, run_all

ROOT = Path(__file__).parents[2]
ROUND = 300
REPEATED = 10
"""One of so many is played twice."""

FPS = 25
TRACE = "scenarios/traces/lte-like.mahi"
PATTERN = "tests/python/data/lost-packets.txt"
PACKET_BITS = 40 * 8
"""Of the smallest packet: a queue in bytes holds no more of them."""
SLACK_PACKETS = 100
"""A queue takes two full packets, however small its limit; the rest rounds."""
LATEST_MS = 10
"""How much later a packet that others overtake comes."""
TIMER_MS = {"linux": 1, "rfc": 1, "ns2": 10}
"""Grain of a profile's round trips."""
CLOCK_S = 1e-6
"""What sums of rounded times may be off."""


LIMITS = {
    entry["name"]: next(parameter["default"] for parameter in entry["params"] if parameter["name"] == "limit")
    for entry in engine.registry("queue")
}


def names(kind: str) -> list[str]:
    return [entry["name"] for entry in engine.registry(kind)]


# --- drawing -------------------------------------------------------------------------------------------------------


def draw(base: int, number: int) -> str:
    """The scenario of this number, as TOML."""
    random = Random(f"{base}/{number}")
    paths = random.choice([1, 1, 1, 2, 3])
    tables = [f'name = "random-{base}-{number}"', _player(random)]
    tables += [_path(random, f"p{index}") for index in range(paths)]
    tables.append("[[sender]]\n" + _sender(random, paths))
    tables += [_traffic(random) for _ in range(random.choice([0, 0, 1, 1, 2]))]
    tables.append(f'[run]\nduration = "40 s"\nprofile = "{random.choice(["linux", "linux", "linux", "rfc", "ns2"])}"')
    return "\n".join(tables) + "\n"


def _player(random: Random) -> str:
    video = f'[video]\nduration = "{random.randint(5, 12)} s"\n'
    modelled = f'rate = "{random.randint(200, 3000)} kbit/s"\nfps = {FPS}\n'
    if random.random() < 0.1:
        return f'{video}{modelled}[player]\nkind = "agent"\nxfactor = {random.choice([1.1, 2, 8])}'
    if random.random() < 0.5:
        policy = random.choice(["catch-up", "rebuffer"])
        start = random.choice(["full", "first-frame"])
        ahead = random.choice(["none", "vlc", "chromium", "5 s"])
        buffer = random.choice(["200 ms", "1 s", "3 s", "100 kB"])
        return (
            f'{video}{modelled}[player]\nkind = "progressive"\nbuffer = "{buffer}"\n'
            f'policy = "{policy}"\nstart = "{start}"\nread_ahead = "{ahead}"'
        )
    rung, ladder = random.randint(150, 500), []
    for _ in range(random.randint(1, 6)):
        ladder.append(f"{rung} kbit/s")
        rung = int(rung * random.uniform(1.3, 2.2))
    return (
        f'{video}[player]\nkind = "dash"\nabr = "{random.choice(names("abr"))}"\n'
        f'ladder = "{", ".join(ladder)}"\nsegment = "{random.choice([500, 1000, 2000, 4000])} ms"'
    )


def _path(random: Random, name: str) -> str:
    lines = ["[[path]]", f'name = "{name}"', f'rtt = "{random.randint(2, 300)} ms"']
    if random.random() < 0.1:
        lines.append(f'trace = "{TRACE}"')
    else:
        lines.append(f'rate = "{random.randint(500, 12000)} kbit/s"')
    if random.random() < 0.2:
        lines.append(f'ecn = "{random.choice(("bleached", "ect1_to_ect0", "ect0_to_ect1"))}"')
    if random.random() < 0.4:
        lines.append(f'jitter = "{random.randint(1, 20)} ms"')
    if random.random() < 0.1:
        lines.append(f'reordering = {{ probability = "{random.randint(1, 5)} %", extra_delay = "{LATEST_MS} ms" }}')
    lines += [f"loss = {_loss(random)}", f"queue = {_queue(random)}"]
    if random.random() < 0.15:
        begin = random.uniform(0, 8)
        lines.append(f'outage = {{ from = "{begin:.3f} s", until = "{begin + random.uniform(0.1, 4):.3f} s" }}')
    if random.random() < 0.2:
        lines.append(f'up = {{ rate = "{random.randint(100, 2000)} kbit/s", loss = "{random.randint(0, 3)} %" }}')
    return "\n".join(lines)


def _loss(random: Random) -> str:
    kind = random.choice([*names("loss"), "none", "bernoulli"])
    parameters = {
        "bernoulli": f', loss = "{random.uniform(0, 4):.2f} %"',
        "bursts": f', every = "{random.randint(1, 10)} s", duration = "{random.randint(5, 300)} ms"',
        "gilbert_elliott": f', p = "{random.uniform(0.1, 2):.2f} %", r = "{random.randint(20, 80)} %"',
        "pattern": f', file = "{PATTERN}"',
    }
    return f'{{ kind = "{kind}"{parameters.get(kind, "")} }}'


def _queue(random: Random) -> str:
    kind = random.choice([*names("queue"), "droptail"])
    if kind == "droptail":
        limits = [
            f"{random.randint(2, 300)} packets",
            f"{random.randint(5, 800)} ms",
            f"{random.uniform(0.3, 4):.2f} bdp",
        ]
        return f'"{random.choice(limits)}"'
    marks = f", ecn = {random.choice(['true', 'false'])}" if kind != "dualpi2" else ""
    return f'{{ kind = "{kind}"{marks} }}'


def _sender(random: Random, paths: int) -> str:
    cc = random.choice(names("cc"))
    lines = [f'cc = "{cc}"']
    if paths > 1:
        lines.append(f'scheduler = "{random.choice(names("scheduler"))}"')
    tls = random.choice(["full", "resumed", "early_data"])
    if random.random() < 0.3:
        stack, client = (
            random.choice(["rfc", "quinn", "noq", "ngtcp2", "picoquic"]),
            random.choice(["rfc", "chromium", "quinn", "ngtcp2"]),
        )
        return "\n".join(
            [*lines, f'transport = {{ name = "quic", stack = "{stack}", client = "{client}", tls = "{tls}" }}']
        )
    if random.random() < 0.2:
        lines.append(f'tls = "{tls}"')
    if random.random() < 0.5:
        lines.append(f'validation = "{random.choice(names("validation"))}"')
    if random.random() < 0.5:
        pacing = random.choice(['"off"', '"linux"', '"controller"', f"{{ gain = {random.uniform(0.8, 3):.2f} }}"])
        if (cc, pacing) != ("prague", '"off"'):  # is refused
            lines.append(f"pacing = {pacing}")
    # Scalable senders switch ECN on by themselves, and `false` beside them is refused.
    if random.random() < 0.2:
        lines.append(f"ecn = {random.choice(['true', 'true', 'true', 'false'])}")
    if random.random() < 0.2:
        lines.append(f"initial_window = {random.randint(1, 40)}")
    if random.random() < 0.1:
        lines.append(f'receive_buffer = "{random.randint(30, 500)} kB"')
    return "\n".join(lines)


def _traffic(random: Random) -> str:
    kind = random.choice(names("traffic"))
    lines = [
        "[[traffic]]",
        f'kind = "{kind}"',
        f"count = {random.randint(1, 2)}",
        f'start = "{random.randint(0, 4)} s"',
    ]
    if kind in ("udp", "frames"):
        lines.append(f'rate = "{random.randint(50, 1500)} kbit/s"')
    if kind == "udp":
        lines.append(f'field = "{random.choice(("not_ect", "ect0", "ect1"))}"')
    else:
        lines.append(f'cc = "{random.choice(names("cc"))}"')
    return "\n".join(lines)


# --- what must hold ------------------------------------------------------------------------------------------------


def faults(record: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """What does not hold of a session; empty if all does."""
    return [
        *_not_finite(record["metrics"], "metrics"),
        *_not_finite(record["flows"], "flows"),
        *_not_finite(record["links"], "links"),
        *_not_finite(record["sessions"], "sessions"),
        *(fault for flow in record["flows"] for fault in _of_flow(flow, scenario)),
        *_of_totals(record),
        *(fault for link in record["links"] for fault in _of_link(link, scenario)),
        *_of_connections(record, scenario),
        *(fault for session in record["sessions"] for fault in _of_session(session, record, scenario)),
    ]


def _not_finite(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _not_finite(inner, f"{where}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value}"


def _of_flow(flow: dict[str, Any], scenario: dict[str, Any]) -> Iterator[str]:
    shortest = (
        min(_ms(path["rtt"]) - 2 * _ms(path.get("jitter", "0 ms")) for path in scenario["path"])
        - TIMER_MS[scenario["run"]["profile"]]
    )
    for part in (flow, *flow["subflows"]):
        where = f"flow {flow['name']} {part.get('path', '')}".strip()
        least, mean = part["min_rtt_ms"], part["mean_rtt_ms"]
        if least is not None and mean is not None and least > mean * (1 + 1e-9):
            yield f"{where}: least RTT {least} above the mean {mean}"
        if least is not None and least < shortest:
            yield f"{where}: least RTT {least} ms, the shortest path takes {shortest} ms"
        if part["retransmitted_packets"] > part["sent_packets"]:
            yield f"{where}: {part['retransmitted_packets']} retransmitted of {part['sent_packets']} sent"
    rate = _capacity(scenario)
    for name in ("goodput_mbps", "throughput_mbps"):
        if None not in (rate, flow[name]) and flow[name] > 1.01 * rate:
            yield f"flow {flow['name']}: {name} {flow[name]} over links of {rate} Mbit/s"
    if None not in (flow["goodput_mbps"], flow["throughput_mbps"]) and flow["goodput_mbps"] > flow["throughput_mbps"]:
        yield f"flow {flow['name']}: goodput {flow['goodput_mbps']} above throughput {flow['throughput_mbps']}"


def _capacity(scenario: dict[str, Any]) -> float | None:
    """Mbit/s of all paths; none with a trace, whose rate changes."""
    if any("trace" in path for path in scenario["path"]):
        return None
    return sum(_bits_per_s(path["rate"]) for path in scenario["path"]) / 1e6


def _bits_per_s(rate: str) -> float:
    return 1000 * float(rate.removesuffix(" kbit/s"))


def _of_totals(record: dict[str, Any]) -> Iterator[str]:
    """The servers' packets are what the links to the client are handed."""
    sent = sum(flow["sent_packets"] for flow in record["flows"])
    offered = sum(link["offered_packets"] for link in record["links"] if link["name"].endswith("/down"))
    if sent > offered:
        yield f"{sent} packets are sent, {offered} reach a link"


def _of_connections(record: dict[str, Any], scenario: dict[str, Any]) -> Iterator[str]:
    """Where no path has an outage nothing lasts until a connection is given up, and nobody breaks a rule.

    Traffic that does not yield is an outage, too, where it fills a path by itself: CoDel marks what can be marked of it, drops
    every packet that cannot, and 30 s without an arrival end a QUIC connection (RFC 9000 §10.1).
    """
    if not any("outage" in path or _is_flooded(path, scenario) for path in scenario["path"]):
        yield from (warning for warning in record["warnings"] if "broke while in use" in warning)


def _is_flooded(path: dict[str, Any], scenario: dict[str, Any]) -> bool:
    flood = sum(one["count"] * _bits_per_s(one["rate"]) for one in scenario.get("traffic", []) if one["kind"] == "udp")
    return "rate" in path and flood >= _bits_per_s(path["rate"])


def _of_link(link: dict[str, Any], scenario: dict[str, Any]) -> Iterator[str]:
    left = link["offered_packets"] - link["delivered_packets"] - sum(link["dropped_packets"].values())
    most = _most_left(link["name"], scenario)
    if left < 0 or (most is not None and left > most):
        yield f"link {link['name']}: {left} packets are neither delivered nor dropped, at most {most} can be on it"
    if link["utilisation"] is not None and not 0 <= link["utilisation"] <= 1 + 1e-9:
        yield f"link {link['name']}: utilisation {link['utilisation']}"


def _most_left(name: str, scenario: dict[str, Any]) -> float | None:
    path = next(path for path in scenario["path"] if name.startswith(f"path.{path['name']}/"))
    rate = path.get("up", {}).get("rate", path.get("rate")) if name.endswith("/up") else path.get("rate")
    if rate is None:
        return None
    bits_per_s, rtt_s = _bits_per_s(rate), _ms(path["rtt"]) / 1000
    on_the_wire = (rtt_s / 2 + (_ms(path.get("jitter", "0 ms")) + LATEST_MS) / 1000) * bits_per_s
    limit = "1000 packets" if name.endswith("/up") else path["queue"]
    if isinstance(limit, dict):
        limit = LIMITS[limit["kind"]]
    size, unit = float(limit.split()[0]), limit.split()[1]
    waiting = size if unit == "packets" else size * bits_per_s * (rtt_s if unit == "bdp" else 0.001) / PACKET_BITS
    return waiting + SLACK_PACKETS + on_the_wire / PACKET_BITS


def _ms(time: str) -> float:
    return float(time.removesuffix(" ms"))


def _of_session(session: dict[str, Any], record: dict[str, Any], scenario: dict[str, Any]) -> Iterator[str]:
    figures = session["metrics"]
    for name in ("p1203_o35", "p1203_algorithmic_mos"):
        if figures.get(name) is not None and not 1 <= figures[name] <= 5:
            yield f"session {session['name']}: {name} {figures[name]}"
    if figures["played_s"] is None or figures["stall_time_s"] is None:
        return  # the agent shows nothing
    film = float(scenario["video"]["duration"].removesuffix(" s"))
    if figures["played_s"] > film + 1 / FPS:
        yield f"session {session['name']}: played {figures['played_s']} s of {film} s"
    if (figures["stall_time_s"] > 0) != (figures["stall_count"] > 0):
        yield f"session {session['name']}: {figures['stall_count']} stalls of {figures['stall_time_s']} s"
    if session["name"] == "video":
        yield from _of_clock(figures, record["events"], scenario)


def _of_clock(figures: dict[str, float], events: list[dict[str, Any]], scenario: dict[str, Any]) -> Iterator[str]:
    """Every second from pressing play to the end is start-up, film or standstill."""
    end = events[-1]
    if end["event"] != "finished":
        yield f"the last event is {end['event']}, not finished"
        return
    if end["reason"] != "played":
        return  # cut by the end of the run, halfway through whatever it did
    shown = end["media_played_s"] + end["media_discarded_s"]
    spent = end["startup_s"] + shown + end["clock_stopped_s"]
    if abs(spent - end["time_s"]) > CLOCK_S:
        yield f"start-up, film and standstill take {spent} s, the clock says {end['time_s']} s"
    film = float(scenario["video"]["duration"].removesuffix(" s"))
    if scenario["player"]["kind"] == "progressive" and abs(shown - film) > CLOCK_S:
        yield f"{shown} s were shown or discarded of {film} s"
    # Under catch-up a picture of a stall that is shown late, within `late_threshold`, counts as stalled for as long as it is late
    # and as played for its whole time, though the next one comes when that is due: the three may add up to more.
    spent = figures["startup_delay_s"] + figures["stall_time_s"] + figures["played_s"]
    over = spent - end["time_s"]
    shows_late = scenario["player"].get("policy") == "catch-up" and scenario["player"].get("late_threshold") != "0 ms"
    if over < -CLOCK_S or (over > CLOCK_S and not shows_late):
        yield f"startup_delay_s, stall_time_s and played_s are {spent} s, the clock says {end['time_s']} s"


# --- playing -------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What a round brought."""

    played: int = 0
    refused: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    interrupted: bool = False


def judge(base: int, number: int) -> tuple[str, str]:
    """Plays one scenario: how it ended (played, refused, broken) and what is to be told."""
    text = draw(base, number)
    try:
        scenario = playpath.Scenario.from_toml(text, folder=ROOT)
    except InputError as error:
        lines = str(error).splitlines()
        return ("refused", lines[0]) if len(lines) == 1 else ("broken", described(base, number, text, lines))
    try:
        session = playpath.run(scenario)
        found = faults(json.loads(session.to_json()), tomllib.loads(text))
        if number % REPEATED == 0 and playpath.run(scenario).digest != session.digest:
            found.append("played twice, the digests differ")
    except BaseException as error:  # a panic of the engine is no Exception, and its seed is wanted, too
        found = [f"{type(error).__name__}: {error}"]
    return ("broken", described(base, number, text, found)) if found else ("played", "")


def described(base: int, number: int, text: str, found: list[str]) -> str:
    return "\n".join([f"base seed {base}, scenario {number}:", *(f"  {fault}" for fault in found), text])


def play_round(base: int, jobs: int | None = None) -> Tally:
    """Plays `ROUND` scenarios of this base seed."""
    outcome = run_all(lambda number: judge(base, number), range(ROUND), jobs or default_jobs())
    tally = Tally(interrupted=outcome.interrupted)
    for ending in outcome.results:
        if ending is None:
            continue  # Ctrl-C came first
        how, what = ending
        if how == "played":
            tally.played += 1
        else:
            (tally.refused if how == "refused" else tally.broken).append(what)
    return tally


def main() -> None:
    """Plays rounds with new seeds until the time is over, or something is broken."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--base", type=int, default=time.time_ns() // 1_000_000_000, help="of the first round")
    asked = parser.parse_args()
    end, base, total, broken = time.monotonic() + asked.seconds, asked.base, 0, 0
    while time.monotonic() < end:
        tally = play_round(base)
        total, broken = total + tally.played, broken + len(tally.broken)
        print(f"base seed {base}: {tally.played} hold, {len(tally.refused)} refused, {len(tally.broken)} broken")
        print("\n".join(tally.broken), end="", flush=True)
        if tally.interrupted:
            break
        base += 1
    print(f"{total} scenarios hold, {broken} do not")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()

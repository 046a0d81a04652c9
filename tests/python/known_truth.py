"""Known truth: viewers on paths that are known are played, their beacons are written as a log, and what the log answers is held
against what the paths themselves answer. Run by hand; it prints a table:

    python tests/python/known_truth.py [users] [KIND …]
    python tests/python/known_truth.py losses
    python tests/python/known_truth.py replays FIRST LAST [USERS]
    python tests/python/known_truth.py kernel FOLDER SENDER USERS KIND

The last is over real packets: viewers in network namespaces, nginx and Linux's own control (as root).
"""

from __future__ import annotations

import bisect
import csv
import itertools
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from playpath import population, run
from playpath.population.inference import Assumptions, infer
from playpath.population.logs import read_logs
from playpath.population.replay import judge

SCENARIO = """name = "truth"
[video]
source = "bigbuckbunny"
duration = "90 s"
[player]
kind = "dash"
abr = "dynamic"
ladder = "4 Mbit/s"
segment = "4 s"
[[path]]
name = "link"
{link}
rtt = "60 ms"
queue = "100 packets"
{traffic}
"""
CONSTANT, TRACE = 'rate = "10 Mbit/s"', 'trace = "{}"\nstart = "0 s"'
SENDERS = "".join(f'[[sender]]\ncc = "{cc}"\n' for cc in ("cubic", "bbr"))
NEIGHBOUR = '[[traffic]]\nkind = "bulk"\ncc = "cubic"\n'
LATER = '[[traffic]]\nkind = "bulk"\ncc = "cubic"\nstart = "100000 s"\n'
HEAD = "session,start_time,bytes,duration_ms,first_byte_ms,min_rtt_ms"

Rate = Callable[[random.Random], tuple[float, float]]
KINDS: dict[str, tuple[Rate, str]] = {
    "20 Mbit/s, 0.15 to 0.5 % loss": (lambda draw: (20.0, draw.uniform(0.15, 0.5)), ""),
    "100 Mbit/s, 2 % loss": (lambda _: (100.0, 2.0), ""),
    "DSL shared with a bulk flow": (lambda draw: (draw.uniform(8, 16), 0.0), NEIGHBOUR),
    "mobile, 2 to 20 Mbit/s": (lambda draw: (-draw.uniform(4, 10), 0.0), ""),
    "DSL alone, 3 to 8 Mbit/s": (lambda draw: (draw.uniform(3, 8), 0.0), ""),
}


def scenario(link: str, traffic: str, users: Path, sessions: int = 1, first_seed: int = 1) -> str:
    return (
        f"{SCENARIO.format(link=link, traffic=traffic)}{SENDERS}[run]\nfirst_seed = {first_seed}\n"
        f'[population]\nusers = "{users.name}"\nsessions = {sessions}\n'
    )


def walk(draw: random.Random, mean: float) -> str:
    """A mobile link: another rate every second, 2 to 20 Mbit/s."""
    rate, rows = mean, ["time_s,rate_mbps"]
    for second in range(300):
        rate = min(20.0, max(2.0, rate * draw.lognormvariate(0, 0.25)))
        rows.append(f"{second},{rate:.3f}")
    return "\n".join(rows) + "\n"


def viewers(folder: Path, kind: str, count: int, seed: str = "") -> tuple[str, str]:
    """The users' table of a kind of path, and what the scenario's link is."""
    draw, (rate_of, _) = random.Random(kind + seed), KINDS[kind]
    rows, first = [], ""
    for user in range(count):
        rate, loss = rate_of(draw)
        rtt = draw.uniform(30, 90)
        link = f"{rate:.3f}"
        if rate < 0:
            link = first = f"mobile{user}.csv"
            (folder / link).write_text(walk(draw, -rate))
        rows.append(f"u{user},{link},{rtt:.1f},{loss:.3f}")
    column = "trace" if first else "rate_mbps"
    (folder / "users.csv").write_text("\n".join([f"name,{column},rtt_ms,loss_percent", *rows]) + "\n")
    return (TRACE.format(first) if first else CONSTANT), KINDS[kind][1]


def retransmissions(series: Mapping[str, Mapping[str, Sequence[float]]]) -> list[float]:
    """Moments at which something was sent that had been sent before, over all of the viewer's connections: a player that gives up a
    transfer may open another one (`packets.video.2`).
    """
    moments = []
    for packets in (own for name, own in series.items() if name.startswith("packets.video")):
        highest = -1.0
        for moment, offset in zip(packets["time_s"], packets["offset"], strict=True):
            if offset <= highest:
                moments.append(float(moment))
            highest = max(highest, offset)
    return sorted(moments)


def again_until(series: Mapping[str, Mapping[str, Sequence[float]]], is_counted: bool) -> Callable[[float], int]:
    """How many packets were sent again until a moment, over all of the viewer's connections: from the trace of packets, or by the
    connections' own counters (`total_retrans` of TCP_INFO).
    """
    if not is_counted:
        moments = retransmissions(series)
        return lambda at: bisect.bisect(moments, at)
    flows = [flow for name, flow in series.items() if name.startswith("flow.video")]
    counters = [(list(flow["time_s"]), [0, *map(int, flow["total_retrans"])]) for flow in flows]
    return lambda at: sum(totals[bisect.bisect(times, at)] for times, totals in counters)


def beacons(folder: Path, text: str, has_retransmissions: bool, cc: str = "cubic", world: str = "sim") -> Path:
    """What the viewers' players and the server's TCP_INFO log under a sender."""
    lines = [HEAD + (",bytes_retrans" if has_retransmissions else "")]
    (folder / "today.toml").write_text(text)
    from playpath.population.spec import load_population
    from playpath.sweep.design import at_point

    own = load_population(folder / "today.toml")
    for number in range(own.paths):
        path = own.path(number)
        seed = own.base.seeds[0] + 6 + number
        session = run(at_point(own.base, dict(path.settings)), cc=cc, seed=seed, trace=True, world=world)
        flow = next(flow for flow in session.flows if flow["name"] == "video")
        again = again_until(session.series, world != "sim")
        asked: dict[int, float] = {}
        first: dict[int, float] = {}
        for event in session.events:
            if event["event"] == "request_sent":
                asked[event["request"]] = event["time_s"]
            elif event["event"] == "first_byte":
                first[event["request"]] = event["time_s"]
            elif event["event"] == "segment_downloaded":
                begin, size = asked[event["request"]], event["body_bytes"]
                took, byte = (1e3 * (t - begin) for t in (event["time_s"], first[event["request"]]))
                line = f"{path.name},{1.7e9 + begin:.4f},{size},{took:.2f},{byte:.2f},{flow['min_rtt_ms']:.2f}"
                count = again(event["time_s"]) - again(begin)
                lines.append(line + (f",{1448 * count}" if has_retransmissions else ""))
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    return folder / "log.csv"


def answer(folder: Path, text: str) -> dict:
    (folder / "answer.toml").write_text(text)
    found = population(folder / "answer.toml", cc=["cubic", "bbr"], store=folder / "store")
    versus = found.versus("bbr", "cubic")
    stalls = found.difference("bbr", "cubic", "stall_time_s")
    assert stalls is not None
    relation = "open" if found.left_open else versus.relation
    return {
        "relation": relation,
        "net": versus.net,
        "stalls": stalls.value,
        "stalls_interval": (stalls.low, stalls.high),
    }


def outcome(found: dict, truth: dict) -> str:
    net, right = found["net"], truth["relation"]
    word = "undecided" if found["relation"] in ("open", "alike") else "right" if found["relation"] == right else "wrong"
    word = "right" if found["relation"] == right else word
    holds = "holds" if net.low <= truth["net"].value <= net.high else "misses"
    return f"{word}: {100 * net.value:+.0f} ({100 * net.low:+.0f} to {100 * net.high:+.0f}), {holds}; stalls {found['stalls']:+.1f} s"


def on_paths(out: Path) -> dict:
    """What inferred paths answer."""
    with (out / "users.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    traffic = LATER if "traffic.0.start" in first else ""
    return answer(out, scenario(TRACE.format(first["trace"]), traffic, out / "users.csv"))


def inferred(folder: Path, log: Path, deployed: str, truth: dict, name: str) -> str:
    """What the log says once its paths are inferred."""
    out = folder / name
    infer([log], out, Assumptions((deployed,)))
    with (out / "users.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (out / "sessions.csv").open(newline="") as file:
        sessions = list(csv.DictReader(file))
    noisy, shared = (sum(float(row[f"{what}_probability"]) for row in sessions) for what in ("loss", "neighbour"))
    found = on_paths(out)
    word = "" if judge(out).is_reproduced else "no verdict (not given back); "
    mean = sum(float(row["loss_percent"]) for row in rows) / len(rows)
    shares = f"loss {mean:.2f} %, {noisy:.1f} of {len(rows)} lossy, {shared:.1f} shared"
    return f"{word}{outcome(found, truth)}; {shares}"


def cell(kind: str, users: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        link, traffic = viewers(folder, kind, users)
        text = scenario(link, traffic, folder / "users.csv")
        truth = answer(folder, text)
        print(f"{kind}\n  truth: {truth['relation']}, {100 * truth['net'].value:+.0f}, stalls {truth['stalls']:+.1f} s")
        for deployed, has in (("cubic", True), ("bbr", True), ("cubic", False)):
            log = beacons(folder, text, has, deployed)
            name = f"{deployed}, {'with' if has else 'without'} retransmissions"
            print(f"  infer, {name}: {inferred(folder, log, deployed, truth, name)}", flush=True)
            if has:
                imported = folder / f"import {deployed}"
                imported.mkdir()
                (imported / "users.csv").write_text(read_logs([log]).to_csv())
                found = answer(imported, scenario(CONSTANT, "", imported / "users.csv"))
                print(f"  import, {deployed}: {outcome(found, truth)}", flush=True)


def losses() -> None:
    """How loss and capacity are found on paths that lose at random: rows of a table."""
    for rate, loss in itertools.product((20, 100), (0.3, 1, 2)):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            users = "".join(f"u{rtt},{rate},{rtt},{loss}\n" for rtt in (40, 60, 80))
            (folder / "users.csv").write_text("name,rate_mbps,rtt_ms,loss_percent\n" + users)
            log = beacons(folder, scenario(CONSTANT, "", folder / "users.csv"), True)
            infer([log], folder / "paths", Assumptions(("cubic",)))
            with (folder / "paths" / "sessions.csv").open(newline="") as file:
                found = list(csv.DictReader(file))
            share = ", ".join(f"{float(row['loss_percent_mean']):.2f}" for row in found)
            capacity = ", ".join(f"{float(row['rate_mbps']):.0f}" for row in found)
            word = "given back" if judge(folder / "paths").is_reproduced else "refused"
            print(f"| {rate} Mbit/s, {loss} % loss | {share} % | {capacity} | {word} |", flush=True)


def replays(first: int, last: int, users: int = 6) -> None:
    """Whether a log is given back under the sender that was deployed, and refused under another, and what is answered under either name
    ("BBR against CUBIC"): a row for each cell.
    """
    for number in range(first, last + 1):
        draw = random.Random(number)
        kind, deployed = draw.choice(list(KINDS)), draw.choice(("cubic", "bbr", "bbr3", "newreno"))
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            link, traffic = viewers(folder, kind, users, str(number))
            log = beacons(folder, scenario(link, traffic, folder / "users.csv"), draw.random() < 0.7, deployed)
            words = []
            for named in (deployed, "bbr" if deployed in ("cubic", "newreno") else "cubic"):
                infer([log], folder / named, Assumptions((named,)))
                found = judge(folder / named)
                word = "given back" if found.is_reproduced else "refused"
                paths = "other" if found.has_other_paths else "the same"
                words.append(
                    f"{named}: {word} ({found.failed} of {users} off, {found.likelier or 'none'} likelier, {paths} paths, "
                    f"answer {on_paths(folder / named)['relation']})"
                )
        print(f"| {kind} | {deployed} | {' | '.join(words)} |", flush=True)


def kernel(place: str, deployed: str, users: int, kind: str) -> None:
    """A row of the table of real Linux: how often the 90 % intervals hold what the paths have, and what the answer is."""
    folder = Path(place)
    folder.mkdir(parents=True)
    link, traffic = viewers(folder, kind, users, f"kernel {deployed}")
    text = scenario(link, traffic, folder / "users.csv")
    log = beacons(folder, text, True, deployed, "kernel")
    infer([log], folder / "paths", Assumptions((deployed,)), keep_names=True)
    with (folder / "users.csv").open(newline="") as file:
        true = {row["name"]: row for row in csv.DictReader(file)}
    with (folder / "paths" / "sessions.csv").open(newline="") as file:
        sessions = {row["session"]: row for row in csv.DictReader(file)}
    with (folder / "paths" / "capacity.csv").open(newline="") as file:
        steps = list(csv.DictReader(file))
    held = {"capacity": 0, "rtt": 0, "loss": 0}
    for name, session in sessions.items():
        rate, rtt, loss = (float(true[name][column]) for column in ("rate_mbps", "rtt_ms", "loss_percent"))
        own = [step for step in steps if step["session"] == name]
        inside = [float(step["rate_mbps_p05"]) <= rate <= float(step["rate_mbps_p95"]) for step in own]
        held["capacity"] += sum(inside) > len(inside) / 2
        held["rtt"] += abs(float(session["rtt_ms_p50"]) - rtt) <= 0.05 * rtt
        mean = float(session["loss_percent_mean"])
        held["loss"] += abs(mean - loss) <= max(0.05, 0.5 * loss)
        print(
            f"  {name}: {rate:.1f} Mbit/s, read {session['rate_mbps']}; loss {loss:.2f} %, read {mean:.2f}", flush=True
        )
    truth = answer(folder, scenario(link, traffic, folder / "users.csv", 8, 1_000_000))
    said = inferred(folder, log, deployed, truth, "again")
    print(
        f"| {kind} | {deployed} | {held} of {len(sessions)} | {truth['relation']}, {truth['stalls']:+.1f} s | {said} |",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["kernel"]:
        kernel(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
        sys.exit()
    if sys.argv[1:2] == ["replays"]:
        replays(*map(int, sys.argv[2:]))
        sys.exit()
    if sys.argv[1:] == ["losses"]:
        losses()
        sys.exit()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for kind in sys.argv[2:] or KINDS:
        cell(kind, count)

"""Many cells of known truth: viewers on drawn paths are played, what they log under each of two senders is inferred and asked
"what if we switched", and the answer is held against what their true paths say. Run by hand, as many cells as there is time for:

    python tests/python/truth_cells.py play cells.jsonl FIRST LAST USERS
    python tests/python/truth_cells.py table cells.jsonl

A cell is a kind of path (`known_truth.py`), paths drawn anew for it, and one rung or a ladder. A line is a cell; those that the file has
are not played again. Shares in the table have 95 % intervals (Wilson).
"""

from __future__ import annotations

import csv
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from known_truth import CONSTANT, KINDS, LATER, TRACE, answer, beacons, scenario, viewers

from playpath.population.inference import Assumptions, infer
from playpath.population.logs import read_logs
from playpath.population.replay import judge

LADDERS = ("4 Mbit/s", "750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s")
DEPLOYED = ("cubic", "bbr", "newreno")
TRUTH = 8
"""Sessions of each viewer that the truth is the mean of: what a change of sender does to a viewer is not one session's luck."""
SEEDS = 1_000_000
"""From a cell to the next, so that no two share the luck of their packets."""
NOTICED = 0.05
"""A net benefit that is nobody's reason to change a sender (`ALIKE` of playpath.population.versus)."""

Said = dict[str, Any]


def said(found: dict[str, Any], is_reproduced: bool = True) -> Said:
    """What an answer says, as JSON."""
    net, stalls = found["net"], found["stalls_interval"]
    relation = found["relation"] if is_reproduced else "refused"
    return {"relation": relation, "net": [net.value, net.low, net.high], "stalls": [found["stalls"], *stalls]}


def inferred(folder: Path, log: Path, deployed: str, ladder: str) -> Said:
    out = folder / f"infer {deployed}"
    infer([log], out, Assumptions((deployed,)))
    with (out / "users.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    traffic = LATER if "traffic.0.start" in rows[0] else ""
    text = scenario(TRACE.format(rows[0]["trace"]), traffic, out / "users.csv")
    return said(answer(out, text.replace(LADDERS[0], ladder)), judge(out).is_reproduced)


def imported(folder: Path, log: Path, deployed: str, ladder: str) -> Said:
    out = folder / f"import {deployed}"
    out.mkdir()
    (out / "users.csv").write_text(read_logs([log]).to_csv())
    return said(answer(out, scenario(CONSTANT, "", out / "users.csv").replace(LADDERS[0], ladder)))


def cell(number: int, users: int) -> Said:
    draw = random.Random(number)
    kind, ladder = draw.choice(list(KINDS)), draw.choice(LADDERS)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        link, traffic = viewers(folder, kind, users, str(number))
        users_csv, seed = folder / "users.csv", SEEDS * (number + 1)
        text = scenario(link, traffic, users_csv, 1, seed).replace(LADDERS[0], ladder)
        truth = scenario(link, traffic, users_csv, TRUTH, seed).replace(LADDERS[0], ladder)
        shown: Said = {
            "cell": number,
            "kind": kind,
            "ladder": ladder,
            "users": users,
            "truth": said(answer(folder, truth)),
        }
        for deployed in DEPLOYED:
            log = beacons(folder, text, True, deployed)
            shown[f"infer {deployed}"] = inferred(folder, log, deployed, ladder)
            shown[f"import {deployed}"] = imported(folder, log, deployed, ladder)
    return shown


def share(count: int, total: int) -> str:
    """Of a total, with its 95 % interval (Wilson, "Probable inference, the law of succession, and statistical inference", 1927)."""
    if not total:
        return "0 of 0"
    p, z = count / total, 1.96**2 / total
    middle, half = (p + z / 2) / (1 + z), math.sqrt(z * (p * (1 - p) + z / 4)) / (1 + z)
    low, high = (round(100 * max(0.0, middle + side * half)) for side in (-1, 1))
    return f"{count} of {total} ({low} to {high} %)"


def table(cells: Sequence[Said]) -> None:
    """The figures of issue 36, 5 (b)."""
    sides = {"better": 1, "worse": -1}
    for way in ("infer", "import"):
        lines = [(one["truth"], one[f"{way} {deployed}"]) for one in cells for deployed in DEPLOYED]
        verdicts = [
            (sides.get(truth["relation"], 0), sides.get(own["relation"], 0), truth, own) for truth, own in lines
        ]
        wrong = sum(own * (true or (1 if truth["net"][0] > 0 else -1)) < 0 for true, own, truth, _ in verdicts)
        large = [(true, own) for true, own, truth, _ in verdicts if true and abs(truth["net"][0]) > 2 * NOTICED]
        decided = sum(own == true for true, own in large)
        holds = sum(own["stalls"][1] <= truth["stalls"][0] <= own["stalls"][2] for truth, own in lines)
        widths = [[one["stalls"][2] - one["stalls"][1] for one in pair] for pair in lines]
        wider = statistics.median(own / true for true, own in widths if true > 0)
        opposite = sum(
            {-1, 1} <= {sides.get(one[f"{way} {deployed}"]["relation"], 0) for deployed in DEPLOYED} for one in cells
        )
        refused = sum(own["relation"] == "refused" for _, own in lines)
        print(
            f"| {way} | {share(wrong, len(lines))} | {share(decided, len(large))} | {share(holds, len(lines))} | {wider:.1f} "
            f"| {share(opposite, len(cells))} | {share(refused, len(lines))} |"
        )


if __name__ == "__main__":
    file = Path(sys.argv[2])
    known = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    if sys.argv[1] == "table":
        table(known)
    else:
        first, last, users = map(int, sys.argv[3:])
        with file.open("a") as out:
            for number in sorted({*range(first, last + 1)} - {one["cell"] for one in known}):
                print(json.dumps(cell(number, users)), file=out, flush=True)

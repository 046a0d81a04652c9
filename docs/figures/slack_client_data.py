"""What client data (CMCD) do for adaptive viewers over Slack: sixty cases with true, no and false data. Prints a table.

Usage: python docs/figures/slack_client_data.py STORE [SEEDS]    (needs playpath installed; a second of a core for each case and seed)

STORE is a file, a line for each session. What is in it is not played again, so a run that was stopped goes on, and more seeds
cost only themselves.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from scipy.stats import t as student

import playpath

Row = dict[str, Any]
FILM = """
[video]
source = "bigbuckbunny"
duration = "120 s"
[player]
kind = "dash"
abr = "dynamic"
ladder = "300 kbit/s, 750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s, 8 Mbit/s"
segment = "4 s"
"""
SCENE = (
    f'name = "client-data"{FILM}'
    + """full_level = "{full} s"
{client_data}
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "0.3 ms"
queue = "1 bdp"
"""
)
RIVAL = '[[traffic]]\nname = "other"\nkind = "{kind}"\ncc = "{cc}"\nstart_spread = "1 s"\ncount = {count}\n'
RIVALS = {
    "none": "",
    "cubic": RIVAL.format(kind="bulk", cc="cubic", count=1),
    "newreno": RIVAL.format(kind="bulk", cc="newreno", count=1),
    "bbr3": RIVAL.format(kind="bulk", cc="bbr3", count=1),
    "web": RIVAL.format(kind="web", cc="cubic", count=2),
}
CLIENT_DATA = {
    "truth": 'cmcd = "v2"',
    "silent": 'cmcd = "off"',
    "empty": 'cmcd = "v2"\ncmcd_claim = "empty"',
}
"""What the client's data say of its buffer: the truth, nothing, or that it is always empty."""
WORSE = -0.05
"""Points of MOS that nobody would notice."""
LEAST = 0.95
"""Of the rate without client data, what is shown with true data at least."""
METRICS = ("p1203_o35", "mean_rate_kbps", "stall_time_s", "startup_delay_s", "retransmitted_packets")


class Case(NamedTuple):
    """A path, its rival, and how much the player holds."""

    rate: float
    rtt: float
    rival: str
    full: int


CASES = [Case(*each) for each in itertools.product((5, 10, 25), (20, 60), RIVALS, (12, 60))]


def main() -> None:
    """Play what is missing, then print."""
    store = Path(sys.argv[1])
    seeds = range(1, 1 + int(sys.argv[2]) if len(sys.argv) > 2 else 11)
    rows = play(store, seeds)
    print_table({(Case(*row["case"]), row["client_data"], row["seed"]): row for row in rows}, seeds)


def play(store: Path, seeds: range) -> list[Row]:
    """All sessions of the store, those of the seeds added; two processes play, all cases of a seed before the next seed."""
    store.touch()
    rows: list[Row] = [json.loads(line) for line in store.read_text().splitlines()]
    done = {(Case(*row["case"]), row["client_data"], row["seed"]) for row in rows}
    missing = [
        task for seed in seeds for case in CASES for data in CLIENT_DATA if (task := (case, data, seed)) not in done
    ]
    with ProcessPoolExecutor(2) as pool, store.open("a") as file:
        for row in pool.map(_row, missing, chunksize=4):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    return rows


def _row(task: tuple[Case, str, int]) -> Row:
    case, data, seed = task
    return {"case": case, "client_data": data, "seed": seed} | session(*task)


def session(case: Case, data: str, seed: int, cc: str | Row = "slack") -> Row:
    """One session's figures."""
    text = SCENE.format(client_data=CLIENT_DATA[data], **case._asdict()) + RIVALS[case.rival]
    metrics = playpath.run(text, cc=[cc], seed=seed).metrics
    return {name: metrics[name] for name in METRICS} | {"other_mbps": metrics.get("neighbours_goodput_mbps")}


def interval(values: list[float]) -> tuple[float, float, float]:
    """Mean, and the 95 % interval of Student's t over the seeds."""
    mean = fmean(values)
    half = student.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return mean, mean - half, mean + half


def print_table(by: dict[tuple[Case, str, int], Row], seeds: range) -> None:
    """A row for each rival, and what the goals ask."""
    print(
        "| rival | MOS: true data, none, false | rate (kbit/s) | stalls (s) | retransmitted | rival's rate (Mbit/s) |"
    )
    print("| -- | -- | -- | -- | -- | -- |")
    for rival in (*RIVALS, "all"):
        cells = []
        for metric, shown in zip(
            (*METRICS[:3], METRICS[4], "other_mbps"), (".2f", ".0f", ".2f", ".0f", ".2f"), strict=True
        ):
            means = [_mean(by, rival, data, metric) for data in CLIENT_DATA]
            cells.append(", ".join("" if mean is None else format(mean, shown) for mean in means))
        print(f"| {rival} | " + " | ".join(cells) + " |")
    for data, other, what in (("truth", "silent", "true data"), ("empty", "silent", "false data")):
        differences = {case: list(_differences(by, case, data, other, seeds)) for case in CASES}
        intervals = {case: interval(values) for case, values in differences.items()}
        worse = [case for case, (_, _, high) in intervals.items() if high < WORSE]
        better = [case for case, (_, low, _) in intervals.items() if low > -WORSE]
        print(f"\n{what}, MOS less that without data: mean {fmean(v[0] for v in intervals.values()):+.3f}; worse by")
        print(f"more than 0.05 in {len(worse)} of {len(CASES)}, better in {len(better)}")
        for case in sorted(worse, key=lambda case: intervals[case][0]):
            print("  {}: {:+.2f} ({:+.2f} to {:+.2f})".format("/".join(map(str, case)), *intervals[case]))
    rates = {data: _rates(by, CASES, data, seeds) for data in CLIENT_DATA}
    print(
        f"\nrate with true data / without: {sum(rates['truth']) / sum(rates['silent']):.3f}; less than {LEAST} of it:"
    )
    for case in CASES:
        truth, silent = (_rates(by, [case], data, seeds) for data in ("truth", "silent"))
        ratio = fmean(truth) / fmean(silent)
        if ratio < LEAST:
            short = interval([one - LEAST * other for one, other in zip(truth, silent, strict=True)])
            name = "/".join(map(str, case))
            print(
                "  {}: {:.3f}, true - {} without {:+.0f} ({:+.0f} to {:+.0f}) kbit/s".format(name, ratio, LEAST, *short)
            )


def _mean(by: dict[tuple[Case, str, int], Row], rival: str, data: str, metric: str) -> float | None:
    values = [row[metric] for (case, d, _), row in by.items() if d == data and rival in (case.rival, "all")]
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _rates(by: dict[tuple[Case, str, int], Row], cases: list[Case], data: str, seeds: range) -> list[float]:
    return [by[case, data, seed]["mean_rate_kbps"] for case in cases for seed in seeds]


def _differences(
    by: dict[tuple[Case, str, int], Row], case: Case, data: str, other: str, seeds: range
) -> Iterator[float]:
    for seed in seeds:
        yield by[case, data, seed]["p1203_o35"] - by[case, other, seed]["p1203_o35"]


if __name__ == "__main__":
    main()

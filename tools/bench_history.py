#!/usr/bin/env python3
"""Run the simulator's bench, keep its figures with commit and machine, and say what costs more than it did: part of `make bench`.

    tools/bench_history.py [--runs 3] [--rows WORD …] [--dry-run]

The median of some runs of each row goes to docs/appendix/bench-history.csv, one line a row, and is held against the newest earlier
line of that row on the same machine. Rows that cost more than 5 % more are named; a commit that keeps them says why. Runs differ by up to
5 % themselves, and by more on a busy machine: its load is in the line.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "docs/appendix/bench-history.csv"
MORE = 0.05
"""Share above which a row is named."""
BUSY = 1.5
"""Load a core above which figures are not kept: they would be those of whatever else runs."""
_ROW = re.compile(r"^(?P<row>\S.*?)\s+[\d.]+\s+(?P<ns>\d+)\s+\d+\s+(?P<events>[\d.]+)\s+(?P<bytes>\d+)\s+[\d.]+ s$")


@dataclass(frozen=True)
class Entry:
    """A row of the bench at a commit on a machine.

    Attributes
    ----------
    commit : str
        With a `+` if the tree had changes that were not committed.
    date : str
        Of the commit.
    machine : str
        Processor, cores, kernel.
    load : float
        Processes that wanted a core when the bench began.
    row : str
    ns_per_packet, events_per_packet, bytes_per_flow : float
    """

    commit: str
    date: str
    machine: str
    load: float
    row: str
    ns_per_packet: float
    events_per_packet: float
    bytes_per_flow: float


def parse(output: str) -> dict[str, tuple[float, float, float]]:
    """Nanoseconds and events a packet, bytes a flow, by row, of what the bench printed."""
    rows = (match for line in output.splitlines() if (match := _ROW.match(line)))
    return {row["row"]: (float(row["ns"]), float(row["events"]), float(row["bytes"])) for row in rows}


def median(runs: Sequence[Mapping[str, tuple[float, float, float]]]) -> dict[str, tuple[float, ...]]:
    """Each figure's median over the runs."""
    return {
        row: tuple(statistics.median(values) for values in zip(*(run[row] for run in runs), strict=True))
        for row in runs[0]
    }


def dearer(new: Iterable[Entry], old: Sequence[Entry]) -> list[str]:
    """A line for each row that costs more than it did on this machine."""
    lines = []
    for entry in new:
        before = [e for e in old if (e.row, e.machine) == (entry.row, entry.machine) and e.commit != entry.commit]
        if before and entry.ns_per_packet > (1 + MORE) * before[-1].ns_per_packet:
            was = before[-1]
            more = 100 * (entry.ns_per_packet / was.ns_per_packet - 1)
            lines.append(
                f"{entry.row}: {entry.ns_per_packet:.0f} ns a packet, {more:.0f} % more than at {was.commit} ({was.ns_per_packet:.0f} ns)"
            )
    return lines


def load(path: Path) -> list[Entry]:
    """The history, oldest first."""
    if not path.exists():
        return []
    numbers = {field.name for field in fields(Entry) if field.type == "float"}
    with path.open(newline="") as file:
        return [Entry(**{k: float(v) if k in numbers else v for k, v in line.items()}) for line in csv.DictReader(file)]


def save(path: Path, entries: Iterable[Entry]) -> None:
    """Write the history."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Entry)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(entry) for entry in entries)


def machine() -> str:
    """Processor, cores and kernel: figures of another are no measure for these."""
    try:
        names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        names = []
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    )


def _said(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Measure, compare, keep."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--runs", type=int, default=3, help="how often; the median is kept")
    options.add_argument("--rows", nargs="*", default=[], help="only rows whose title contains one of these words")
    options.add_argument("--dry-run", action="store_true", help="compare, and keep nothing")
    asked = options.parse_args()
    busy = os.getloadavg()[0]
    command = ["cargo", "bench", "--quiet", "-p", "playpath-sim", "--", *asked.rows]
    found = median([parse(_said(*command)) for _ in range(asked.runs)])
    commit = _said("git", "rev-parse", "--short=10", "HEAD") + (
        "+" if _said("git", "status", "--porcelain", "-uno") else ""
    )
    stamp = (commit, _said("git", "show", "-s", "--format=%cs", "HEAD"), machine(), busy)
    entries = [Entry(*stamp, row, *figures) for row, figures in found.items()]
    for entry in entries:
        print(f"{entry.row:<34} {entry.ns_per_packet:>9.0f} ns/packet {entry.bytes_per_flow:>11.0f} bytes/flow")
    history = load(HISTORY)
    for line in dearer(entries, history):
        print(f"dearer: {line}")
    if busy > BUSY * (os.cpu_count() or 1):
        print(f"not kept: {busy:.0f} processes wanted the {os.cpu_count()} cores when it began", file=sys.stderr)
    elif not asked.dry_run:
        save(
            HISTORY,
            [e for e in history if (e.commit, e.machine, e.row) not in {(n.commit, n.machine, n.row) for n in entries}]
            + entries,
        )
        print(f"kept in {HISTORY.relative_to(ROOT)}; a commit that makes a row dearer says why")
    return 0


if __name__ == "__main__":
    sys.exit(main())

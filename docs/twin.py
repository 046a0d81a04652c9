"""Make docs/appendix/twin.md and its figures: `sudo .venv/bin/python docs/twin.py [--minutes M] [--only NAME ...]`, as root, on an
otherwise idle machine.

Sessions of real time are kept in out/twin, so it can be run in parts: after M minutes it starts no further one. The page is written
once all are there; with `--only` the other parts stay as they are, each with the commit of its figures.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell import dumbbell
from matplotlib.figure import Figure
from papers import commit

from playpath import _engine
from playpath.base.metrics import format_value, metric
from playpath.judge.stats import CONFIDENCE
from playpath.real.twin import MetricTwin, Twin
from playpath.real.twin_run import twin
from playpath.results.comparison import format_summary

DOCS = Path(__file__).parent
PAGE = DOCS / "appendix" / "twin.md"
ROOT = DOCS.parent
STORE = ROOT / "out" / "twin"
TOLERANCE = "20 ms"
"""Of the link's 99th percentile of lateness: small beside the round trips of the scenarios."""
BULK_TOLERANCE = "1 ms"
PARALLEL = 12
"""Sessions at a time: single flows of up to 20 Mbit/s take two thirds of two cores."""
BULK_PARALLEL = 6


@dataclass(frozen=True)
class Shown:
    """How a shipped scenario is shown: kernel sessions take real time, so its sessions are cut."""

    seeds: int
    cut: int
    """Seconds of a session; its video is longer by `SPARE`. 0: the whole film."""
    cc: str = ""
    """The controls, as a list for `--cc`; empty: the scenario's own senders."""
    changes: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    metrics: tuple[str, ...] = (
        "stall_time_s",
        "startup_delay_s",
        "goodput_mbps",
        "mean_rtt_ms",
        "retransmitted_packets",
    )
    figures: tuple[str, ...] = ("stall_time_s", "goodput_mbps", "mean_rtt_ms")
    video: bool = True
    world: str = "kernel"
    """What is set beside the simulator."""
    parallel: int = PARALLEL

    @property
    def settings(self) -> dict[str, str]:
        """What `--set` changes."""
        if not self.cut:
            return dict(self.changes)
        video = {"video.duration": f"{self.cut + SPARE} s"} if self.video else {}
        return {**video, "run.duration": f"{self.cut} s", **self.changes}


SPARE = 20


def jitter(size: str, *paths: str) -> dict[str, str]:
    """Jitter in both worlds, of about half a packet's transmission time or 1 ms: without any, the simulator's packets keep step
    with the link, and where one packet decides (HyStart's trains, whose window is halved first) all of its seeds decide alike,
    while the test machine's own lateness draws lots.
    """
    return {f"path.{path}.jitter": size for path in paths}


SIX = "newreno,cubic,vegas,ccp,ccplb,bbr"
ADAPTIVE = ("stall_time_s", "mean_rate_kbps", "goodput_mbps", "mean_rtt_ms", "retransmitted_packets")
FLOWS = ("goodput_mbps", "mean_rtt_ms", "retransmitted_packets")
PATHS = ("wifi1", "wifi2", "wired")
THREE = jitter("2 ms", *PATHS)
"""With 3 ms, half of a packet's transmission time, packets begin to meet within the time of compressed SACKs, where 0.1 ms of the
machine's counts (docs/appendix/worlds-traced.md). *sticky-3p-150* was played before that was known.
"""
WIRE = "Linux's MPTCP has none of these schedulers: the sender is ours in the world [wire](../manual/wire.md), the client Linux's."
SCENARIOS = {
    "wireless": Shown(seeds=20, cut=40, cc=SIX, changes=jitter("0.3 ms", "wifi")),
    "short-buffer": Shown(seeds=20, cut=30, cc=SIX, changes=jitter("0.3 ms", "cable")),
    "satellite": Shown(seeds=20, cut=30, cc=SIX, changes=jitter("1 ms", "satellite")),
    "mobile": Shown(seeds=30, cut=40, cc=SIX, changes=jitter("1 ms", "cell")),
    "bufferbloat": Shown(seeds=22, cut=60, cc=SIX),
    "adaptive": Shown(
        seeds=36,
        cut=60,
        metrics=ADAPTIVE,
        figures=("mean_rate_kbps", "mean_rtt_ms", "retransmitted_packets"),
    ),
    "streaming-server": Shown(
        seeds=24,
        cut=60,
        cc="newreno,vegas",
        changes={"run.profile": "linux"},
        figures=FLOWS,
        remark="With the profile `linux`: the scenario's own, `ns2`, is of another TCP.",
    ),
    "deep-queues": Shown(seeds=40, cut=0, world="wire", changes=jitter("3 ms", "clean", "lossy"), remark=WIRE),
    "sticky-baseline": Shown(seeds=30, cut=40, world="wire", changes=THREE, remark=WIRE),
    "sticky-3p-50": Shown(seeds=30, cut=40, world="wire", changes=THREE, remark=WIRE),
    "sticky-3p-150": Shown(seeds=30, cut=40, world="wire", changes=jitter("3 ms", *PATHS), remark=WIRE),
    "dumbbell": Shown(
        seeds=20,
        cut=20,
        metrics=FLOWS,
        figures=FLOWS,
        video=False,
        remark="Means of ten flows each. Six sessions of 100 Mbit/s at a time are more than two cores bear: CUBIC had 4 Mbit/s for 5.2.",
        parallel=2,
    ),
}
"""The shipped scenarios."""

HEAD = """
# Simulator and Linux compared

Does the simulator agree with Linux? The same scenarios, senders, seeds and random losses were played in both.
"""

WORDS = """
What still differs, and why: [validation](../validation.md). Made by `docs/twin.py`; do not edit.

Each part names the engine's commit; intervals: Student's t. The changelog lists under "Results may differ" what has changed results since.

## How to read it

- **alike**: the 95 % interval of kernel minus simulator lies within the margin; **differ**: it does not, and excludes zero; **open**:
  it contains zero and also differences beyond the margin, or there is only one seed.
- Where the differences within a seed vary less than the kernel's sessions do, sessions are paired by seed. Elsewhere sessions
  with the same seed have nothing in common, and the kernel's mean is compared with the simulator's over ten times as many seeds,
  which costs a few seconds. The interval is then 0.8 times that of the pairs, as if the kernel had played half as many sessions
  again.
- One interval in twenty excludes zero by chance. So some of the figures that are not alike differ by chance; the first lines
  count those whose interval still excludes zero when it is corrected for all figures (Bonferroni).
- Margins, set in advance: 5 % of the simulator's mean for goodput, 10 % for the mean RTT, otherwise the largest difference that
  nobody would notice (0.1 s or 5 % of stall time, ten packets or 5 % of retransmissions, …).
- The ranking: each pair of senders is *alike* if in both worlds the same one is better by stall time, or in both they are alike;
  *opposite* if the worlds prove different things; *open* if one of them proves nothing. Rankings are alike if all pairs are.

They were played on two virtual cores, at most twelve sessions at a time (*dumbbell*: two), with server and player having priority over
ordinary programs, in two hours and three quarters. Builds and other sessions ran at the same time as some of them. A bulk flow's
link may be 1 ms late at the 99th percentile, a scenario's 20 ms.

`sudo playpath twin SCENARIO` makes such a table for any scenario. Finished kernel sessions are kept in `out/NAME-twin`: after
Ctrl-C, or with more seeds, the same command continues from there. `--parallel 3` plays three at a time, `--tolerance` says how
late the emulated link may be. `report.html` has the figures.
"""

BULK = """
name = "bulk"
[[path]]
name = "path"
rate = "10 Mbit/s"
rtt = "{rtt} ms"
loss = "{loss} %"
queue = {{ kind = "droptail", limit = "1 bdp" }}
[[sender]]
cc = "{cc}"
[[traffic]]
kind = "bulk"
name = "bulk"
cc = "{cc}"
[run]
duration = "8 s"
seeds = 3
"""
BULK_FIGURES = ("goodput_mbps", "mean_rtt_ms")
BULK_TITLE = "One bulk flow"
BEYOND = " beyond chance"
ALL_FIGURES = 900
"""About as many as the page has: what an interval is corrected for."""
CELLS = [
    (cc, rtt, loss) for rtt in (20, 100) for loss in (0, 0.1, 1) for cc in ("newreno", "cubic", "vegas", "ccp", "bbr")
]


UNHURRIED = 1e9
"""Seconds that nobody waits for: the default of `--minutes` is more."""


class OutOfTime(Exception):
    """The minutes are over; the next call goes on."""


def main() -> None:
    """Run what is missing, then write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument(
        "--only", nargs="+", choices=("bulk", *SCENARIOS), help="these parts; the others stay as they are"
    )
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    try:
        wanted = options.only or ("bulk", *SCENARIOS)
        bulk = [(cell, bulk_twin(cell, deadline)) for cell in CELLS] if "bulk" in wanted else []
        shown = {name: scenario_twin(name, deadline) for name in SCENARIOS if name in wanted}
    except OutOfTime:
        sys.exit("not all sessions are there yet; run it again")
    PAGE.write_text(page(bulk, shown))
    subprocess.run([sys.executable, "-m", "mdformat", PAGE], check=True)


def bulk_twin(cell: tuple[str, int, float], deadline: float) -> Twin:
    """One flow in both worlds."""
    cc, rtt, loss = cell
    check_time(deadline)
    print(*cell, file=sys.stderr)
    return twin(
        BULK.format(cc=cc, rtt=rtt, loss=loss), store=STORE / "bulk", parallel=BULK_PARALLEL, tolerance=BULK_TOLERANCE
    )


def scenario_twin(name: str, deadline: float) -> Twin:
    """A shipped scenario, where time is short a seed at a time."""
    how = SCENARIOS[name]
    cc = how.cc.split(",") if how.cc else None
    for seeds in range(1, how.seeds + 1) if deadline < UNHURRIED else (how.seeds,):
        check_time(deadline)
        print(name, seeds, file=sys.stderr)
        result = twin(
            ROOT / "scenarios" / f"{name}.toml", cc=cc, seeds=seeds, set=how.settings,
            store=STORE / name, parallel=how.parallel, tolerance=TOLERANCE, world=how.world,
        )  # fmt: skip
    return result


def check_time(deadline: float) -> None:
    """Is there time for more?"""
    if time.monotonic() > deadline:
        raise OutOfTime


def page(bulk: list[tuple[tuple[str, int, float], Twin]], shown: dict[str, Twin]) -> str:
    """The whole page. Parts that are not judged now stay as they are in it."""
    before = PAGE.read_text().split("\n## ") if PAGE.exists() else []
    kept = {part.partition("\n")[0]: f"## {part}".rstrip() for part in before}
    rows = [line for line in kept.get("Overview", "").splitlines() if line.startswith("| [")]
    judged = {row.partition("[")[2].partition("]")[0]: row for row in rows}
    judged |= {name: overview_row(name, result) for name, result in shown.items()}
    ordered = [judged[name] for name in SCENARIOS if name in judged]
    parts = {**kept, BULK_TITLE: bulk_section(bulk)} if bulk else kept
    parts |= {name: scenario_section(name, result) for name, result in shown.items()}
    sections = [parts[name] for name in (BULK_TITLE, *SCENARIOS) if name in parts]
    return "\n\n".join([HEAD.strip(), answer(ordered), WORDS.strip(), overview(ordered), *sections]) + "\n"


def answer(rows: list[str]) -> str:
    """What the page shows, in two lines."""
    cells = [[cell.strip() for cell in row.strip(" |").split("|")] for row in rows]
    alike, differ, undecided = (
        sum(figures) for figures in zip(*(map(int, row[5].split(",")) for row in cells), strict=True)
    )
    opposite = sum(int(row[4].split(",")[1]) for row in cells)
    proven = sum(row.count(BEYOND) for row in rows)
    return "\n".join(
        [
            f"- Of {alike + differ + undecided} figures of shipped scenarios {alike} are alike, {differ} differ, {undecided} are open; "
            f"{proven} of those that differ do so beyond what chance does among so many.",
            f"- Pairs of senders that the worlds rank in opposite ways: {opposite or 'none'}.",
        ]
    )


def is_proven(found: MetricTwin, figures: int) -> bool:
    """Whether its interval excludes zero when it is corrected for this number of figures (Bonferroni)."""
    if found.ci95 is None or found.mean is None or found.kernel is None:
        return False
    half = (found.ci95[1] - found.ci95[0]) / 2
    usual, corrected = (
        _engine.student_quantile(found.kernel.n - 1, 1 - (1 - CONFIDENCE) / 2 / among) for among in (1, figures)
    )
    return abs(found.mean) > half * corrected / usual


def bulk_section(bulk: list[tuple[tuple[str, int, float], Twin]]) -> str:
    """The table of single flows."""
    counts = Counter(m.verdict for _, result in bulk for m in result.metrics if m.metric in BULK_FIGURES)
    lines = [
        f"## {BULK_TITLE}",
        "",
        f"10 Mbit/s, a tail-drop queue of 1 bandwidth-delay product, 8 s with slow start; 3 seeds, mean; engine of commit {commit()}.",
        "In brackets: kernel minus simulator. Margins: 5 % of goodput, 10 % of the mean RTT. "
        f"Of {counts.total()} figures {counts['alike']} are alike, {counts['differ']} differ, {counts['open']} are open.",
        "",
        "| control | RTT, loss | goodput (Mbit/s): sim, kernel | | mean RTT (ms): sim, kernel | | retransmitted: sim, kernel |",
        "|---|---|---|---|---|---|---|",
    ]
    for (cc, rtt, loss), result in bulk:
        found = {m.metric: m for m in result.metrics}
        cells = [cell(found[name]) for name in BULK_FIGURES]
        again = found["retransmitted_packets"]
        lines.append(
            f"| {cc} | {rtt} ms, {loss:g} % | {' | '.join(cells)} "
            f"| {format_summary(again.sim)}, {format_summary(again.kernel)} |"
        )
    return "\n".join(lines)


def cell(found: MetricTwin) -> str:
    """Both means, the difference in per cent, and the verdict."""
    share = 100 * (found.mean or 0.0) / found.sim.mean if found.sim else 0.0
    verdict = found.verdict if found.verdict == "alike" else f"**{found.verdict}**"
    return f"{format_summary(found.sim)}, {format_summary(found.kernel)} ({share:+.1f} %) | {verdict}"


def overview(rows: list[str]) -> str:
    """One line per scenario: are the worlds alike?"""
    lines = [
        "## Overview",
        "",
        "| scenario | senders | seeds | ranking | pairs alike, opposite, open "
        "| figures that are alike, differ, are open | what differs |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines)


def overview_row(name: str, result: Twin) -> str:
    """The line of a scenario."""
    orders = result.counted()
    verdicts = Counter(found.verdict for found in result.metrics)
    labels = [
        metric(m.metric).label + (BEYOND if is_proven(m, ALL_FIGURES) else "")
        for m in result.metrics
        if m.verdict == "differ"
    ]
    reported = (
        ", ".join(f"{label} ({count})" if count > 1 else label for label, count in Counter(labels).items()) or "–"
    )
    return (
        f"| [{name}](#{name}) | {len(result.senders)} | {SCENARIOS[name].seeds} | {result.ranking_verdict} "
        f"| {orders['alike']}, {orders['opposite']}, {orders['open']} "
        f"| {verdicts['alike']}, {verdicts['differ']}, {verdicts['open']} | {reported} |"
    )


def command(name: str) -> str:
    """What the reader types for the same figures."""
    how = SCENARIOS[name]
    words = [f"sudo playpath twin scenarios/{name}.toml"]
    words += [f"--cc {how.cc}"] if how.cc else []
    words += [f"--world {how.world}"] if how.world != "kernel" else []
    words += [f"--seeds {how.seeds}", *(f"--set '{key}=\"{value}\"'" for key, value in how.settings.items())]
    return " ".join([*words, f"--parallel {how.parallel} --tolerance '{TOLERANCE}'"])


def scenario_section(name: str, result: Twin) -> str:
    """Verdict, figure and table of a scenario."""
    how = SCENARIOS[name]
    (DOCS / "images").mkdir(exist_ok=True)
    scenario_figure(how, result).savefig(
        DOCS / "images" / f"twin-{name}.png", dpi=160, facecolor="white", metadata={"Software": None}
    )
    names = [n for n in how.metrics if result.of(n)]
    lines = [
        f"## {name}",
        "",
        f"`{command(name)}`",
        "",
        f"{f'The first {how.cut} s of a session each' if how.cut else 'Whole sessions'}, {how.seeds} seeds, "
        f"engine of commit {commit()}. **{result.sentence}**",
        *(["", how.remark] if how.remark else []),
        "",
        f"![{name}](../images/twin-{name}.png)",
        "",
        "| sender | " + " | ".join(f"{metric(n).axis}: sim, {how.world}" for n in names) + " |",
        "|---|" + "---|" * len(names),
    ]
    rows = {(m.sender, m.metric): m for m in result.metrics}
    for sender in result.senders:
        cells = [rows[sender, n] for n in names]
        texts = [f"{format_summary(m.sim)}, {format_summary(m.kernel)}: {mark(m)}" for m in cells]
        lines.append(f"| {sender} | " + " | ".join(texts) + " |")
    opposite = [p for p in result.pairs if p.order == "opposite"]
    if opposite:
        shown = "; ".join(
            f"{p.first} and {p.second}: {p.sim or 'alike'} in the simulator, {p.kernel or 'alike'} on the kernel"
            for p in opposite
        )
        lines += ["", f"Better of a pair that the worlds order in opposite ways: {shown}."]
    return "\n".join(lines)


def mark(found: MetricTwin) -> str:
    """The verdict, with the difference where it is not alike."""
    if found.verdict == "alike" or found.mean is None:
        return found.verdict
    return f"**{found.verdict}** ({'+' if found.mean > 0 else ''}{format_value(found.mean)})"


def scenario_figure(how: Shown, result: Twin) -> Figure:
    """Dumbbells of what the viewer sees and of what the network does."""
    names = [name for name in how.figures if result.of(name)]
    drawn = Figure(figsize=(3.4 * len(names) + 0.6, 1.3 + 0.36 * len(result.senders)), layout="constrained")
    drawn.get_layout_engine().set(wspace=0.06)  # a verdict at the right is not the next panel's name
    for ax, name in zip(drawn.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        dumbbell(result, name, ax)
    return drawn


if __name__ == "__main__":
    main()

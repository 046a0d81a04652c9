"""Make docs/twin.md and its figures: `sudo .venv/bin/python docs/twin.py [--minutes M]`, as root, on an otherwise idle machine.

Kernel sessions run in real time. Finished ones are kept in out/twin, so it can be run in parts: after M minutes it starts no further
one, and the page is written once all are there.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure

from playpath.compare import format_summary
from playpath.metrics import format_value, metric
from playpath.plots.dumbbell import dumbbell
from playpath.twin import MetricTwin, Twin
from playpath.twin_run import twin

DOCS = Path(__file__).parent
ROOT = DOCS.parent
STORE = ROOT / "out" / "twin"
PARALLEL = 4
TOLERANCE = "20 ms"
"""Of the link's 99th percentile of lateness: small beside the round trips of the scenarios."""
BULK_TOLERANCE = "2 ms"

SCENARIOS = {
    "wireless": {"seeds": 8, "video": "60 s", "cut": "40 s", "cc": "newreno cubic vegas ccp ccplb bbr"},
    "short-buffer": {"seeds": 3, "video": "40 s", "cut": "30 s", "cc": "newreno cubic vegas ccp ccplb bbr"},
    "satellite": {"seeds": 3, "video": "40 s", "cut": "30 s", "cc": "newreno cubic vegas ccp ccplb bbr"},
}
"""Shipped scenarios, with the length that their videos are cut to: kernel sessions take real time."""
FIGURES = ("stall_time_s", "goodput_mbps", "mean_rtt_ms")
TABLE = ("stall_time_s", "startup_delay_s", "goodput_mbps", "mean_rtt_ms", "retransmitted_packets")

WORDS = """
# Both worlds beside each other

Made by `docs/twin.py`; do not edit. `sudo playpath twin SCENARIO` runs a scenario in the simulator and on the real kernel, with the same
senders, seeds and random losses, prints one table for both, and judges each difference:

- **agree**: the 95 % interval of kernel minus simulator, paired by seed, lies within the margin; **differ**: it lies outside;
  **undecided**: it reaches across, or there is one seed only.
- Margins, set in advance: 5 % of the simulator's mean for goodput, 10 % for the mean RTT, else what nobody would notice (0.1 s or 5 %
  of stall time, ten packets or 5 % of retransmissions, …).
- The ranking: each pair of senders is *alike* if both worlds hold the same one to be better by stall time, or both hold them to
  be alike; *opposite* if the worlds are sure of different things; *undecided* if one of them is not sure. Rankings agree if all
  pairs are alike.

Finished kernel sessions are kept in `out/NAME-twin`: after Ctrl-C, or with more seeds, the same command goes on from there.
`--parallel 3` plays three at a time, `--tolerance` says how late the emulated link may be. `report.html` has the figures.

The figures below come from two virtual cores that built and tested other things meanwhile (load 10 to 13): the worst place for a
world on the wall clock. A link may be 20 ms late there in the 99th percentile (scenarios), 2 ms (bulk flows). What a machine's
pauses do is visible in the RTT of controls that measure delay or rate. What was behind former differences, and is behind
those that remain: [validation](validation.md).
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
CELLS = [
    (cc, rtt, loss) for rtt in (20, 100) for loss in (0, 0.1, 1) for cc in ("newreno", "cubic", "vegas", "ccp", "bbr")
]


class OutOfTime(Exception):
    """The minutes are over; the next call goes on."""


def main() -> None:
    """Run what is missing, then write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--only", choices=("bulk", "scenarios"))
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    try:
        bulk = [] if options.only == "scenarios" else [(cell, bulk_twin(cell, deadline)) for cell in CELLS]
        shown = {} if options.only == "bulk" else {name: scenario_twin(name, deadline) for name in SCENARIOS}
    except OutOfTime:
        sys.exit("not all sessions are there yet; run it again")
    if options.only is None:
        (DOCS / "twin.md").write_text(page(bulk, shown))


def bulk_twin(cell: tuple[str, int, float], deadline: float) -> Twin:
    """One flow in both worlds."""
    cc, rtt, loss = cell
    check_time(deadline)
    print(*cell, file=sys.stderr)
    return twin(
        BULK.format(cc=cc, rtt=rtt, loss=loss), store=STORE / "bulk", parallel=PARALLEL, tolerance=BULK_TOLERANCE
    )


def scenario_twin(name: str, deadline: float) -> Twin:
    """A shipped scenario, a seed at a time."""
    how = SCENARIOS[name]
    changes = {"video.duration": how["video"], "run.duration": how["cut"]}
    for seeds in range(1, how["seeds"] + 1):
        check_time(deadline)
        print(name, seeds, file=sys.stderr)
        result = twin(
            ROOT / "scenarios" / f"{name}.toml", cc=str(how["cc"]).split(), seeds=seeds, set=changes,
            store=STORE / name, parallel=PARALLEL, tolerance=TOLERANCE,
        )  # fmt: skip
    return result


def check_time(deadline: float) -> None:
    """Is there time for more?"""
    if time.monotonic() > deadline:
        raise OutOfTime


def page(bulk: list[tuple[tuple[str, int, float], Twin]], shown: dict[str, Twin]) -> str:
    """The whole page."""
    parts = [WORDS.strip(), bulk_section(bulk)]
    parts += [scenario_section(name, result) for name, result in shown.items()]
    return "\n\n".join(parts).rstrip() + "\n"


def bulk_section(bulk: list[tuple[tuple[str, int, float], Twin]]) -> str:
    """The table of single flows."""
    lines = [
        "## One bulk flow",
        "",
        "10 Mbit/s, a tail-drop queue of 1 bandwidth-delay product, 8 s with slow start; 3 seeds, mean ± half the 95 % interval.",
        "In brackets: kernel minus simulator. Margins: 5 % of goodput, 10 % of the mean RTT.",
        "",
        "| control | RTT, loss | goodput (Mbit/s): sim, kernel | | mean RTT (ms): sim, kernel | | retransmitted: sim, kernel |",
        "|---|---|---|---|---|---|---|",
    ]
    for (cc, rtt, loss), result in bulk:
        found = {m.metric: m for m in result.metrics}
        cells = [cell(found[name]) for name in ("goodput_mbps", "mean_rtt_ms")]
        again = found["retransmitted_packets"]
        lines.append(
            f"| {cc} | {rtt} ms, {loss:g} % | {' | '.join(cells)} "
            f"| {format_summary(again.sim)}, {format_summary(again.kernel)} |"
        )
    return "\n".join(lines)


def cell(found: MetricTwin) -> str:
    """Both means, the difference in per cent, and the verdict."""
    share = 100 * (found.mean or 0.0) / found.sim.mean if found.sim else 0.0
    verdict = found.verdict if found.verdict == "agree" else f"**{found.verdict}**"
    return f"{format_summary(found.sim)}, {format_summary(found.kernel)} ({share:+.1f} %) | {verdict}"


def scenario_section(name: str, result: Twin) -> str:
    """Verdict, figure and table of a scenario."""
    how = SCENARIOS[name]
    (DOCS / "images").mkdir(exist_ok=True)
    scenario_figure(result).savefig(
        DOCS / "images" / f"twin-{name}.png", dpi=160, facecolor="white", metadata={"Software": None}
    )
    names = [n for n in TABLE if result.of(n)]
    lines = [
        f"## {name}",
        "",
        f"`sudo playpath twin scenarios/{name}.toml --cc {','.join(str(how['cc']).split())} --seeds {how['seeds']} "
        f"--set 'video.duration=\"{how['video']}\"' --set 'run.duration=\"{how['cut']}\"' --parallel {PARALLEL} --tolerance '{TOLERANCE}'`",
        "",
        f"The first {how['cut']} of a session each, {how['seeds']} seeds. **{result.sentence}**",
        "",
        f"![{name}](images/twin-{name}.png)",
        "",
        "| sender | " + " | ".join(f"{metric(n).axis}: sim, kernel" for n in names) + " |",
        "|---|" + "---|" * len(names),
    ]
    rows = {(m.sender, m.metric): m for m in result.metrics}
    for sender in result.senders:
        cells = [rows[sender, n] for n in names]
        texts = [f"{format_summary(m.sim)}, {format_summary(m.kernel)}: {mark(m)}" for m in cells]
        lines.append(f"| {sender} | " + " | ".join(texts) + " |")
    opposite = [p for p in result.pairs if p.order == "opposite"]
    if opposite:
        told = "; ".join(
            f"{p.first} and {p.second}: {p.sim or 'alike'} in the simulator, {p.kernel or 'alike'} on the kernel"
            for p in opposite
        )
        lines += ["", f"Better of a pair that the worlds order in opposite ways: {told}."]
    return "\n".join(lines)


def mark(found: MetricTwin) -> str:
    """The verdict, with the difference where it is not agreement."""
    if found.verdict == "agree" or found.mean is None:
        return found.verdict
    return f"**{found.verdict}** ({'+' if found.mean > 0 else ''}{format_value(found.mean)})"


def scenario_figure(result: Twin) -> Figure:
    """Dumbbells of what the viewer sees and of what the network does."""
    names = [name for name in FIGURES if result.of(name)]
    drawn = Figure(figsize=(3.4 * len(names) + 0.6, 1.3 + 0.36 * len(result.senders)), layout="constrained")
    for ax, name in zip(drawn.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        dumbbell(result, name, ax)
    return drawn


if __name__ == "__main__":
    main()

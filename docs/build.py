"""Make the pages and figures of the docs that come from runs: `make docs`.

Writes docs/scenarios.md, docs/fairness.md and docs/images/. What a person has to say about the figures is in
docs/lessons.toml; everything else is measured.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

import playpath
from playpath import engine
from playpath.compare import Comparison, format_summary
from playpath.metrics import metric
from playpath.plots import figure, metric_bars, metric_dots
from playpath.plots.bars import ROW
from playpath.plots.style import INK, dress, sender_styles
from playpath.stats import summarise

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
SCENARIOS = DOCS.parent / "scenarios"
LESSONS = tomllib.loads((DOCS / "lessons.toml").read_text())
SHOWN = ("stall_time_s", "discarded_pictures", "underflow_events", "startup_delay_s")
PAID = ("goodput_mbps", "retransmitted_packets", "mean_rtt_ms", "mean_queue_packets")


def main() -> None:
    """Build everything."""
    IMAGES.mkdir(exist_ok=True)
    comparisons = []
    for file in sorted(SCENARIOS.glob("*.toml")):
        print(f"compare {file.name}", file=sys.stderr)
        comparisons.append((file, playpath.compare(file, timelines=file.stem == "wireless")))
    wireless = next(result for file, result in comparisons if file.stem == "wireless")
    save(readme_figure(wireless), "wireless")
    (DOCS / "scenarios.md").write_text(scenarios_page(comparisons))
    (DOCS / "fairness.md").write_text(fairness_page())


def save(drawn: Figure, name: str) -> str:
    """Save a figure; returns how a page shows it."""
    drawn.savefig(IMAGES / f"{name}.svg", facecolor="white", metadata={"Date": None})
    return f"![{name}](images/{name}.svg)"


def readme_figure(result: Comparison) -> Figure:
    """Stall time and discarded pictures of every sender, and one session of CUBIC and of the best."""
    drawn = Figure(figsize=(9.0, 5.6), layout="constrained")
    top, bottom = drawn.subfigures(2, 1, height_ratios=[1, 1.15])
    left, right = top.subplots(1, 2)
    metric_bars(result, "stall_time_s", left)
    metric_bars(result, "discarded_pictures", right)
    right.set_yticklabels([])
    for half, sender in zip(bottom.subfigures(1, 2), ("cubic", result.ranking[0]), strict=True):
        session = result.timelines[sender]
        axes = half.subplots(2, 1, sharex=True)
        draw_two_panels(session, axes)
    return drawn


def draw_two_panels(session: playpath.Session, axes: list) -> None:
    """Window and buffer of a session."""
    flow = next(name for name in session.series if name.startswith("flow."))
    style = sender_styles([session.sender])[session.sender]
    time, window = (session.series[flow][column] for column in ("time_s", "snd_cwnd"))
    axes[0].plot(time, window, lw=0.6, color=style.colour)
    axes[0].set_ylabel("window (packets)")
    axes[0].set_title(f"{session.sender}, one session", loc="left", fontsize=9, color=INK)
    player = session.series["player"]
    axes[1].plot(player["time_s"], player["buffer_level_s"], lw=0.6, color=style.colour)
    axes[1].set_ylabel("buffer (s)")
    axes[1].set_xlabel("time (s)")
    for ax in axes:
        dress(ax, grid="both")


def scenarios_page(comparisons: list[tuple[Path, Comparison]]) -> str:
    """What each shipped scenario shows."""
    parts = [
        "# What the shipped scenarios show\n",
        "Made by `make docs`; do not edit. Mean ± half the 95 % interval over the seeds; best first.\n",
    ]
    for file, result in comparisons:
        parts += [
            f"## {result.scenario.name}\n",
            f"{result.scenario.description}\n",
            f"`playpath compare scenarios/{file.name}`\n",
            markdown_table(result),
            f"**Verdict.** {result.verdict}\n",
            f"{LESSONS.get(file.stem, '').strip()}\n",
            save(scenario_figure(result), f"scenario-{file.stem}") + "\n",
        ]
    return "\n".join(parts)


def scenario_figure(result: Comparison) -> Figure:
    """What the viewer sees and what the network pays, side by side."""
    names = [name for name in ("stall_time_s", "discarded_pictures", "mean_rtt_ms") if name in result.metric_names]
    drawn, axes = figure(9.0, 0.9 + ROW * len(result.senders), ncols=len(names), sharey=True)
    for ax, name in zip(axes, names, strict=True):
        (metric_dots if name == "mean_rtt_ms" else metric_bars)(result, name, ax)
    return drawn


def markdown_table(result: Comparison) -> str:
    """The ranking as a table."""
    names = [name for name in (*SHOWN, *PAID) if name in result.metric_names]
    head = " | ".join(metric(name).axis for name in names)
    lines = [f"| # | sender | {head} |", "|---|---|" + "---:|" * len(names)]
    for sender in result.ranking:
        cells = " | ".join(format_summary(result.summary(sender, name)) for name in names)
        lines.append(f"| {result.decision.ranks[sender]} | {sender} | {cells} |")
    return "\n".join(lines) + "\n"


FAIRNESS = """
name = "fairness"
[[path]]
name = "shared"
rate = "10 Mbit/s"
rtt = "50 ms"
queue = {{ kind = "droptail", limit = "1 bdp" }}
{flows}
[run]
duration = "120 s"
seeds = 5
"""
FLOW = '[[traffic]]\nkind = "bulk"\nname = "{name}"\ncc = "{cc}"\nstart_spread = "1 s"\n'
NEIGHBOURS = ("newreno", "cubic")


def fairness_page() -> str:
    """What each control does to a neighbour on a shared bottleneck."""
    controls = [e["name"] for e in engine.registry("cc") if not e.get("is_coupled")]
    parts = [
        "# What each sender costs its neighbours\n",
        "Made by `make docs`; do not edit. Two bulk flows share 10 Mbit/s, 50 ms, a tail-drop queue of one "
        "bandwidth-delay product, for two minutes; five seeds. The neighbour is NewReno, then CUBIC. A fair share is "
        "50 %. The neighbour's RTT and retransmissions stand beside those that it has with a flow of its own kind.\n",
    ]
    for neighbour in NEIGHBOURS:
        rows = [measure_pair(cc, neighbour) for cc in controls]
        parts += [
            f"## Beside {neighbour}\n",
            fairness_table(rows, neighbour),
            save(fairness_figure(rows, neighbour), f"fairness-{neighbour}") + "\n",
        ]
    return "\n".join([*parts, LESSONS["fairness"].strip(), ""])


def measure_pair(cc: str, neighbour: str) -> dict:
    """Means over the seeds for one pair."""
    flows = FLOW.format(name="tested", cc=cc) + FLOW.format(name="neighbour", cc=neighbour)
    result = playpath.compare(FAIRNESS.format(flows=flows), cc=["cubic"])
    found = result.flows.with_columns(pl.col("name").str.starts_with("tested").alias("is_tested"))
    tested, other = found.filter("is_tested"), found.filter(~pl.col("is_tested"))
    share = (tested["goodput_mbps"] / (tested["goodput_mbps"] + other["goodput_mbps"]) * 100).to_list()
    return {
        "cc": cc,
        "share": summarise(share),
        "rtt": summarise(other["mean_rtt_ms"].to_list()),
        "retransmitted": summarise(other["retransmitted_packets"].cast(float).to_list()),
        "own_retransmitted": summarise(tested["retransmitted_packets"].cast(float).to_list()),
    }


def fairness_table(rows: list[dict], neighbour: str) -> str:
    """A row for each control."""
    head = ["control", "its share (%)", f"{neighbour}'s RTT (ms)", f"{neighbour} retransmits", "it retransmits"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    names = ("share", "rtt", "retransmitted", "own_retransmitted")
    for row in sorted(rows, key=lambda r: abs(r["share"].mean - 50)):
        lines.append(f"| {row['cc']} | " + " | ".join(format_summary(row[name]) for name in names) + " |")
    return "\n".join(lines) + "\n"


def fairness_figure(rows: list[dict], neighbour: str) -> Figure:
    """The share of each control, with the fair one marked."""
    ordered = sorted(rows, key=lambda r: r["share"].mean)
    styles = sender_styles([r["cc"] for r in rows])
    drawn, ax = figure(6.4, 0.9 + 0.28 * len(rows))
    for y, row in enumerate(ordered):
        share, style = row["share"], styles[row["cc"]]
        ax.plot(share.ci95, (y, y), "|-", color=INK, lw=1.2, ms=6)
        ax.plot(share.mean, y, style.marker, ms=6, mfc=style.colour, mec=INK, mew=0.7)
    ax.axvline(50, color=INK, lw=0.8, ls="--")
    ax.set_yticks(range(len(ordered)), [r["cc"] for r in ordered])
    ax.set_xlim(0, 100)
    ax.set_xlabel(f"share of the goodput beside one {neighbour} flow (%)")
    dress(ax)
    return drawn


if __name__ == "__main__":
    main()

"""Make the pages of the shipped scenarios and of neighbours, with their figures: a part of `make figures`.

Writes docs/scenarios.md, its tables in docs/appendix/scenarios.md, docs/appendix/fairness.md and docs/images/. What a
person has to say about the figures is in docs/lessons.toml; everything else is measured.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import playpath
from playpath.base import engine
from playpath.base.metrics import format_value, metric
from playpath.judge.stats import summarise
from playpath.plots import figure, metric_bars, metric_dots
from playpath.plots.style import INK, dress, sender_styles
from playpath.results.comparison import Comparison, format_summary

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
SCENARIOS = DOCS.parent / "scenarios"
LESSONS = tomllib.loads((DOCS / "lessons.toml").read_text())
ORDER = (
    "wireless",
    "short-buffer",
    "satellite",
    "mobile",
    "bufferbloat",
    "adaptive",
    "live",
    "streaming-server",
    "dumbbell",
)
SHOWN = ("stall_time_s", "discarded_pictures", "startup_delay_s")
PAID = ("goodput_mbps", "retransmitted_packets", "mean_rtt_ms", "mean_queue_packets")
OF_PLAYER = {
    "progressive": ("stall_time_s", "discarded_pictures", "mean_rtt_ms"),
    "dash": ("mean_rate_kbps", "stall_time_s", "retransmitted_packets"),
    "agent": ("late_packet_ratio", "startup_delay_s", "retransmitted_packets"),
}
LIVE = ("live_latency_p95_s", "stall_time_s", "mean_rate_kbps")
"""What a scenario's figure shows."""
FROM_ZERO = frozenset({"stall_time_s", "discarded_pictures", "late_packet_ratio", "retransmitted_packets"})
BASE_RTT_MS = 50


def main() -> None:
    """Build everything."""
    IMAGES.mkdir(exist_ok=True)
    comparisons = []
    for file in (SCENARIOS / f"{name}.toml" for name in ORDER):  # not those of a study (sticky-*)
        print(f"compare {file.name}", file=sys.stderr)
        comparisons.append((file, playpath.compare(file, timelines=file.stem == "wireless")))
    wireless = next(result for file, result in comparisons if file.stem == "wireless")
    save(readme_figure(wireless), "wireless")
    pages = {
        "scenarios.md": scenarios_page(comparisons),
        "appendix/scenarios.md": tables_page(comparisons),
        "appendix/fairness.md": fairness_page(),
    }
    for name, text in pages.items():
        # Links and images are written as from docs/.
        placed = re.sub(r"\]\((?!https?:|#)", "](../", text) if "/" in name else text
        (DOCS / name).write_text(placed)
        subprocess.run([sys.executable, "-m", "mdformat", DOCS / name], check=True)


def save(drawn: Figure, name: str) -> str:
    """Save a figure; returns how a page shows it."""
    drawn.savefig(IMAGES / f"{name}.png", dpi=160, facecolor="white", metadata={"Software": None})
    return f"![{name}](images/{name}.png)"


def readme_figure(result: Comparison) -> Figure:
    """Stall time of every sender, and one session of CUBIC beside one of the best."""
    drawn = Figure(figsize=(9.0, 4.4), layout="constrained")
    left, right = drawn.subfigures(1, 2, width_ratios=[1, 1.3])
    clip_outlier(metric_bars(result, "stall_time_s", left.subplots()), result, "stall_time_s")
    axes = right.subplots(2, 1, sharex=True)
    for sender in (result.ranking[0], "cubic"):
        draw_two_panels(result, sender, axes)
    axes[0].legend(frameon=False, fontsize=8, loc="center right", ncols=2, title="one session each", title_fontsize=8)
    axes[0].set_ylabel("window (packets)")
    axes[1].set_ylabel("buffer (s)")
    axes[1].set_xlabel("time (s)")
    axes[1].set_ylim(0, 1.1)
    axes[1].set_xlim(0, 180)
    for ax in axes:
        dress(ax, grid="both")
    return drawn


def draw_two_panels(result: Comparison, sender: str, axes: list) -> None:
    """Window and buffer of a session."""
    session = result.timelines[sender]
    flow = next(name for name in session.series if name.startswith("flow."))
    colour = sender_styles(result.senders)[sender].colour
    time, window = (session.series[flow][column] for column in ("time_s", "snd_cwnd"))
    axes[0].plot(time, window, lw=0.8, color=colour, label=sender)
    player = session.series["player"]
    axes[1].plot(player["time_s"], player["buffer_level_s"], lw=0.8, color=colour)


def scenarios_page(comparisons: list[tuple[Path, Comparison]]) -> str:
    """What each shipped scenario shows."""
    parts = [
        "# What the shipped scenarios show\n",
        "<!-- Made by `make figures`; do not edit. -->\n",
        "Each is a commented page of TOML; `playpath compare NAME` plays it. In the figures a bar or marker is the mean over the seeds, "
        "the tick is the median with its 95 % interval, and each ring is a run. [Tables and verdicts](appendix/scenarios.md) has all "
        "figures.\n",
    ]
    for file, result in comparisons:
        parts += [f"## {file.stem}\n", f"{result.scenario.description}\n"]
        if result.scenario.has_video:
            parts += [f"**{result.headline}**\n", save(scenario_figure(result), f"scenario-{file.stem}") + "\n"]
        lesson, *more = LESSONS[file.stem].strip().split("\n\n")
        parts.append(f"{lesson} [{'More, and all' if more else 'All'} figures](appendix/scenarios.md#{file.stem}).\n")
    return "\n".join(parts).rstrip() + "\n"


def tables_page(comparisons: list[tuple[Path, Comparison]]) -> str:
    """All figures of the shipped scenarios, and what else there is to say about them."""
    parts = [
        "# The shipped scenarios in figures\n",
        "Belongs to [what the shipped scenarios show](scenarios.md). Made by `make figures`; do not edit. The median "
        "run with its 95 % interval, and the mean where it lies outside; best first.\n",
    ]
    for file, result in comparisons:
        _, *more = LESSONS[file.stem].strip().split("\n\n")
        parts += [f"## {file.stem}\n", *(f"{text}\n" for text in more)]
        if result.scenario.has_video:
            parts += [markdown_table(result), f"**{result.headline}** {result.verdict}\n"]
        else:
            parts.append(groups_table(result))
    return "\n".join(parts).rstrip() + "\n"


def groups_table(result: Comparison) -> str:
    """Where there is no video: the flows, by control."""
    lines = [
        "| control | flows | goodput of a flow (Mbit/s) | Jain's index within | mean RTT (ms) | lost share |",
        "|---|" + "---:|" * 5,
    ]
    for (cc,), flows in result.flows.group_by("cc", maintain_order=True):
        by_seed = [seed["goodput_mbps"] for _, seed in flows.group_by("seed", maintain_order=True)]
        cells = [
            summarise([float(goodput.mean()) for goodput in by_seed]),
            summarise([float(goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum())) for goodput in by_seed]),
            *(summarise([seed[n].mean() for _, seed in flows.group_by("seed")]) for n in ("mean_rtt_ms", "loss_ratio")),
        ]
        lines.append(f"| {cc} | {len(by_seed[0])} | " + " | ".join(format_summary(cell) for cell in cells) + " |")
    return "\n".join([*lines[:2], *sorted(lines[2:])]) + "\n"


def is_live(result: Comparison) -> bool:
    """Whether the video is a live stream."""
    return result.scenario.resolved["player"].get("latency_target", "on-demand") != "on-demand"


def shown_of(result: Comparison) -> tuple[str, ...]:
    """The metrics of a scenario's figure."""
    return LIVE if is_live(result) else OF_PLAYER[result.scenario.resolved["player"]["kind"]]


def scenario_figure(result: Comparison) -> Figure:
    """What the viewer sees and what the network pays, side by side."""
    names = shown_of(result)
    drawn, axes = figure(9.0, 0.9 + 0.28 * len(result.senders), ncols=len(names), sharey=True)
    for ax, name in zip(axes, names, strict=True):
        (metric_bars if name in FROM_ZERO else metric_dots)(result, name, ax)
        if name in FROM_ZERO:
            clip_outlier(ax, result, name)
    return drawn


def clip_outlier(ax: Axes, result: Comparison, name: str) -> None:
    """One sender far above all others would flatten them: its bar leaves the axis and says its value."""
    means = {s: summary.mean for s in result.ranking if (summary := result.summary(s, name)) and summary.mean}
    *_, second, (worst, most) = [(None, 0.0), (None, 0.0), *sorted(means.items(), key=lambda item: item[1])]
    if 0 < 3 * second[1] < most and most > metric(name).least:
        ax.set_xlim(0, 1.6 * second[1])
        ax.annotate(
            f"{format_value(most)} \u2192", (0.97, result.ranking.index(worst)), xycoords=("axes fraction", "data"),
            ha="right", va="center", fontsize=8, color=INK, bbox={"fc": "white", "ec": "none", "pad": 1},
        )  # fmt: skip


def markdown_table(result: Comparison) -> str:
    """The ranking as a table."""
    names = list(dict.fromkeys((*(LIVE if is_live(result) else shown_of(result)[:1]), *SHOWN, *PAID)))
    head = " | ".join(metric(name).axis for name in names)
    lines = [f"| # | sender | {head} |", "|---|---|" + "---:|" * len(names)]
    for sender in result.ranking:
        cells = " | ".join(format_summary(result.summary(sender, name)) for name in names)
        lines.append(f"| {result.decision.place(sender)} | {sender} | {cells} |")
    return "\n".join(lines) + "\n"


FAIRNESS = """
name = "fairness"
[[path]]
name = "shared"
rate = "10 Mbit/s"
rtt = "50 ms"
jitter = "0.6 ms"
queue = {{ kind = "droptail", limit = "1 bdp" }}
{flows}
[run]
duration = "120 s"
seeds = 5
"""
FLOW = '[[traffic]]\nkind = "bulk"\nname = "{name}"\ncc = {cc}\nstart_spread = "1 s"\n'
NEIGHBOURS = ("newreno", "cubic")


VARIANTS = {"ccp(estimator=capprobe)": '{ name = "ccp", estimator = "capprobe" }'}


def fairness_page() -> str:
    """What each control does to a neighbour on a shared bottleneck."""
    controls = {e["name"]: f'"{e["name"]}"' for e in engine.registry("cc") if not e.get("is_coupled")} | VARIANTS
    parts = [
        "# What each sender costs its neighbours\n",
        "Made by `make figures`; do not edit. Two bulk flows share 10 Mbit/s, 50 ms, a tail-drop queue of one "
        "bandwidth-delay product, for two minutes; delays vary by one packet time, so that no flow stays in phase with the queue; "
        "means of five seeds, in the figures with the lowest and the highest. "
        "The neighbour is NewReno, then CUBIC. A fair share is 50 %. Compare a row with that of the neighbour's own kind: what is above it "
        "is what the tested control imposes.\n",
        LESSONS["fairness"].strip() + "\n",
    ]
    for neighbour in NEIGHBOURS:
        rows = [measure_pair(name, cc, neighbour) for name, cc in controls.items()]
        parts += [
            f"## Beside {neighbour}\n",
            save(fairness_figure(rows, neighbour), f"fairness-{neighbour}") + "\n",
            fairness_table(rows, neighbour),
        ]
    return "\n".join(parts)


def measure_pair(name: str, cc: str, neighbour: str) -> dict:
    """Means over the seeds for one pair."""
    flows = FLOW.format(name="tested", cc=cc) + FLOW.format(name="neighbour", cc=f'"{neighbour}"')
    result = playpath.compare(FAIRNESS.format(flows=flows), cc=["cubic"])
    found = result.flows.with_columns(pl.col("name").str.starts_with("tested").alias("is_tested")).sort("seed")
    tested, other = found.filter("is_tested"), found.filter(~pl.col("is_tested"))
    total = tested["goodput_mbps"] + other["goodput_mbps"]
    return {
        "cc": name,
        "share": summarise((tested["goodput_mbps"] / total * 100).to_list()),
        "total": summarise(total.to_list()),
        "rtt": summarise((other["mean_rtt_ms"] / BASE_RTT_MS).to_list()),
        "loss": summarise((other["loss_ratio"] * 100).to_list()),
        "own_loss": summarise((tested["loss_ratio"] * 100).to_list()),
    }


def fairness_table(rows: list[dict], neighbour: str) -> str:
    """A row for each control, the largest share first."""
    head = [
        "control", "its share (%)", "both together (Mbit/s)", f"{neighbour}'s RTT (times the base)",
        f"{neighbour}'s packets lost (%)", "its own packets lost (%)",
    ]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    names = ("share", "total", "rtt", "loss", "own_loss")
    for row in sorted(rows, key=lambda r: -r["share"].mean):
        lines.append(f"| {row['cc']} | " + " | ".join(format_summary(row[name]) for name in names) + " |")
    return "\n".join(lines) + "\n"


def fairness_figure(rows: list[dict], neighbour: str) -> Figure:
    """The share of each control, with the fair one marked."""
    ordered = sorted(rows, key=lambda r: r["share"].mean)
    styles = sender_styles([r["cc"] for r in rows])
    drawn, axes = figure(9.0, 0.9 + 0.28 * len(rows), ncols=3, sharey=True, width_ratios=[1.4, 1, 1])
    panels = (
        ("share", f"share beside one {neighbour} flow (%)"),
        ("rtt", f"{neighbour}'s RTT (times the base)"),
        ("loss", f"{neighbour}'s packets lost (%)"),
    )
    own = next(row for row in rows if row["cc"] == neighbour)
    for ax, (name, label) in zip(axes, panels, strict=True):
        for y, row in enumerate(ordered):
            value, style = row[name], styles[row["cc"]]
            ax.plot((value.minimum, value.maximum), (y, y), "|-", color=INK, lw=1.2, ms=6)
            ax.plot(value.mean, y, style.marker, ms=6, mfc=style.colour, mec=INK, mew=0.7)
        ax.axvline(50 if name == "share" else own[name].mean, color=INK, lw=0.8, ls="--")
        ax.set_xlabel(label)
        dress(ax)
    axes[0].set_yticks(range(len(ordered)), [r["cc"] for r in ordered])
    axes[0].set_xlim(0, 100)
    axes[1].set_xlim(left=1)
    axes[2].set_xlim(left=0)
    return drawn


if __name__ == "__main__":
    main()

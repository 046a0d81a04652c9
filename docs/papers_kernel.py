"""Play each study's main effect on this machine's Linux and set it beside the simulator's in docs/appendix/papers-STUDY.md: as root,
`sudo .venv/bin/python docs/papers_kernel.py [STUDY …]`, on an otherwise idle machine.

A few of a study's own cases, cut to less than a minute, with the players that people use: VLC, dash.js, and for `vegas`, whose server
sends by itself, the project's own. Real time: half an hour for all. Finished sessions are kept in out/papers-kernel, so it may be stopped
and run again. `sticky` was played by docs/wire.py and is drawn from its tables. Between `<!-- STUDY kernel -->` and `<!-- end -->` the page
holds what this writes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import playpath
from playpath.base.metrics import format_value, metric
from playpath.judge.stats import mean, mean_interval
from playpath.papers import study
from playpath.papers.study import Case, Labels
from playpath.plots.style import COLOURS, INK, PAPER, dress, figure, own_axes
from playpath.results.comparison import Comparison

DOCS = Path(__file__).parent
STORE = DOCS.parent / "out" / "papers-kernel"
SIMULATED_SEEDS = 16
WORLDS = {"sim": "simulator", "real": "Linux"}
STICKY_WORLDS = {"wire": "our MPTCP, Linux's client", "sim": "simulator"}
"""As the tables of docs/appendix/sticky-vlc.md have them."""
STICKY_METRICS = ("path_switches", "switches_from_open_path", "stall_time_s")
_STYLES = {"sim": (COLOURS[0], "o", -0.16), "real": (COLOURS[1], "s", 0.16), "wire": (COLOURS[2], "D", 0.0)}


@dataclass(frozen=True)
class Part:
    """What of a study is played.

    Attributes
    ----------
    world : str
        Whose player: `kernel:vlc`, `kernel:dashjs`, or `kernel` for the project's own.
    scenes : mapping
        Name → labels of the study's cases; one case for each sender.
    senders : sequence of str
        Variants of the study, or its `sender` label where it has one.
    settings : mapping
        How the cases are cut.
    metrics : sequence of str
        What is shown.
    """

    world: str
    scenes: Mapping[str, Labels]
    senders: Sequence[str]
    settings: Mapping[str, Any]
    metrics: Sequence[str]
    varied: Mapping[str, Any]


def _cut(seconds: int, media_s: int) -> dict[str, Any]:
    return {"video.duration": f"{media_s} s", "run.duration": f"{seconds} s"}


PARTS: dict[str, Part] = {
    "ccp": Part(
        "kernel:vlc",
        {"": {"part": "paper", "rtt": 100, "buffer": 448}},
        ("Cubic", "CCP", "CCPLCA", "CCPLB(1)"),
        _cut(45, 60),
        ("stall_time_s", "discarded_pictures", "retransmitted_packets"),
        {"late": "clock references"},
    ),
    "vegas": Part(
        "kernel",
        {f"{ftp}:{web}": {"part": "background", "background": f"{ftp}:{web}"} for ftp, web in ((1, 3), (4, 10))},
        ("NewReno", "Vegas"),
        _cut(45, 300),
        ("goodput_mbps", "mean_rtt_ms", "retransmitted_packets"),
        {},
    ),
    "newcwv": Part(
        "kernel:dashjs",
        {"": {"part": "today", "client": "dash.js", "ftp": "no"}},
        ("NewReno", "newCWV", "newCWV + pacing"),
        _cut(60, 80),
        ("retransmitted_packets", "mean_rate_kbps", "stall_time_s"),
        {},
    ),
}


def main() -> None:
    """Play what is missing, draw, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", choices=[*PARTS, "sticky", []], help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=4, help="real sessions of each sender")
    parser.add_argument("--jobs", type=int, default=1, help="test beds at once; they share the cores")
    parser.add_argument("--tolerance", help="how late a link may be, as of `playpath compare`")
    parser.add_argument("--no-page", action="store_true", help="only play")
    given = parser.parse_args()
    for name in given.studies or [*PARTS, "sticky"]:
        if name == "sticky":
            draw_sticky(differences_of_wire((DOCS / "appendix" / "sticky-vlc.md").read_text()))
            continue
        found = {scene: play(name, scene, given) for scene in PARTS[name].scenes}
        if not given.no_page:
            draw(name, found)
            write(name, block(PARTS[name], found))


Worlds = Mapping[str, Comparison]


def play(name: str, scene: str, given: argparse.Namespace) -> Worlds:
    """One scene in both worlds."""
    part = PARTS[name]
    scenario = merged(name, scene)
    print(f"{name} {scene}: {part.world}", flush=True)
    folder = STORE / f"{name}-{scene}".strip("-").replace(":", "-")
    real = playpath.compare(
        scenario,
        world=part.world,
        seeds=given.seeds,
        set=part.settings,
        store=folder,
        resume=True,
        jobs=given.jobs,
        tolerance=given.tolerance,
    )
    return {"sim": playpath.compare(scenario, seeds=SIMULATED_SEEDS, set=part.settings, jobs=1), "real": real}


def merged(name: str, scene: str) -> dict[str, Any]:
    """The study's cases of the scene as one scenario with all senders."""
    part = PARTS[name]
    of = study(name)
    cases = of.cases(1.0, **part.varied)
    chosen = [next(c for c in cases if _is(c, part.scenes[scene], sender)) for sender in part.senders]
    common = [{k: v for k, v in c.scenario.items() if k != "sender"} for c in chosen]
    assert all(c == common[0] for c in common), f"{name}: the senders' cases differ in more than the sender"
    senders = [c.scenario["sender"][0] | {"name": sender} for c, sender in zip(chosen, part.senders, strict=True)]
    return {**common[0], "sender": senders}


def _is(case: Case, labels: Labels, sender: str) -> bool:
    return sender in (case.labels.get("sender"), case.labels["variant"]) and labels.items() <= case.labels.items()


def draw(name: str, found: Mapping[str, Worlds]) -> None:
    """The figure of a study: a panel for each metric."""
    metrics = PARTS[name].metrics
    rows = sum(len(worlds["sim"].senders) for worlds in found.values())
    fig, axes = figure(3.3 * len(metrics), 1.0 + 0.45 * rows, ncols=len(metrics), sharey=True)
    for ax, of in zip(axes, metrics, strict=True):
        beside(found, of, ax)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, frameon=False, fontsize=9)
    _save(fig, name)


def _save(fig: Figure, name: str) -> None:
    to = DOCS / "images" / "papers" / f"{name}-kernel.png"
    fig.savefig(to, dpi=110, facecolor=PAPER, metadata={"Software": None})


def beside(found: Mapping[str, Worlds], name: str, ax: Axes | None = None) -> Axes:
    """A metric of each sender in both worlds: mean with its 95 % interval (Student's t), each seed as a small ring.

    Parameters
    ----------
    found : mapping
        Scene → world → comparison.
    name : str
        The metric.
    ax : matplotlib.axes.Axes, optional
    """
    ax = own_axes(ax)
    rows = [(scene, sender) for scene, worlds in found.items() for sender in worlds["sim"].senders]
    for y, (scene, sender) in enumerate(rows):
        for world, comparison in found[scene].items():
            _mark(ax, y, world, values(comparison, sender, name), label=WORLDS[world] if y == 0 else None)
    ax.set_yticks(range(len(rows)), [f"{sender}, {scene}" if scene else sender for scene, sender in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(metric(name).axis)
    dress(ax)
    ax.tick_params(axis="y", length=0)
    low, high = ax.get_xlim()
    if low < 0.7 * high:
        ax.set_xlim(-0.02 * high, max(high, metric(name).least))
    return ax


def _mark(ax: Axes, y: float, world: str, seen: Sequence[float], label: str | None) -> None:
    colour, marker, down = _STYLES[world]
    average, interval = mean(seen), mean_interval(seen)
    if average is None:
        return
    ax.plot(seen, [y + down] * len(seen), "o", ms=3, mfc="none", mec=colour, mew=0.6, alpha=0.7)
    if interval is not None:
        low = interval[0] if min(seen) < 0 else max(0.0, interval[0])
        ax.plot((low, interval[1]), (y + down,) * 2, "-", color=INK, lw=1.2)
    ax.plot(average, y + down, marker, ms=7, mfc=colour, mec=INK, mew=0.7, label=label)


def values(of: Comparison, sender: str, name: str) -> list[float]:
    """Of the seeds that have the metric."""
    return [float(v) for v in of.values(sender, name) if v is not None]


def block(part: Part, found: Mapping[str, Worlds]) -> list[str]:
    """The table: sender by metric, simulator and then Linux; and how late the links were."""
    lines = [
        "| sender | " + " | ".join(metric(m).axis for m in part.metrics) + " |",
        "| -- |" + " -- |" * len(part.metrics),
    ]
    for scene, worlds in found.items():
        for sender in worlds["sim"].senders:
            cells = ["; ".join(_cell(values(w, sender, m)) for w in worlds.values()) for m in part.metrics]
            lines.append(f"| {sender}{f', {scene}' if scene else ''} | " + " | ".join(cells) + " |")
    seeds = "; ".join(f"{len(next(iter(found.values()))[w].seeds)} seeds {of}" for w, of in WORLDS.items())
    return [*lines, "", f"Simulator; Linux. Mean (95 % interval of the mean): {seeds}. {_lateness(found)}"]


def _cell(seen: Sequence[float]) -> str:
    interval = mean_interval(seen)
    shown = format_value(mean(seen))
    if interval is None or interval[0] == interval[1]:
        return shown
    low = interval[0] if min(seen) < 0 else max(0.0, interval[0])
    return f"{shown} ({format_value(low)} to {format_value(interval[1])})"


def _lateness(found: Mapping[str, Worlds]) -> str:
    links = [row for worlds in found.values() for row in worlds["real"].links.iter_rows(named=True)]
    late = [1000 * float(row["mean_lateness_ms"]) for row in links if row.get("mean_lateness_ms") is not None]
    notes = sorted({note for worlds in found.values() for note in worlds["real"].notes})
    print("\n".join(notes))
    stood = [float(ms) for note in notes for ms in re.findall(r"stood still .* up to ([\d.]+) ms", note)]
    still = f"; the machine stood still for up to {max(stood):.1f} ms" if stood else ""
    return f"The links passed packets on {min(late):.0f} to {max(late):.0f} us late on average{still}."


def write(name: str, lines: Sequence[str]) -> None:
    """Between the study's marks."""
    marks = re.compile(rf"(<!-- {name} kernel -->\n).*?(<!-- end -->)", re.DOTALL)
    page = DOCS / "appendix" / f"papers-{name}.md"
    text, count = marks.subn(lambda m: m[1] + "\n" + "\n".join(lines) + "\n\n" + m[2], page.read_text())
    assert count == 1, f"{page} has no <!-- {name} kernel -->"
    page.write_text(text)
    subprocess.run([sys.executable, "-m", "mdformat", page], check=True)


Differences = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
"""Scheduler → world → metric → one value for each control and scenario."""


def differences_of_wire(page: str) -> Differences:
    """What each sticky scheduler has more than `dft` under the same control in the same scenario, from docs/appendix/sticky-vlc.md."""
    part = page.partition("<!-- begin: docs/wire.py -->")[2].partition("<!-- end: docs/wire.py -->")[0]
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for table in part.split("\n## ")[1:]:
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
        metrics = [name.strip("`") for name in rows[0][1:]]
        cells = {row[0]: dict(zip(metrics, row[1:], strict=True)) for row in rows[2:]}
        for sender, figures in cells.items():
            control, scheduler = sender.split("/")
            if scheduler == "dft":
                continue
            for name in STICKY_METRICS:
                usual = _numbers(cells[f"{control}/dft"][name])
                for world, more, less in zip(STICKY_WORLDS, _numbers(figures[name]), usual, strict=True):
                    found.setdefault(scheduler, {}).setdefault(world, {}).setdefault(name, []).append(more - less)
    return found


def _numbers(cell: str) -> list[float]:
    return [float(word) for word in cell.split(", ")]


def draw_sticky(found: Differences) -> None:
    """The figure of `sticky`: a panel for each metric, a row for each sticky scheduler."""
    fig, axes = figure(3.6 * len(STICKY_METRICS), 2.8, ncols=len(STICKY_METRICS), sharey=True)
    for ax, name in zip(axes, STICKY_METRICS, strict=True):
        for y, worlds in enumerate(found.values()):
            for world, of in worlds.items():
                _mark(ax, y, world, of[name], label=STICKY_WORLDS[world] if y == 0 else None)
        ax.axvline(0, color=INK, lw=0.8)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(range(len(found)), [scheduler.upper() for scheduler in found])
        ax.set_ylim(len(found) - 0.5, -0.5)
        ax.set_xlabel(f"{metric(name).axis},\nmore than under DFT")
        dress(ax)
        ax.tick_params(axis="y", length=0)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False, fontsize=9)
    _save(fig, "sticky")
    for scheduler, worlds in found.items():
        for world, of in worlds.items():
            print(scheduler, STICKY_WORLDS[world], {name: _cell(seen) for name, seen in of.items()})


if __name__ == "__main__":
    main()

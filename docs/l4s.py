"""Make docs/l4s.md, its appendix and docs/images/l4s.png: what L4S does, by access type, to those who use it and to those who do not.

Usage: python docs/l4s.py STORE    (needs playpath installed; fifteen minutes of a core)

STORE keeps what was measured, a file for each part: a part that is there is not measured again. Every figure is measured here, and
every answer follows from the figures by the rule in `answer`; the page's sentences say what the figures are of and by which mechanism
they come about.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from l4s_anchors import anchors, kept
from matplotlib.figure import Figure

import playpath
from playpath.base.metrics import format_value
from playpath.judge.stats import differences, summarise
from playpath.plots.style import COLOURS, INK, MUTED, dress
from playpath.results.comparison import Comparison

DOCS = Path(__file__).parent
SCENARIOS = DOCS.parent / "scenarios" / "l4s"
SENDERS = {"cubic": "CUBIC", "bbr3": "BBRv3", "prague": "Prague"}
TODAY, ISOLATED, LINUX, LONGER = "tail drop", "fq_codel", "DualPI2 of Linux", "DualPI2, longer step"
LOOKS = {TODAY: (MUTED, "o"), ISOLATED: (COLOURS[0], "s"), LINUX: (COLOURS[1], "D"), LONGER: (COLOURS[2], "^")}
"""Colour and marker of each queue."""
LATE, PICTURE, STALL = "late frames", "picture", "stall time"
MARGIN = {LATE: 0.5, PICTURE: 5.0, STALL: 0.25}
"""Less is no difference: points of a hundred frames, per cent of the best picture, seconds a session."""


@dataclass(frozen=True)
class Access:
    """A kind of access: its scenario, and the step that was tried beside Linux's."""

    label: str
    short: str
    scenario: str
    step: str


ACCESSES = (
    Access("cable, 50 Mbit/s down", "cable down", "l4s-cable-down", "5 ms"),
    Access("cable, 10 Mbit/s up", "cable up", "l4s-cable-up", "5 ms"),
    Access("LTE, 7 to 41 Mbit/s", "LTE", "l4s-lte", "5 ms"),
    Access("WLAN, aggregating", "WLAN", "l4s-wifi", "20 ms"),
)
Values = dict[str, dict[str, list[float]]]
"""Who → what → one value a seed."""


def measured(result: Comparison) -> Values:
    """Pictures and stalls of the viewers by sender; late frames of the games, mean over the viewers' senders."""
    top = max(rung["kbps"] for rung in ladder(result))
    values: Values = {}
    for sender in result.senders:
        rows = result.table.filter(pl.col("sender") == sender).sort("seed")
        picture = [100 * rate / top for rate in rows["mean_rate_kbps"]]
        values[sender] = {PICTURE: picture, STALL: rows["stall_time_s"].to_list()}
    flows = result.flows
    if "frames.over_50ms" in flows.columns:
        games = flows.filter(pl.col("frames.over_50ms").is_not_null())
        shares = games.group_by("name", "seed").agg(pl.col("frames.over_50ms").mean() * 100).sort("seed")
        for (name,), rows in shares.group_by("name"):
            values[str(name)] = {LATE: rows["frames.over_50ms"].to_list()}
    return values


def ladder(result: Comparison) -> list[dict[str, float]]:
    """The rungs of the video."""
    rates = result.scenario.resolved["player"]["ladder"]
    texts = rates.split(",") if isinstance(rates, str) else rates
    return [{"kbps": kbps(text)} for text in texts]


def kbps(text: str) -> float:
    """A rate as typed."""
    number, unit = text.split()
    return float(number) * {"kbit/s": 1, "Mbit/s": 1000}[unit]


def by_queue(access: Access) -> dict[str, Values]:
    """An access with each queue."""
    path = SCENARIOS / f"{access.scenario}.toml"
    queues: dict[str, Any] = {
        TODAY: None,
        ISOLATED: "fq_codel",
        LINUX: "dualpi2",
        LONGER: {"kind": "dualpi2", "step": access.step},
    }
    found = {}
    for name, queue in queues.items():
        set_queue = {} if queue is None else {"path.queue": queue}
        found[name] = kept(
            f"{access.scenario} {name}", lambda keys=set_queue: measured(playpath.compare(path, set=keys))
        )
    return found


def change(before: Sequence[float], after: Sequence[float], what: str) -> str:
    """`better`, `worse` or nothing: the 95 % interval of the median paired difference lies beyond the margin."""
    low, high = interval(before, after)
    if max(low, -high) <= MARGIN[what]:
        return ""
    return "better" if (low > 0) == (what == PICTURE) else "worse"


def interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Of the median difference, paired by seed."""
    return spread(differences(after, before).tolist())[1:]


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, and the 95 % interval of the median."""
    summary = summarise(values)
    if summary is None or summary.ci95 is None:
        raise ValueError(f"an interval needs six values or more: {values}")
    return summary.mean, *summary.ci95


WHO = {
    ("game", LATE): "the L4S game",
    ("classic game", LATE): "the classic game",
    ("cubic", PICTURE): "CUBIC viewers",
    ("bbr3", PICTURE): "BBRv3 viewers",
    ("prague", PICTURE): "Prague viewers",
}


def judged(before: Values, after: Values) -> dict[str, list[str]]:
    """Who is better and who is worse off; a viewer by the picture and by stalls."""
    sides: dict[str, list[str]] = {"better": [], "worse": []}
    for (name, what), label in WHO.items():
        kinds = [PICTURE, STALL] if what == PICTURE else [what]
        changes = {change(before[name][kind], after[name][kind], kind) for kind in kinds} - {""}
        for side in changes:
            sides[side].append(label)
    return sides


def answer(sides: dict[str, list[str]]) -> str:
    """Yes where somebody gains and nobody loses, no where somebody loses and nobody gains, mixed where both happens."""
    if sides["better"]:
        return "mixed" if sides["worse"] else "yes"
    return "no" if sides["worse"] else "no difference"


def listed(names: Sequence[str]) -> str:
    """With commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def cell(before: Values, after: Values, name: str, what: str) -> str:
    """Mean before and after, and the interval of the difference; stalls where they differ."""
    a, b = before[name][what], after[name][what]
    low, high = interval(a, b)
    ends = [signed(low), signed(high)]
    span = " to ".join(ends) if ends[0] != ends[1] else ends[0]
    text = f"{number(np.mean(a))} → {number(np.mean(b))} % ({span})"
    if what == PICTURE and change(before[name][STALL], after[name][STALL], STALL):
        text += f", stalls {number(np.mean(before[name][STALL]))} → {number(np.mean(after[name][STALL]))} s"
    return text


def number(value: float) -> str:
    """One digit after the point, none from ten on."""
    return f"{value:.0f}" if abs(value) >= 9.95 else format_value(round(float(value), 1))


def signed(value: float) -> str:
    """With its sign, where it is not nothing."""
    size = number(abs(value))
    return size if size == "0" else f"{'−' if value < 0 else '+'}{size}"


def access_table(found: dict[str, dict[str, Values]]) -> str:
    """Every access and queue against tail drop."""
    lines = [
        "| access | queue | game over L4S: late | classic game: late | CUBIC viewer: picture | BBRv3 viewer | Prague viewer |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for access in ACCESSES:
        queues = found[access.label]
        for queue in (LINUX, LONGER, ISOLATED):
            cells = [cell(queues[TODAY], queues[queue], *key) for key in WHO]
            name = f"DualPI2, step {access.step}" if queue == LONGER else queue
            lines.append(f"| {access.label} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def marks(scenario: str, step: str) -> list[float]:
    """Beside a Prague viewer: share of the low-latency packets that are marked, and their mean wait in ms; mean over the seeds."""
    queue = {"kind": "dualpi2", "step": step}
    links = playpath.compare(SCENARIOS / f"{scenario}.toml", cc=["prague"], set={"path.queue": queue}).links
    low = links.filter(pl.col("classes.low_latency.sent_packets").is_not_null())
    sent, marked, wait = (
        low[f"classes.low_latency.{what}"] for what in ("sent_packets", "marked_packets", "mean_wait_ms")
    )
    return [float((marked / sent).mean()), float(wait.mean())]


def marks_table() -> str:
    """What the step does to the marks."""
    lines = ["| access | step | low-latency packets marked | their mean wait |", "| --- | --- | --- | --- |"]
    for access in ACCESSES:
        for step in ("1 ms", access.step):
            share, wait = kept(f"{access.scenario} marks {step}", lambda name=access.scenario, s=step: marks(name, s))
            lines.append(f"| {access.label} | {step} | {number(100 * share)} % | {wait:.1f} ms |")
    return "\n".join(lines)


def answers(found: dict[str, dict[str, Values]]) -> str:
    """The answer for each access and queue, with who gains and who loses."""
    lines = ["| access | DualPI2 of Linux | DualPI2, longer step | fq_codel |", "| --- | --- | --- | --- |"]
    for access in ACCESSES:
        cells = []
        for queue in (LINUX, LONGER, ISOLATED):
            sides = judged(found[access.label][TODAY], found[access.label][queue])
            parts = [f"{side}: {listed(names)}" for side, names in sides.items() if names]
            step = f" ({access.step})" if queue == LONGER else ""
            cells.append("; ".join([f"**{answer(sides)}**{step}", *parts]))
        lines.append(f"| {access.label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def in_short(found: dict[str, dict[str, Values]], queue: str) -> str:
    """Where the answer is which."""
    where: dict[str, list[str]] = {}
    for access in ACCESSES:
        queues = found[access.label]
        where.setdefault(answer(judged(queues[TODAY], queues[queue])), []).append(access.short)
    return "; ".join(f"{word} for {listed(names)}" for word, names in where.items())


def drawn(found: dict[str, dict[str, Values]]) -> Figure:
    """Late frames of both games, and the pictures of viewers over Prague and CUBIC: a row for each access, a mark for each queue."""
    panels = [
        ("game", LATE, "game over L4S:\nframes later than 50 ms (%)"),
        ("classic game", LATE, "classic game:\nframes later than 50 ms (%)"),
        ("prague", PICTURE, "viewer over Prague:\npicture (% of the best)"),
        ("cubic", PICTURE, "viewer over CUBIC:\npicture (% of the best)"),
    ]
    figure = Figure(figsize=(10.0, 4.3), layout="constrained")
    axes = figure.subplots(1, 4, sharey=True)
    for ax, (who, what, title) in zip(axes, panels, strict=True):
        for row, access in enumerate(ACCESSES):
            for i, (queue, (colour, marker)) in enumerate(LOOKS.items()):
                mean, *ends = spread(found[access.label][queue][who][what])
                at = row + 0.18 * (i - 1.5)
                ax.plot(ends, [at, at], color=colour, lw=2.2, alpha=0.55, solid_capstyle="butt")
                ax.plot(mean, at, marker=marker, color=colour, ms=6, ls="", label=queue if row == 0 else None)
        ax.set_xlim(-4, 104)
        ax.set_title(title, fontsize=9)
        ax.set_yticks(range(len(ACCESSES)), [access.label.replace(", ", ",\n") for access in ACCESSES])
        ax.set_ylim(len(ACCESSES) - 0.5, -0.5)
        for border in range(1, len(ACCESSES)):
            ax.axhline(border - 0.5, color=MUTED, lw=0.4)
        dress(ax)
        ax.set_xlabel("better to the left" if what == LATE else "better to the right")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=INK)
    return figure


HARMS = {
    "drop-tail, 1000 packets": ("l4s-fifo", "download", {"cc": "cubic"}),
    "RED that marks": ("l4s-red", "download", {"cc": "cubic"}),
    "one queue of fq_codel": ("l4s-one-queue", "download", {"cc": "cubic"}),
    "DualPI2, 30 Mbit/s that answer no mark": ("l4s-unresponsive", "bully", {"field": "not_ect"}),
}
"""Queue → scenario, the neighbour, and what it is without L4S."""


def harm_table() -> str:
    """The viewer's picture beside a classic neighbour and beside one of L4S."""
    lines = ["| queue | CUBIC viewer | BBRv3 viewer | Prague viewer |", "| --- | --- | --- | --- |"]
    for label, (name, neighbour, classic) in HARMS.items():
        path = SCENARIOS / f"{name}.toml"
        plain = tomllib.loads(path.read_text())
        for group in plain["traffic"]:
            group.update(classic if group["name"] == neighbour else {})
        before = kept(f"{name} classic", lambda scenario=plain: measured(playpath.compare(scenario)))
        after = kept(name, lambda scenario=path: measured(playpath.compare(scenario)))
        cells = [cell(before, after, sender, PICTURE) for sender in SENDERS]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def mixture() -> Any:
    """Pictures, and Mbit/s of the downloads: who → what → one value a seed."""
    result = playpath.compare(SCENARIOS / "l4s-mixture.toml")
    values = measured(result)
    for (sender, name), rows in result.flows.sort("seed").group_by("sender", "name"):
        values[str(sender)][str(name)] = rows["goodput_mbps"].to_list()
    return values


def mixture_table() -> str:
    """What each download gets beside each viewer, over DualPI2."""
    names = [f"{cc} download" for cc in SENDERS]
    lines = ["| viewer | picture | " + " | ".join(f"{label} download" for label in SENDERS.values()) + " |"]
    lines.append("| --- " * (len(names) + 2) + "|")
    values = kept("l4s-mixture", mixture)
    for sender, label in SENDERS.items():
        cells = [outcome(values[sender][PICTURE], " %"), *(outcome(values[sender][name], " Mbit/s") for name in names)]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def headline() -> str:
    """What a comparison of queues says in one line, for viewers over CUBIC."""
    path = SCENARIOS / "l4s-cable-down.toml"
    return playpath.compare(path, cc=["cubic"], vary={"path.queue": ["droptail", "dualpi2"]}).headline


def outcome(values: Sequence[float], unit: str) -> str:
    """Mean and interval."""
    mean, low, high = spread(values)
    return f"{number(mean)}{unit} ({number(low)} to {number(high)})"


PAGE = """# L4S: switch it on?

<!-- Made by `python docs/l4s.py STORE`; do not edit. -->

For an operator who has a plain queue with tail drop today. **With Linux's [DualPI2](models/queue-dualpi2.md) as it comes:
{linux}. With a step set by the link: {longer}.** `fq_codel`, which needs no change to the senders: {isolated}.

![What L4S does, by access type](images/l4s.png)

{answers}

A home watches low-latency live video (three seconds behind) while two cloud games run, one over [Prague](models/cc-prague.md),
the sender of L4S, and one over CUBIC, and a CUBIC download fills the link. *Better* and *worse* are relative to tail drop: the 95
% interval of the median difference, paired by seed, lies beyond half a point of late frames, five points of picture or a quarter
of a second of stalls. The twenty comparisons of a column are not corrected for their number. In the figure, marks are means of
ten seeds and bars the 95 % interval of the median. [Each number with its interval](appendix/l4s.md#each-number) is in the
appendix.

`playpath compare l4s-cable-down --cc cubic --vary path.queue=droptail,dualpi2` says in one line what the viewer and what the
neighbours get: *{headline}* `l4s-cable-up`, `l4s-lte` and `l4s-wifi` are the other rows.

## Why the step decides

Linux marks a low-latency packet that has waited longer than a millisecond. At 10 Mbit/s a packet takes 1.2 ms, and a WLAN sends
nothing for several milliseconds and then an aggregate. There packets wait longer than the step although there is no queue that
their senders could shorten, and Prague gives way for nothing. With a Prague viewer on the link:

{marks}

With a longer step and nothing else changed, a Prague viewer gets a good picture again everywhere. The steps were
tried by hand, not tuned. Linux can also leave a queue of few packets unmarked (`min_qlen_step`, 0 by default), which was not
tried here.

## Where it harms

On 50 Mbit/s, the viewer's picture beside a classic neighbour → beside an L4S neighbour:

{harms}

In the first three the neighbour is a download, over CUBIC and then over Prague. A classic queue that marks gives Prague as many
marks as it gives CUBIC drops. CUBIC reduces its window by three tenths at each, Prague only by half the share of packets that
were marked, so Prague takes the link. In the last row the neighbour sends 30 Mbit/s and does not react to marks or losses, first
without ECN and then marked ECT(1), so that its packets go first. How common either case is, is unknown.

Prague's own remedy is a fall-back that detects a varying round trip (`classic_fallback`; Linux has it, off by default). Bulk
flows of two minutes over 50 Mbit/s and 20 ms, five seeds, Mbit/s of CUBIC / Prague:

{fallback}

## How far to trust it

CUBIC beside Prague over DualPI2 is within a tenth of what heistp/l4s-tests measured with Linux at 20 and 80 ms; at 10 ms this
holds only without Prague's reference round trip, which that Linux did not have. In one marking classic queue our Prague takes 14
to 16 times CUBIC's rate, where 23 to 27 times were measured: CUBIC's share is up to 1.7 times as large here ([all
anchors](appendix/l4s.md#anchors)).

- A Prague flow of 80 ms beside one of 20 ms gets a twentieth of the link here, where an eighth was measured. It is an eighth here,
  too, with packets that come up to a quarter of a millisecond early or late, as hosts may send them
  ([why](appendix/l4s.md#anchors)).
- There is one scene for each access type. An interval is over seeds of that scene, not over homes.
- A game does not adapt: what the path cannot carry waits in its sender's socket, so a starved game stays late.
- The WLAN's two directions do not share the air, and the cell's rate follows a generated trace, not a measured one.
- The video goes over TCP, and the viewer is three seconds behind; a call would fare as the games do.
"""

APPENDIX = """# L4S in figures

Belongs to [L4S: switch it on?](../l4s.md). Made by `python docs/l4s.py STORE`; do not edit.

## Each number

The share of frames that take longer than 50 ms, and the mean rate of the picture as a share of the best; before → after, and in
brackets the 95 % interval of the median difference to tail drop, paired by seed, in points. Stalls are given where they differ.

{table}

## A mixture

Downloads over three controls beside the viewer, over DualPI2 (`l4s-mixture`):

{mixture}

## Anchors

{over}

{shared}

Bulk flows of two minutes, five seeds; both flows together use 93 % of the link or more. The measurements are heistp/l4s-tests
with a Linux of 2020. Prague then had no reference round trip (25 ms, after 500 round trips), which slows it down below 25 ms and
gives CUBIC more at 10 ms.

A far Prague flow beside a near one gets what a step gives to senders whose packets come exactly at their times: the queue stands
over the step for as long as the slower one needs to answer, both are reduced once in a sawtooth by shares that are alike, and so
windows are as 1 / R, rates as 1 / R², the shares 1 and 16 of 17. A model of a hundred lines that shares no code with the simulator
finds 0.05 to 0.06, too. With packets that come up to 0.06, 0.12, 0.25 and 0.5 ms early or late the far flow has 6.3, 7.2, 12.6 and
19.3 % of both; 12.3 % were measured. How much those hosts were off is unknown.

RED's settings in the measurements are unknown; these
are the defaults of Linux's `tc`. The law of coupling, the delay of each class and the response to a halved rate are tested
against arithmetic ([DualPI2](../models/queue-dualpi2.md)).

picoquic's own test of L4S (4 MB over QUIC, 10 Mbit/s, 20 ms, a queue of 20 ms that marks from 5 ms on), its bounds and our
results (`crates/sim/tests/quic.rs`): NewReno 5.6 s and 45 retransmissions, ours 4 s and none; Prague 4.1 s and 9, ours 3.4 s and
none; BBR (version 3 in picoquic) 3.8 s and 21, ours 3.4 s and 14.
"""


def main() -> int:
    """Measure, draw, write."""
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    found = {access.label: by_queue(access) for access in ACCESSES}
    drawn(found).savefig(DOCS / "images" / "l4s.png", dpi=160, facecolor="white", metadata={"Software": None})
    over, shared, fallback = anchors()
    pages = {
        DOCS / "l4s.md": PAGE.format(
            linux=in_short(found, LINUX),
            longer=in_short(found, LONGER),
            isolated=in_short(found, ISOLATED),
            answers=answers(found),
            headline=kept("headline", headline),
            marks=marks_table(),
            harms=harm_table(),
            fallback=fallback,
        ),
        DOCS / "appendix" / "l4s.md": APPENDIX.format(
            table=access_table(found), mixture=mixture_table(), over=over, shared=shared
        ),
    }
    for page, text in pages.items():
        page.write_text(text)
        subprocess.run([sys.executable, "-m", "mdformat", page], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

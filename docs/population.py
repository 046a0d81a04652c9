"""Play the sets of measured links of docs/population.md: its image, and the table of docs/appendix/population.md.

Usage: python docs/population.py TRACES STORE    (needs playpath installed; five minutes of two cores)

TRACES holds a folder of bandwidth traces for each set; STORE keeps the sessions. The headlines, and what else the
appendix tells of the fixed lines, are printed: a person puts them there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from marks import fill
from papers import commit

import playpath
from playpath.plots import figure
from playpath.plots.population import helped_and_harmed
from playpath.plots.style import INK
from playpath.population import PopulationResult
from playpath.population.intervals import Estimate

DOCS = Path(__file__).parent
IMAGE = DOCS / "images" / "population-sets.png"
SCENARIO = """
name = "{title}"
[video]
source = "bigbuckbunny"
duration = "180 s"
[player]
kind = "dash"
abr = "dynamic"
ladder = "230 kbit/s, 400 kbit/s, 750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s, 8 Mbit/s, 12 Mbit/s, 20 Mbit/s"
segment = "4 s"
[[path]]
trace = "{traces}/*"
{start}rtt = {{ lognormal = {{ median = "{rtt}", sigma = 0.5 }}, min = "8 ms", max = "500 ms" }}
loss = {{ choice = ["0 %", "0.1 %", "1 %"], weights = [6, 3, 1] }}
queue = "100 packets"
[population]
sessions = {sessions}
baseline = "cubic"
"""
SENDERS = ["cubic", "newreno", "bbr", "bbr3", "copa"]


@dataclass(frozen=True)
class Links:
    """A set: its folder, how it is called, the median round trip, and sessions on each link."""

    folder: str
    title: str
    rtt: str
    sessions: int = 3


SETS = [
    Links("hsdpa-norway", "3G, Norway", "90 ms"),
    Links("lte-belgium", "4G, Belgium", "45 ms"),
    Links("cellular-us", "LTE and UMTS, US", "45 ms", sessions=12),
    Links("fcc-sd", "fixed, US, SD", "30 ms"),
    Links("fcc-hd", "fixed, US, HD", "30 ms"),
]


def main() -> None:
    """Every set."""
    traces, store = map(Path, sys.argv[1:])
    results = [_played(links, traces, store) for links in SETS]
    for result in results:
        print(
            f"\n## {result.name}: {result.units} links\n{result.headline}\n{result.fine_print}",
            *result.warnings,
            sep="\n",
        )
    _tell_groups(results[3])
    begun = _played(SETS[4], traces, store, start='start = "0 s"\n', sessions=1)
    print(
        f"\nHD lines from the traces' beginning, one session each\n{begun.headline}\n{begun.against_baseline['copa']}"
    )
    _write(results)
    _draw(results)


def _played(links: Links, traces: Path, store: Path, **changes: object) -> PopulationResult:
    folder = (traces / links.folder).resolve()
    given = {
        "title": links.title,
        "traces": folder,
        "rtt": links.rtt,
        "sessions": links.sessions,
        "start": "",
    } | changes
    return playpath.population(SCENARIO.format(**given), cc=SENDERS, store=store / links.folder)


def _tell_groups(result: PopulationResult) -> None:
    for column in result.group_columns():
        for label, units, *_, net in result.by_group(column, "copa", result.baseline):
            print(f"copa, {column} {label}: {units} links, net {_percent(net)}")


def _write(results: list[PopulationResult]) -> None:
    lines = [
        f"Played by `docs/population.py`, engine of commit {commit()}. *Better* and *worse*: share of viewers, %, with "
        "its 95 % interval; *net*: better minus worse. Each sender against CUBIC.\n",
        "| set | sender | better | worse | net | proven | stalling sessions, CUBIC → it | retransmissions |",
        "|---" * 8 + "|",
    ]
    for result in results:
        label = result.name
        for name, found in result.against_baseline.items():
            cells = [_percent(share) for share in (found.helped, found.harmed, found.net)]
            proven = f"{found.relation}, by the network's cost" if found.decided_by == "network" else found.relation
            stalls = " → ".join(f"{100 * found.stalls[key]:.0f}" for key in ("with_other", "with_sender"))
            lines.append(
                f"| {label} | {name} | {' | '.join(cells)} | {proven} | {stalls} % | × {found.retransmission_ratio:.2g} |"
            )
            label = ""
    fill(DOCS / "appendix" / "population.md", "docs/population.py", "\n".join(lines))


def _percent(found: Estimate) -> str:
    value, low, high = (round(100 * edge) for edge in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})".replace("-", "−")


def _draw(results: list[PopulationResult]) -> None:
    drawn, axes = figure(9.6, 6.6, nrows=3, ncols=2)
    places = list(axes.flat)
    for result, ax in zip(results, places, strict=False):
        helped_and_harmed(result, ax)
        ax.set_xlim(-85, 85)
        ax.set_title(f"{result.name}: {result.units} links", loc="left", fontsize=9, color=INK)
    for ax in places[len(results) :]:
        ax.set_axis_off()
    drawn.savefig(IMAGE, dpi=125, facecolor="white", metadata={"Software": None})


if __name__ == "__main__":
    main()

"""Play the sets of measured links of docs/population.md; draw docs/images/population-sets.png and print the page's figures.

Usage: python docs/figures/population_sets.py TRACES STORE [SET…]    (needs playpath installed; five minutes of two cores)

TRACES holds a folder of bandwidth traces for each set; STORE keeps the sessions.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import playpath
from playpath.plots import figure
from playpath.plots.population import helped_and_harmed
from playpath.plots.style import INK
from playpath.population import PopulationResult

IMAGE = Path(__file__).parents[1] / "images" / "population-sets.png"
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
rtt = {{ lognormal = {{ median = "{rtt}", sigma = 0.5 }}, min = "8 ms", max = "500 ms" }}
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
    """Every set, or those named."""
    traces, store, *wanted = sys.argv[1:]
    chosen = [links for links in SETS if not wanted or links.folder in wanted]
    results = [_played(links, Path(traces), Path(store)) for links in chosen]
    for links, result in zip(chosen, results, strict=True):
        _tell(links, result)
    if not wanted:
        _draw(results)


def _played(links: Links, traces: Path, store: Path) -> PopulationResult:
    text = SCENARIO.format(
        title=links.title, traces=(traces / links.folder).resolve(), rtt=links.rtt, sessions=links.sessions
    )
    return playpath.population(text, cc=SENDERS, store=store / links.folder)


def _tell(links: Links, result: PopulationResult) -> None:
    print(f"\n## {links.title}: {result.units} links\n{result.headline}\n{result.fine_print}")
    for name, v in result.against_baseline.items():
        shares = ", ".join(
            f"{100 * e.value:.0f} ({100 * e.low:.0f} to {100 * e.high:.0f})" for e in (v.helped, v.harmed, v.net)
        )
        print(f"{name}: {v.relation} by {v.decided_by}: {shares}, x {v.retransmission_ratio:.2g}, {v.stalls}")
    for name, v in result.against_best.items():
        print(f"{result.best} against {name}: {v.relation} by {v.decided_by}; net {100 * v.net.value:+.0f}")
    for column in result.group_columns():
        for label, units, *_, net in result.by_group(column, result.best, result.baseline):
            print(
                f"{column} {label}: {units} links, {100 * net.value:+.0f} ({100 * net.low:+.0f} to {100 * net.high:+.0f})"
            )
    print(*result.warnings, sep="\n")


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

"""Draw docs/figures/multipath.png: packets on three paths with room to spare, under lowest RTT and under greedy sticky.

Usage: python docs/figures/multipath.py    (needs playpath installed)
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from path_plots import path_timeline, stacked_throughput

import playpath
from playpath.plots import figure

HERE = Path(__file__).parent
BASELINE = HERE.parents[1] / "scenarios" / "sticky-baseline.toml"
RATE, DURATION, SOCKET = "4 Mbit/s", "60 s", "600 kB"


def main() -> None:
    """One row for each scheduler."""
    drawn, axes = figure(9.6, 4.8, nrows=2, ncols=2)
    for (left, right), name in zip(axes, ("dft", "gr-sty"), strict=True):
        scenario = tomllib.loads(BASELINE.read_text())
        scenario["path"] = [{**path, "rate": RATE} for path in scenario["path"]]
        scenario["video"]["duration"] = DURATION
        scheduler = {"name": name, "penalise": False}
        scenario["sender"] = [{"cc": "cubic", "scheduler": scheduler, "receive_buffer": SOCKET}]
        session = playpath.run(scenario, trace=True)
        stacked_throughput(session, left)
        path_timeline(session, right)
        left.set_ylabel(f"{name}: goodput (Mbit/s)")
    drawn.savefig(HERE / "multipath.png", dpi=160, facecolor="white", metadata={"Software": None})


if __name__ == "__main__":
    main()

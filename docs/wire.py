"""Fill the tables of docs/appendix/sticky-vlc.md: `sudo .venv/bin/python docs/wire.py`, as root, on an otherwise idle machine.

The sticky study's three scenarios, sixteen combinations of control and scheduler each, with VLC over the kernel's MPTCP and our own
endpoint (world `wire`), and in the simulator. Sessions of the real world run in real time, about 45 s each: 40 minutes in all, half of
that with `--jobs 2` on four cores. Finished ones are kept in out/wire, so it may be stopped and run again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from marks import fill

import playpath
from playpath.base.metrics import format_value
from playpath.results.comparison import Comparison

DOCS = Path(__file__).parent
STORE = DOCS.parent / "out" / "wire"
SCENARIOS = ("sticky-baseline", "sticky-3p-50", "sticky-3p-150")
WORLDS = {"wire:vlc": "VLC on the wire", "sim": "simulator"}
SPARE = 20
"""Seconds that the video is longer than its session, so that none ends within."""
METRICS = ("path_switches", "switches_from_open_path", "reinjections", "stall_time_s", "mean_rtt_ms")


def main() -> None:
    """Play what is missing and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="sessions of each combination")
    parser.add_argument("--cut", type=int, default=40, help="seconds of a session")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--jobs", type=int, default=1, help="sessions at once; each wants a core of its own")
    parser.add_argument("--tolerance", help="how late a link of a real world may be, as of `playpath compare`")
    parser.add_argument("--page", type=Path, default=DOCS / "appendix" / "sticky-vlc.md")
    given = parser.parse_args()
    sections = []
    for name in given.scenarios:
        found = {world: play(name, world, given) for world in given.worlds}
        sections.append(section(name, found))
    fill(given.page, "docs/wire.py", header(given) + "\n".join(sections))


def play(name: str, world: str, given: argparse.Namespace) -> Comparison:
    """One scenario in one world."""
    print(f"{name}: {WORLDS[world]}", flush=True)
    settings = {"video.duration": f"{given.cut + SPARE} s", "run.duration": f"{given.cut} s"}
    if world == "sim":
        return playpath.compare(name, seeds=given.seeds, set=settings)
    folder = STORE / f"{name}-{world.replace(':', '-')}-{given.seeds}-{given.cut}"
    return playpath.compare(
        name,
        world=world,
        seeds=given.seeds,
        set=settings,
        jobs=given.jobs,
        store=folder,
        resume=True,
        tolerance=given.tolerance,
    )


def header(given: argparse.Namespace) -> str:
    """What was played. The heading and what the figures say stand before the marks."""
    worlds = ", ".join(WORLDS[world] for world in given.worlds)
    sessions = "one" if given.seeds == 1 else str(given.seeds)
    return (
        f"The first {given.cut} s of a session, {sessions} of each combination, made by `docs/wire.py`. "
        f"Each cell: {worlds}. A dash: that world does not tell.\n\n"
    )


def section(name: str, found: dict[str, Comparison]) -> str:
    """A scenario's table."""
    senders = list(next(iter(found.values())).table["sender"].unique(maintain_order=True))
    lines = [
        f"## {name}\n",
        "| sender | " + " | ".join(f"`{metric}`" for metric in METRICS) + " |",
        "| -- |" + " -- |" * len(METRICS),
    ]
    for sender in senders:
        cells = (", ".join(cell(result, sender, metric) for result in found.values()) for metric in METRICS)
        lines.append(f"| {sender} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cell(result: Comparison, sender: str, metric: str) -> str:
    """Mean over the seeds, or a dash."""
    if metric not in result.table.columns:
        return "–"
    mean = result.table.filter(result.table["sender"] == sender)[metric].mean()
    return format_value(None if mean is None else float(mean))


if __name__ == "__main__":
    main()

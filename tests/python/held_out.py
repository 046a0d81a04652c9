"""Chunk times that are held out: of real viewers nobody knows the path, but every fifth of their transfers can be kept from the inference,
and its time held against what the sender takes on the draws of the path. Run by hand on a folder of logs, a session each:

    python tests/python/held_out.py ../shared/logs/puffer-slow bbr
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from playpath.base import engine
from playpath.population.inference import Assumptions
from playpath.population.log_groups import GroupColumns
from playpath.population.log_lines import Reading
from playpath.population.log_names import Names
from playpath.population.transfers import Faults, sessions

EVERY = 5


def main(folder: Path, sender: str) -> None:
    """How many of the held-out times lie in the 90 % intervals, over all and over the median session."""
    asked, inside, total, shares = Assumptions((sender,)), 0.0, 0, []
    how, names = Reading("", {}, GroupColumns()), Names.of_run(True)
    for one in sessions(sorted(folder.glob("*.csv")), "auto", how, names, Faults()):
        out = list(range(EVERY - 1, len(one.transfers), EVERY))
        if len(out) < 2:
            continue
        question = asked.question(one) | {"held_out": out}
        found = engine.infer(question)
        share = found["replay"]["held"]
        inside, total = inside + share * len(out), total + len(out)
        shares.append(share)
        print(f"{one.name}: {100 * share:.0f} % of {len(out)}; noise {found['noise']}", flush=True)
    print(
        f"{100 * inside / total:.1f} % of {total} times, {100 * statistics.median(shares):.0f} % in the median of {len(shares)} sessions"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

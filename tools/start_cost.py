#!/usr/bin/env python3
"""Processor time of what a new user meets first: `.venv/bin/python tools/start_cost.py`. docs/appendix/speed.md keeps the figures.

The least of five runs each, user and system time together, so that other work on the machine tells little.
"""

import resource
import subprocess
import sys
import tempfile

SHORT = ("--cc", "cubic", "--seeds", "1", "--set", 'video.duration="10 s"')
COMMANDS = (
    (("--version",), 0.15),
    (("--help",), 0.15),
    (("compare", "wireless", *SHORT, "--json"), 0.6),
    (("compare", "wireless", *SHORT), None),
    (("show", "wireless"), None),
)
"""Arguments, and the most seconds that are wanted."""
RUNS = 5


def cost(arguments: tuple[str, ...], folder: str) -> float:
    """Seconds of processor time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "playpath", *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each command."""
    with tempfile.TemporaryDirectory() as folder:
        for arguments, most in COMMANDS:
            least = min(cost(arguments, folder) for _ in range(RUNS))
            wanted = "" if most is None else f"  wanted: {most} s{'' if least <= most else ', MISSED'}"
            print(f"{least:5.2f} s  playpath {' '.join(arguments)}{wanted}")


if __name__ == "__main__":
    main()

"""Checks whether this machine can emulate a scenario's links at present, by loading them for some seconds before the first session.

A session takes as long as its video, and one whose link was late does not count. So the links are tried first, as many at a
time as there will be sessions, each with a CUBIC transfer that keeps it busy. If they are late the run does not begin, and the
error names the processes that use the cores.
"""

import contextlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playpath.base import engine
from playpath.base.parallel import default_jobs
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import DIRECTIONS, network
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.programs import JsonObject
from playpath.real.testbed.traffic import BulkFlow
from playpath.scenario import resolved

SECONDS = 2.0
"""Duration of the load, after `_CONNECTING_S`."""
_CONNECTING_S = 0.3
_PORT = 9100
_UNLIMITED_MBPS = 100.0
"""The rate at which a link without a rate limit is tried."""
_MAX_REALTIME_MBPS = 200.0
_QUEUE_PACKETS = 100
_TRIES = 2
_ROOM = 1.5
"""The suggested tolerance, as a multiple of the lateness that was measured."""
_SHOWN = 3
_BUSY_SHARE = 0.1
"""Processes that use less than this share of a core are not named."""


def check_machine(
    scenario: resolved.Document, *, at_once: int = 1, tolerance: str | None = None, seconds: float = SECONDS
) -> float:
    """Make sure that this machine can emulate a scenario's links at present; otherwise raise TestbedError.

    Args:
        scenario: A resolved scenario.
        at_once: Number of sessions that will run at a time.
        tolerance: As for the sessions; by default a limit derived for each path.
        seconds: Duration of the load; it is repeated once if the links were late.

    Returns:
        99th percentile of lateness of the worst direction of a path, in milliseconds.
    """
    paths = [
        _plain(path, figures)
        for path, figures in zip(scenario["path"], engine.path_figures(json.dumps(scenario)), strict=True)
    ]
    for _ in range(_TRIES):
        with _watched() as busy, ThreadPoolExecutor(at_once) as pool:
            tried = [pool.submit(_try, paths, number, tolerance, seconds) for number in range(at_once)]
            reports = [future.result() for future in tried]
        late_ms = max(_lateness_ms(report) for report in reports)
        problems = [
            problem for report in reports for problem in report.get("problems", ["the emulator left no report"])
        ]
        if not problems:
            return late_ms
    raise TestbedError(
        f"this machine cannot keep the scenario's links on time at present: {problems[0]}; {_who(busy)}; {_what_to_do(late_ms, at_once)}"
    )


def _plain(path: resolved.Path, figures: engine.PathFigures) -> resolved.Path:
    """The path with only delay and mean rate: lateness depends on how often a link must deliver packets."""
    return {
        "name": path["name"],
        "rate": f"{figures['rate_mbps'] or _UNLIMITED_MBPS:.6f} Mbit/s",
        "rtt": f"{figures['rtt_ms']:.6f} ms",
        "queue": {"kind": "droptail", "limit": f"{_QUEUE_PACKETS} packets"},
    }


def _try(paths: Sequence[resolved.Path], number: int, tolerance: str | None, seconds: float) -> JsonObject:
    """Run an emulator with busy links and return its report."""
    is_fast = any(engine.number(path["rate"] or "") > _MAX_REALTIME_MBPS * 1e6 for path in paths)
    with Testbed(network(list(paths)), seed=number + 1, tolerance=tolerance, realtime=not is_fast) as bed:
        flows = [BulkFlow(f"try-{number}-{i}", "cubic", _PORT + i) for i in range(len(bed.ends))]
        with contextlib.ExitStack() as stack:
            for flow, end in zip(flows, bed.ends, strict=True):
                flow.open(bed.server, bed.client, end.server_address)
                stack.callback(flow.close)
            bed.emulator.begin_at(time.monotonic() + _CONNECTING_S)
            time.sleep(_CONNECTING_S + seconds)
            bed.check()
    return bed.report


def _lateness_ms(report: JsonObject) -> float:
    directions = [path[direction] for path in report.get("paths", []) for direction in DIRECTIONS]
    return max((direction["lateness_us"]["p99"] / 1e3 for direction in directions), default=float("inf"))


@contextlib.contextmanager
def _watched() -> Iterator[dict[str, float]]:
    """Program name → share of a core that other processes used in the meantime; filled at the end."""
    shares: dict[str, float] = defaultdict(float)
    before, began = _taken(), time.monotonic()
    yield shares
    elapsed = time.monotonic() - began
    for pid, (name, seconds) in _taken().items():
        shares[name] += (seconds - before.get(pid, ("", seconds))[1]) / elapsed


def _taken() -> dict[int, tuple[str, float]]:
    """Name and processor seconds of every process except this one and its children."""
    found = {}
    tick = os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            head, _, tail = (folder / "stat").read_text().rpartition(")")
            fields = tail.split()
            if os.getpid() not in (int(folder.name), int(fields[1])):
                found[int(folder.name)] = (head.partition("(")[2], (int(fields[11]) + int(fields[12])) / tick)
    return found


def _who(busy: Mapping[str, float]) -> str:
    busiest = sorted(busy.items(), key=lambda item: -item[1])[:_SHOWN]
    named = [f"{name} {100 * share:.0f} %" for name, share in busiest if share >= _BUSY_SHARE]
    load = f"{os.getloadavg()[0]:.0f} processes compete for its {default_jobs()} cores"
    return (
        f"{load} (shares of a core: {', '.join(named)})"
        if named
        else f"{load}, but none on this machine uses much: its host is busy"
    )


def _what_to_do(late_ms: float, at_once: int) -> str:
    fewer = f"play fewer than {at_once} at once, " if at_once > 1 else ""
    wider = f"--tolerance '{_ROOM * late_ms:.2g} ms'" if late_ms != float("inf") else "--tolerance"
    return f"close them, {fewer}or accept the lateness: {wider}"

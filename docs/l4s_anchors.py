"""Pairs of bulk flows against what was measured elsewhere: the last part of docs/l4s.md, and the store of what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import playpath


def kept(name: str, measure: Callable[[], Any]) -> Any:
    """What STORE has under this name; measured now if it has nothing."""
    path = Path(sys.argv[1]) / f"{name}.json"
    if not path.exists():
        print(name, file=sys.stderr)
        path.write_text(json.dumps(measure()))
    return json.loads(path.read_text())


JITTER = "0.06 ms"
"""A quarter of a packet time: no phase is fixed."""
OLD = "prague:transition=1000000"
"""As in 2020, without a reference round trip."""
OVER = (
    ("CUBIC / Prague", "10 ms", ["cubic", "prague"], "12.65 / 34.57", None),
    ("the same without Prague's `reference_rtt`", "10 ms", ["cubic", OLD], "12.65 / 34.57", None),
    ("CUBIC / Prague", "20 ms", ["cubic", "prague"], "14.94 / 32.39", None),
    ("CUBIC / Prague", "80 ms", ["cubic", "prague"], "17.85 / 29.58", None),
    ("Prague / Prague", "20 ms", ["prague", "prague"], "23.5 / 23.4", None),
    ("Prague of 80 ms / of 20 ms", "20 ms", ["prague@80 ms", "prague"], "5.80 / 41.48", None),
    ("the same without `reference_rtt`", "20 ms", [f"{OLD}@80 ms", OLD], "5.80 / 41.48", None),
    ("and packets that come up to 0.25 ms early or late", "20 ms", [f"{OLD}@80 ms", OLD], "5.80 / 41.48", "0.25 ms"),
)
TC_RED = {"min_threshold_packets": 83, "max_threshold_packets": 250, "max_p": 0.02, "queue_weight": 0.002}
"""Linux's `tc` for a limit of 1000 packets: a quarter, a third of it, 2 %; not gentle, drops not kept apart."""
SHARED = (
    ("1000 packets, drop-tail", "1000 packets", "35.44 / 12.24"),
    ("`fq_codel` with one flow, both marked", {"kind": "fq_codel", "flows": 1}, "1 to 24"),
    ("`pie` with `ecn`", {"kind": "pie", "ecn": True}, "1 to 23"),
    (
        "`red` with `ecn`, 1000 packets, as `tc` sets it",
        {"kind": "red", "ecn": True, "limit": "1000 packets", "gentle": False, "wait": False, **TC_RED},
        "1 to 27",
    ),
)


def pair(
    rtt: str, queue: Any, flows: Sequence[str], *, marks: bool = False, hosts_off: str | None = None
) -> list[float]:
    """Mbit/s of two bulk flows over 50 Mbit/s in two minutes, mean over the seeds; packets come so much early or late to the queue."""
    traffic = []
    for i, text in enumerate(flows):
        control, _, own_rtt = text.partition("@")
        name, _, setting = control.partition(":")
        cc: Any = name
        if setting:
            key, _, value = setting.partition("=")
            cc = {"name": name, key: json.loads(value)}
        group = {"name": f"flow {i}", "kind": "bulk", "cc": cc, "start_spread": "1 s"}
        if own_rtt:
            group["rtt"] = {"uniform": [own_rtt, own_rtt], "whole": True}
        if marks and name == "cubic":
            group["ecn"] = True
        traffic.append(group)
    path = {"name": "p", "rate": "50 Mbit/s", "rtt": rtt, "queue": queue, "jitter": JITTER}
    links = []
    if hosts_off:
        links.append({"name": "hosts", "rate": "unlimited", "rtt": "1 ms", "jitter": hosts_off})
        path["via"] = ["hosts"]
    scenario = {"link": links, "path": [path], "traffic": traffic, "run": {"duration": "120 s", "seeds": 5}}
    result = playpath.compare(scenario)
    return [float(result.flows.filter(pl.col("name") == f"flow {i}")["goodput_mbps"].mean()) for i in range(2)]


def anchors() -> tuple[str, str, str]:
    """Against what was measured with Linux: over DualPI2, and in one classic queue; Prague's fall-back in these."""
    over = ["| flows over `dualpi2` | round trip | Mbit/s | measured elsewhere |", "| --- | --- | --- | --- |"]
    for i, (label, rtt, flows, elsewhere, off) in enumerate(OVER):
        a, b = kept(f"over {i}", lambda rtt=rtt, flows=flows, off=off: pair(rtt, "dualpi2", flows, hosts_off=off))
        over.append(f"| {label} | {rtt if '@' not in flows[0] else ''} | {a:.1f} / {b:.1f} | {elsewhere} |")
    shared = [
        "| one classic queue, 20 ms | CUBIC / Prague, Mbit/s | without `reference_rtt` | measured elsewhere |",
        "| --- | --- | --- | --- |",
    ]
    fallback = ["| queue | as Prague comes | with its fall-back |", "| --- | --- | --- |"]
    for i, (label, queue, elsewhere) in enumerate((*SHARED, ("DualPI2", "dualpi2", None))):
        a, b = kept(f"shared {i}", lambda queue=queue: pair("20 ms", queue, ["cubic", "prague"], marks=True))
        with_it = ["cubic", "prague:classic_fallback=true"]
        c, d = kept(f"fallback {i}", lambda queue=queue, flows=with_it: pair("20 ms", queue, flows, marks=True))
        fallback.append(f"| {label} | {a:.1f} / {b:.1f} | {c:.1f} / {d:.1f} |")
        if elsewhere:
            without = ["cubic", OLD]
            e, f = kept(f"without {i}", lambda queue=queue, flows=without: pair("20 ms", queue, flows, marks=True))
            cells = [
                f"{x:.1f} / {y:.1f}" + ("" if "/" in elsewhere else f" (1 to {y / x:.0f})") for x, y in ((a, b), (e, f))
            ]
            shared.append(f"| {label} | {' | '.join(cells)} | {elsewhere} |")
    return "\n".join(over), "\n".join(shared), "\n".join(fallback)

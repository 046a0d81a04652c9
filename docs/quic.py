"""Play what docs/quic.md and docs/appendix/quic-measured.md compare in the simulator: a part of `make figures`, a minute of a core.

Writes their tables, and prints what the text and the table of causes say: a person puts that there. Not played here: what needs another
engine (0-RTT to a validated address, samples that Linux would count), the drawn scenes of Slack, and the wire (docs/walk.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from marks import fill
from papers import commit

import playpath
from playpath.judge.stats import Summary, differences, summarise
from playpath.results.comparison import Comparison

DOCS = Path(__file__).parent
PAGE = DOCS / "quic.md"
MEASURED = DOCS / "appendix" / "quic-measured.md"
SEEDS = 20
SCENARIOS = ("wireless", "mobile", "satellite", "bufferbloat", "live")
CONTROLS = ("cubic", "bbr3")
SHOWN = [("wireless", "bbr3"), ("mobile", "cubic"), ("satellite", "bbr3"), ("live", "cubic")]
"""What the page shows; the appendix has all."""
FIGURES = ("startup_delay_s", "stall_time_s", "retransmitted_packets")
HEAD = "| scenario | control | start-up, s | stalls, s |"
NOTICED = {"0.2 s": "0.2 s", "1 s": "1 s (as shipped)", "3 s": "3 s"}
WALKERS = ("tcp reconnects", "quic migrates", "quic multipath")
TCP = {"name": "tcp", "tls": "full"}
QUIC = {"name": "quic"}
CAUSES: list[tuple[str, str, list[dict[str, object]], dict[str, str]]] = [
    (
        "mobile",
        "cubic",
        [QUIC, QUIC | {"stream_window": "6 MiB", "connection_window": "15 MiB"}, QUIC | {"pacing": 0}],
        {},
    ),
    ("mobile", "cubic", [TCP, TCP | {"receive_buffer": "1 MiB"}], {}),
    ("wireless", "cubic", [TCP, QUIC, QUIC | {"datagram_bytes": 1472}], {}),
    ("satellite", "cubic", [QUIC, QUIC | {"stream_window": "256 KiB", "max_stream_window": "256 KiB"}], {}),
    ("wireless", "cubic", [QUIC, QUIC | {"ack_later": 10}, QUIC | {"ack_later": 10, "max_ack_delay": "2 ms"}], {}),
    ("wireless", "bbr3", [QUIC, QUIC | {"ack_later": 10}], {}),
    ("wireless", "cubic", [TCP, QUIC], {"path.rtt": "109 ms"}),
    ("wireless", "cubic", [TCP, TCP | {"tls": "early_data"}], {}),
    ("wireless", "cubic", [QUIC, QUIC | {"tls": "early_data"}], {}),
    ("satellite", "bbr3", [TCP, QUIC], {}),
    ("mobile", "bbr3", [TCP, QUIC], {}),
]
"""Transports of a scenario and a control, each against the first one, and what is changed of the scenario."""
CAUSED = ("startup_delay_s", "stall_time_s", "goodput_mbps", "mean_queue_packets")


def main() -> None:
    """Both tables of both pages, then the causes."""
    rows = {(name, cc): row(name, cc) for name in SCENARIOS for cc in CONTROLS}
    line = "| `{}` | {} | {} |".format
    shown = [line(*key, " | ".join(rows[key][:2])) for key in SHOWN]
    every = [line(*key, " | ".join(cells)) for key, cells in rows.items()]
    fill(PAGE, "docs/quic.py, rows", "\n".join([HEAD, "|---|---|---|---|", *shown]))
    played_by = f"Means over {SEEDS} seeds, engine of commit {commit()}, TCP then QUIC; in brackets the 95 % interval of the median paired"
    about = f"{played_by} difference (QUIC minus TCP).\n"
    fill(
        MEASURED,
        "docs/quic.py, rows",
        "\n".join([about, f"{HEAD} retransmitted packets |", "|---|---|---|---|---|", *every]),
    )
    write_walk()
    tell_causes()


def played(name: str, changes: Mapping[str, object] | None = None, **choices: object) -> Comparison:
    """Twenty seeds."""
    return playpath.compare(name, seeds=SEEDS, set=changes, **choices)


def row(name: str, cc: str) -> list[str]:
    """Means of TCP and QUIC, and the interval of the median difference between them."""
    result = played(name, cc=cc, vary={"sender.transport": ["tcp", "quic"]})
    return [between(result, *result.senders, figure) for figure in FIGURES]


def between(result: Comparison, first: str, second: str, figure: str) -> str:
    """As the tables have it."""
    one, other = ([float(v or 0) for v in result.values(sender, figure)] for sender in (first, second))
    return f"{means(one)}, {means(other)}{interval(one, other)}"


def means(values: Sequence[float]) -> str:
    """A mean in three digits."""
    mean = sum(values) / len(values)
    return f"{mean:.3g}" if mean < 1000 else f"{mean:.0f}"


def interval(one: Sequence[float], other: Sequence[float]) -> str:
    """Of the median of the differences, in brackets; nothing where all are zero."""
    found = summarise(list(differences(other, one)))
    if found is None or found.ci95 is None or found.minimum == found.maximum == 0:
        return ""
    low, high = (f"{edge:.2g}" if abs(edge) < 100 else f"{edge:.0f}" for edge in found.ci95)
    return f" ({low} to {high})".replace("-", "−")


def write_walk() -> None:
    """Out of WiFi, into LTE: stalls, by when the client's system notices."""
    head = "| the system notices after | TCP reconnects | QUIC migrates | multipath QUIC |\n|---|---|---|---|\n"
    brief, full = "", ""
    for after, label in NOTICED.items():
        result = played("wifi-to-lte", {"sender.handover_after": after})
        found = [result.summary(sender, "stall_time_s") for sender in WALKERS]
        brief += f"| {label} | " + " | ".join(seconds(s) for s in found) + " |\n"
        full += f"| {label} | " + " | ".join(seconds(s, with_interval=True) for s in found) + " |\n"
    fill(PAGE, "docs/quic.py, walk", head + brief)
    fill(MEASURED, "docs/quic.py, walk", head + full)


def seconds(found: Summary | None, *, with_interval: bool = False) -> str:
    """A mean, and the interval of the median."""
    if found is None or found.maximum == 0:
        return "0"
    edges = f" ({found.ci95[0]:.2f} to {found.ci95[1]:.2f})" if with_interval and found.ci95 else ""
    return f"{found.mean:.2f}{edges}"


def tell_causes() -> None:
    """Figures of the table of causes, and of the list above it."""
    for name, cc, transports, changes in CAUSES:
        result = played(name, changes, cc=cc, vary={"sender.transport": transports})
        first, *_ = result.senders
        print(f"\n{name}, {cc} {changes or ''}")
        for sender in result.senders:
            cells = ", ".join(f"{figure} {between(result, first, sender, figure)}" for figure in CAUSED)
            print(f"  {sender}: {cells}")
    for window in (10, 100):
        given: dict[str, object] = {"path.lte.rtt": "300 ms", "sender.initial_window": window}
        result = played("wifi-to-lte", given)
        stalls = between(result, "quic migrates", "tcp reconnects", "stall_time_s")
        print(f"\nLTE of 300 ms, initial window of {window}: migrates, reconnects: {stalls}")
    result = played("wifi-to-lte")
    print("multipath retransmits", result.summary("quic multipath", "retransmitted_packets"))


if __name__ == "__main__":
    main()

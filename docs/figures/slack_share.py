"""Slack as a neighbour: its share beside a bulk CUBIC, and what it leaves of an ample link. Prints the tables of
docs/appendix/slack.md.

Usage: python docs/figures/slack_share.py    (needs playpath installed; three minutes of a core)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from slack_client_data import FILM

import playpath

LINKS = [(5, 20), (10, 40), (10, 100), (25, 60), (20, 150)]
"""Mbit/s, ms."""
QUEUES = ["5 packets", "0.5 bdp", "1 bdp", "4 bdp", "codel"]
RIVALS = ["slack", "newreno", "westwood", "bbr", "bbr3", "copa"]
SHARED = """
name = "share"
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "0.3 ms"
queue = "{queue}"
[run]
duration = "60 s"
"""
FLOW = '[[traffic]]\nkind = "bulk"\nname = "{name}"\ncc = "{cc}"\nstart_spread = "1 s"\n'
AMPLE = (
    f'name = "ample"{FILM}'
    + """full_level = "30 s"
cmcd = "v2"
[[path]]
rate = "{rate} Mbit/s"
rtt = "{rtt} ms"
jitter = "0.3 ms"
queue = "1 bdp"
"""
)


def share(link: tuple[float, float], queue: str, cc: str) -> float:
    """Percent of what both bulk flows get, six seeds."""
    text = SHARED.format(rate=link[0], rtt=link[1], queue=queue)
    text += FLOW.format(name="tested", cc=cc) + FLOW.format(name="rival", cc="cubic")
    shares = []
    for seed in range(1, 7):
        got = {flow["name"].split()[0]: flow["goodput_mbps"] for flow in playpath.run(text, seed=seed).flows}
        own = sum(value for name, value in got.items() if name.startswith("tested"))
        shares.append(100 * own / sum(got.values()))
    return fmean(shares)


def tell_shares() -> None:
    """A row for each link, and how many cells are within 35 to 65 %."""
    fair = dict.fromkeys(RIVALS, 0)
    print("| link | " + " | ".join(QUEUES) + " |\n" + "| -- " * (1 + len(QUEUES)) + "|")
    for link in LINKS:
        cells = [{cc: share(link, queue, cc) for cc in RIVALS} for queue in QUEUES]
        for cc in RIVALS:
            fair[cc] += sum(35 <= cell[cc] <= 65 for cell in cells)
        shown = (f"{cell['slack']:.0f} ({cell['newreno']:.0f}, {cell['bbr3']:.0f})" for cell in cells)
        print(f"| {link[0]} Mbit/s, {link[1]} ms | " + " | ".join(shown) + " |", flush=True)
    print(fair)


def tell_ample() -> None:
    """A viewer alone on a link of many times its best rate: chunk throughput, mean rate, packets sent again; two seeds."""
    senders = ("slack", "sammy", "cubic", "bbr3")
    print("\n| link | " + " | ".join(senders) + " |\n" + "| -- " * (1 + len(senders)) + "|")
    for rate, rtt in itertools.product((50, 100), (20, 60)):
        cells = []
        for cc in senders:
            played = [playpath.run(AMPLE.format(rate=rate, rtt=rtt), cc=[cc], seed=seed) for seed in (1, 2)]
            kbps, again = (
                fmean(one.metrics[name] or 0.0 for one in played)
                for name in ("mean_rate_kbps", "retransmitted_packets")
            )
            cells.append(f"{fmean(chunk_throughput(one.events) for one in played):.1f} ({kbps:.0f}, {again:.0f})")
        print(f"| {rate} Mbit/s, {rtt} ms | " + " | ".join(cells) + " |", flush=True)


def chunk_throughput(events: Sequence[Mapping[str, Any]]) -> float:
    """Mbit/s, the mean over segments from their request to their last byte (Sammy, SIGCOMM 2023, section 5)."""
    came = [event for event in events if event["event"] == "segment_downloaded"]
    return fmean(8e-6 * event["body_bytes"] / event["download_time_s"] for event in came)


if __name__ == "__main__":
    tell_shares()
    tell_ample()

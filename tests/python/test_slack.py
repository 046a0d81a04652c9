"""Slack and adaptive viewers: to be honest costs nothing."""

import sys
from pathlib import Path
from statistics import fmean

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "figures"))

from slack_client_data import Case, interval, session
from slack_share import AMPLE, chunk_throughput, share

import playpath

SHARED = [Case(25, 20, "cubic", 12), Case(25, 60, "cubic", 12), Case(25, 60, "newreno", 12)]
"""Half of the link is more than the best rate, so that a sender that yields to a bulk flow takes it away from its viewer."""


@pytest.mark.slow
def test_an_honest_viewer_gets_the_rate_of_a_silent_one():
    """Until 0.2.0, which took a full buffer at any rung for a reason to yield, it was 0.71 of it: 3.7 of 5.2 Mbit/s."""

    def rate(data: str) -> float:
        return fmean(session(case, data, seed)["mean_rate_kbps"] for case in SHARED for seed in (1, 2))

    assert rate("truth") > 0.95 * rate("silent")


def test_an_ample_link_is_not_filled_by_who_tells():
    """Top rate 8 Mbit/s, a link of 25 without a rival, 60 s of buffer: who tells is paced once it lasts; a silent one's sender is CUBIC."""
    told, silent = (session(Case(25, 60, "none", 60), told, 1) for told in ("truth", "silent"))
    assert told["mean_rate_kbps"] >= 0.95 * silent["mean_rate_kbps"]  # the goal of issue 42
    assert told["retransmitted_packets"] < 0.75 * silent["retransmitted_packets"]


@pytest.mark.slow
def test_a_player_that_lacks_nothing_of_the_link_is_not_short():
    """Fault 1 of issue 42: beside NewReno on 10 Mbit/s the flow gets the best rate, 8 Mbit/s, about as often as not. As long as a low
    rung alone made the viewer short, the throughput that dash.js measures crossed 8.9 Mbit/s, from where it tries the top and falls
    back: the rate told was 0.65 of the silent one's (five seeds)."""
    case = Case(10, 20, "newreno", 12)
    told, silent = (
        fmean(session(case, told, s)["mean_rate_kbps"] for s in (1, 2, 3, 4, 5)) for told in ("truth", "silent")
    )
    assert told >= 0.9 * silent


def test_an_interval_by_hand():
    """1, 2, 3: mean 2, standard error 1 / sqrt(3) = 0.577, Student's 97.5 % point with two degrees of freedom 4.303."""
    mean, low, high = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert round(high - mean, 3) == round(mean - low, 3) == 2.484


TIGHT = """
name = "tight"
[[path]]
rate = "4 Mbit/s"
rtt = "40 ms"
jitter = "0.3 ms"
queue = "4 bdp"
[video]
source = "bigbuckbunny"
rate = "2.8 Mbit/s"
duration = "60 s"
[player]
kind = "progressive"
buffer = "5 s"
[[traffic]]
name = "other"
kind = "bulk"
cc = "cubic"
start_spread = "5 s"
"""


def test_a_film_that_needs_more_than_half_beside_cubic_plays():
    """It needs 2.8 of 4 Mbit/s. With CUBIC's cuts (`weight` 1) it gets half, and stalls for 58 s; who counts for three gets up
    to three quarters, and the bulk flow keeps the rest."""

    def played(weight: float) -> tuple[float, float]:
        metrics = playpath.run(TIGHT, set={"sender": [{"cc": {"name": "slack", "weight": weight}}]}).metrics
        return metrics["stall_time_s"] or 0.0, metrics["neighbours_goodput_mbps"] or 0.0

    (stall, neighbour), (stall_alike, _) = played(3), played(1)
    assert stall < 1
    assert stall_alike > 5
    assert neighbour > 0.5


def test_an_ample_link_is_left_to_others():
    """Chunk throughput at most 40 % of CUBIC's on 100 Mbit/s (goal of issue 42), at the same picture."""
    told, cubic = (playpath.run(AMPLE.format(rate=100, rtt=20), cc=[cc]) for cc in ("slack", "cubic"))
    assert chunk_throughput(told.events) < 0.4 * chunk_throughput(cubic.events)
    assert (told.metrics["mean_rate_kbps"] or 0.0) >= (cubic.metrics["mean_rate_kbps"] or 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("link", "queue"), [((25, 60), "5 packets"), ((20, 150), "codel")])
def test_a_flow_that_is_told_nothing_competes_as_cubic_does(link: tuple[int, int], queue: str):
    """Fault 5 of issue 42: beside a bulk CUBIC it took 67 to 98 % of the links with five packets of queue, and 90 % under CoDel from
    100 ms of RTT on, when a loss without a queue counted for nobody. BBRv3 has 69 and 90 % of these two."""
    assert 35 <= share(link, queue, "slack") <= 65


LOSSY = """
name = "lossy"
[[path]]
rate = "24 Mbit/s"
rtt = "90.7 ms"
jitter = "0.3 ms"
loss = "0.5 %"
queue = "4 bdp"
outage = { from = "30 s", until = "33 s", spread = "5 s" }
[video]
source = "bigbuckbunny"
duration = "90 s"
[player]
kind = "dash"
abr = "dynamic"
ladder = "300 kbit/s, 750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s, 8 Mbit/s"
segment = "4 s"
full_level = "30 s"
cmcd = "v2"
"""


def test_chance_losses_after_an_outage_do_not_cost_the_picture():
    """Back from the outage the flow gets 8 to 10 of 24 Mbit/s, more than the best rate, so that it is not short: jitter passes for a queue
    of a packet, and each random loss cut a window that was below the pipe. MOS 4.1, 4.67, 4.67, 3.2; now 4.67 with each seed."""
    assert (
        fmean(playpath.run(LOSSY, cc=["slack"], seed=seed).metrics["p1203_o35"] or 1.0 for seed in (1, 2, 3, 4)) > 4.5
    )

"""Slack and adaptive viewers: to be honest costs nothing."""

import sys
from pathlib import Path
from statistics import fmean

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "figures"))

from slack_told import Case, interval, session

SHARED = [Case(25, 20, "cubic", 12), Case(25, 60, "cubic", 12), Case(25, 60, "newreno", 12)]
"""Half of the link is more than the best rate, so that a sender that yields to a bulk flow takes it away from its viewer."""


@pytest.mark.slow
def test_an_honest_viewer_gets_the_rate_of_a_silent_one():
    """Until 0.2.0, which took a full buffer at any rung for a reason to yield, it was 0.71 of it: 3.7 of 5.2 Mbit/s."""

    def rate(told: str) -> float:
        return fmean(session(case, told, seed)["mean_rate_kbps"] for case in SHARED for seed in (1, 2))

    assert rate("truth") > 0.95 * rate("silent")


def test_an_ample_link_is_not_filled_by_who_tells():
    """Top rate 8 Mbit/s: a link of 25 without a rival gets no packet lost from who is paced, told, by two to three times that."""
    told, silent = (session(Case(25, 60, "none", 12), told, 1) for told in ("truth", "silent"))
    assert told["mean_rate_kbps"] >= silent["mean_rate_kbps"]
    assert told["retransmitted_packets"] <= silent["retransmitted_packets"]


def test_an_interval_by_hand():
    """1, 2, 3: mean 2, standard error 1 / sqrt(3) = 0.577, Student's 97.5 % point with two degrees of freedom 4.303."""
    mean, low, high = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert round(high - mean, 3) == round(mean - low, 3) == 2.484

"""What late links add to the RTT, and whether the verdict survives it."""

import polars as pl
import pytest

from playpath.judge.lateness import lateness
from playpath.judge.ranking import Ranker

SEEDS = 64
CRITERIA = ["goodput_mbps", "mean_rtt_ms"]


def links(late):
    """Each sender's lateness, a value a seed, on the way down; half of it on the way up; another path is punctual."""
    rows = [
        {
            "sender": sender,
            "seed": seed,
            "name": f"path.{path}/{way}",
            "mean_lateness_ms": by * share * (path == "wifi"),
        }
        for sender, values in late.items()
        for seed, by in enumerate(values)
        for path in ("wifi", "cellular")
        for way, share in (("down", 1.0), ("up", 0.5))
    ]
    shared = {"sender": "a", "seed": 0, "name": "link.backhaul/down", "mean_lateness_ms": None}
    return pl.DataFrame([*rows, shared])


def judge(rtts, late):
    columns = {sender: {"goodput_mbps": [5.0] * SEEDS, "mean_rtt_ms": values} for sender, values in rtts.items()}
    ranker = Ranker(columns, CRITERIA)
    return ranker.decide(), lateness(links(late), columns, ranker, ranker.decide())


def test_both_ways_of_the_latest_path_are_the_error_bar():
    rtts = {"a": [50.0 + i % 3 for i in range(SEEDS)], "b": [90.0 + i % 4 for i in range(SEEDS)]}
    decision, found = judge(rtts, {"a": [0.2] * SEEDS, "b": [0.4] * SEEDS})
    assert decision.beaten == ["b"]
    assert found.added_rtt_ms == pytest.approx({"a": 0.3, "b": 0.6})
    assert (found.turned, found.to_dict()["verdict_survives"]) == ([], True)
    assert found.warning == (
        "the links' lateness added 0.3 to 0.6 ms to a round trip, depending on the sender: RTTs are too long by up to that; "
        "the verdict survives it"
    )


def test_without_a_verdict_there_is_none_to_survive():
    rtts = {"a": [50.0 + i % 3 for i in range(SEEDS)], "b": [50.0 + (i + 1) % 3 for i in range(SEEDS)]}
    decision, found = judge(rtts, {"a": [0.00234] * SEEDS, "b": [0.00234] * SEEDS})
    assert decision.beaten == []
    assert found.to_dict()["verdict_survives"] is None
    assert found.warning == (
        "the links' lateness added 0.0035 ms to a round trip, depending on the sender: RTTs are too long by up to that"
    )


def test_a_difference_that_is_the_links_does_not_survive():
    # Both have 50 ms; one of them was measured on links that were 40 ms late.
    rtts = {"a": [50.0 + i % 3 for i in range(SEEDS)], "b": [90.0 + i % 3 for i in range(SEEDS)]}
    decision, found = judge(rtts, {"a": [0.0] * SEEDS, "b": [40 / 1.5] * SEEDS})
    assert decision.beaten == ["b"]
    assert found.turned == ["b"]
    assert "the verdict does not survive it for b" in found.warning


def test_an_order_that_only_late_seeds_have_does_not_survive():
    # What late links did to the goodput, no correction of an RTT takes away: over the punctual half `b` is not behind.
    columns = {
        "a": {"goodput_mbps": [5.0] * SEEDS, "mean_rtt_ms": [50.0] * SEEDS},
        "b": {"goodput_mbps": [9.9] + [5.0] * 31 + [1.0] * 32, "mean_rtt_ms": [50.0] * SEEDS},
    }
    late = [0.0] * 32 + [3.0] * 32
    ranker = Ranker(columns, CRITERIA)
    decision = ranker.decide()
    assert decision.beaten == ["b"]
    assert lateness(links({"a": late, "b": late}), columns, ranker, decision).turned == ["b"]


def test_a_simulated_link_is_never_late():
    ranker = Ranker({"a": {"goodput_mbps": [5.0]}}, CRITERIA)
    frame = pl.DataFrame({"sender": ["a"], "seed": [1], "name": ["path.wifi/down"]})
    assert lateness(frame, ranker.values, ranker, ranker.decide()) is None

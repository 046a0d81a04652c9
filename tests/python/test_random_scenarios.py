"""What must hold of every session, of scenarios drawn at random: the same ones each time, or PLAYPATH_BASE_SEED's."""

import json
import os
import tomllib
from copy import deepcopy

import pytest
import random_scenarios

import playpath
from playpath.base.errors import InputError

BASE_SEED = int(os.environ.get("PLAYPATH_BASE_SEED", "1"))


@pytest.mark.slow
def test_invariants_hold_whatever_is_played():
    tally = random_scenarios.play_round(BASE_SEED)
    assert not tally.broken, "\n".join(tally.broken)
    # Next to all that is drawn makes sense; the others are refused in one line.
    assert len(tally.refused) <= random_scenarios.ROUND * 0.03, "\n".join(tally.refused)
    assert tally.played + len(tally.refused) == random_scenarios.ROUND


def test_equal_seeds_draw_equal_scenarios_and_others_others():
    assert random_scenarios.draw(7, 3) == random_scenarios.draw(7, 3)
    assert len({random_scenarios.draw(base, number) for base in range(5) for number in range(5)}) == 25


@pytest.mark.slow
def test_where_no_picture_is_shown_late_start_up_film_and_standstill_are_the_clock():
    """Of twelve scenarios with catch-up, eight of which are over the clock by 17 to 65 ms with VLC's threshold of 20 ms."""
    over = 0
    for number in (19, 109, 145, 199, 305, 391, 442, 580, 0, 1, 2, 3):
        text = random_scenarios.draw(1, number)
        for threshold in ("20 ms", "0 ms"):
            asked = text.replace('policy = "catch-up"', f'policy = "catch-up"\nlate_threshold = "{threshold}"')
            session = playpath.run(playpath.Scenario.from_toml(asked, folder=random_scenarios.ROOT))
            record, metrics = json.loads(session.to_json()), session.metrics
            assert random_scenarios.faults(record, tomllib.loads(asked)) == []
            spent = sum(metrics[name] or 0 for name in ("startup_delay_s", "stall_time_s", "played_s"))
            over += threshold == "20 ms" and spent > record["events"][-1]["time_s"] + 0.005
    assert over >= 6


@pytest.fixture(scope="module")
def played():
    """Record and scenario of the first film that is played to its end, without neighbours, at a known rate."""
    for number in range(random_scenarios.ROUND):
        text = random_scenarios.draw(1, number)
        scenario = tomllib.loads(text)
        if scenario["player"]["kind"] == "dash" and len(scenario["path"]) == 1 and "trace" not in scenario["path"][0]:
            try:
                session = playpath.run(playpath.Scenario.from_toml(text, folder=random_scenarios.ROOT))
            except InputError:
                continue  # what is drawn does not make sense
            record = json.loads(session.to_json())
            if record["events"][-1].get("reason") == "played" and len(record["flows"]) == 1:
                return record, scenario
    raise AssertionError("none is drawn")


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        (("metrics", "goodput_mbps"), float("nan"), "metrics.goodput_mbps is nan"),
        (("flows", 0, "min_rtt_ms"), 1e6, "above the mean"),
        (("flows", 0, "min_rtt_ms"), 0.1, "the shortest path takes"),
        (("flows", 0, "sent_packets"), 10**9, "packets are sent"),
        (("flows", 0, "retransmitted_packets"), 10**9, "retransmitted of"),
        (("flows", 0, "throughput_mbps"), 1e6, "throughput_mbps 1000000.0 over links"),
        (("flows", 0, "goodput_mbps"), 1e5, "goodput_mbps 100000.0 over links"),
        (("flows", 0, "goodput_mbps"), 1e5, "above throughput"),
        (("links", 0, "delivered_packets"), 10**9, "neither delivered nor dropped"),
        (("links", 0, "offered_packets"), 10**9, "neither delivered nor dropped"),
        (("links", 0, "utilisation"), 1.5, "utilisation 1.5"),
        (("sessions", 0, "metrics", "p1203_o35"), 5.000000000000001, "p1203_o35 5.000000000000001"),
        (("sessions", 0, "metrics", "played_s"), 1e3, "played 1000.0 s of"),
        (("sessions", 0, "metrics", "startup_delay_s"), 1e3, "startup_delay_s, stall_time_s and played_s"),
        (("events", -1, "clock_stopped_s"), 1e3, "start-up, film and standstill take"),
    ],
)
def test_what_does_not_hold_is_found(played, where, value, says):
    record, scenario = deepcopy(played)
    assert random_scenarios.faults(record, scenario) == []
    *way, last = where
    part = record
    for key in way:
        part = part[key]
    part[last] = value
    assert any(says in fault for fault in random_scenarios.faults(record, scenario))


@pytest.mark.parametrize(("share", "found"), [(0.5, True), (1.1, False)])
def test_a_connection_may_only_break_where_nothing_comes_through(played, share, found):
    record, scenario = deepcopy(played)
    record["warnings"] = ["video: connections broke while in use (idle timeout), and others took their place"]
    rate = share * float(scenario["path"][0]["rate"].removesuffix(" kbit/s"))
    scenario["path"][0].pop("outage", None)
    scenario["traffic"] = [{"kind": "udp", "count": 1, "rate": f"{rate} kbit/s"}]
    assert any("broke while in use" in fault for fault in random_scenarios.faults(record, scenario)) == found

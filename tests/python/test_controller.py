"""Congestion controls written in Python."""

import math

import pytest

import playpath
from playpath.base.errors import InputError, RunError

SCENARIO = """
[video]
rate = "2 Mbit/s"
duration = "20 s"
[[path]]
rate = "8 Mbit/s"
rtt = "50 ms"
queue = "1 bdp"
[[sender]]
cc = "newreno"
"""


class Fixed:
    """Twenty packets, always."""

    def on_report(self, report):
        return 20.0


class HalfAndOne:
    def __init__(self):
        self.has_lost = False

    def on_report(self, report):
        cwnd = report["cwnd"]
        if report["event"] != "round":
            self.has_lost = True
            return max(cwnd / 2, 2.0)
        if not report["may_grow"]:
            return cwnd
        return cwnd + 1.0 if self.has_lost else 2.0 * cwnd


def test_the_window_is_what_was_answered():
    # Window validation would lower it while the reader pauses.
    scenario = SCENARIO.replace('cc = "newreno"', 'cc = "newreno"\nvalidation = "none"')
    session = playpath.run(scenario, controller=Fixed, trace=True)
    windows = set(session.series["flow.video"]["snd_cwnd"].tolist())
    assert windows <= {10.0, 20.0}
    assert 20.0 in windows
    assert session.cc == "prototype"
    assert session.flows[0]["cc"] == "prototype"


def test_a_run_repeats_and_plays_about_as_newreno_does():
    first, again = (playpath.run(SCENARIO, controller=HalfAndOne) for _ in range(2))
    assert first.digest == again.digest
    own = playpath.run(SCENARIO)
    assert first.digest != own.digest
    assert first.metrics["stall_time_s"] == own.metrics["stall_time_s"] == 0.0
    assert abs(first.metrics["goodput_mbps"] - own.metrics["goodput_mbps"]) < 0.1


def test_a_pacing_rate_is_obeyed():
    class Paced:
        def on_report(self, report):
            return {"cwnd": 1000.0, "pacing_mbps": 3.0}

    session = playpath.run(SCENARIO, controller=Paced, trace=True)
    assert session.metrics["retransmitted_packets"] == 0
    rates = session.series["flow.video"]["pacing_rate_mbps"]
    assert abs(max(r for r in rates.tolist() if not math.isnan(r)) - 3.0) < 1e-6


def test_errors_reach_the_caller():
    class Broken:
        def on_report(self, report):
            raise KeyError("mine")

    class Infinite:
        def on_report(self, report):
            return float("inf")

    with pytest.raises(RunError, match=r"newreno, seed 1: .*test_controller.py:\d+, in on_report: KeyError: 'mine'"):
        playpath.run(SCENARIO, controller=Broken)
    with pytest.raises(RunError, match=r"in on_report: ValueError: .* finite"):
        playpath.run(SCENARIO, controller=Infinite)

    class Misspelled:
        def on_report(self, report):
            return {"cwnd": 5, "pacing": 3}

    with pytest.raises(RunError, match=r'on_report: unknown key "pacing".* allowed: cwnd, pacing_mbps'):
        playpath.run(SCENARIO, controller=Misspelled)
    with pytest.raises(InputError, match="world 'sim' only"):
        playpath.run(SCENARIO, controller=Fixed, world="kernel")

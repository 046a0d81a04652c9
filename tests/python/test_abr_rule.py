"""ABR rules written in Python."""

import pytest

import playpath
from playpath.base.errors import InputError, RunError

IDEAL = """
[video]
rate = "2 Mbit/s"
duration = "40 s"
[player]
kind = "dash"
ladder = "500 kbit/s, 1 Mbit/s, 2 Mbit/s"
segment = "4 s"
duration = "40 s"
size_cv = "0 %"
abr = "fixed"
fast_switch = "off"
[[path]]
rate = "3 Mbit/s"
rtt = "50 ms"
queue = "1 bdp"
[[sender]]
cc = "newreno"
[run]
transport = "ideal"
"""
PACKETS = IDEAL.replace('[run]\ntransport = "ideal"\n', "")


class Throughput:
    """The harmonic mean of all downloads, times 0.9."""

    def __init__(self):
        self.throughputs = []

    def choose(self, report):
        self.throughputs += [download["throughput_mbps"] for download in report["downloads"]]
        if not self.throughputs:
            return 0
        estimate = len(self.throughputs) / sum(1 / x for x in self.throughputs)
        fitting = [i for i, rate in enumerate(report["bitrates_mbps"]) if rate <= 0.9 * estimate]
        return {"representation": max(fitting, default=0), "estimate_mbps": estimate}


def decisions(session):
    return [event for event in session.events if event["event"] == "segment_decision"]


@pytest.mark.parametrize("scenario", [IDEAL, PACKETS])
def test_what_is_answered_is_fetched(scenario):
    class Script:
        """0, 1, 2, 0, 1, 2, …"""

        def choose(self, report):
            assert len(report["downloads"]) == (1 if report["segment"] else 0)
            assert report["sizes_bytes"] == [250_000, 500_000, 1_000_000]
            assert report["bitrates_mbps"] == [0.5, 1.0, 2.0]
            assert report["previous"] == ((report["segment"] - 1) % 3 if report["segment"] else None)
            return report["segment"] % 3

    session = playpath.run(scenario, abr=Script)
    chosen = [event["representation"] for event in decisions(session)]
    assert chosen == [segment % 3 for segment in range(10)]
    assert {event["reason"] for event in decisions(session)} == {"prototype"}


def test_a_real_rule_repeats_and_settles_where_its_definition_says():
    """0.9 of 3 Mbit/s, less the request's round trip, is above 2 Mbit/s: the first segment at 0.5, all others at 2."""
    first, again = (playpath.run(IDEAL, abr=Throughput) for _ in range(2))
    assert first.digest == again.digest
    chosen = [event["representation"] for event in decisions(first)]
    assert chosen == [0] + 9 * [2]


def test_a_rule_may_wait_while_playing():
    class Patient:
        def __init__(self):
            self.waits = 0

        def choose(self, report):
            if report["segment"] == 3 and self.waits < 2:
                self.waits += 1
                return {"wait_s": 0.5}
            return 0

    session = playpath.run(IDEAL, abr=Patient)
    plain = playpath.run(IDEAL, set={"player.abr": "fixed"})
    asked = [e["time_s"] for e in session.events if e["event"] == "request_sent"]
    before = [e["time_s"] for e in plain.events if e["event"] == "request_sent"]
    assert asked[:3] == before[:3]
    assert asked[3] == pytest.approx(before[3] + 1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("answer", "error", "match"),
    [
        (3, ValueError, "representation 3 of segment 0; allowed: 0 to 2"),
        (-1, ValueError, "allowed: 0 to 2"),
        ({"wait_s": 1.0}, ValueError, "only while playing"),
        ({}, ValueError, "either `representation` or `wait_s`"),
        ({"representation": 0, "estimate_mbps": float("nan")}, ValueError, "estimate_mbps"),
        ({"representation": 0, "wait": 1.0}, ValueError, 'choose: unknown key "wait"; did you mean "wait_s"\\?'),
        ("high", TypeError, "str"),
    ],
)
def test_impossible_answers_are_the_runs_error(answer, error, match):
    class Wrong:
        def choose(self, report):
            return answer

    with pytest.raises(RunError, match=match) as found:
        playpath.run(IDEAL, abr=Wrong)
    assert isinstance(found.value.__cause__, error)


def test_exceptions_and_wrong_scenarios_reach_the_caller():
    class Broken:
        def choose(self, report):
            raise KeyError("mine")

    with pytest.raises(RunError, match=r"newreno, seed 1: .*test_abr_rule.py:\d+, in choose: KeyError: 'mine'"):
        playpath.run(IDEAL, abr=Broken)
    with pytest.raises(InputError, match='needs "dash"'):
        playpath.run("scenarios/wireless.toml", sender="cubic", cc=["cubic"], abr=Throughput)
    with pytest.raises(InputError, match="world 'sim' only"):
        playpath.run(IDEAL, abr=Throughput, world="kernel")

"""Before the first session: whether this machine holds the links, and what somebody is told if it does not."""

from __future__ import annotations

import pytest
from support import scenario

from playpath.real.testbed import calibration
from playpath.real.testbed.errors import TestbedError


@pytest.mark.usefixtures("nothing_left")
def test_links_are_tried_as_many_at_a_time_as_there_will_be_sessions() -> None:
    late_ms = calibration.check_machine(scenario(), at_once=2, tolerance="1 s", seconds=0.5)
    assert 0 < late_ms < 1000


@pytest.mark.usefixtures("nothing_left")
def test_a_machine_that_is_too_busy_is_told_what_to_do() -> None:
    with pytest.raises(TestbedError) as shown:
        calibration.check_machine(scenario(), at_once=2, tolerance="1 ns", seconds=0.3)
    text = str(shown.value)
    assert text.startswith("this machine cannot keep the scenario's links on time at present: path ")
    assert "(tolerance 1 ns)" in text
    assert "play fewer than 2 at once, or accept the lateness: --tolerance '" in text
    assert "\n" not in text


def test_what_takes_the_cores_is_named() -> None:
    shown = calibration._who({"rustc": 1.23, "sshd": 0.01, "a": 0.5, "b": 0.4, "c": 0.3})
    assert shown.endswith("cores (shares of a core: rustc 123 %, a 50 %, b 40 %)")
    assert calibration._who({"sshd": 0.01}).endswith("its host is busy")


def test_a_path_is_tried_by_its_delay_and_mean_rate() -> None:
    path = {"name": "a", "trace": {"format": "csv", "content": "x"}, "outage": {"from": "0 s"}}
    plain = calibration._plain(path, {"rate_mbps": 2.5, "rtt_ms": 40.0, "loss_percent": 1.0})
    assert (plain["rate"], plain["rtt"]) == ("2.500000 Mbit/s", "40.000000 ms")
    assert set(plain) == {"name", "rate", "rtt", "queue"}

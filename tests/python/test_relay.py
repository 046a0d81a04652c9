"""What the relay's counters become in a record, and the scenario's word for what carries several paths."""

from __future__ import annotations

from typing import Any

import pytest

from playpath.base.errors import InputError
from playpath.real.testbed import relay
from playpath.scenario import load


def session(**changes: Any) -> dict[str, Any]:
    return {
        "path_switches": 3,
        "switches_from_open_path": 1,
        "path_choices": 2,
        "reinjections": 4,
        "hol_blocking_time_s": 0.5,
        "max_out_of_order_bytes": 100,
        "subflows": [],
    } | changes


def row(path: str, **changes: Any) -> dict[str, Any]:
    counts = dict.fromkeys(
        ("sent_packets", "retransmitted_packets", "rto_count", "reinjections", "failures", "penalties"), 1
    )
    return (
        {"path": path, "cc": "lia.x7f", "mean_rtt_ms": 10.0, "min_rtt_ms": 5.0, "received_bytes": 0} | counts | changes
    )


def test_sessions_are_added_up_and_switches_told() -> None:
    summaries = {
        "server": {"sessions": [session(), session(path_switches=4)]},
        "client": {"sessions": [session(), session(max_out_of_order_bytes=70)]},
    }
    switches = [{"from_srtt_ms": 50.0, "from_mbps": mbps, "to_srtt_ms": 100.0, "to_mbps": 2.0} for mbps in (2.0, 40.0)]
    assert relay.path_counts(summaries, switches, 5.24) == {
        "path_switches": 7,
        "switches_from_open_path": 2,
        "path_choices": 4,
        "reinjections": 8,
        "hol_blocking_time_s": 1.0,
        "max_out_of_order_bytes": 100,
        "switches": {
            "video_mbps": 5.24,
            "sides": [{"from_srtt_ms": 50.0, "from_mbps": mbps, "to_srtt_ms": 100.0} for mbps in (2.0, 40.0)],
        },
    }
    assert "switches" not in relay.path_counts(summaries, switches, None)


def test_paths_get_what_arrived_over_them() -> None:
    summaries = {
        "server": {"sessions": [session(subflows=[row("a"), row("b")]), session(subflows=[row("a", mean_rtt_ms=0.0)])]},
        "client": {
            "sessions": [session(subflows=[row("a", received_bytes=750_000), row("b", received_bytes=250_000)])],
        },
    }
    first, second = relay.subflows_of(summaries)
    assert (first["path"], first["cc"]) == ("a", "lia")
    assert (first["delivered_bytes"], second["delivered_bytes"]) == (750_000, 250_000)
    # The second session of path a had no RTT sample.
    assert (first["sent_packets"], first["mean_rtt_ms"]) == (2, 10.0)


def test_multipath_is_a_word_of_a_sender() -> None:
    text = """
        video = { rate = "1 Mbit/s", duration = "1 s" }
        path = [{ name = "a", rate = "2 Mbit/s", rtt = "20 ms" }, { name = "b", rate = "2 Mbit/s", rtt = "20 ms" }]
        sender = [{ cc = "cubic", multipath = "WORD" }]
    """
    scenario = load(text.replace("WORD", "relay"))
    assert scenario.sender("cubic")["multipath"] == "relay"
    with pytest.raises(InputError, match="multipath"):
        load(text.replace("WORD", "relais"))


@pytest.mark.parametrize(
    ("scheduler", "text"),
    [
        ("dft", "dft"),
        ({"name": "roundrobin"}, "roundrobin"),
        ({"name": "blest", "lambda": 1.2, "opportunistic": False}, "blest:lambda=1.2,opportunistic=false"),
    ],
)
def test_a_scheduler_on_the_command_line(scheduler: Any, text: str) -> None:
    assert relay.scheduler_text(scheduler) == text

"""Single packets of traced sessions over one path: what is logged is what the record counts, and obeys the window."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import BULK, SMALL

import playpath
from playpath.base import engine
from playpath.base.errors import InputError
from playpath.results.packets import centre_s, trimmed
from playpath.run.worlds import SimWorld
from playpath.show.report.session_page import session_page


@pytest.fixture(scope="module")
def session():
    return playpath.run(SMALL, sender="cubic", trace=True)


def test_what_was_sent_and_lost_is_what_the_record_counts(session):
    packets, drops = session.series["packets.video"], session.series["drops.video"]
    (flow,) = (f for f in session.flows if f["name"] == "video")
    assert len(packets["time_s"]) == flow["sent_packets"]
    assert np.sum(packets["kind"] == 1) == flow["retransmitted_packets"] > 0
    assert len(drops["time_s"]) == pytest.approx(flow["loss_ratio"] * flow["sent_packets"])
    assert len(drops["time_s"]) > 0
    new = packets["kind"] == 0
    ends = packets["offset"] + packets["bytes"]
    assert np.array_equal(packets["offset"][new][1:], ends[new][:-1]), "new packets follow each other without a gap"
    assert np.array_equal(packets["data_offset"], packets["offset"])
    assert set(drops["offset"]) <= set(packets["offset"]), "each drop is of a packet that was sent"
    link = next(link for link in session.links if link["name"].endswith("/down"))
    assert np.sum(drops["cause"] == 1) == link["dropped_packets"]["queue_full"]


def test_what_is_acknowledged_was_sent_before(session):
    packets, acks, sacks = (session.series[f"{name}.video"] for name in ("packets", "acks", "sacks"))
    sent = packets["offset"] + packets["bytes"]
    for columns, end in ((acks, acks["acked"]), (sacks, sacks["until"])):
        before = np.searchsorted(packets["time_s"], columns["time_s"]) - 1
        assert np.all(end <= np.maximum.accumulate(sent)[before] + 1)  # FIN counts one
    assert np.all(sacks["from"] < sacks["until"])
    assert np.all(acks["receive_window"] > acks["acked"])
    # What a gap holds back is acknowledged in one step, once it was sent again.
    assert np.max(np.diff(acks["acked"])) > 3 * np.max(packets["bytes"])


def test_no_new_packet_leaves_beyond_the_window_s_edge(session):
    packets, acks = session.series["packets.video"], session.series["acks.video"]
    new = packets["kind"] == 0
    at = np.searchsorted(acks["time_s"], packets["time_s"][new], side="right") - 1
    known = at >= 0
    ends = (packets["offset"] + packets["bytes"])[new][known]
    beyond = ends - acks["window"][at[known]]
    # A packet more where the window has a fraction of one, two by limited transmit (RFC 3042), one by a tail loss probe (RFC 8985).
    assert np.mean(beyond > np.max(packets["bytes"])) < 0.01


def test_traces_without_packets_differ_in_nothing_else():
    scenario = playpath.load(SMALL)
    (whole, everything), (plain, series) = (
        engine.run(scenario.text, "cubic", 1, trace=True, packets=packets) for packets in (True, False)
    )
    assert whole["digest"] == plain["digest"]
    assert set(everything) - set(series) == {f"{name}.video" for name in ("packets", "acks", "sacks", "drops")}
    assert not SimWorld().session(scenario, "cubic", 1, trace=False).series


def test_without_a_video_the_first_flows_are_kept():
    session = playpath.run(BULK, trace=True)
    assert {name for name in session.series if name.startswith("drops.")} == {"drops.bulk.1", "drops.bulk.2"}


def test_the_centre_is_the_cut_before_the_longest_stall(session):
    events = [
        {"event": "stall_end", "time_s": 5.0, "frozen_s": 0.5},
        {"event": "stall_end", "time_s": 9.0, "frozen_s": 2.0},
    ]
    cut = {"event": "loss", "cwnd_before": 10.0, "cwnd_after": 7.0, "path": 0}
    cuts = {"video": [{**cut, "time_s": 4.0}, {**cut, "time_s": 6.5}, {**cut, "time_s": 8.0}]}
    assert centre_s(replace(session, events=events, window_events=cuts)) == 6.5
    assert centre_s(replace(session, events=[], window_events=cuts)) == 6.5


def test_a_window_without_packets_is_one_line(session):
    kept = trimmed(session, (2.0, 2.5)).series
    for name in ("packets.video", "acks.video"):
        assert kept[name]["time_s"][-1] <= 2.25 + 5.0
    with pytest.raises(InputError, match=r"^--window 500\.\.501: packets of cubic are kept from"):
        session_page(session, (500.0, 501.0))
    untraced = SimWorld().session(playpath.load(SMALL), "cubic", 1, trace="outline")
    with pytest.raises(InputError, match=r"no packets of .* were kept"):
        session_page(untraced, (1.0, 2.0))

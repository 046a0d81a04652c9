"""Senders over QUIC as the command line and Python have them: names, refusals, what a session keeps."""

from __future__ import annotations

import itertools
import json

import pytest

from playpath import compare, load, run
from playpath.base.errors import InputError
from playpath.run import worlds
from playpath.run.compare import pick_sender

TWELVE_SECONDS = ["--set", 'run.duration="12 s"']
SHORT = {"video.duration": "6 s", "run.duration": "12 s"}


def quic(**more):
    return load("wireless", cc=["cubic"], set={**SHORT, "sender.transport": "quic"}, **more)


def test_a_sender_is_named_without_the_only_transport():
    assert pick_sender(quic(), "cubic") == pick_sender(quic(), "cubic/quic") == "cubic/quic"
    both = load("wireless", cc=["bbr"], vary={"sender.transport": ["tcp", "quic"]})
    with pytest.raises(InputError, match="unknown sender"):
        pick_sender(both, "bb")


def test_transports_are_compared_as_senders_that_their_names_tell_apart():
    varied = load("wireless", cc=["cubic", "bbr3"], set=SHORT, vary={"sender.transport": ["tcp", "quic"]}, seeds=2)
    assert varied.senders == ["cubic+tls", "bbr3+tls", "cubic/quic", "bbr3/quic"]
    result = compare(varied, jobs=1)
    assert set(result.ranking) == set(varied.senders)


def test_tcp_has_tls_beside_quic_unless_the_scenario_says_what_it_has():
    def tls(setting, values):
        plain = load("wireless", cc=["cubic"], set={**SHORT, **setting}, vary={"sender.transport": values})
        return plain.playing(plain.senders[0]).resolved["sender"][0].get("tls")

    assert tls({}, ["tcp", "quic"]) == tls({}, ["tcp", {"name": "quic", "ack_every": 10}]) == "full"
    assert tls({"sender.tls": "resumed"}, ["tcp", "quic"]) == "resumed"
    assert load("wireless", cc=["cubic"]).resolved["sender"][0].get("tls") is None


def test_senders_with_names_of_their_own_are_told_apart_by_the_choice():
    video, path = '[video]\nrate = "1 Mbit/s"\nduration = "6 s"\n', '[[path]]\nrate = "4 Mbit/s"\nrtt = "40 ms"\n'
    text = video + path + '[[sender]]\nname = "mine"\ncc = "cubic"\n'
    assert load(text, vary={"sender.transport": ["tcp", "quic"]}).senders == ["tcp", "quic"]


def test_a_traced_session_has_its_series_and_no_diagram_of_packets():
    session = run(quic(), sender="cubic/quic", trace=True)
    assert session.series["flow.video"]["snd_cwnd"].max() > 10
    assert not [name for name in session.series if name.startswith("packets.")]
    assert session.manifest["scenario"]["sender"][0]["transport"]["name"] == "quic"


def test_other_worlds_refuse_it_before_they_touch_the_machine():
    with pytest.raises(
        InputError, match="'cubic/quic': `transport` = \"quic\" plays in the worlds 'sim' and 'wire' only"
    ):
        worlds.world("kernel").prepare(quic(), 1)
    rival = {"name": "rival", "kind": "bulk", "cc": "cubic", "transport": "quic"}
    beside = load("wireless", cc=["cubic"], set={**SHORT, "traffic": [rival]})
    with pytest.raises(InputError, match="traffic 'rival': `transport` = \"quic\" plays in the world 'sim' only"):
        worlds.world("wire").prepare(beside, 1)


def test_a_capture_is_refused_and_nothing_written(cli, tmp_path):
    place = tmp_path / "packets.pcapng"
    refused = cli("run", "wireless", "--cc", "cubic", "--set", "sender.transport=quic", "--pcap", str(place))
    assert (refused.status, place.exists()) == (2, False)
    assert "uses QUIC, whose packets cannot be captured" in refused.err


def test_a_viewer_who_leaves_wifi_is_played_by_all_three_kinds_of_sender():
    """What docs/quic.md says: over both paths nobody notices, the others stop for what the system takes to notice."""
    moved = load("wifi-to-lte", set={"sender.handover_after": "3 s"}, seeds=2)
    assert moved.senders == ["tcp reconnects", "quic migrates", "quic multipath"]
    table = compare(moved, jobs=1).table
    stalls = {sender: table.filter(table["sender"] == sender)["stall_time_s"].to_list() for sender in moved.senders}
    assert max(stalls["quic multipath"]) == 0
    assert all(1.5 < stall < 3.2 for sender in ("tcp reconnects", "quic migrates") for stall in stalls[sender]), stalls


def test_multipath_is_recorded_as_mptcp_is():
    session = run("wifi-to-lte", sender="quic multipath", seed=1, trace=True)
    subflows = session.flows[0]["subflows"]
    assert [subflow["path"] for subflow in subflows] == ["wifi", "lte"]
    assert subflows[0]["failures"] == 1
    assert subflows[1]["reinjections"] > 0
    assert session.metrics["path_switches"] > 0
    assert session.series["flow.video/lte"]["snd_cwnd"].max() > 10
    assert len(session.series["switches.video"]["time_s"]) > 0


def test_keys_of_tcp_are_left_out_where_the_transport_is_chosen():
    both = load("adaptive", vary={"sender.transport": ["tcp", "quic"]})
    assert len(both.senders) == 6
    quic_senders = load("adaptive", set={"sender.transport": "quic"}).resolved["sender"]
    assert all("validation" not in sender for sender in quic_senders)


def test_other_worlds_refuse_what_they_cannot_do_with_addresses():
    with pytest.raises(InputError, match="'tcp reconnects': `handover` plays in the world 'sim' only"):
        worlds.world("wire").prepare(load("wifi-to-lte"), 1)
    for key, value in {"rebinding": {"at": "1 s"}, "backup": True, "too_big": "refused"}.items():
        odd = load("wireless", cc=["cubic"], set={**SHORT, "path.mtu": "1400 B", f"path.{key}": value})
        with pytest.raises(InputError, match=f"`{key}` plays in the world 'sim' only"):
            worlds.world("wire").prepare(odd, 1)


def qlog(file):
    """Head and events of a JSON text sequence."""
    head, *events = map(json.loads, file.read_text().split("\x1e")[1:])
    return head, events


@pytest.mark.slow
def test_a_trace_has_a_qlog_that_agrees_with_the_record(cli, tmp_path):
    scenario = ["wireless", "--cc", "cubic", "--set", "sender.transport=quic", *TWELVE_SECONDS]
    assert cli("run", *scenario, "--trace", str(tmp_path / "t"), "--json").status == 0
    flow = json.loads((tmp_path / "t" / "record.json").read_text())["flows"][0]
    head, events = qlog(tmp_path / "t" / "video.sqlog")
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert head["trace"]["vantage_point"]["type"] == "server"
    assert head["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-02"]
    epoch = {"clock_type": "monotonic", "epoch": "unknown"}
    common = head["trace"]["common_fields"]
    assert (common["time_format"], common["reference_time"]) == ("relative_to_epoch", epoch)
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert times[-1] > 10_000
    sent = [event["data"] for event in events if event["name"] == "transport:packet_sent"]
    carry = [data for data in sent if any(frame["frame_type"] == "stream" for frame in data["frames"])]
    assert len(carry) == flow["sent_packets"]
    numbers = [data["header"]["packet_number"] for data in sent if data["header"]["packet_type"] == "1RTT"]
    assert numbers == list(range(len(numbers)))
    lost = [event["data"]["header"]["packet_number"] for event in events if event["name"] == "recovery:packet_lost"]
    assert len(lost) == len(set(lost)) > 0
    assert set(lost) <= set(numbers)
    lines = [event["data"] for event in events if event["name"] == "recovery:metrics_updated"]
    assert min(data["min_rtt"] for data in lines if "min_rtt" in data) == pytest.approx(flow["min_rtt_ms"], abs=0.01)


@pytest.mark.slow
def test_over_several_paths_events_name_theirs_and_tcp_has_no_qlog(cli, tmp_path):
    short = ["--set", 'run.duration="5 s"', "--trace", str(tmp_path / "t")]
    assert cli("run", "wifi-to-lte", "--sender", "quic multipath", *short).status == 0
    _, events = qlog(tmp_path / "t" / "video.sqlog")
    sent = {event["data"].get("path_id", 0) for event in events if event["name"] == "transport:packet_sent"}
    assert sent == {0, 1}
    short[-1] = str(tmp_path / "tcp")
    assert cli("run", "wifi-to-lte", "--sender", "tcp reconnects", *short).status == 0
    assert not list((tmp_path / "tcp").glob("*.sqlog"))


@pytest.mark.slow
def test_a_program_reads_all_that_has_come_before_it_sends(cli, tmp_path):
    """On a link with jitter some packets arrive together: ngtcp2's client has one ACK for them, where by the RFC it would acknowledge every
    second; and a server that wakes 50 us after an ACK sends nothing before."""
    scenario = ["wireless", "--cc", "cubic", "--set", "path.jitter=3 ms", "--set", "path.loss=0 %", *TWELVE_SECONDS]

    def events(name, transport):
        folder = tmp_path / name
        done = cli("run", *scenario, "--set", f"sender.transport={transport}", "--trace", str(folder))
        assert done.status == 0, done.err
        names = {"transport:packet_sent", "transport:packet_received"}
        return [(e["time"], e["name"].split("_")[1]) for e in qlog(folder / "video.sqlog")[1] if e["name"] in names]

    def packets_per_ack(found):
        names = [name for _, name in found]
        return names.count("sent") / names.count("received")

    by_rfc = events("rfc", "quic")
    woken = events("woken", '{ name = "quic", client = "ngtcp2", wakes_in = "50 us" }')
    assert packets_per_ack(by_rfc) < 2.1
    assert packets_per_ack(woken) > 2.2
    for (time, name), (later, after) in itertools.pairwise(woken):
        assert (name, after) != ("received", "sent") or later - time > 0.0499

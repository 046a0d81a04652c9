"""A record of the kernel world has the simulator's fields; small parts that need no kernel."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import scenario, sender

import playpath
from playpath.base.engine import number
from playpath.base.errors import InputError
from playpath.real.testbed.errors import UnsupportedError
from playpath.real.testbed.runner import run_kernel
from playpath.results.record import Session

# A ladder, a competing session, web users, datagrams and a transfer: every kind of traffic there is.
SCENARIO = """
name = "everything"
[video]
rate = "2 Mbit/s"
duration = "4 s"
[player]
kind = "dash"
ladder = "500 kbit/s, 1 Mbit/s, 2 Mbit/s"
segment = "1 s"
cmcd = "v1"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
rtt = "20 ms"
[[traffic]]
kind = "web"
count = 2
[[traffic]]
kind = "udp"
rate = "500 kbit/s"
start = "0.5 s"
[[traffic]]
kind = "video"
name = "rival"
cc = "newreno"
[[traffic]]
kind = "bulk"
cc = "vegas"
start = "1 s"
stop = "2 s"
rtt = "30 ms"
[[sender]]
cc = "ccplb"
[run]
seeds = 1
"""


def fields(value: Any, prefix: str = "") -> set[str]:
    """Every field's name, lists by their entries."""
    if isinstance(value, dict):
        return {name for key, inner in value.items() for name in fields(inner, f"{prefix}.{key}")} | {prefix}
    if isinstance(value, list):
        return {name for inner in value for name in fields(inner, f"{prefix}[]")}
    return {prefix}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Session]:
    """The same scenario in both worlds."""
    file = tmp_path_factory.mktemp("worlds") / "everything.toml"
    file.write_text(SCENARIO)
    loaded = playpath.load(file)
    record = run_kernel(loaded.resolved, loaded.sender("ccplb"), 1, trace=True, tolerance="100 ms")
    record |= {"scenario": loaded.name, "world": "kernel", "sender": "ccplb", "cc": "ccplb", "seed": 1}
    return {"sim": playpath.run(loaded, trace=True), "kernel": Session(**record)}


def test_the_same_fields_in_both_worlds(worlds: dict[str, Session]) -> None:
    sim, kernel = worlds["sim"].to_dict(), worlds["kernel"].to_dict()
    assert sim.keys() == kernel.keys()
    assert list(kernel["metrics"]) == list(sim["metrics"])
    for part in ("sessions", "flows", "links"):
        # Only a link on the wall clock can be late.
        assert fields(kernel[part]) - fields(sim[part]) <= {"[].dropped_packets.outage", "[].mean_lateness_ms"}, part
        assert fields(sim[part]) - fields(kernel[part]) <= {"[].dropped_packets.outage"}, part
        assert {e["name"] for e in kernel[part]} - {e["name"] for e in sim[part]} <= {"video.2"}, part
    assert [link["name"] for link in kernel["links"]] == [link["name"] for link in sim["links"]]
    late = {link["name"]: link["mean_lateness_ms"] for link in kernel["links"] if "mean_lateness_ms" in link}
    assert late.keys() == {"path.wifi/down", "path.wifi/up"}
    assert all(0 < by < 100 for by in late.values())


def test_the_same_events_with_the_same_fields_in_both_worlds(worlds: dict[str, Session]) -> None:
    by_kind: dict[str, dict[str, set[str]]] = {"sim": {}, "kernel": {}}
    for world, session in worlds.items():
        for event in session.events:
            by_kind[world].setdefault(event["event"], set()).update(event)
    common = by_kind["sim"].keys() & by_kind["kernel"].keys()
    assert {"session_started", "request_sent", "segment_decision", "segment_downloaded", "finished"} <= common
    assert all(by_kind["sim"][kind] == by_kind["kernel"][kind] for kind in common)
    times = [event["time_s"] for event in worlds["kernel"].events]
    assert times == sorted(times)
    assert Counter(e["event"] for e in worlds["kernel"].events)["segment_downloaded"] >= 4  # 4 s of 1 s


def test_the_same_columns_in_both_worlds(worlds: dict[str, Session]) -> None:
    sim, kernel = worlds["sim"].series, worlds["kernel"].series
    # Packets are in the capture there (`--pcap`), and a socket of datagrams tells nothing.
    only_here = ("flow.udp", "packets.", "acks.", "sacks.", "drops.")
    assert {name for name in sim if not name.startswith(only_here)} <= kernel.keys()
    for name in sim.keys() & kernel.keys():
        assert list(kernel[name]) == list(sim[name]), name
        assert len({len(column) for column in kernel[name].values()}) == 1, name
    flow = kernel["flow.video"]
    # The path's base RTT is 20 ms; its queue of one bandwidth-delay product adds as much at most (and a cleared head start).
    assert all(20 <= rtt < 60 for rtt in flow["rtt_ms"] if rtt > 0)
    assert all(math.isinf(value) or value >= 2 for value in flow["snd_ssthresh"])


def test_traffic_starts_and_stops_when_it_should(worlds: dict[str, Session]) -> None:
    flows = {flow["name"]: flow for flow in worlds["kernel"].flows}
    assert {"web.1", "web.2", "udp", "rival", "bulk"} <= flows.keys()
    assert (flows["bulk"]["cc"], flows["rival"]["cc"], flows["video"]["cc"]) == ("vegas", "reno", "ccplb")
    assert 1.0 <= flows["bulk"]["start_s"] < 1.2
    assert 2.0 <= flows["bulk"]["end_s"] < 2.4
    # 20 ms of the path and 30 ms of its own.
    assert 50 <= flows["bulk"]["min_rtt_ms"] < 60
    # 1000-byte packets at 500 kbit/s, nothing lost but to a full queue.
    assert 0.4 < flows["udp"]["goodput_mbps"] <= 0.51
    sessions = {session["name"]: session for session in worlds["kernel"].sessions}
    assert sessions.keys() == {"video", "rival"}
    assert sessions["rival"]["metrics"]["played_s"] > 0


def test_every_flow_is_counted_by_the_emulator(worlds: dict[str, Session]) -> None:
    kernel = worlds["kernel"]
    lost = sum(sum(link["dropped_packets"].values()) for link in kernel.links if link["name"].endswith("/down"))
    # Data and acknowledgements share the links; on the way down nearly everything is data.
    assert sum(round(flow["loss_ratio"] * flow["sent_packets"]) for flow in kernel.flows) <= lost
    udp = next(flow for flow in kernel.flows if flow["name"] == "udp")
    # 62.5 packets of 1000 bytes a second for three seconds and more, from 0.5 s on.
    assert udp["sent_packets"] > 180
    # What arrives has 28 bytes of headers besides, whose 1000 are the payload. The emulator's sums of packets that are on their way
    # at its end shift the share by less than a packet in 180.
    assert udp["throughput_mbps"] == pytest.approx(udp["goodput_mbps"] * 1.028, rel=0.002)


def pcap_blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each pcapng block (little endian)."""
    place = 0
    while place < len(data):
        kind, length = struct.unpack_from("<II", data, place)
        yield kind, data[place + 8 : place + length - 4]
        place += length


def test_a_capture_holds_every_packet_at_the_servers_end(tmp_path: Path) -> None:
    file = tmp_path / "s.pcapng"
    record = run_kernel(scenario(), sender("cubic"), 1, tolerance="100 ms", pcap=file, p1203=tmp_path / "p1203.json")
    kinds = list(pcap_blocks(file.read_bytes()))
    assert [kind for kind, _ in kinds[:2]] == [0x0A0D0D0A, 1]
    packets = [body for kind, body in kinds if kind == 6]
    links = {link["name"]: link for link in record["links"]}
    # What the server sent was offered to the way down; what it got came out of the way up.
    assert len(packets) == links["path.path/down"]["offered_packets"] + links["path.path/up"]["delivered_packets"]
    payload = 0
    for body in packets:
        _, _, _, captured, original = struct.unpack_from("<IIIII", body)
        headers = body[20 : 20 + captured]
        assert (headers[0], headers[9], struct.unpack_from(">H", headers, 2)[0]) == (0x45, 6, original)
        assert captured == 20 + (headers[32] >> 4) * 4
        if headers[20:22] == (8080).to_bytes(2, "big"):
            payload += original - captured
    # 4 Mbit/s for 1.5 s are 750 kB; with the response's header and a few repetitions little more.
    assert 750_000 <= payload < 900_000
    assert json.loads((tmp_path / "p1203.json").read_text())["I13"]["segments"][0]["duration"] == 1.5


def test_quantities() -> None:
    assert number("50 ms") == 0.05
    assert number("10 Mbit/s") == 1e7
    assert number("2 min") == 120
    with pytest.raises(InputError, match='"3 parsecs": unknown unit'):
        number("3 parsecs")


@pytest.mark.parametrize(
    ("file", "sender", "length"),
    [("adaptive.toml", "newcwv paced", "8 s"), ("streaming-server.toml", "vegas", "6 s")],
)
def test_shipped_scenarios_run_in_the_kernel_world(file: str, sender: str, length: str) -> None:
    scenario = Path(__file__).parents[2] / "scenarios" / file
    command = [
        sys.executable,
        "-m",
        "playpath",
        "run",
        str(scenario),
        "--sender",
        sender,
        "--world",
        "kernel",
        "--json",
    ]
    done = subprocess.run(
        [*command, "--set", f"video.duration={length}"], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_an_outage_is_the_simulators(tmp_path: Path) -> None:
    """From 300 ms to 1.3 s of the run the path takes nothing, in both worlds: the picture stops, and what was refused is counted."""
    outage = {"from": "300 ms", "until": "1300 ms"}
    path = {"name": "wifi", "rate": "20 Mbit/s", "rtt": "20 ms", "outage": outage}
    described = {
        "video": {"rate": "4 Mbit/s", "duration": "3 s"},
        "player": {"kind": "progressive", "buffer": "200 ms"},
        "path": [path],
        "sender": [{"cc": "cubic"}],
    }
    found = {world: playpath.run(described, world=world) for world in ("sim", "kernel")}
    for session in found.values():
        down = next(link for link in session.links if link["name"] == "path.wifi/down")
        assert down["dropped_packets"]["outage"] > 0
        assert session.metrics["played_s"] == pytest.approx(3.0, abs=0.1)
    stalled = {world: session.metrics["stall_time_s"] for world, session in found.items()}
    # The buffer of 200 ms and what had come bridge a part of the second; then the retransmission timer, doubled at each
    # try, finds the path open again.
    assert stalled["sim"] > 0.2
    assert stalled["kernel"] == pytest.approx(stalled["sim"], abs=0.8)


def test_what_the_emulators_queue_sees_of_ecn_is_what_the_simulators_sees() -> None:
    """12 Mbit/s of ECT(1) into 10 with DualPI2: in the low-latency class of both worlds, marked, and as many; bleached, in neither."""
    path = {"name": "p", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "dualpi2"}
    traffic = {"kind": "udp", "rate": "12 Mbit/s", "packet_bytes": 1200, "field": "ect1", "stop": "3 s"}
    described = {"path": [path], "traffic": [traffic], "run": {"duration": "4 s"}}
    for rewrite in ("kept", "bleached"):
        path["ecn"] = rewrite
        found = {world: playpath.run(described, world=world) for world in ("sim", "kernel")}
        down = {w: next(link for link in s.links if link["name"] == "path.p/down") for w, s in found.items()}
        low = {world: link["classes"]["low_latency"] for world, link in down.items()}
        if rewrite == "bleached":
            assert [low[world]["arrived_packets"] for world in low] == [0, 0]
            assert min(link["rewritten_packets"] for link in down.values()) > 3000
            continue
        sim, kernel = (low[world]["arrived_packets"] for world in ("sim", "kernel"))
        assert kernel == pytest.approx(sim, rel=0.03)
        assert min(low[world]["marked_packets"] for world in low) > 1000
        assert all("rewritten_packets" not in link for link in down.values())


def test_frames_are_the_simulators() -> None:
    described = {
        "path": [{"rate": "10 Mbit/s", "rtt": "20 ms"}],
        "traffic": [{"kind": "frames", "rate": "1 Mbit/s", "cc": "cubic"}],
    }
    with pytest.raises(UnsupportedError, match="allowed in the kernel world: bulk, web, udp, video"):
        playpath.run(described, world="kernel")


def alone(cc: str, **source: object) -> dict[str, Any]:
    """A transfer beside an idle sender over 20 Mbit/s."""
    traffic = {"kind": "bulk", "cc": "cubic", **source}
    path = {"rate": "20 Mbit/s", "rtt": "40 ms"}
    return {"path": [path], "traffic": [traffic], "sender": [{"cc": cc}], "run": {"duration": "4 s"}}


def in_world(world: str, described: dict[str, Any]) -> Any:
    loaded = playpath.load(described)
    return run_kernel(loaded.resolved, loaded.sender(loaded.senders[0]), 1, world=world, tolerance="50 ms")


def test_cross_traffic_is_the_same_beside_every_sender_and_in_both_worlds() -> None:
    """A control that begins under another keeps what that has set on the socket: after BBR, CUBIC was paced and lost 24 packets, not 9."""
    runs = [("kernel", "newreno"), ("kernel", "bbr"), ("wire", "cubic"), ("wire", "bbr")]
    lost = [in_world(world, alone(cc))["flows"][0]["retransmitted_packets"] for world, cc in runs]
    assert max(lost) <= 15, dict(zip(runs, lost, strict=True))


def test_cross_traffic_has_its_own_segments_and_its_first_window() -> None:
    record = in_world("kernel", alone("cubic", mss=300))
    (flow,) = record["flows"]
    # 300 of 352 bytes.
    assert flow["goodput_mbps"] / flow["throughput_mbps"] == pytest.approx(300 / 352, abs=0.02)
    assert record["warnings"] == []
    (warning,) = in_world("wire", alone("cubic", receive_buffer="20 kB"))["warnings"]
    assert (
        warning == 'traffic bulk: the kernel has this once for all flows, so without effect: receive_buffer = "20 kB"'
    )


def test_rates_of_a_flow_end_with_the_flow() -> None:
    """What drains from a queue of a second or more after the end at 0.5 s is not divided by those 0.5 s."""
    described = alone("cubic", stop="500 ms")
    described["path"] = [{"rate": "5 Mbit/s", "rtt": "40 ms", "queue": "500 packets"}]
    del described["traffic"][0]["cc"]  # the sender's then
    for world in ("kernel", "wire"):
        (flow,) = in_world(world, described)["flows"]
        assert flow["cc"] == "cubic"
        assert flow["end_s"] < 0.7
        assert flow["goodput_mbps"] < flow["throughput_mbps"] <= 5.05


def test_cross_traffic_takes_one_path() -> None:
    # It would have gone over the first path alone, without a word.
    described = {
        "path": [
            {"name": "wifi", "rate": "10 Mbit/s", "rtt": "20 ms"},
            {"name": "lte", "rate": "10 Mbit/s", "rtt": "40 ms"},
        ],
        "traffic": [{"kind": "bulk", "cc": "cubic"}],
    }
    with pytest.raises(
        UnsupportedError, match=r'may use 2 paths, which needs MPTCP: .* give it one: paths = \["wifi"\]'
    ):
        playpath.run(described, world="kernel")

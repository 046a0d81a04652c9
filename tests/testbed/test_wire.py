"""The wire world: the simulator's own TCP and MPTCP on a TUN device, against the kernel's clients."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import FAST, scenario, sender

import playpath
from playpath.base.errors import InputError
from playpath.real.testbed import namespaces, wire
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import MissingToolError, UnsupportedError
from playpath.real.testbed.mptcp import counters
from playpath.real.testbed.runner import run_kernel
from playpath.real.testbed.senders import Sending, usual_quic
from playpath.real.testbed.signalling import Signalling
from playpath.run.worlds import world

pytestmark = pytest.mark.usefixtures("nothing_left", "_has_program")
NEEDS = ("emulator", "client")

# The paths of the sticky study: 2 Mbit/s each, 50, 100 and 100 ms; here ten times as fast.
PATHS = [
    {"name": name, "rate": "20 Mbit/s", "rtt": rtt, "loss": None, "queue": {"kind": "droptail", "limit": "100 kB"}}
    for name, rtt in (("first", "10 ms"), ("second", "20 ms"), ("third", "20 ms"))
]
BYTES = bytes(range(256)) * 24_000
"""6 MB."""


@pytest.fixture
def _has_program() -> None:
    try:
        wire.program()
    except MissingToolError as error:
        pytest.skip(str(error))


class Bed:
    """A test bed whose server is our endpoint, with one file."""

    def __init__(self, bed: Testbed, server: wire.OwnServer, url: str) -> None:
        self.bed, self.server, self.url = bed, server, url

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(namespaces.inside(self.bed.client, command), stdout=subprocess.PIPE)

    def run(self, *command: str) -> bytes:
        done = subprocess.run(
            namespaces.inside(self.bed.client, command), check=True, stdout=subprocess.PIPE, timeout=60
        )
        return done.stdout


@contextlib.contextmanager
def serving(paths: list[dict[str, Any]], cc: str = "cubic", **changes: Any) -> Iterator[Bed]:
    with Testbed(network(paths), realtime=False) as bed:
        carrier = wire.Wire(has_tls="tls" in changes, has_http2=True)
        carrier.check({"path": paths}, sender(cc, **changes))
        carrier.prepare(bed)
        server, control = carrier.serve(bed, Sending("own", {}, {}, []), {}, Signalling())
        (server.www / "file").write_bytes(BYTES)
        bed.emulator.begin_at(time.monotonic())
        yield Bed(bed, server, f"http://{carrier.open(bed, server.port, control).origin}/file")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def needs_mptcpize() -> None:
    if shutil.which("mptcpize") is None:
        pytest.skip("mptcpize is missing (bpf/setup.sh)")


def test_a_session_has_the_record_of_the_other_worlds() -> None:
    found = run_kernel(scenario(), sender("bbr3"), 1, world="wire", trace=True)
    assert found["manifest"]["world"] == "wire"
    (flow,) = found["flows"]
    assert (flow["name"], flow["cc"], flow["subflows"]) == ("video", "bbr3", [])
    # 1.5 s at 4 Mbit/s are 750 kB, 518 full packets; the link takes 20 ms.
    assert 500 < flow["sent_packets"] < 600
    assert 20 <= flow["min_rtt_ms"] < 30
    assert found["metrics"]["stall_time_s"] == 0
    assert {"flow.video", "player", "link.path.path/down"} <= set(found["series"])
    assert max(found["series"]["flow.video"]["snd_cwnd"]) >= 10
    # A session that is repeated on a busy machine counts, and says so.
    assert [text for text in found["warnings"] if "machine was too busy" not in text] == []


def test_a_control_without_a_kernel_twin_and_a_scheduler_over_real_mptcp() -> None:
    paths = [path | {"rate": "3 Mbit/s"} for path in PATHS]
    video = {"rate": "6 Mbit/s", "duration": "3 s", "fps": 30, "seed": 1}
    several = scenario(path=paths, video=video)
    found = run_kernel(several, sender("balia", scheduler={"name": "gr-sty"}), 1, world="wire", trace=True)
    (flow,) = found["flows"]
    assert sorted(row["path"] for row in flow["subflows"]) == ["first", "second", "third"]
    # One path carries half of the video's rate: all three were needed.
    assert all(row["sent_packets"] > 100 for row in flow["subflows"]), flow["subflows"]
    metrics = found["metrics"]
    assert metrics["path_switches"] > 0
    assert metrics["path_choices"] is not None
    assert metrics["switches_underflow_predicted"] is not None
    assert {"flow.video/first", "flow.video/second", "flow.video/third"} <= set(found["series"])


DASH = {"kind": "dash", "ladder": "1 Mbit/s, 3 Mbit/s", "segment": "1 s"}


@pytest.mark.parametrize(
    ("changes", "metric", "within"),
    [
        # Twice the media's rate in chunks of 100 ms: the server, not the link, sets the pace, and no queue grows for long.
        (
            {"video": {"rate": "1 Mbit/s", "duration": "3 s"}, "player": {"kind": "agent", "xfactor": 2.0}},
            "mean_rtt_ms",
            4.0,
        ),
        (
            {
                "video": {"duration": "4 s"},
                "player": DASH | {"latency_target": "2 s", "low_latency": "chunks"},
                "run": {"duration": "5 s"},
            },
            "live_latency_s",
            0.2,
        ),
        (
            {"video": {"duration": "4 s"}, "player": DASH, "origin": {"misses": "100 %", "miss_delay": "400 ms"}},
            "startup_delay_s",
            0.2,
        ),
    ],
    ids=["agent", "low latency", "origin"],
)
def test_what_the_server_writes_at_its_own_pace(changes: dict[str, Any], metric: str, within: float) -> None:
    path = {"rate": "5 Mbit/s", "rtt": "40 ms", "queue": "50 packets"}
    asked = playpath.load({"path": [path], "sender": [{"cc": "cubic"}], **changes})
    ours, wired = (world(name).session(asked, "cubic", 1, trace=False).metrics for name in ("sim", "wire"))
    assert wired[metric] == pytest.approx(ours[metric], abs=within)


def over_quic(cc: str) -> dict[str, Any]:
    return {"name": f"{cc}/quic", "cc": {"name": cc}, "transport": dict(usual_quic("rfc", "rfc"))}


def test_ngtcp2_downloads_over_our_quic_and_its_record_is_that_of_the_other_worlds() -> None:
    if shutil.which("gtlsclient") is None:
        pytest.skip("gtlsclient is missing (bpf/setup.sh)")
    found = run_kernel(scenario(), over_quic("cubic"), 1, world="wire", player="ngtcp2", trace=True, tolerance="100 ms")
    (flow,) = found["flows"]
    # 1.5 s at 4 Mbit/s are 750 kB: 529 packets of 1420 bytes of stream data, 1452 of datagram; the link takes 20 ms.
    assert (flow["name"], flow["cc"]) == ("video", "cubic")
    assert 525 <= flow["sent_packets"] - flow["retransmitted_packets"] <= 560
    assert 20 <= flow["min_rtt_ms"] < 30
    assert flow["mean_rtt_ms"] >= flow["min_rtt_ms"]
    # The emulator has seen them all, and what carries no stream data: the handshake, acknowledgements.
    link = next(link for link in found["links"] if link["name"] == "path.path/down")
    assert flow["sent_packets"] <= link["offered_packets"] <= flow["sent_packets"] + 40
    assert max(found["series"]["flow.video"]["snd_cwnd"]) >= 10
    assert max(found["series"]["flow.video"]["rtt_ms"]) >= 20


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"rtt": "750 ms"}, 1_000_000),
        ({"loss": "2 %", "up": {"loss": "2 %"}}, 1_000_000),
        ({"corruption": "2 %"}, len(BYTES)),
        ({"corruption": "30 %", "up": {"corruption": "30 %"}}, 10_000),
    ],
    ids=["long RTT", "loss", "corruption", "corrupted handshakes"],
)
def test_cases_of_the_interop_runner_over_the_emulated_link(settings: dict[str, Any], size: int) -> None:
    """With gtlsclient, which has no switch for them (the others: tests/python/test_serve_quic.py)."""
    if shutil.which("gtlsclient") is None:
        pytest.skip("gtlsclient is missing (bpf/setup.sh)")
    path = FAST | {"rate": "20 Mbit/s", "queue": {"kind": "droptail", "limit": "100 kB"}} | settings
    with Testbed(network([path]), realtime=False) as bed:
        carrier = wire.WireQuic("ngtcp2")
        carrier.check({"path": [FAST]}, over_quic("cubic"))
        server, control = carrier.serve(bed, Sending("own", {}, {}, []), {}, Signalling())
        (server.www / "file").write_bytes(BYTES[:size])
        bed.emulator.begin_at(time.monotonic())
        origin = carrier.open(bed, server.port, control).origin
        got = bed.folder / "got"
        got.mkdir()
        asks = ["gtlsclient", "-q", "--exit-on-all-streams-close", f"--download={got}"]
        words = [*asks, bed.ends[0].server_address, str(server.port), f"https://{origin}/file"]
        subprocess.run(namespaces.inside(bed.client, words), check=True, stdout=subprocess.DEVNULL, timeout=60)
        assert sha256((got / "file").read_bytes()) == sha256(BYTES[:size])


def test_a_client_moves_from_one_interface_to_another_over_quic() -> None:
    """RFC 9000 §9: ngtcp2 takes another address after a second, when its route has gone to the other interface."""
    if shutil.which("gtlsclient") is None:
        pytest.skip("gtlsclient is missing (bpf/setup.sh)")
    with Testbed(network(PATHS[:2]), realtime=False) as bed:
        carrier = wire.WireQuic("ngtcp2")
        carrier.check({"path": PATHS[:1]}, over_quic("cubic"))
        server, control = carrier.serve(bed, Sending("own", {}, {}, []), {}, Signalling())
        (server.www / "file").write_bytes(BYTES)
        bed.emulator.begin_at(time.monotonic())
        origin = carrier.open(bed, server.port, control).origin
        first, second = bed.ends
        got = bed.folder / "got"
        got.mkdir()
        asks = ["gtlsclient", "-q", "--exit-on-all-streams-close", "--change-local-addr=1s", f"--download={got}"]
        words = [*asks, first.server_address, str(server.port), f"https://{origin}/file"]
        client = subprocess.Popen(namespaces.inside(bed.client, words), stdout=subprocess.DEVNULL)
        time.sleep(0.9)
        way = ("dev", second.client_device, "src", second.client_address)
        namespaces.run_ip("-n", bed.client, "route", "replace", first.server_address, *way)
        assert client.wait(60) == 0
        assert sha256((got / "file").read_bytes()) == sha256(BYTES)
        used = [found for found in server.end()["connections"] if found["requests"]]
    assert len(used) == 1, "one connection from first to last"
    down = {link["name"]: link["delivered_packets"] for link in bed.report["links"]}
    # 6 MB are 4327 packets of 1420 bytes; a second at 20 Mbit/s are at most 1720.
    assert 100 < down["path.first/down"] < 3000
    assert down["path.second/down"] > 1300


def noq_over(
    paths: list[dict[str, Any]], files: dict[str, bytes], asked: str, *options: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What noq's client and our server tell of a connection over both paths."""
    client = Path(__file__).parents[2] / "target" / "release" / "examples" / "two_paths"
    if not client.exists():
        pytest.skip("crates/quic-peers' example two_paths is not built (docs/manual/wire.md)")
    with Testbed(network(paths), realtime=False) as bed:
        carrier = wire.WireQuic("ngtcp2")
        carrier.check({"path": PATHS[:1]}, over_quic("cubic"))
        server, _ = carrier.serve(bed, Sending("own", {}, {}, []), {}, Signalling())
        for name, data in files.items():
            (server.www / name).write_bytes(data)
        first, second = bed.ends
        way = (first.server_address, "dev", second.client_device, "table", "7")
        namespaces.run_ip("-n", bed.client, "route", "add", *way)
        namespaces.run_ip("-n", bed.client, "rule", "add", "from", second.client_address, "table", "7")
        bed.emulator.begin_at(time.monotonic())
        ends = [end.client_address for end in bed.ends]
        words = [str(client), *options, f"{first.server_address}:{server.port}", asked, *ends]
        done = subprocess.run(namespaces.inside(bed.client, words), check=True, stdout=subprocess.PIPE, timeout=200)
        (used,) = [one for one in server.end()["connections"] if one["requests"]]
    return json.loads(done.stdout), used


@pytest.mark.parametrize("ends", [False, True])
def test_noq_fetches_over_two_interfaces_of_one_connection(ends: bool) -> None:
    """Multipath QUIC: both paths carry it; where WiFi ends in the middle, LTE carries the rest."""
    outage = {"outage": {"from": "800 ms", "spread": "0 s"}} if ends else {}
    found, used = noq_over([PATHS[0] | outage, PATHS[1]], {"file": BYTES}, "/file")
    assert found["sha256"] == sha256(BYTES)
    assert len(used["paths"]) == 2
    acked = [path["counts"]["acked_bytes"] for path in used["paths"]]
    # 6 MB: 1.2 s over both paths of 20 Mbit/s, 2.5 s over one; 0.8 s of the first carry 2 MB at most.
    assert acked[0] > 300_000, acked
    assert acked[1] > 1_000_000, acked
    assert not ends or acked[0] < 2_000_000, acked


def out_of_wifi(segments: int, ends_at: str) -> tuple[dict[str, Any], dict[str, Any], playpath.Session]:
    """A film of the scenario's top rung, 4 Mbit/s in segments of 2 s, 4 s of it ahead: noq's client, our server, the simulator."""
    walk = playpath.load("wifi-to-lte").playing("quic multipath").resolved
    paths = [dict(path) for path in walk["path"]]
    paths[0]["outage"] = {"from": ends_at, "spread": "0 s"}
    asked = playpath.load(
        {
            "video": {"rate": "4 Mbit/s", "duration": f"{2 * segments} s"},
            "player": {"kind": "dash", "ladder": "4 Mbit/s", "segment": "2 s", "full_level": "4 s"},
            "path": paths,
            "sender": [{"cc": "cubic", "transport": "quic"}],
        }
    )
    segment = BYTES[:1_000_000]
    files = {f"{index}.m4s": segment for index in range(segments)}
    found, used = noq_over(paths, files, "/%.m4s", "--film", f"{segments}:2:4")
    assert found["sha256"] == sha256(segment)
    return found, used, world("sim").session(asked, "cubic/quic", 1, trace=False)


def test_noq_plays_a_film_out_of_wifi_into_lte() -> None:
    """Nobody waits, in either world: what WiFi held goes again over LTE within the 4 s that lie ahead."""
    found, used, simulated = out_of_wifi(8, "6 s")
    assert found["waited_s"] == 0
    assert simulated.metrics["stall_time_s"] == 0
    acked = [path["counts"]["acked_bytes"] for path in used["paths"]]
    # 8 MB; after 6 s some five segments are there.
    assert acked[0] > 1_000_000, acked
    assert acked[1] > 3_000_000, acked


@pytest.mark.parametrize("player", ["dashjs", "hlsjs", "shaka"])
def test_players_in_chromium_play_over_our_quic_and_tell_the_control_of_their_buffer(player: str) -> None:
    video = {"rate": "2 Mbit/s", "duration": "5 s", "fps": 30, "seed": 1}
    ladder = {"kind": "dash", "ladder": "500 kbit/s, 1 Mbit/s, 2 Mbit/s", "segment": "1 s", "cmcd": "v1"}
    asked = scenario(video=video, player=ladder)
    found = run_kernel(asked, over_quic("ccplb"), 1, world="wire", player=player, trace=True, tolerance="100 ms")
    assert found["metrics"]["played_s"] == pytest.approx(5, abs=0.2)
    # One connection for all requests, over UDP: nothing came by TCP.
    (flow,) = found["flows"]
    assert (flow["cc"], flow["sent_packets"] > 100) == ("ccplb", True)
    assert found["warnings"] == []
    segments = {event["segment"] for event in found["events"] if event["event"] == "segment_downloaded"}
    assert segments == set(range(5))


@pytest.mark.parametrize("player", ["ngtcp2", "dashjs"])
def test_clients_tell_the_marks_of_our_dualpi2(player: str) -> None:
    """Prague over QUIC fills 5 Mbit/s. A client whose ACKs tell no counts of ECN has none from the second round trip on (RFC 9000,
    13.4.2.1): then packets would wait in the classic queue. Marks alone make the window fall.
    """
    if player == "ngtcp2" and shutil.which("gtlsclient") is None:
        pytest.skip("gtlsclient is missing (bpf/setup.sh)")
    path = {"name": "path", "rate": "5 Mbit/s", "rtt": "20 ms", "queue": "dualpi2"}
    changes: dict[str, Any] = {"video": {"rate": "8 Mbit/s", "duration": "5 s", "fps": 30, "seed": 1}, "path": [path]}
    if player == "dashjs":
        changes["player"] = {"kind": "dash", "ladder": "2 Mbit/s, 4 Mbit/s", "segment": "1 s"}
    found = run_kernel(
        scenario(**changes), over_quic("prague"), 1, world="wire", player=player, trace=True, tolerance="200 ms"
    )
    down = next(link for link in found["links"] if link["name"] == "path.path/down")
    assert down["classes"]["classic"]["arrived_packets"] == 0
    assert down["classes"]["low_latency"]["marked_packets"] > 20
    assert down["classes"]["low_latency"]["mean_wait_ms"] < 3
    (flow,) = found["flows"]
    assert flow["retransmitted_packets"] == 0
    windows = found["series"]["flow.video"]["snd_cwnd"]
    assert any(later < sooner for sooner, later in itertools.pairwise(windows))


def test_tls_over_tcp_for_curl_and_for_chromium(tmp_path: Path) -> None:
    with serving([FAST], tls="full") as site:
        url = site.url.replace("http:", "https:")
        assert sha256(site.run("curl", "-sS", "--insecure", url)) == sha256(BYTES)
        both = site.run("curl", "-sS", "--insecure", "-r", "1000-1999", url, "-r", "0-9", url)
        assert both == BYTES[1000:2000] * 2 or both == BYTES[0:10] * 2
        loaded = json.loads(site.run("curl", "-sS", "--insecure", "-T", str(site.server.www / "file"), url))
        assert loaded == {"bytes": len(BYTES), "sha256": sha256(BYTES)}
        # By ALPN, and side by side on a connection.
        said = ("-sS", "--insecure", "-o", "/dev/null", "-w", "%{http_version}")
        assert site.run("curl", *said, url) == b"2"
        assert site.run("curl", *said, "--http1.1", url) == b"1.1"
        outputs = [str(tmp_path / str(index)) for index in range(4)]
        several = [word for file in outputs for word in ("-o", file, url)]
        site.run("curl", "-sS", "--insecure", "--parallel", "--parallel-max", "4", *several)
        assert {sha256(Path(file).read_bytes()) for file in outputs} == {sha256(BYTES)}
        site.server.end()
        answers = [json.loads(line) for line in site.server.access_log.read_text().splitlines()]
    # The acknowledgement of the last may still be on its way.
    assert [answer["status"] for answer in answers][:3] == [200, 206, 206]
    video = {"rate": "2 Mbit/s", "duration": "5 s", "fps": 30, "seed": 1}
    ladder = {"kind": "dash", "ladder": "500 kbit/s, 1 Mbit/s, 2 Mbit/s", "segment": "1 s", "cmcd": "v1"}
    asked = scenario(video=video, player=ladder)
    found = run_kernel(asked, sender("bbr3", tls="full"), 1, world="wire", player="dashjs", tolerance="100 ms")
    assert found["metrics"]["played_s"] == pytest.approx(5, abs=0.2)
    with pytest.raises(
        UnsupportedError, match="own cannot play over TLS here; over TLS play dashjs, hlsjs, shaka or curl"
    ):
        run_kernel(scenario(), sender("bbr3", tls="full"), 1, world="wire")


@pytest.mark.parametrize("several", [False, True])
def test_bytes_are_right_both_ways(several: bool) -> None:
    if several:
        needs_mptcpize()
    with serving(PATHS if several else [FAST]) as site:
        curl = [*(["mptcpize", "run"] if several else []), "curl", "-sS"]
        assert sha256(site.run(*curl, site.url)) == sha256(BYTES)
        assert site.run(*curl, "-r", "1000-1999", site.url) == BYTES[1000:2000]
        loaded = json.loads(site.run(*curl, "-T", str(site.server.www / "file"), site.url))
        assert loaded == {"bytes": len(BYTES), "sha256": sha256(BYTES)}
        record = site.server.end()
    assert {connection["mptcp"] for connection in record["connections"]} == {several}
    assert {len(connection["paths"]) for connection in record["connections"][:1]} == {3 if several else 1}


def join_from_own_addresses(site: Bed) -> str:
    """As a stock client does by default: it accepts no ADD_ADDR, and joins the first address by endpoints of its own."""
    bed = site.bed
    namespaces.run_ip("-n", bed.client, "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "0")
    first = wire.address_on(bed.ends[0])
    for metric, end in enumerate(bed.ends[1:], 10):
        way = ("dev", end.client_device, "src", end.client_address, "metric", str(metric))
        namespaces.run_ip("-n", bed.client, "route", "add", first, *way)
        endpoint = (end.client_address, "dev", end.client_device, "id", str(metric), "subflow")
        namespaces.run_ip("-n", bed.client, "mptcp", "endpoint", "add", *endpoint)
    return first


def test_a_client_joins_from_its_own_addresses() -> None:
    needs_mptcpize()
    with serving(PATHS) as site:
        first = join_from_own_addresses(site)
        assert sha256(site.run("mptcpize", "run", "curl", "-sS", site.url)) == sha256(BYTES)
        (connection,) = site.server.end()["connections"]
        addresses = sorted(end.client_address for end in site.bed.ends)
    assert {path["local"][0] for path in connection["paths"]} == {first}
    assert sorted(path["remote"][0] for path in connection["paths"]) == addresses
    assert all(path["counts"]["acked_bytes"] > 100_000 for path in connection["paths"])


def test_a_path_may_die_and_an_address_may_go() -> None:
    needs_mptcpize()
    with serving(PATHS) as site:
        join_from_own_addresses(site)
        download = site.start("mptcpize", "run", "curl", "-sS", "--limit-rate", "1M", site.url)
        time.sleep(1.5)
        # The second path falls silent; the address of the third is given up, which the client tells (RM_ADDR).
        namespaces.run_ip("-n", site.bed.client, "link", "set", site.bed.ends[1].client_device, "down")
        namespaces.run_ip("-n", site.bed.client, "mptcp", "endpoint", "delete", "id", "11")
        data, _ = download.communicate(timeout=60)
        shown = counters(site.bed.client)["RmAddrTx"]
        (connection,) = site.server.end()["connections"]
    assert sha256(data) == sha256(BYTES)
    assert shown == 1
    assert len(connection["paths"]) == 3


def received_bytes(site: Bed, path: int) -> int:
    device = site.bed.ends[path].client_device
    (link,) = json.loads(site.run("ip", "-json", "-statistics", "link", "show", "dev", device))
    return int(link["stats64"]["rx"]["bytes"])


@pytest.mark.parametrize("how", ["link down", "nothing comes back"])
def test_a_path_that_died_is_used_again_when_it_returns(how: str, tmp_path: Path) -> None:
    """The link of the second path goes down and up, or all that the client sends there is lost, for 1.5 s of some 6 s."""
    needs_mptcpize()
    with serving([path | {"rate": "3 Mbit/s"} for path in PATHS]) as site:
        first = join_from_own_addresses(site)
        client, end = site.bed.client, site.bed.ends[1]
        ack_sink = ["tc", "qdisc", "replace", "dev", end.client_device, "root", "blackhole"]
        # Into a file: nobody would read a pipe meanwhile.
        download = site.start("mptcpize", "run", "curl", "-sS", "-o", str(tmp_path / "got"), site.url)
        deadline = time.monotonic() + 20
        while (before := received_bytes(site, 1)) < 100_000 and time.monotonic() < deadline:
            time.sleep(0.05)
        if how == "link down":
            namespaces.run_ip("-n", client, "link", "set", end.client_device, "down")
        else:
            site.run(*ack_sink)
        time.sleep(1.5)
        while_dead = received_bytes(site, 1)
        if how == "link down":
            namespaces.run_ip("-n", client, "link", "set", end.client_device, "up")
            way = ("dev", end.client_device, "src", end.client_address, "metric", "10")
            namespaces.run_ip("-n", client, "route", "add", first, *way)
        else:
            site.run("tc", "qdisc", "delete", "dev", end.client_device, "root")
        download.communicate(timeout=60)
        at_end = received_bytes(site, 1)
        (connection,) = site.server.end()["connections"]
    assert sha256((tmp_path / "got").read_bytes()) == sha256(BYTES)
    # 3 Mbit/s fill 375 kB a second: a window and timeouts while it was dead, and its share of what was left after that.
    assert before >= 100_000
    assert while_dead - before < 200_000, (before, while_dead)
    assert at_end - while_dead > 300_000, (while_dead, at_end)
    (second,) = [path for path in connection["paths"] if path["remote"][0] == end.client_address]
    assert second["counts"]["failures"] >= 1


def test_what_a_client_calls_backup_is_left() -> None:
    """MP_PRIO on two of three paths: what is still to come takes the other."""
    needs_mptcpize()
    with serving(PATHS) as site:
        join_from_own_addresses(site)
        download = site.start("mptcpize", "run", "curl", "-sS", "--limit-rate", "1M", site.url)
        time.sleep(0.7)
        for number in ("10", "11"):
            namespaces.run_ip("-n", site.bed.client, "mptcp", "endpoint", "change", "id", number, "backup")
        data, _ = download.communicate(timeout=60)
        shown = counters(site.bed.client)["MPPrioTx"]
        (connection,) = site.server.end()["connections"]
    assert sha256(data) == sha256(BYTES)
    assert shown == 2
    carried = {path["remote"][0]: path["counts"]["acked_bytes"] for path in connection["paths"]}
    first = site.bed.ends[0].client_address
    # A third each, if nothing had been said.
    assert carried[first] > 0.55 * len(BYTES), carried


def test_a_client_that_wants_checksums_gets_them() -> None:
    """It asks by flag A of its SYN (RFC 8684 section 3.1): the kernel finds none wrong, nor do we in what it sends."""
    needs_mptcpize()
    with serving(PATHS) as site:
        site.run("sysctl", "-q", "-w", "net.mptcp.checksum_enabled=1")
        curl = ["mptcpize", "run", "curl", "-sS"]
        assert sha256(site.run(*curl, site.url)) == sha256(BYTES)
        loaded = json.loads(site.run(*curl, "-T", str(site.server.www / "file"), site.url))
        assert loaded == {"bytes": len(BYTES), "sha256": sha256(BYTES)}
        kernel = counters(site.bed.client)
        down, up = site.server.end()["connections"]
    for connection in (down, up):
        assert (connection["mptcp"], connection["fallback"], len(connection["paths"])) == (True, False, 3)
    wrong = {name: kernel[name] for name in ("DataCsumErr", "MPFailTx", "MPFailRx", "InfiniteMapRx")}
    assert set(wrong.values()) == {0}, wrong


def test_a_client_that_is_killed_leaves_nothing() -> None:
    """The kernel says so by MP_FASTCLOSE: the server forgets the connection, and serves on."""
    needs_mptcpize()
    with serving(PATHS) as site:
        download = site.start("mptcpize", "run", "curl", "-sS", "--limit-rate", "100k", site.url)
        time.sleep(0.5)
        download.send_signal(signal.SIGKILL)
        download.wait()
        for stray in namespaces.processes_in(site.bed.client):
            if Path(f"/proc/{stray}/comm").read_text().strip() == "curl":
                os.kill(stray, signal.SIGKILL)
        download.stdout.close() if download.stdout else None
        assert sha256(site.run("curl", "-sS", site.url)) == sha256(BYTES)
        assert site.server.child.process.poll() is None


@pytest.mark.parametrize("what", ["1 6", "1 6 --mptcp", "1 6 --checksums", "--wrap"])
def test_bulk_against_the_kernel_under_drawn_settings(what: str) -> None:
    """A few of the draws of against_kernel, docs/manual/wire.md has what many gave; data sequence numbers that pass 2^64."""
    program = Path(wire.program()).parent / "examples/against_kernel"
    if not program.exists():
        pytest.skip("not built: cargo build --release -p playpath-serve --examples")
    with Testbed(network([FAST]), realtime=False) as bed:
        command = namespaces.inside(bed.client, [str(program), *what.split()])
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, timeout=300)
    draws = [json.loads(line) for line in done.stdout.splitlines()]
    assert ([draw for draw in draws if "wrong" in draw["result"]], done.returncode) == ([], 0)
    assert len(draws) == (1 if what == "--wrap" else 6)
    assert any(draw["draw"]["wraps"] for draw in draws)
    assert any(draw["result"]["altered"] for draw in draws) == ("--checksums" in what)
    assert max(draw["result"]["paths"] for draw in draws) > 1 or what == "1 6"


def test_what_the_wire_world_cannot_play_is_said() -> None:
    for asked, player, words in (
        (scenario(), "iperf3", "iperf3"),
        (scenario(path=PATHS), "dashjs", "plain TCP|dash"),
    ):
        with pytest.raises((UnsupportedError, InputError), match=words):
            run_kernel(asked, sender("cubic"), 1, world="wire", player=player)
    agent = {"kind": "agent", "buffer": "1 s"}
    for asked, player, words in (
        (scenario(player=agent), "own", "streaming agent's chunks.* only over TCP without TLS"),
        (scenario(), "own", "own cannot play over HTTP/3 here; over QUIC play dashjs, hlsjs, shaka or ngtcp2"),
        (scenario(path=PATHS), "ngtcp2", "QUIC uses a single path here"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            run_kernel(asked, over_quic("cubic"), 1, world="wire", player=player)
    with pytest.raises(UnsupportedError, match="ngtcp2 supports only QUIC"):
        run_kernel(scenario(), sender("cubic"), 1, world="wire", player="ngtcp2")


def test_settings_of_a_client_that_is_a_real_one_are_named() -> None:
    why = "client and certificate are real ones in the wire world, so without effect: "
    quic = dict(usual_quic("rfc", "rfc"))
    of_ngtcp2 = quic | usual_quic("rfc", "ngtcp2")
    odd = {"ack_every": 100, "stream_window": "4 kB", "certificate_bytes": 20000, "tls": "resumed"}
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (wire.Wire(), {}, ""),
        (wire.Wire(), {"delayed_ack": "off", "window_tuning": False}, 'delayed_ack = "off", window_tuning = false'),
        (wire.Wire(), {"profile": "ns2", "tls": "full", "mss": 9000}, 'profile = "ns2", mss = 9000'),
        (wire.Wire(has_tls=True), {"tls": "resumed"}, 'tls = "resumed"'),
        (wire.WireQuic("ngtcp2"), {"transport": quic}, ""),
        (wire.WireQuic("ngtcp2"), {"transport": of_ngtcp2}, ""),
        (wire.WireQuic("chromium"), {"transport": of_ngtcp2}, 'client = "ngtcp2"'),
        (wire.WireQuic("ngtcp2"), {"transport": quic | {"datagram_bytes": 9000}}, "datagram_bytes = 9000"),
        (
            wire.WireQuic("ngtcp2"),
            {"transport": quic | odd},
            'ack_every = 100, stream_window = "4 kB", certificate_bytes = 20000, tls = "resumed"',
        ),
    ]
    for carrier, asked, named in cases:
        wanted = sender("cubic", **asked)
        carrier.check(scenario(), wanted)
        assert carrier.translate(wanted).warnings == ([why + named] if named else []), asked


def test_names_of_worlds() -> None:
    assert world("wire").name == "wire"
    assert world("wire:vlc").name == "wire:vlc"

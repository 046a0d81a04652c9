"""Every kernel control carries a video through nginx to the player; parameters reach live sockets."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support import FAST, scenario, sender

import playpath
from playpath.base import engine
from playpath.real.testbed import controls
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import TestbedError, UnsupportedError
from playpath.real.testbed.runner import run_kernel, translate
from playpath.real.testbed.senders import Sending, of_other_flows
from playpath.real.testbed.sockdiag import Diag

pytestmark = pytest.mark.usefixtures("nothing_left")

SENDERS = [sender(entry["name"]) for entry in engine.registry("cc") if entry["in_kernel"]]
SENDERS += [sender(cc, validation="newcwv", pacing={"gain": 1.0}) for cc in ("newreno", "cubic")]
SENDERS += [
    sender(cc) | {"name": f"{cc}-paper", "cc": {"name": cc, "mode": "paper", "rtt": "raw"}}
    for cc in ("ccp", "ccpd", "ccplca", "ccplb")
]


@pytest.mark.parametrize("of", SENDERS, ids=lambda of: f"{of['name']}-{of['validation']}")
def test_a_video_plays_over_every_control(of: dict[str, Any]) -> None:
    control = translate(of).cc
    if (missing := controls.why_missing(control)) is not None:
        pytest.skip(missing)
    # What is tested holds on a busy machine too: lateness of the link does not matter here.
    record = run_kernel(scenario(), of, 1, tolerance="100 ms")
    # The socket itself says which control it used.
    assert record["flows"][0]["cc"].split(".")[0] == control.removeprefix("bpf:")
    # 20 Mbit/s carry 4 Mbit/s without a stall; 0.5 s of media are there after at least 0.1 s.
    assert record["metrics"]["stall_count"] == 0
    assert record["metrics"]["discarded_pictures"] == 0
    assert 0.1 <= record["metrics"]["startup_delay_s"] < 1.0
    # The base RTT is 20 ms, the queue holds 50 kB: 20 ms more.
    assert 20 <= record["metrics"]["mean_rtt_ms"] < 60
    assert record["manifest"]["world"] == "kernel"
    assert [link["name"] for link in record["links"]] == ["path.path/down", "path.path/up"]
    # What the link dropped, the sender sent again (a tail loss probe may send one more).
    dropped = sum(record["links"][0]["dropped_packets"].values())
    assert dropped <= record["metrics"]["retransmitted_packets"] <= dropped + 3


def test_a_law_that_closes_the_window_still_repairs_at_once() -> None:
    """Slow start overflows a deep queue; CCP answers with two packets, hundreds in flight. The repair does not wait for the timeout."""
    deep = FAST | {"rate": "6 Mbit/s", "rtt": "60 ms", "queue": {"kind": "droptail", "limit": "300 packets"}}
    video = {"rate": "4 Mbit/s", "duration": "12 s", "fps": 30, "seed": 1}
    cut = scenario(
        path=[deep], video=video, player={"kind": "progressive", "buffer": "8 s"}, run={"duration": "4 s", "seeds": 1}
    )
    record = run_kernel(cut, sender("ccp"), 1, tolerance="100 ms")
    assert record["metrics"]["retransmitted_packets"] > 100
    assert record["metrics"]["rto_count"] == 0


def test_cross_traffic_uses_its_own_controls() -> None:
    bulk = {
        "kind": "bulk",
        "count": 1,
        "start": "0 s",
        "stop": None,
        "rtt": "0 s",
        "validation": "none",
        "pacing": "off",
    }
    traffic = [bulk | {"name": cc, "cc": {"name": cc}} for cc in ("newreno", "vegas", "ccp")]
    record = run_kernel(
        scenario(video=None, player=None, traffic=traffic, run={"duration": "1.5 s", "seeds": 1}),
        sender("cubic"),
        1,
        tolerance="100 ms",
    )
    used = {flow["name"]: flow["cc"].split(".")[0] for flow in record["flows"]}
    assert used == {"newreno": "reno", "vegas": "vegas", "ccp": "ccp"}
    # The queue of 50 kB holds, and three flows fill 20 Mbit/s after their slow starts.
    assert 8 < record["metrics"]["goodput_mbps"] < 20


def test_ccplb_widens_its_window_when_told_of_a_larger_buffer() -> None:
    with Testbed(network([FAST | {"queue": {"kind": "droptail", "limit": "500 kB"}}])) as bed:
        server = bed.start_server()
        server.serve_zeros("large", 1 << 30)
        control = bed.use_control("bpf:ccplb")
        address = bed.ends[0].server_address
        bed.start("curl", "client", ["curl", "-s", "-o", "/dev/null", f"http://{address}:8080/large"])
        diag = Diag(bed.server)

        def settled() -> tuple[float, str]:
            """Mean window over half a second, and the peer."""
            time.sleep(1.5)
            windows = []
            for _ in range(25):
                found = [s for s in diag.sockets() if s.local[1] == server.port]
                windows.append(found[0].info["snd_cwnd"])
                time.sleep(0.02)
            peer = found[0].peer
            return sum(windows) / len(windows), f"{peer[0]}:{peer[1]}"

        before, peer = settled()
        # 200 packets at POBRate 1, to this connection alone: the window rises by 2 POB / (3 + Kp) = 80 packets, less
        # where POB is capped at B (about one bandwidth-delay product and a half here, 52 packets: then 21).
        controls.call("set", control.name, "--peer", peer, f"pob_bytes={200 * 1448}")
        after, _ = settled()
        shown = control.connections()
        diag.close()
    assert after > before + 10
    assert shown[0]["params"]["pob_bytes"] == 200 * 1448
    assert shown[0]["details"]["pob_packets"] > 0
    assert shown[0]["phase"] == "congestion_avoidance"


def test_a_live_connection_follows_the_law_as_the_paper_prints_it_when_told() -> None:
    with Testbed(network([FAST | {"queue": {"kind": "droptail", "limit": "500 kB"}}])) as bed:
        server = bed.start_server()
        server.serve_zeros("large", 1 << 30)
        control = bed.use_control("bpf:ccplb")
        url = f"http://{bed.ends[0].server_address}:{server.port}/large"
        bed.start("curl", "client", ["curl", "-s", "-o", "/dev/null", url])
        time.sleep(1.0)
        # Two thousand packets, some forty times the path's storage.
        controls.call("set", control.name, f"pob_bytes={2000 * 1448}", "pob_rate=2")
        time.sleep(0.5)
        (cut,) = control.connections()
        controls.call("set", control.name, "mode=paper")
        time.sleep(0.5)
        (whole,) = control.connections()
    assert cut["details"]["pob_packets"] == cut["details"]["b_packets"] < 1000
    # Uncapped, and divided by two.
    assert whole["details"]["pob_packets"] == 1000
    assert whole["params"]["mode"] == "paper"


def test_what_the_kernel_world_does_not_do_is_refused_before_anything_is_made() -> None:
    with pytest.raises(TestbedError, match="sammy: neither Linux nor playpath's eBPF programs"):
        run_kernel(scenario(), sender("sammy"), 1)
    web = {"kind": "web", "name": "web", "count": 500, "cc": "cubic"}
    with pytest.raises(TestbedError, match="500 sources of cross traffic: the kernel world runs at most 200"):
        run_kernel(scenario(traffic=[web]), sender("cubic"), 1)
    with pytest.raises(TestbedError, match=r"curl does not support \[viewer\]"):
        run_kernel(scenario(viewer={"leaves_after": "20 s"}), sender("cubic"), 1, player="curl")
    with pytest.raises(TestbedError, match=r"vlc does not support \[origin\]"):
        run_kernel(scenario(origin={"misses": "5 %"}), sender("cubic"), 1, player="vlc")
    with pytest.raises(TestbedError, match="goes over cubic, newreno, not over ccp"):
        translate(sender("ccp", validation="newcwv"))


def test_a_value_that_the_kernel_does_not_hold_is_refused_by_name() -> None:
    def with_cc(**cc: object) -> Sending:
        return translate(sender("any") | {"cc": cc})

    assert with_cc(name="vegas", alpha=1.5).parameters == {"alpha": 1.5}
    assert with_cc(name="ccpd", mode="literal").parameters == {"mode": "literal"}
    assert with_cc(name="ccp", recovery="freeze").parameters == {"recovery": "freeze"}
    printed = {"mode": "paper", "bound": "printed", "rtt": "raw", "estimator": "given", "capacity": 863.25}
    assert with_cc(name="ccplca", **printed).parameters == printed
    for cc, reported in [
        (
            {"name": "vegas", "alpha": 0.0125},
            "`alpha` = 0.0125 .* vegas; allowed: 0 to 1000 packets in steps of 0.001",
        ),
        ({"name": "ccp", "max_cwnd": 2e6}, "`max_cwnd` = 2000000 .* ccp; allowed: 10 to 1048576 packets"),
        (
            {"name": "ccp", "capacity": 1e8},
            "`capacity` = 100000000 .* allowed: 1 to 4000000 packets/s in steps of 0.001",
        ),
        ({"name": "cubic", "beta": 0.8}, "`beta` = 0.8 .* cubic; allowed: only 0.7"),
    ]:
        with pytest.raises(UnsupportedError, match=reported):
            with_cc(**cc)
    assert UnsupportedError.exit_status == 2


def test_newcwv_and_pacing_choose_twin_and_sysctls() -> None:
    sending = translate(sender("newreno", validation="newcwv", pacing={"gain": 1.0}, notsent_lowat="16 kB"))
    assert sending.sysctls["net.ipv4.tcp_notsent_lowat"] == "16000"
    assert sending.cc == "bpf:newcwv"
    assert sending.parameters == {"pacing": True}
    assert sending.sysctls["net.ipv4.tcp_pacing_ss_ratio"] == "100"
    assert sending.sysctls["net.ipv4.tcp_slow_start_after_idle"] == "0"


def resolved(**settings: object) -> Sending:
    path = {"rate": "10 Mbit/s", "rtt": "20 ms"}
    loaded = playpath.load({"path": [path], "traffic": [{"kind": "bulk"}], "sender": [{"cc": "cubic"} | settings]})
    return translate(loaded.sender(loaded.senders[0]))


def test_a_senders_settings_become_linuxs() -> None:
    asked = {"initial_window": 4, "rto_min": "1 s", "receive_buffer": "300 kB", "ecn": True}
    sending = resolved(**asked, timestamps=False)
    assert sending.route == ("initcwnd", "4", "rto_min", "1000ms")
    # 300 kB of payload in packets of 1448 bytes that count 2350: 486 878.
    assert sending.client_sysctls["net.ipv4.tcp_rmem"] == "4096 131072 486878"
    for sysctls in (sending.sysctls, sending.client_sysctls):
        lines = [sysctls[f"net.ipv4.tcp_{name}"] for name in ("sack", "ecn", "timestamps")]
        assert lines == ["1", "1", "0"]
    assert sending.warnings == []


def test_what_linux_does_not_have_is_named() -> None:
    (warning,) = resolved(limited_transmit=False, cc={"name": "cubic", "growth": "rfc"}).warnings
    start = "no counterpart in the kernel world, so without effect: "
    assert warning == start + 'limited_transmit = false, cc.growth = "rfc"'
    # Without SACK Linux recovers as NewReno does; that it reduces by PRR all the same has no switch.
    (warning,) = resolved(profile="ns2", mss=1448).warnings
    assert warning.startswith(start + 'recovery = "newreno"')
    assert resolved(send_buffer="300 kB").warnings == [start + 'send_buffer = "300 kB"']
    assert resolved(send_buffer="8 MB").warnings == []
    (warning,) = resolved(delayed_ack={"delay": "100 ms"}, mss=9000).warnings
    assert warning == start + 'delayed_ack = { delay = "100 ms" }, mss = 9000'


@pytest.mark.parametrize(
    ("key", "value"),
    [("receive_buffer", "20 kB"), ("validation", "none"), ("sack", False), ("ecn", True), ("timestamps", False)],
)
def test_what_cross_traffic_cannot_have_of_its_own_is_named(key: str, value: object) -> None:
    path, own = {"rate": "10 Mbit/s", "rtt": "20 ms"}, {key: value}
    loaded = playpath.load(
        {"path": [path], "traffic": [{"kind": "bulk", "cc": "cubic"} | own], "sender": [{"cc": "cubic"}]}
    )
    source, video = loaded.resolved["traffic"][0], loaded.resolved["sender"][0]
    assert of_other_flows(source, translate(video), video) == [key]
    # What a route has, each source can have: a smaller segment, but not one that the devices do not take.
    plain = {**source, key: video[key]}
    assert of_other_flows(plain | {"mss": 300, "initial_window": 1}, translate(video), video) == []
    assert of_other_flows(plain, translate(video), video | {"mss": 300}) == ["mss"]


def test_when_a_source_of_traffic_starts_is_no_setting_of_its_sender() -> None:
    source = {"kind": "bulk", "cc": "cubic", "start": "20 s", "start_spread": "10 s", "stop": "80 s"}
    loaded = playpath.load({"path": [{"rate": "10 Mbit/s", "rtt": "20 ms"}], "traffic": [source]})
    assert translate(loaded.resolved["traffic"][0]).warnings == []
    (warning,) = translate(loaded.resolved["traffic"][0] | {"limited_transmit": False}).warnings
    assert warning.endswith("without effect: limited_transmit = false")


def test_a_receive_buffer_holds_the_sender_back_as_in_the_simulator() -> None:
    """300 kB in flight at 100 ms are 24 Mbit/s, of the 100 that the path has; half of it and the simulator's within 15 %."""
    described = {
        "video": {"rate": "40 Mbit/s", "duration": "2 s"},
        "player": {"kind": "progressive", "buffer": "500 ms"},
        "path": [{"rate": "100 Mbit/s", "rtt": "100 ms", "queue": "2 MB"}],
        "sender": [{"cc": "newreno", "receive_buffer": "300 kB"}],
    }
    loaded = playpath.load(described)
    kernel = run_kernel(loaded.resolved, loaded.sender("newreno"), 1, tolerance="100 ms")
    goodput = {"sim": playpath.run(described).metrics["goodput_mbps"], "kernel": kernel["metrics"]["goodput_mbps"]}
    assert goodput["sim"] == pytest.approx(18, abs=6)
    assert goodput["kernel"] == pytest.approx(goodput["sim"], rel=0.15)


def test_the_verifier_and_the_loader_say_what_is_wrong() -> None:
    with pytest.raises(
        TestbedError, match=r"`kp` = 77 is not accepted by the kernel's ccp; allowed: 0.1 to 8 in steps of 0.001"
    ):
        controls.call("load", "ccp", "--param", "kp=77")
    with pytest.raises(TestbedError, match='unknown control "ccpx"'):
        controls.call("load", "ccpx")


def test_what_a_player_reports_reaches_its_connection_and_a_dead_bridge_stops_no_video() -> None:
    with Testbed(network([FAST])) as bed:
        control = bed.use_control("bpf:ccplb")
        server = bed.start_server(bridge_to=control)
        server.serve_zeros("zeros", 1 << 20)
        url = f"http://{bed.ends[0].server_address}:{server.port}/zeros"

        def get(query: str) -> str:
            # The connection stays open for a second request, so that its status can be read.
            command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} ", f"{url}?{query}", "--next"]
            command += ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--limit-rate", "500k", f"{url}?{query}"]
            child = bed.start("curl", "client", command)
            time.sleep(1.0)
            shown = control.connections()
            assert child.process.wait(timeout=20) == 0
            lines.append(shown[-1]["params"])
            return child.output.read_text()

        lines: list[dict[str, float]] = []
        # CTA-5004: 1000 ms of buffer at 5240 kbit/s, starting up: 655 000 bytes.
        assert get("CMCD=bl%3D1000%2Cbr%3D5240%2Csu") == "200 200"
        assert lines[0]["pob_bytes"] == 655_000
        assert lines[0]["urgent"] == 1
        bed.children["agent"].end()
        assert get("CMCD=bl%3D1000%2Cbr%3D5240") == "200 200"


def test_parameters_in_the_socket_itself_go_before_those_of_its_peer_and_both_end_with_it() -> None:
    with Testbed(network([FAST])) as bed:
        control = bed.use_control("bpf:ccplb")
        server = bed.start_server()
        server.serve_zeros("large", 1 << 30)
        url = f"http://{bed.ends[0].server_address}:{server.port}/large"
        child = bed.start("curl", "client", ["curl", "-s", "-o", "/dev/null", "--local-port", "40001", url])
        peer = f"{bed.ends[0].client_address}:40001"
        pid = str(server.child.process.pid)

        def shown() -> tuple[float, str]:
            time.sleep(0.5)
            (row,) = [row for row in control.connections() if row["peer"] == peer]
            return row["params"]["pob_bytes"], row["params_from"]

        assert shown() == (0, "control")
        controls.call("set", control.name, "--peer", peer, "pob_bytes=1000")
        assert shown() == (1000, "peer")
        controls.call("set", control.name, "--peer", peer, "--pid", pid, "pob_bytes=2000")
        assert shown() == (2000, "socket")
        # What the socket has is its own: its peer's parameters do not touch it.
        controls.call("set", control.name, "--peer", peer, "pob_bytes=3000")
        assert shown() == (2000, "socket")
        with pytest.raises(TestbedError, match=r"process \d+ has no TCP socket to 10\.9\.9\.9:9 "):
            controls.call("set", control.name, "--peer", "10.9.9.9:9", "--pid", pid, "pob_bytes=1")
        child.end()
        # A new connection from the same address and port may be another viewer's: it has nothing of the one that is gone.
        bed.start("curl", "client", ["curl", "-s", "-o", "/dev/null", "--local-port", "40001", url])
        assert shown() == (0, "control")


def test_ccplb_widens_its_window_when_the_bridge_is_told_of_a_buffer_and_a_lie_is_cut() -> None:
    with Testbed(network([FAST | {"queue": {"kind": "droptail", "limit": "500 kB"}}])) as bed:
        control = bed.use_control("bpf:ccplb")
        server = bed.start_server(bridge_to=control)
        server.serve_zeros("part", 6_000_000)  # 2.4 s each at 20 Mbit/s
        url = f"http://{bed.ends[0].server_address}:{server.port}/part"
        # One connection, three requests: no report; a full buffer of 1 s at 5240 kbit/s; 10 minutes at 500 Mbit/s.
        reports = ["", "?CMCD=bl%3D1000%2Cbr%3D5240", "?CMCD=bl%3D600000%2Cbr%3D500000"]
        command = ["curl", "-s", *(word for report in reports for word in ("-o", "/dev/null", url + report))]
        child = bed.start("curl", "client", command)
        windows: dict[float, list[int]] = {}
        while child.process.poll() is None:
            for row in control.connections():
                windows.setdefault(row["params"]["pob_bytes"], []).append(row["snd_cwnd"])
            time.sleep(0.05)
        assert child.process.returncode == 0
        said = bed.children["agent"].log.read_text()
    # 60 s at 200 Mbit/s are believed at most, 1500 MB, of which the parameter takes 1000 MB.
    assert sorted(windows) == [0, 655_000, 1e9]
    settled = {pob: sum(seen[len(seen) // 2 :]) / len(seen[len(seen) // 2 :]) for pob, seen in windows.items()}
    # POB is cut at B, here one bandwidth-delay product and a half (52 packets): 2 POB / (3 + Kp) = 21 more.
    assert settled[655_000] > settled[0] + 10
    # The law cuts the lie at the same B: no larger window than the largest honest report brings.
    assert settled[1e9] < 1.5 * settled[655_000]
    assert "not believed" in said
    assert "`br` = 500000 does not fit the object served; 200000 used" in said


def test_slack_yields_to_a_full_buffer_that_the_bridge_tells_of_and_takes_nothing_from_an_empty_one() -> None:
    with Testbed(network([FAST | {"queue": {"kind": "droptail", "limit": "500 kB"}}])) as bed:
        control = bed.use_control("bpf:slack")
        server = bed.start_server(bridge_to=control)
        server.serve_zeros("part", 3_000_000)
        url = f"http://{bed.ends[0].server_address}:{server.port}/part"
        # One connection, three requests for 6 s of 4000 kbit/s: no report; 10 s of 10 s are there; none are, and it stands still.
        media = "br%3D4000%2Cd%3D6000%2Ctb%3D4000%2Ctbl%3D10000%2Cot%3Dv"
        reports = ["", f"?CMCD=bl%3D10000%2C{media}", f"?CMCD=bl%3D0%2Cbs%2C{media}"]
        command = ["curl", "-s", *(word for report in reports for word in ("-o", "/dev/null", url + report))]
        child = bed.start("curl", "client", command)
        seen: dict[float, list[dict[str, Any]]] = {}
        while child.process.poll() is None:
            for row in control.connections():
                seen.setdefault(row["params"]["report"], []).append(row)
            time.sleep(0.05)
        assert child.process.returncode == 0
    assert sorted(seen) == [0, 1, 2]
    # The buffer fills again within seconds: the empty one is looked at when it begins.
    untold, full, empty = seen[0][-1], seen[1][-1], seen[2][0]
    # Full: 1.5 times the best rate, 750 000 bytes a second; the level is reckoned on and stays at what the buffer holds.
    assert full["phase"] == "yielding"
    assert full["pacing_rate"] == 750_000
    assert full["details"]["level_ms"] > 9_900
    # Not told, or empty: its window's rate or more, as fast as the path carries payload: 2 500 000 * 1448 / 1500 = 2 413 000.
    for row in (untold, empty):
        assert row["phase"] != "yielding"
        assert row["details"]["ease_permille"] == 0
        assert row["pacing_rate"] > 2_400_000

"""Kernel MPTCP over three paths: subflows are counted, and coupled controls see their siblings."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from typing import Any

import pytest
from support import scenario, sender

from playpath.real.testbed import mptcp, namespaces
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import MissingToolError, TestbedError, UnsupportedError
from playpath.real.testbed.runner import run_kernel

pytestmark = pytest.mark.usefixtures("nothing_left")

PORT = 7000
# The paths of the sticky study: 2 Mbit/s each, 50, 100 and 100 ms.
PATHS = [
    {"name": name, "rate": "2 Mbit/s", "rtt": rtt, "loss": None, "queue": {"kind": "droptail", "limit": "30 kB"}}
    for name, rtt in (("first", "50 ms"), ("second", "100 ms"), ("third", "100 ms"))
]


def listen() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", PORT))
    listener.listen()
    return listener


def send_without_end(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            while True:
                connection.send(bytes(1 << 16))


def transfer(bed: Testbed, cc: str, seconds: float) -> tuple[float, list[dict[str, Any]]]:
    """Mbit/s after all subflows are there, and what each subflow's control showed."""
    control = bed.use_control(f"bpf:{cc}")
    listener = namespaces.call_inside(bed.server, listen)
    thread = threading.Thread(target=send_without_end, args=(listener,), daemon=True)
    thread.start()
    with namespaces.call_inside(
        bed.client, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    ) as connection:
        connection.settimeout(5)
        connection.connect((bed.ends[0].server_address, PORT))
        connection.recv(1 << 16)
        patience = time.monotonic() + 5
        while len(control.connections()) < len(bed.ends):
            assert time.monotonic() < patience, "a subflow is missing"
            connection.recv(1 << 18)
        received, start = 0, time.monotonic()
        while time.monotonic() < start + seconds:
            received += len(connection.recv(1 << 18))
        elapsed = time.monotonic() - start
        shown = control.connections()
    listener.close()
    return received * 8e-6 / elapsed, shown


@pytest.mark.parametrize("cc", ["lia", "olia"])
def test_coupled_controls_find_their_siblings(cc: str) -> None:
    if not mptcp.schedulers():
        pytest.skip("this kernel has no MPTCP")
    with Testbed(network(PATHS)) as bed:
        mptcp.announce_paths(bed)
        rate, rows = transfer(bed, cc, 4.0)
    # 3 x 2 Mbit/s less headers are 5.7; slow starts and the first losses fall into these seconds.
    assert 4.0 < rate < 6.2
    assert len(rows) == 3
    assert len({row["mptcp_token"] for row in rows}) == 1
    assert {row["details"]["members"] for row in rows} == {3}


def video(duration: str) -> dict[str, Any]:
    """A video of 3 Mbit/s over the three paths: more than any one of them carries."""
    return scenario(path=PATHS, video={"rate": "3 Mbit/s", "duration": duration, "fps": 30, "seed": 1})


def test_a_video_over_kernel_mptcp_has_a_column_for_each_subflow() -> None:
    if not mptcp.schedulers():
        pytest.skip("this kernel has no MPTCP")
    record = run_kernel(video("4 s"), sender("cubic", scheduler="dft"), 1, tolerance="100 ms", trace=True)
    (flow,) = record["flows"]
    assert (flow["name"], flow["cc"]) == ("video", "cubic")
    assert [subflow["path"] for subflow in flow["subflows"]] == ["first", "second", "third"]
    assert sum(subflow["share"] for subflow in flow["subflows"]) == pytest.approx(1)
    # One path of 2 Mbit/s cannot carry 3 Mbit/s.
    assert max(subflow["share"] for subflow in flow["subflows"]) < 0.9
    assert {"flow.video/first", "flow.video/second", "flow.video/third"} <= record["series"].keys()
    # 50 ms, 100 ms and 100 ms.
    rtts = [subflow["min_rtt_ms"] for subflow in flow["subflows"]]
    assert all(base <= rtt < base + 10 for base, rtt in zip((50, 100, 100), rtts, strict=True))
    assert record["metrics"]["path_switches"] > 0
    # The simulator's metrics of several paths that only MPTCP itself could tell have no value.
    inside = {"hol_blocking_time_s", "path_choices", "switches_from_open_path", "switches_underflow_predicted"}
    assert {record["metrics"].get(name) for name in inside} == {None}
    assert any("the kernel's own MPTCP scheduler ran" in text for text in record["warnings"])


@pytest.mark.parametrize("cc", ["reno", "bpf:vegas"])
def test_every_subflow_runs_the_senders_control(cc: str) -> None:
    # nginx sets options of its connections, and after that the kernel gives joining subflows the namespace's own control.
    if not mptcp.schedulers():
        pytest.skip("this kernel has no MPTCP")
    name = {"reno": "newreno"}.get(cc, cc.removeprefix("bpf:"))
    record = run_kernel(video("3 s"), sender(name), 1, tolerance="100 ms")
    assert {subflow["cc"] for subflow in record["flows"][0]["subflows"]} == {cc.removeprefix("bpf:")}


def test_curl_goes_over_mptcp_too_and_players_that_cannot_are_refused() -> None:
    if not mptcp.schedulers():
        pytest.skip("this kernel has no MPTCP")
    if shutil.which("curl") is None or shutil.which("mptcpize") is None:
        pytest.skip("needs curl and mptcpize")
    record = run_kernel(video("2 s"), sender("cubic"), 1, tolerance="100 ms", player="curl")
    assert {subflow["path"] for subflow in record["flows"][0]["subflows"]} == {"first", "second", "third"}
    # One path carries 2 Mbit/s.
    assert record["metrics"]["goodput_mbps"] > 2
    if shutil.which("iperf3") is None:
        pytest.skip("needs iperf3")
    with pytest.raises(UnsupportedError, match=r"iperf3 opens plain TCP connections.* own and curl"):
        run_kernel(video("2 s"), sender("cubic"), 1, player="iperf3")


def test_a_scheduler_that_the_kernel_lacks_is_refused_with_the_way_out() -> None:
    if not mptcp.schedulers():
        pytest.skip("this kernel has no MPTCP")
    with pytest.raises(TestbedError, match=r"this kernel's MPTCP has the scheduler.* not `gr-sty` .* --world wire"):
        run_kernel(video("4 s"), sender("cubic", scheduler={"name": "gr-sty"}), 1)


def test_a_path_without_a_subflow_fails_the_run_with_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    if not mptcp.schedulers():
        pytest.skip("this kernel has no MPTCP")
    monkeypatch.setattr(mptcp, "announce_paths", lambda bed: None)
    with pytest.raises(
        TestbedError, match=r"1 of 3 paths had a subflow; none on: second, third; counters .* MPCapableSYNRX [1-9]"
    ):
        run_kernel(video("1 s"), sender("cubic"), 1, tolerance="100 ms")


def test_a_kernel_without_mptcp_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mptcp, "Path", lambda _: type("Missing", (), {"exists": staticmethod(lambda: False)}))
    assert mptcp.schedulers() == []
    with pytest.raises(MissingToolError, match="no MPTCP"):
        mptcp.announce_paths(None)  # type: ignore[arg-type]

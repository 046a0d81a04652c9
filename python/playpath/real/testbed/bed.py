"""A test bed: two namespaces joined by emulated paths, and a web server; it is torn down however a run ends."""

from __future__ import annotations

import atexit
import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from playpath.base.signals import exit_on_signals
from playpath.real.testbed import controls, emulator, namespaces, state
from playpath.real.testbed.controls import ProvidedControl
from playpath.real.testbed.emulator import Emulator, PathEnds
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import JsonObject
from playpath.real.testbed.server import WebServer
from playpath.real.testbed.signalling import REPORTS, Signalling
from playpath.scenario import resolved

# Initial settings of both ends, so that a run does not depend on the machine's settings. Buffers are large enough for 1 Gbit/s
# at 100 ms; no metrics are kept from one connection to the next; no restart after idle unless the sender asks for it. Reno, which
# every kernel has and any namespace may take, is for connections without a control of their route: those of the client.
DEFAULT_SYSCTLS = {
    "net.ipv4.tcp_rmem": "4096 131072 67108864",
    "net.ipv4.tcp_wmem": "4096 65536 67108864",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_pacing_ss_ratio": "200",
    "net.ipv4.tcp_pacing_ca_ratio": "120",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_ecn": "0",
    "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.tcp_congestion_control": "reno",
}
IP_AND_TCP_HEADER = 52
"""IPv4 (20) and TCP with timestamps (32 bytes)."""


@dataclass(frozen=True)
class Access:
    """A flow's own access to a path, which adds only delay."""

    name: str
    over: str
    """Name of the path."""
    rtt_s: float
    """Round-trip delay on top of the path's."""

    def where(self) -> dict[str, str]:
        """Its entry in the emulator's configuration."""
        return {"path": self.over, "flow": self.name, "rtt": f"{round(self.rtt_s * 1e9)} ns"}


_open: dict[int, Testbed] = {}
"""Test beds that are up, by `id`, in all threads."""


def close_all(patience: float = 5.0) -> None:
    """Tear down every test bed of this process, when it exits without waiting for the threads that run them."""
    beds = list(_open.values())
    for bed in beds:
        bed.close()
    # A thread that is building one finds it closed and gives up; whatever it has created in the meantime carries the run's name.
    deadline = time.monotonic() + patience
    while any(bed.is_building for bed in beds) and time.monotonic() < deadline:
        time.sleep(0.02)
    for bed in beds:
        bed.sweep()


class Testbed:
    """Use it as a context manager.

    Args:
        scenario: A resolved scenario: its paths and shared links are emulated.
        used: Names of the paths that the sender uses; by default all. The others are for cross traffic.
        accesses: Flows with an additional round-trip delay of their own.
        seed: Seed of the emulator's random loss and jitter.
        mss: Payload bytes of a full segment.
        header_bytes: Headers of a full segment.
        tolerance: The 99th percentile of the emulator's lateness above which its report calls the run invalid; by
            default a limit derived for each path (docs/models/emulator.md).
        realtime: Give the emulator, and with lower priority our own server and player and nginx, precedence over other
            processes (SCHED_FIFO). Off above 200 Mbit/s, where the emulator would starve the receiver.
        capture: File for the packets at the server's ends of the paths (pcapng, headers only).
        sample_s: Interval of the links' time series in the report; none by default.

    Attributes:
        name: Name of the run; `pp-PID-N`.
        server, client: Names of the namespaces.
        ends: Devices and addresses of each path that the sender uses.
        children: Programs started by `start`, the newest of each name.
        is_building: Whether namespaces and emulator are being created.
        bridge: Socket of the CMCD bridge, if the server has one.
    """

    __test__ = False  # tells pytest that this is not a test class

    def __init__(
        self,
        scenario: resolved.Document,
        *,
        used: Sequence[str] | None = None,
        accesses: Sequence[Access] = (),
        seed: int = 1,
        mss: int = 1448,
        header_bytes: int = IP_AND_TCP_HEADER,
        tolerance: str | None = None,
        realtime: bool = True,
        capture: Path | None = None,
        sample_s: float | None = None,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._tolerance = tolerance
        self._realtime = realtime
        self._capture = capture
        self._sample_s = sample_s
        self.mtu, self.header_bytes = mss + header_bytes, header_bytes
        names = [str(path["name"]) for path in scenario["path"]]
        self._ways = [*({"path": name} for name in names), *(access.where() for access in accesses)]
        self._all_ends: list[PathEnds] = emulator.ends_of([*names, *(access.name for access in accesses)])
        self.ends = [end for end in self._all_ends[: len(names)] if used is None or end.name in used]
        self.report: JsonObject = {}
        self._controls: list[ProvidedControl] = []
        self._pillars: list[Child] = []
        self.children: dict[str, Child] = {}
        self.bridge: Path | None = None
        self._stack = contextlib.ExitStack()
        self._is_open = False
        self.is_building = False

    def __enter__(self) -> Testbed:
        self.is_building = True
        try:
            return self._enter()
        finally:
            self.is_building = False

    def _enter(self) -> Testbed:
        state.clean()
        self._state = state.RunState.new()
        self.name, self.folder = self._state.name, self._state.folder
        self.server, self.client = self._state.namespace("server"), self._state.namespace("client")
        self._is_open = True
        _open[id(self)] = self
        atexit.register(self.close)
        # In reverse order: programs, namespaces, controls (a namespace that uses a control keeps it alive), files.
        self._stack.callback(self._state.remove)
        self._stack.callback(self._end_controls)
        self._stack.callback(self._delete_namespaces)
        self._stack.enter_context(exit_on_signals())
        try:
            self._build()
        except OSError as error:
            self.close()
            raise TestbedError(f"cannot build the test bed: {error}") from None
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Tear everything down. Safe to call repeatedly, from signal handlers, and at the interpreter's exit."""
        if not self._is_open:
            return
        self._is_open = False
        _open.pop(id(self), None)
        atexit.unregister(self.close)
        self._stack.close()

    def sweep(self) -> None:
        """After `close`, remove once more whatever carries the run's name."""
        with contextlib.suppress(TestbedError):
            self._state.remove()

    def _build(self) -> None:
        for namespace in (self.server, self.client):
            namespaces.create(namespace)
            namespaces.write_sysctls(namespace, DEFAULT_SYSCTLS)
        self.emulator = Emulator(self._emulator_config(), self.folder)
        self._adopt(self.emulator.child)
        self._pillars.append(self.emulator.child)
        self._stack.callback(self.end_links)
        self.emulator.child.wait_until_ready()

    def _emulator_config(self) -> dict[str, object]:
        return {
            "scenario": dict(self._scenario),
            "ends": [
                {
                    **way,
                    "mtu": self.mtu,
                    "server": _end(self.server, end.server_device, end.server_address),
                    "client": _end(self.client, end.client_device, end.client_address),
                }
                for way, end in zip(self._ways, self._all_ends, strict=True)
            ],
            "run": {
                "seed": self._seed,
                "tolerance": self._tolerance,
                "realtime": self._realtime,
                "capture": None if self._capture is None else str(self._capture.absolute()),
                "sample": None if self._sample_s is None else f"{round(self._sample_s * 1e9)} ns",
            },
        }

    def end_for(self, paths: Sequence[str], access: str | None = None) -> PathEnds:
        """The ends of a flow that may use `paths` (any if empty): those of the first path, or of its own access."""
        wanted = [access] if access is not None else paths
        return next(end for end in self._all_ends if not wanted or end.name in wanted)

    def end_links(self) -> None:
        """End the links' statistics with the run, however long it takes to end the programs."""
        if not self.report:
            self.report = self.emulator.end()

    def _adopt(self, child: Child) -> None:
        self._state.note(child.identity)

    def start_server(
        self,
        *,
        bridge_to: ProvidedControl | None = None,
        signalling: Signalling | None = None,
        mptcp_under: str | None = None,
    ) -> WebServer:
        """Start the web server.

        Args:
            bridge_to: The control to which a CMCD bridge passes what players report.
            signalling: What players and server send in addition to requests and responses.
            mptcp_under: Also listen for MPTCP, with this control.
        """
        signalling = signalling or Signalling(requests=bridge_to is not None)
        if signalling:
            self.bridge = self.folder / "agent.sock"
            options = ["--socket", str(self.bridge), *signalling.server_data_options]
            if signalling.reports:
                options += ["--reports", str(self.folder / REPORTS)]
            control = [] if bridge_to is None else [bridge_to.name]
            self.start("agent", "server", [controls.loader(), "agent", *control, *options], realtime=True)
        server = WebServer(
            self.server,
            self.folder,
            bridge=self.bridge,
            signalling=signalling,
            mptcp_under=mptcp_under,
            realtime=self._realtime,
        )
        self._adopt(server.child)
        self._pillars.append(server.child)
        self._stack.callback(server.child.end)
        server.wait_until_ready()
        return server

    def use_control(
        self,
        cc: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        route: Sequence[str] = (),
    ) -> ProvidedControl:
        """Provide the control `cc`, and make the server's connections to the client use it.

        Args:
            route: Further attributes of the route.
        """
        control = self.provide_control(cc, parameters)
        for end in self.ends:
            self._route(end, *route, "congctl", control.name)
        return control

    def provide_control(self, cc: str, parameters: Mapping[str, Any] | None = None) -> ProvidedControl:
        """Provide the control `cc` (`reno`, `bpf:vegas`), which is loaded if it is ours."""
        control = controls.provide(cc, parameters or {}, self.folder)
        if control.child is not None:
            self._adopt(control.child)
            self._pillars.append(control.child)
        self._controls.append(control)
        return control

    def route_ports(self, first: int, last: int, ends: Iterable[PathEnds], *attributes: str) -> None:
        """Give the server's TCP connections from these ports, over `ends`, routes of their own with `attributes`."""
        ports = ("ipproto", "tcp", "sport", f"{first}-{last}")
        namespaces.run_ip("-n", self.server, "rule", "add", *ports, "lookup", str(first))
        for end in ends:
            self._route(end, *attributes, "table", str(first))

    def _route(self, end: PathEnds, *attributes: str) -> None:
        """A control that is set on the route also works for the kernel's own, which a namespace's sysctl refuses; nothing global
        changes. A connection has it from its beginning: of a control that was changed later, as by TCP_CONGESTION, what the first
        has set on the socket stays (BBR's pacing).
        """
        namespaces.run_ip(
            "-n", self.server, "route", "replace", end.client_address, "dev", end.server_device,
            "src", end.server_address, *attributes,
        )  # fmt: skip

    def keep_logs(self, folder: Path) -> None:
        """Copy the output of the run's programs, the server's log and a player's own log into `folder`.

        Raises TestbedError if they cannot be copied.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file in sorted(self.folder.iterdir()):
                if file.suffix in (".log", ".out", ".jsonl") and file.stat().st_size > 0:
                    shutil.copyfile(file, folder / file.name)
        except OSError as error:
            raise TestbedError(f"cannot keep the logs in {folder}: {error.strerror}") from None

    def _delete_namespaces(self) -> None:
        for namespace in (self.client, self.server):
            state.delete_namespace(namespace)

    def _end_controls(self) -> None:
        for control in self._controls:
            control.end()

    def start(
        self,
        name: str,
        side: str,
        command: Sequence[str],
        *,
        stdin: int | None = subprocess.DEVNULL,
        is_pillar: bool = False,
        realtime: bool = False,
    ) -> Child:
        """Start a program in the namespace of `side` ("server" or "client"); it is ended with the test bed.

        Args:
            is_pillar: The run depends on it; `check` fails once it has ended.
            realtime: It takes precedence over other processes if the test bed's emulator does.
        """
        inside = namespaces.inside(self._state.namespace(side), command)
        child = Child(name, inside, self.folder, stdin=stdin, realtime=realtime and self._realtime)
        self._adopt(child)
        if is_pillar:
            self._pillars.append(child)
        self._stack.callback(child.end)
        self.children[name] = child
        return child

    def check(self) -> None:
        """Raise TestbedError if a program that the run depends on has ended: emulator, server, loader."""
        for child in self._pillars:
            child.check()

    def hidden_drops(self) -> int:
        """Number of packets that the TUN devices dropped before the emulator; a single one makes a run invalid."""
        total = 0
        for namespace in (self.server, self.client):
            for link in json.loads(namespaces.run_ip("-n", namespace, "-j", "-s", "link", "show", "type", "tun")):
                total += link["stats64"]["tx"]["dropped"]
        return total


def _end(namespace: str, device: str, address: str) -> dict[str, str]:
    return {"namespace": namespace, "device": device, "address": address}

"""Cross traffic: the simulator's sources over real sockets, with the same draws. Two programs run them all: `playpath-client
serve` in the server's namespace, `playpath-client traffic` in the client's. Each source has its own port, so that samples can be
assigned to it and its connections get its congestion control.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

from playpath.real.testbed.bed import Access, Testbed
from playpath.real.testbed.controls import ProvidedControl
from playpath.real.testbed.emulator import PathEnds
from playpath.real.testbed.errors import TestbedError, UnsupportedError
from playpath.real.testbed.players.own import program
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import JsonObject
from playpath.real.testbed.senders import Sending, of_other_flows, payload_of, translate, without_effect
from playpath.scenario import resolved

FIRST_PORT = 9000
ORIGIN_PORT = 8081
"""Port of the origin that writes in chunks, for the streaming agent."""
_MAX = 200
_PATIENCE_S = 10.0


def check(scenario: resolved.Document) -> None:
    """Refuse traffic that cannot run here, before anything is created."""
    sources = sum(int(traffic.get("count", 1)) for traffic in scenario.get("traffic") or [])
    if sources > _MAX:
        raise UnsupportedError(f"{sources} sources of cross traffic: the kernel world runs at most {_MAX}")
    if any(traffic["kind"] == "frames" for traffic in scenario.get("traffic") or []):
        raise UnsupportedError(
            '[[traffic]] of kind "frames" exists only in the simulator; allowed in the kernel world: bulk, web, udp, video'
        )
    every = [path["name"] for path in scenario["path"]]
    for traffic in scenario.get("traffic") or []:
        paths = traffic.get("paths") or every
        if len(paths) > 1 and traffic["kind"] != "udp":
            raise UnsupportedError(
                f'[[traffic]] "{traffic["name"]}" may use {len(paths)} paths, which needs MPTCP: in the worlds kernel and wire '
                f'cross traffic uses a single path; give it one: paths = ["{paths[0]}"]'
            )


def accesses(scenario: resolved.Document, sources: Sequence[JsonObject]) -> list[Access]:
    """Accesses for the sources with a delay of their own."""
    groups = list(scenario.get("traffic") or [])
    first = scenario["path"][0]["name"]
    return [
        Access(str(source["name"]), (groups[source["group"]].get("paths") or [first])[0], float(source["extra_rtt_s"]))
        for source in sources
        if source["extra_rtt_s"]
    ]


class CrossTraffic:
    """The sources of a run. Their controls are loaded at once; nothing is sent before `start`.

    Args:
        video: The sender of the video.
        sending: Its translation.

    Attributes:
        places: Where each source is served, for the plan.
        ports: Server ports of the TCP sources, and their names.
        datagram_ports: Names of the datagram sources, and their server ports.
    """

    def __init__(
        self,
        bed: Testbed,
        scenario: resolved.Document,
        sources: Sequence[JsonObject],
        video: resolved.Sender,
        sending: Sending,
    ) -> None:
        self._bed = bed
        self._video, self._sending = video, sending
        self._sources = sources
        self._groups = list(scenario.get("traffic") or [])
        self._controls: dict[str, ProvidedControl] = {}
        self.warnings: list[str] = []
        ends = [self._end(source) for source in sources]
        self.places = [
            {"server": f"{end.server_address}:{port}", "client": end.client_address}
            for port, end in enumerate(ends, FIRST_PORT)
        ]
        for number, group in enumerate(self._groups):
            own = {FIRST_PORT + i: end for i, end in enumerate(ends) if sources[i]["group"] == number}
            if own and group["kind"] != "udp":
                bed.route_ports(min(own), max(own), set(own.values()), *self._attributes(group))
        self.ports = {
            FIRST_PORT + number: str(source["name"]) for number, source in enumerate(sources) if source["kind"] != "udp"
        }
        self.datagram_ports = {
            str(source["name"]): FIRST_PORT + number for number, source in enumerate(sources) if source["kind"] == "udp"
        }
        self._server: Child | None = None
        self._clients: Child | None = None

    def _end(self, source: JsonObject) -> PathEnds:
        access = str(source["name"]) if source["extra_rtt_s"] else None
        return self._bed.end_for(self._groups[source["group"]].get("paths") or [], access)

    def _attributes(self, group: resolved.Traffic) -> list[str]:
        """Attributes of a group's routes: what the kernel has for each of them. Warns of what it has not."""
        sending = translate(group)
        others = dict.fromkeys(of_other_flows(group, self._sending, self._video))
        shared = without_effect("the kernel has this once for all flows", group, others)
        self.warnings += [f"traffic {group['name']}: {text}" for text in (*sending.warnings, *shared)]
        mtu = min(payload_of(group) + self._bed.header_bytes, self._bed.mtu)
        return [*sending.route, "mtu", str(mtu), "congctl", self._control(sending).name]

    def _control(self, sending: Sending) -> ProvidedControl:
        key = json.dumps([sending.cc, sending.parameters], sort_keys=True)
        if key not in self._controls:
            self._controls[key] = self._bed.provide_control(sending.cc, sending.parameters)
        return self._controls[key]

    def serve(self, settings: str) -> None:
        """Start the servers; returns when they listen."""
        self._server = self._bed.start(
            "origin", "server", [program(), "serve", settings], stdin=subprocess.PIPE, is_pillar=True, realtime=True
        )
        self._server.wait_until_ready(_PATIENCE_S)

    def start(self, settings: str) -> None:
        """Start the clients; each source begins at its own time."""
        if self._sources:
            self._clients = self._bed.start(
                "traffic",
                "client",
                [program(), "traffic", settings],
                stdin=subprocess.PIPE,
                is_pillar=True,
                realtime=True,
            )

    def stop(self) -> list[JsonObject]:
        """End the clients and return the results of each source, in the order of the scenario (crates/client/src/sources.rs)."""
        if self._clients is None:
            return []
        child = self._clients
        if child.process.stdin is not None:
            child.process.stdin.close()
        try:
            child.process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"the cross traffic did not end within {_PATIENCE_S:g} s") from None
        if child.process.returncode != 0:
            raise TestbedError(child.words() or f"the cross traffic ended with status {child.process.returncode}")
        results: list[JsonObject] = json.loads(child.output.read_text())
        for source in results:
            if source["error"]:
                raise TestbedError(f"cross traffic {source['name']}: {source['error']}")
        return results

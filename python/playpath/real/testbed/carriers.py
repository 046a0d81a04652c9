"""How the server's bytes reach the client: over one TCP connection, or over the kernel's MPTCP.

A carrier's methods are called in this order: `check` before anything is created, `prepare` once the namespaces exist and before the
server starts, `open` once the server listens, `close` when the player has ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from playpath.real.testbed import controls, mptcp, namespaces
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.errors import MissingToolError, TestbedError, UnsupportedError
from playpath.real.testbed.sampling import Flow
from playpath.real.testbed.senders import Sending, of_the_video, translate
from playpath.real.testbed.server import Server
from playpath.real.testbed.signalling import COLLECTOR_PORT, Signalling
from playpath.results.measured import PathCounts, Subflow
from playpath.scenario import resolved


@dataclass(frozen=True)
class VideoAddress:
    """The address of the video, for the player and the sampler."""

    origin: str
    """Address and port that the player connects to."""
    protocol: str = "tcp"
    """The transport: "tcp", "mptcp" or "quic"."""
    ports: Mapping[int, str] = field(default_factory=dict)
    """Server ports whose sockets carry the video → name of their flow."""
    key: str = ""
    """For a server with TLS, the fingerprint of its public key, in Chromium's format."""


@dataclass(frozen=True)
class Carried:
    """The part of a run's results that only the carrier knows."""

    paths: PathCounts = field(default_factory=lambda: cast("PathCounts", {}))
    """How the connections used the paths, as far as the carrier can see."""
    subflows: list[Subflow] = field(default_factory=list)
    """Measurements of each path; if empty, they come from the sampled sockets."""
    warnings: list[str] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    """Connections, or subflows, that the carrier sampled itself."""


class Carrier:
    """The interface of a carrier, with what most do; the module's docstring gives the order of calls."""

    world: str
    """Which TCP sends: "kernel" or "wire"."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        """Warnings for the record."""

    def check(self, scenario: resolved.Document, sender: resolved.Sender) -> None:
        """Raise MissingToolError or TestbedError if this cannot run here."""

    def translate(self, sender: resolved.Sender) -> Sending:
        """Translate a resolved sender. Raises UnsupportedError if it has no counterpart here."""
        raise NotImplementedError

    def prepare(self, bed: Testbed) -> None:
        """Set up addresses, limits, endpoints."""

    def serve(
        self, bed: Testbed, sending: Sending, described: Mapping[str, float], signalling: Signalling
    ) -> tuple[Server, str]:
        """Start the server; return it and the name of its congestion control.

        Args:
            described: The video's figures; empty without one.
            signalling: What player and server report to one another.
        """
        raise NotImplementedError

    def collector(self, bed: Testbed) -> str:
        """Address and port to which players send their reports."""
        raise NotImplementedError

    def open(self, bed: Testbed, port: int, control: str) -> VideoAddress:
        """The address of the server's `port`, over connections that use `control`."""
        raise NotImplementedError

    def words(self) -> str:
        """Complaints of its programs, in one line; empty if there are none."""
        return ""

    def close(self, bed: Testbed, flows: Sequence[Flow], described: Mapping[str, float], start: float) -> Carried:
        """Return what only the carrier knows. TestbedError if the run was not as requested.

        Args:
            flows: The connections, or subflows, that carried the video.
            described: The video's figures.
            start: Start of the run on the monotonic clock.
        """
        return Carried()


class _OfKernel(Carrier):
    """Linux's TCP sends: nginx, with a congestion control of the kernel or one of ours in eBPF."""

    world = "kernel"
    serves_mptcp = False
    """Whether the web server must listen for MPTCP."""

    def translate(self, sender: resolved.Sender) -> Sending:
        """Translate a sender into control, sysctls and routes; see `Carrier`."""
        sending = translate(sender)
        missing = controls.why_missing(sending.cc)
        if missing is not None:
            raise UnsupportedError(missing)
        return sending

    def serve(
        self, bed: Testbed, sending: Sending, described: Mapping[str, float], signalling: Signalling
    ) -> tuple[Server, str]:
        """Start nginx; if players report, with the bridge that passes their reports to the control."""
        media = {} if signalling.requests else of_the_video(sending, described)
        parameters = sending.parameters | media
        control = bed.use_control(sending.cc, parameters, route=sending.route)
        listens = control if signalling.requests else None
        mptcp_under = control.name if self.serves_mptcp else None
        return bed.start_server(bridge_to=listens, signalling=signalling, mptcp_under=mptcp_under), control.name

    def collector(self, bed: Testbed) -> str:
        """The port of nginx for reports, over the first path."""
        return f"{bed.ends[0].server_address}:{COLLECTOR_PORT}"


class Tcp(_OfKernel):
    """Plain TCP over the first path."""

    def open(self, bed: Testbed, port: int, control: str) -> VideoAddress:
        return VideoAddress(f"{bed.ends[0].server_address}:{port}", ports={port: "video"})


class KernelMptcp(_OfKernel):
    """The kernel's MPTCP over all paths of the sender, with the scheduler that the kernel has."""

    serves_mptcp = True

    def __init__(self) -> None:
        super().__init__()
        self._scheduler = mptcp.DEFAULT
        self._control = ""

    def check(self, scenario: resolved.Document, sender: resolved.Sender) -> None:
        """Require MPTCP, and a scheduler of this kernel: its own is `linux`, which also replaces `dft`, with a warning."""
        wanted = sender.get("scheduler") or {"name": "linux"}
        name = str(wanted["name"] if isinstance(wanted, Mapping) else wanted)
        there = mptcp.schedulers()
        if not there:
            raise MissingToolError("this kernel has no MPTCP (CONFIG_MPTCP)")
        if name in there:
            self._scheduler = name
        elif name == "linux":
            pass
        elif name == "dft":
            self.warnings.append(
                "the kernel's own MPTCP scheduler ran (least queued bytes for its pacing rate), not `dft`"
            )
        else:
            raise UnsupportedError(
                f"this kernel's MPTCP has the scheduler{'s' if len(there) > 1 else ''} {', '.join(there)}, not `{name}`"
                f" ({mptcp.scheduler_hook()}); the wire world has every scheduler: --world wire"
            )

    def prepare(self, bed: Testbed) -> None:
        mptcp.announce_paths(bed)
        namespaces.write_sysctls(bed.server, {"net.mptcp.scheduler": self._scheduler})

    def open(self, bed: Testbed, port: int, control: str) -> VideoAddress:
        self._control = control.split(".", maxsplit=1)[0]  # read now, so that the end of the run does not count
        return VideoAddress(f"{bed.ends[0].server_address}:{port}", "mptcp", {port: "video"})

    def close(self, bed: Testbed, flows: Sequence[Flow], described: Mapping[str, float], start: float) -> Carried:
        """Require that every path carried a subflow."""
        counters = mptcp.counters(bed.server)
        missing = [end.name for end in bed.ends if end.name not in {flow.path for flow in flows}]
        if missing:
            counted = ", ".join(f"{name} {count}" for name, count in counters.items() if count) or "all zero"
            raise TestbedError(
                f"{len(bed.ends) - len(missing)} of {len(bed.ends)} paths had a subflow; none on: {', '.join(missing)};"
                f" counters of the server: {counted}"
            )
        others = sorted({flow.cc for flow in flows} - {self._control})
        if others:
            raise TestbedError(f"a subflow used {others[0]}, not {self._control}: the run is not valid")
        return Carried({"reinjections": counters.get("MPTCPRetrans", 0)})

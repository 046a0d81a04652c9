"""`--world kernel` and `--world wire`: one session of a resolved scenario on the real kernel, as a record in the simulator's schema."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from playpath.base import engine
from playpath.base.engine import number
from playpath.base.errors import RunError
from playpath.base.files import write_text
from playpath.base.manifest import RunManifest
from playpath.base.worlds import WORLDS
from playpath.real.testbed import crosstraffic, namespaces, players, signalling
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.carriers import Carried, Carrier, KernelMptcp, Tcp, VideoAddress
from playpath.real.testbed.crosstraffic import ORIGIN_PORT, CrossTraffic
from playpath.real.testbed.errors import TestbedError, UnsupportedError
from playpath.real.testbed.plan import FILE, Plan
from playpath.real.testbed.players import Played, Player, Scene
from playpath.real.testbed.players.own import program as client
from playpath.real.testbed.players.scene import describe_ladder, not_taken
from playpath.real.testbed.records import Columns, InvalidLinkError, Measured, record
from playpath.real.testbed.sampling import INTERVAL, Sampler
from playpath.real.testbed.senders import Sending, header_of, of_the_video, payload_of, translate, without_effect
from playpath.real.testbed.server import PORT
from playpath.real.testbed.signalling import COLLECTOR_PATH, Signalling, beyond_nginx
from playpath.real.testbed.wire import Wire, WireQuic
from playpath.run.worlds import transport_of
from playpath.scenario import resolved

_log = logging.getLogger("playpath.real.testbed")
"""Without a configured handler its messages go to standard error."""

__all__ = ["client", "run_kernel", "translate"]

_FILE_BYTES = 1 << 36
_HEADSTART_S = 0.25
"""Time from when everything is ready to the run's start, in which its programs can begin."""
_MAX_REALTIME_RATE = 200e6
_ANY_VIDEO = {"playout_buffer_bytes": 0.0, "video_kbps": 0.0}
_OVER_MPTCP = ("own", "curl")
"""Players with a single connection, which can use MPTCP."""
_MPTCPIZED = (*_OVER_MPTCP, "vlc")
"""Players whose connections, however many, can use MPTCP."""
_OVER_TLS = ("dashjs", "hlsjs", "shaka", "curl")
"""Players that use TLS and accept a self-signed certificate."""
_OVER_QUIC = ("dashjs", "hlsjs", "shaka", "ngtcp2")
"""Players that support HTTP/3."""
_MANIFEST_SYSCTLS = (
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_no_metrics_save",
)


class RealRecord(engine.Record):
    """A record in the simulator's format, with its time series by name, which are empty unless traced."""

    series: dict[str, Columns]


def run_kernel(
    scenario: resolved.Document,
    sender: resolved.Sender,
    seed: int,
    *,
    trace: bool = False,
    tolerance: str | None = None,
    tries: int = 3,
    player: str = players.DEFAULT,
    logs: Path | None = None,
    carrier: Carrier | None = None,
    pcap: Path | None = None,
    p1203: Path | None = None,
    world: str = "kernel",
) -> RealRecord:
    """Run one session.

    Args:
        scenario: A resolved scenario, with every default.
        sender: The resolved entry of the sender.
        seed: Seed of the emulator's random loss and of the traffic's draws. Everything else depends on the machine's
            timing.
        trace: Put the time series into `series`.
        tolerance: 99th percentile of the emulator's lateness above which a run does not count; by default a limit
            derived for each path.
        tries: How often a run is tried until it counts; repetitions are noted in a warning of the record.
        player: The player: `own` (the simulator's), or a real one of `playpath.real.testbed.players`.
        logs: Folder for the output of the run's programs; if the run fails, also a `failed.json` with the reason.
        carrier: How the bytes reach the client; by default plain TCP over the sender's path, or the kernel's MPTCP
            over several.
        pcap: File for the packets at the server's ends of the paths (pcapng, headers only).
        p1203: File for the session as input of ITU-T P.1203 tools.
        world: A real world of `playpath.base.worlds`: "kernel", where Linux's TCP sends, or "wire", where the simulator's
            does, on a TUN device (docs/manual/wire.md).
    """
    if p1203 is not None and (player != players.DEFAULT or not scenario.get("video")):
        raise UnsupportedError("P.1203 input is available only for sessions of the playpath player: leave out --p1203")
    with _marked(logs, str(sender["name"]), seed, player):
        session = _Session(scenario, sender, seed, players.player(player), carrier, world, trace=trace)
        (found, series), measured, sysctls = _counted(session, tolerance, tries, logs, pcap)
        if p1203 is not None and measured.played is not None:
            write_text(p1203, json.dumps(measured.played.p1203))
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    about = {"manifest": session.manifest(sysctls), "digest": digest, "series": series if trace else {}}
    return cast("RealRecord", {**found, **about})


def _or(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _require_our_player(scenario: resolved.Document, player: Player) -> None:
    """Refuse settings that only the playpath player supports if another player is used."""
    wanted = scenario.get("player") or {}
    if wanted.get("http") == "h2" and player.name == players.DEFAULT:
        raise UnsupportedError(
            'over real connections the playpath player supports only HTTP/1.1; `player.http` = "h2" is for the simulator; '
            "allowed here: apart, http/1.1"
        )
    # Every other setting of live video needs this one.
    if (latency := wanted.get("latency_target", "on-demand")) != "on-demand" and player.name != players.DEFAULT:
        raise UnsupportedError(
            f'{player.name} plays on demand here: `player.latency_target` = "{latency}" is for the playpath player; leave it out'
        )
    for table, what in (("viewer", "seeks and leaving early"), ("origin", "retries and failover")):
        if scenario.get(table) and player.name != players.DEFAULT:
            raise UnsupportedError(
                f"{player.name} does not support [{table}]: only the playpath player has {what}; leave [{table}] out"
            )


def _counted(
    session: _Session, tolerance: str | None, tries: int, logs: Path | None, pcap: Path | None
) -> tuple[tuple[engine.Figures, dict[str, Columns]], Measured, dict[str, str]]:
    """Repeat the session until a run counts; return its figures and time series, its measurements, and the server's settings."""
    for attempt in range(1, tries + 1):
        bed = session.bed(tolerance, pcap)
        with bed, _kept(bed, logs):
            measured = session.run(bed)
            sysctls = namespaces.read_sysctls(bed.server, _MANIFEST_SYSCTLS)
        measured.report = bed.report
        try:
            found = record(measured, session.warnings)
        except InvalidLinkError as error:
            if attempt == tries:
                raise
            # A run may take minutes, so the user should know.
            _log.warning("%s, seed %d: repeating the run: %s", session.sender["name"], session.seed, error)
        else:
            break
    if attempt > 1:
        often = "once" if attempt == 2 else f"{attempt - 1} times"
        found[0]["warnings"].append(f"the machine was too busy {often} before this run counted")
    return found, measured, sysctls


@contextlib.contextmanager
def _kept(bed: Testbed, logs: Path | None) -> Iterator[None]:
    """Save the logs of a run, however it ends."""
    try:
        yield
    except BaseException:
        if logs is not None:
            with contextlib.suppress(TestbedError):  # report the first error
                bed.keep_logs(logs)
        raise
    if logs is not None:
        bed.keep_logs(logs)


@contextlib.contextmanager
def _marked(logs: Path | None, sender: str, seed: int, player: str) -> Iterator[None]:
    """Write a note with the reason if the run fails; an older note is removed."""
    if logs is not None:
        (logs / "failed.json").unlink(missing_ok=True)
    try:
        yield
    except TestbedError as error:
        if logs is not None:
            failed = {"failed": str(error), "sender": sender, "seed": seed, "player": player}
            with contextlib.suppress(RunError):  # the disk may be full
                write_text(logs / "failed.json", json.dumps(failed) + "\n")
        raise


def _rate(path: resolved.Path) -> float:
    """Rate in bit/s; 0 for a trace or an unlimited link, which then counts as slow enough for real-time scheduling."""
    rate = path.get("rate")
    return number(rate) if rate and rate != "unlimited" else 0.0


def _carrying(scenario: resolved.Document, sender: resolved.Sender) -> resolved.Document:
    """The scenario, in which traffic that names no congestion control gets the sender's."""
    groups: list[resolved.Traffic] = [
        {**group, "cc": group.get("cc", sender["cc"])} for group in scenario.get("traffic") or []
    ]
    return {**scenario, "traffic": groups}


class _Session:
    """A session to run, checked before anything is created."""

    def __init__(
        self,
        scenario: resolved.Document,
        sender: resolved.Sender,
        seed: int,
        player: Player,
        carrier: Carrier | None,
        world: str,
        *,
        trace: bool,
    ) -> None:
        self.scenario = _carrying(scenario, sender)
        self.sender, self.seed, self.player = sender, seed, player
        self._trace = trace
        self.has_player = bool(scenario.get("video")) or player.name != players.DEFAULT
        _require_our_player(scenario, player)
        player.check(scenario)
        crosstraffic.check(scenario)
        self.used = list(sender.get("paths") or [path["name"] for path in scenario["path"]])
        self._carrier = carrier or (self._own_endpoint() if WORLDS[world].has_own_endpoint else self._default_carrier())
        signalling.check(scenario, player, self._carrier.world, len(self.used))
        if player.name == "ngtcp2" and not isinstance(self._carrier, WireQuic):
            raise UnsupportedError('ngtcp2 supports only QUIC: give the sender transport = "quic", in the world wire')
        self._carrier.check(self.scenario, sender)
        self.sending: Sending = self._carrier.translate(sender)
        self.mss = payload_of(sender)
        self._plan = Plan(scenario, seed, self.mss, trace=trace)
        self._described = self._plan.described
        if player.name != players.DEFAULT and (scenario.get("player") or {}).get("kind") == "dash":
            self._described |= describe_ladder(scenario)
        self._until_s = float(self._described["limit_s"])
        self.warnings: list[str] = []

    def _default_carrier(self) -> Carrier:
        if len(self.used) == 1:
            return Tcp()
        if self.player.name not in _OVER_MPTCP:
            raise UnsupportedError(
                f"{self.player.name} opens plain TCP connections, several of them; over the kernel's MPTCP play "
                f"{' and '.join(_OVER_MPTCP)}, or, over several paths of the wire world, also vlc (--world wire)"
            )
        return KernelMptcp()

    def _own_endpoint(self) -> Carrier:
        if self._is_beyond_nginx and (transport_of(self.sender) == "quic" or self.sender.get("tls", "none") != "none"):
            raise UnsupportedError(
                "the wire world's server supports the streaming agent's chunks, low latency and [origin] only over TCP without "
                'TLS: transport = "tcp", tls = "none"'
            )
        if self.player.name == "iperf3":
            raise UnsupportedError(
                "iperf3 needs its own server, which the wire world does not run; use curl for a download there"
            )
        if transport_of(self.sender) == "quic":
            return self._own_quic()
        if len(self.used) > 1 and self.player.name not in _MPTCPIZED:
            raise UnsupportedError(
                f"{self.player.name} opens plain TCP connections; over several paths of the wire world play "
                f"{', '.join(_MPTCPIZED)}"
            )
        has_tls = self.sender.get("tls", "none") != "none"
        if has_tls and self.player.name not in _OVER_TLS:
            raise UnsupportedError(
                f"{self.sender['name']}: {self.player.name} cannot play over TLS here; over TLS play {_or(_OVER_TLS)} "
                "(--player)"
            )
        return Wire(has_tls=has_tls, has_http2=(self.scenario.get("player") or {}).get("http") == "h2")

    def _own_quic(self) -> Carrier:
        if len(self.used) > 1:
            raise UnsupportedError(
                f"{self.sender['name']}: QUIC uses a single path here; name it with `paths`, or play in the world sim"
            )
        if self.player.name not in _OVER_QUIC:
            raise UnsupportedError(
                f"{self.player.name} cannot play over HTTP/3 here; over QUIC play {_or(_OVER_QUIC)} (--player)"
            )
        return WireQuic("ngtcp2" if self.player.name == "ngtcp2" else "chromium")

    def bed(self, tolerance: str | None, pcap: Path | None) -> Testbed:
        """A test bed for the session, not yet built."""
        return Testbed(
            self.scenario,
            used=self.used,
            accesses=crosstraffic.accesses(self.scenario, self._described["sources"]),
            seed=self.seed,
            mss=self.mss,
            header_bytes=header_of(self.sender),
            tolerance=tolerance,
            capture=pcap,
            sample_s=float(self._described["sample_interval_s"]) if self._trace else None,
            realtime=all(_rate(path) <= _MAX_REALTIME_RATE for path in self.scenario["path"]),
        )

    def run(self, bed: Testbed) -> Measured:
        namespaces.write_sysctls(bed.server, self.sending.sysctls)
        namespaces.write_sysctls(bed.client, self.sending.client_sysctls)
        self._carrier.prepare(bed)
        # A player that reports informs the control itself, with each request.
        described = self._described if self.scenario.get("video") else {}
        server, control = self._carrier.serve(bed, self.sending, described, self._signalling())
        server.serve_zeros(FILE, _FILE_BYTES)
        port = ORIGIN_PORT if self._needs_own_origin else PORT
        way = self._carrier.open(bed, port, control)
        plan = str(bed.folder / "plan.json")
        collector = self._carrier.collector(bed)
        scene = Scene(
            bed,
            server,
            self.scenario,
            self._described,
            plan,
            self._until_s,
            way.origin,
            way.protocol,
            collector,
            way.key,
        )
        url = self.player.prepare(scene) if self.has_player else ""
        traffic = CrossTraffic(bed, self.scenario, self._described["sources"], self.sender, self.sending)
        self.warnings = [
            *self.sending.warnings,
            *self._carrier.warnings,
            *without_effect("real worlds carry packets", self.scenario["run"], {"transport": "packets"}),
            *(not_taken(self.scenario, self.player) if self.player.name != players.DEFAULT else []),
            *traffic.warnings,
            *([self._why_unused] if self._listens and self._why_unused else []),
        ]
        start = self._write_plan(bed, way, traffic)
        if self._needs_own_origin or traffic.places:
            traffic.serve(scene.settings)
        return self._measure(scene, url, way, traffic, start)

    def _measure(self, scene: Scene, url: str, way: VideoAddress, traffic: CrossTraffic, start: float) -> Measured:
        bed = scene.bed
        paths = {end.server_address: end.name for end in bed.ends}
        own = {} if self._has_own_endpoint else way.ports
        ports = {**dict.fromkeys(self.player.ports, "video"), **own, **traffic.ports}
        interval = min(INTERVAL, float(self._described["sample_interval_s"]))
        sampler = Sampler(bed.server, ports if self.has_player else traffic.ports, paths, start, interval)
        sampler.start()
        traffic.start(scene.settings)
        if self.player.name != players.DEFAULT:  # the playpath player waits for the start itself
            time.sleep(max(0.0, start - time.monotonic()))
        try:
            played = self.player.play(scene, url) if self.has_player else self._wait(bed, start)
        except TestbedError as error:
            said = self._carrier.words()
            raise TestbedError(f"{error} ({said})") if said else error from None
        finally:
            elapsed = time.monotonic() - start
            sampled = sampler.stop()
        video = [flow for flow in sampled if flow.local[1] in way.ports]
        carried = self._carrier.close(bed, video, self._described, start) if self.has_player else Carried()
        self.warnings += [*carried.warnings, *signalling.not_believed(bed)]
        sampled = [*carried.flows, *sampled]
        results = traffic.stop()
        hidden = bed.hidden_drops()
        bed.end_links()
        if hidden:
            raise TestbedError(f"{hidden} packets were dropped before the emulator: the run is not valid")
        return Measured(
            played,
            sampled,
            results,
            start,
            elapsed,
            is_multipath=len(bed.ends) > 1,
            paths=carried.paths,
            subflows=carried.subflows,
            datagram_ports=traffic.datagram_ports,
            video_ports=tuple(way.ports),
        )

    @property
    def _has_own_endpoint(self) -> bool:
        return WORLDS[self._carrier.world].has_own_endpoint

    @property
    def _is_beyond_nginx(self) -> bool:
        """Whether the session needs something that nginx cannot send."""
        return self.player.name == players.DEFAULT and bool(beyond_nginx(self.scenario))

    @property
    def _needs_own_origin(self) -> bool:
        """Whether that needs a separate origin; the wire world's server supports it itself."""
        return self._is_beyond_nginx and not self._has_own_endpoint

    def _signalling(self) -> Signalling:
        """What player and server report to one another; the player reports nothing if the control does not use it."""
        return signalling.signalling_of(self.scenario, self.player, listens=self._listens and not self._why_unused)

    @property
    def _listens(self) -> bool:
        return self._has_own_endpoint or bool(of_the_video(self.sending, _ANY_VIDEO))

    @property
    def _why_unused(self) -> str:
        return signalling.why_unused(self.scenario, self.player)

    def _write_plan(self, bed: Testbed, way: VideoAddress, traffic: CrossTraffic) -> float:
        """Set the run's start to a moment from now, for the emulator and, in the plan, for the other programs."""
        start = time.monotonic() + _HEADSTART_S
        bed.emulator.begin_at(start)
        video = {"server": way.origin, "path": f"/{FILE}", "protocol": way.protocol}
        collector = {"server": self._carrier.collector(bed), "path": COLLECTOR_PATH}
        own = {"server": f"0.0.0.0:{ORIGIN_PORT}", "protocol": way.protocol}
        self._plan.add(
            video=video,
            origin=own if self._needs_own_origin else None,
            collector=collector if self._signalling().reports else None,
            sources=traffic.places,
            until_s=self._until_s,
            start_ns=round(start * 1e9),
        )
        self._plan.write(bed.folder / "plan.json")
        return start

    def _wait(self, bed: Testbed, start: float) -> Played | None:
        while time.monotonic() < start + self._until_s:
            bed.check()
            time.sleep(min(0.1, max(0.0, start + self._until_s - time.monotonic())))
        return None

    def manifest(self, sysctls: Mapping[str, str]) -> RunManifest:
        return {
            "engine": engine.version(),
            "scenario": self.scenario,
            "sender": self.sender["name"],
            "seed": self.seed,
            "world": self._carrier.world,
            "player": self.player.name,
            "kernel": platform.release(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "sysctls": dict(sysctls),
        }

"""`--world kernel`: one session of a resolved scenario on the real kernel, as a record in the simulator's schema."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playpath.testbed import controls, namespaces, players, relay
from playpath.testbed.bed import IP_AND_TCP_HEADER, TOLERANCE, Testbed
from playpath.testbed.controls import Control
from playpath.testbed.errors import TestbedError
from playpath.testbed.players import Player, Scene
from playpath.testbed.players.own import program as client
from playpath.testbed.players.scene import describe_ladder
from playpath.testbed.quantities import number
from playpath.testbed.relay import Relay
from playpath.testbed.sampling import Flow, Sampler
from playpath.testbed.server import PORT, WebServer
from playpath.testbed.traffic import BulkFlow

MSS = 1448
"""Payload of a 1500-byte packet with timestamps."""
_FILE = "zeros"
_FILE_BYTES = 1 << 36
_MARGIN_S = 120.0
"""A session without a stated end is cut so long after its media would have ended."""
_TRAFFIC_PORT = 9000
_MAX_REALTIME_RATE = 200e6
_MANIFEST_SYSCTLS = (
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_no_metrics_save",
)


@dataclass(frozen=True)
class Sending:
    """What a sender of a scenario is on the kernel."""

    cc: str
    parameters: dict[str, float]
    sysctls: dict[str, str]
    warnings: list[str]


def run_kernel(
    scenario: Mapping[str, Any],
    sender: Mapping[str, Any],
    seed: int,
    *,
    trace: bool = False,
    tolerance: str = TOLERANCE,
    tries: int = 3,
    player: str = players.DEFAULT,
    logs: Path | None = None,
) -> dict[str, Any]:
    """Run one session.

    Parameters
    ----------
    scenario : mapping
        Resolved: every default written out.
    sender : mapping
        The resolved entry of the sender.
    seed : int
        Of the emulator's random loss. Everything else is the machine's own timing.
    trace : bool
        Put the sampled time series into `series`.
    tolerance : str
        99th percentile of the emulator's lateness above which a run does not count.
    tries : int
        How often a run that does not count is repeated; the record then says so in a warning.
    player : str
        Who plays: `own` (the simulator's player), or a real one of `playpath.testbed.players`.
    logs : path, optional
        Folder that keeps what the programs of the run wrote; if it fails, with a `failed.json` that says why.

    Returns
    -------
    dict
        `metrics`, `flows`, `links`, `events`, `warnings`, `manifest`, `digest`, `series`, as the simulator gives them.

    Raises
    ------
    TestbedError
        The run failed, or this scenario cannot run here; MissingToolError if a right or program is missing.
    """
    plays = players.player(player)
    plays.check(scenario)
    _check(scenario)
    sending = translate(sender)
    mss = min(int(sender.get("mss") or MSS), MSS)
    used = sender.get("paths") or [path["name"] for path in scenario["path"]]
    paths = [path for path in scenario["path"] if path["name"] in used]
    multipath = str(sender.get("multipath", "relay")) if len(paths) > 1 else None
    if multipath == "mptcp":
        raise TestbedError('the kernel world carries several paths by relay so far, not by `multipath = "mptcp"`')
    if multipath == "relay" and plays.name == "iperf3":
        raise TestbedError("iperf3 opens connections of its own, which a relay cannot carry")
    session = _Session(scenario, sender, seed, mss, plays, multipath)
    for attempt in range(1, tries + 1):
        realtime = all(_rate(path) <= _MAX_REALTIME_RATE for path in paths)
        links = scenario.get("link") or []
        with (
            Testbed(paths, links=links, seed=seed, mss=mss, tolerance=tolerance, realtime=realtime) as bed,
            _kept(bed, logs, session),
        ):
            record = session.run(bed, sending)
            sysctls = namespaces.read_sysctls(bed.server, _MANIFEST_SYSCTLS)
        try:
            session.add_links(record, bed.report)
        except _InvalidLinkError:
            if attempt == tries:
                raise
        else:
            break
    if attempt > 1:
        record["warnings"].append(f"the machine was too busy {attempt - 1} times before this run counted")
    record["manifest"] = {
        "scenario": dict(scenario),
        "sender": sender["name"],
        "seed": seed,
        "world": "kernel",
        "player": player,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "sysctls": sysctls,
    }
    body = {key: value for key, value in record.items() if key not in ("series", "manifest")}
    record["digest"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    if not trace:
        record["series"] = {}
    return record


def _check(scenario: Mapping[str, Any]) -> None:
    """Refuse what the kernel world does not do, before anything is created."""
    for traffic in scenario.get("traffic") or []:
        if traffic["kind"] != "bulk":
            raise TestbedError(f"the kernel world has cross traffic of kind `bulk` so far, not `{traffic['kind']}`")
        if isinstance(traffic.get("rtt"), dict) or number(traffic.get("rtt") or "0 s") > 0:
            raise TestbedError("the kernel world gives cross traffic no `rtt` of its own so far")


def translate(sender: Mapping[str, Any]) -> Sending:
    """The kernel control, its parameters and the namespace's sysctls for a resolved sender."""
    entry = sender["cc"]
    name, given = (
        (entry, {}) if isinstance(entry, str) else (entry["name"], {k: v for k, v in entry.items() if k != "name"})
    )
    warnings: list[str] = []
    sysctls = {"net.ipv4.tcp_slow_start_after_idle": "0"}
    validation = sender.get("validation", "rfc2861")
    if validation == "rfc2861":
        sysctls["net.ipv4.tcp_slow_start_after_idle"] = "1"
    elif validation == "newcwv":
        twins = {"newreno": "newcwv", "reno": "newcwv", "cubic": "newcwvcubic"}
        if name not in twins:
            raise TestbedError(f"newcwv on the kernel goes over newreno and cubic, not over {name}")
        name = twins[name]
    parameters = _parameters(name, given)
    pacing = sender.get("pacing", "off")
    if isinstance(pacing, Mapping):
        percent = str(round(100 * float(pacing["gain"])))
        sysctls |= {"net.ipv4.tcp_pacing_ss_ratio": percent, "net.ipv4.tcp_pacing_ca_ratio": percent}
    if name.startswith("newcwv"):
        parameters["pacing"] = 0.0 if pacing == "off" else 1.0
    elif name.startswith("ccp") and isinstance(pacing, Mapping):
        parameters["pacing_gain"] = float(pacing["gain"])
    elif pacing not in ("off", "controller"):
        warnings.append(f"{name} cannot be paced from outside on this kernel: it ran unpaced")
    return Sending(name, parameters, sysctls, warnings)


def _parameters(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """The scenario's parameters in the words of the kernel twin: those that it takes."""
    if controls.native_name(name) is not None:
        return {}
    numbers = {key: float(value) for key, value in given.items() if isinstance(value, int | float)}
    if given.get("recovery") == "freeze":
        numbers["freeze"] = 1.0
    taken = {p["name"]: p["default"] for p in controls.loadable().get(name, {"params": []})["params"]}
    return {key: value for key, value in numbers.items() if key in taken}


@contextlib.contextmanager
def _kept(bed: Testbed, logs: Path | None, session: _Session) -> Iterator[None]:
    """Keep the logs of a run, however it ends."""
    if logs is None:
        yield
        return
    failed = logs / "failed.json"
    failed.unlink(missing_ok=True)
    try:
        yield
    except TestbedError as error:
        logs.mkdir(parents=True, exist_ok=True)
        what = {
            "failed": str(error),
            "sender": session.sender["name"],
            "seed": session.seed,
            "player": session.player.name,
        }
        failed.write_text(json.dumps(what) + "\n")
        raise
    finally:
        bed.keep_logs(logs)


class _InvalidLinkError(TestbedError):
    """The emulator was too late, or packets were lost beside it."""


def _rate(path: Mapping[str, Any]) -> float:
    """Bits per second; of a trace or an unlimited link, none that is too fast for real-time scheduling is known."""
    rate = path.get("rate")
    return number(rate) if rate and rate != "unlimited" else 0.0


class _Session:
    """A run in progress."""

    def __init__(
        self,
        scenario: Mapping[str, Any],
        sender: Mapping[str, Any],
        seed: int,
        mss: int,
        player: Player,
        multipath: str | None,
    ) -> None:
        self.player = player
        self.scenario = scenario
        self.multipath = multipath
        self.relay: Relay | None = None
        self.sender = sender
        self.seed = seed
        self.mss = mss
        self.limit = number(scenario["run"]["duration"]) if scenario["run"].get("duration") else None

    def run(self, bed: Testbed, sending: Sending) -> dict[str, Any]:
        namespaces.write_sysctls(bed.server, sending.sysctls)
        video = self.scenario.get("video")
        described = self._describe() if video else {}
        # A player that reports tells the control itself, request by request; behind a relay nobody sees its socket.
        reports = self._reports(sending.cc) and self.multipath is None
        parameters = sending.parameters | ({} if reports else _of_the_video(sending.cc, described))
        control = bed.use_control(sending.cc, parameters, by_route=self.multipath is None)
        server = bed.start_server(agent_of=control if reports else None)
        server.serve_zeros(_FILE, _FILE_BYTES)
        if self.multipath == "relay":
            self.relay = relay.start(bed, self.sender, control.name)
        scene = self._scene(bed, server, described)
        url = self.player.prepare(scene) if self._has_player else ""
        flows = self._bulk_flows(bed, control)
        own_port = PORT if self.relay is None else relay.PORT
        own_ports = dict.fromkeys((own_port, *self.player.ports), str(self.sender["name"]))
        ports = own_ports | {flow.port: flow.name for flow in flows}
        sampler = Sampler(bed.server, ports)
        sampler.start()
        received = bed.received_bytes()
        by_path = relay.arrived_bytes(bed)
        start = time.monotonic()
        for flow in flows:
            flow.open(bed.server, bed.client, bed.ends[0].server_address)
        try:
            played = self.player.play(scene, url) if self._has_player else self._wait(bed)
        except TestbedError as error:
            said = self.relay.words() if self.relay is not None else ""
            raise TestbedError(f"{error} ({said})") if said else error from None
        finally:
            elapsed = time.monotonic() - start
            sampled = sampler.stop()
            for flow in flows:
                flow.close()
        wire_bytes = bed.received_bytes() - received
        hidden = bed.hidden_drops()
        if hidden:
            raise TestbedError(f"{hidden} packets were dropped in front of the emulator: the run is not valid")
        record = self._record(played, sampled, flows, elapsed, wire_bytes, control, sending)
        if self.relay is not None:
            by_path = {name: count - by_path[name] for name, count in relay.arrived_bytes(bed).items()}
            relay.complete(record, self.relay, str(self.sender["name"]), by_path, elapsed, described.get("video_kbps"))
        return record

    @property
    def _has_player(self) -> bool:
        return bool(self.scenario.get("video")) or self.player.name != players.DEFAULT

    def _reports(self, cc: str) -> bool:
        """Whether the CMCD bridge is wanted: the player reports, and the control takes what it tells."""
        asked = (self.scenario.get("player") or {}).get("cmcd", "off") != "off"
        return (self.player.sends_cmcd or asked) and bool(_of_the_video(cc, _ANY_VIDEO))

    def _settings(self, bed: Testbed | None, until: float | None) -> str:
        address = bed.ends[0].server_address if bed else "127.0.0.1"
        settings = {
            "server": f"{address}:{PORT}" if self.relay is None else self.relay.address,
            "path": f"/{_FILE}",
            "mss": self.mss,
            "until_s": until,
            "video": self.scenario["video"],
            "player": self.scenario["player"],
        }
        return json.dumps(settings)

    def _describe(self) -> dict[str, float]:
        if self.player.name != players.DEFAULT and self.scenario["player"].get("kind") == "dash":
            return describe_ladder(self.scenario)
        done = subprocess.run(
            [client(), "describe", self._settings(None, None)], check=False, capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            raise TestbedError(done.stderr.strip())
        described: dict[str, float] = json.loads(done.stdout)
        return described

    def _scene(self, bed: Testbed, server: WebServer, described: Mapping[str, float]) -> Scene:
        if self.limit is None and not described:
            raise TestbedError("a scenario without a video needs run.duration in the kernel world")
        until = self.limit or described["duration_s"] + _MARGIN_S
        settings = self._settings(bed, until) if described else ""
        entry = None if self.relay is None else self.relay.address
        return Scene(bed, server, self.scenario, described, settings, until, entry)

    def _wait(self, bed: Testbed) -> dict[str, Any]:
        deadline = time.monotonic() + (self.limit or 0.0)
        while time.monotonic() < deadline:
            bed.check()
            time.sleep(min(0.1, max(0.0, deadline - time.monotonic())))
        return {"metrics": {}, "body_bytes": None, "events": [], "warnings": []}

    def _bulk_flows(self, bed: Testbed, control: Control) -> list[BulkFlow]:
        flows: list[BulkFlow] = []
        for traffic in self.scenario.get("traffic") or []:
            wanted = translate(traffic)
            if wanted.cc == control.name.split(".")[0]:
                cc = control.name
            else:
                cc = bed.use_control(wanted.cc, wanted.parameters, by_route=False).name
            for i in range(int(traffic.get("count", 1))):
                label = str(traffic["name"])
                flows.append(
                    BulkFlow(
                        name=label if i == 0 else f"{label}.{i + 1}",
                        cc=cc,
                        port=_TRAFFIC_PORT + len(flows),
                        start_s=number(traffic.get("start") or "0 s"),
                        stop_s=number(traffic["stop"]) if traffic.get("stop") else None,
                    )
                )
        return flows

    def _record(
        self,
        played: Mapping[str, Any],
        sampled: list[Flow],
        bulk: list[BulkFlow],
        elapsed: float,
        wire_bytes: int,
        control: Control,
        sending: Sending,
    ) -> dict[str, Any]:
        received = {flow.name: flow.received for flow in bulk}
        own = [flow for flow in sampled if flow.name not in received] or sampled
        body = played["body_bytes"]
        metrics: dict[str, float | None] = dict(played["metrics"])
        seconds = float(played.get("elapsed_s") or elapsed)
        total = body if body is not None else sum(received.values())
        rtts = [value for flow in own for value in flow.columns["rtt"]]
        metrics |= {
            "goodput_mbps": total * 8e-6 / seconds,
            "throughput_mbps": wire_bytes * 8e-6 / seconds,
            "retransmitted_packets": sum(flow.last("total_retrans") for flow in own),
            "rto_count": sum(flow.last("total_rto") for flow in own),
            "loss_ratio": None,
            "mean_rtt_ms": statistics.fmean(rtts) / 1000 if rtts else None,
        }
        return {
            "metrics": metrics,
            "flows": [
                _flow_record(flow, received.get(flow.name, body if own == [flow] else None), seconds)
                for flow in sampled
            ],
            "links": [],
            "events": played["events"],
            "warnings": sending.warnings + control.warnings + played["warnings"],
            "series": {f"flow.{flow.name}": dict(flow.columns) for flow in sampled},
        }

    def add_links(self, record: dict[str, Any], report: Mapping[str, Any]) -> None:
        """Add what the emulator measured: links, the queue of the first path's `down` link, the share of losses."""
        if not report.get("valid"):
            problems = "; ".join(report.get("problems", [])) or "it left no report"
            raise _InvalidLinkError(f"the link was not what was asked for, so the run does not count: {problems}")
        record["warnings"] += list(report["warnings"])
        record["links"] = [
            _link_record(f"{kind}.{link['name']}/{direction}", link[direction])
            for kind, links in (("path", report["paths"]), ("link", report["links"]))
            for link in links
            for direction in ("down", "up")
        ]
        down = record["links"][0]
        towards = [
            link for link in record["links"] if link["name"].startswith("path.") and link["name"].endswith("/down")
        ]
        offered = sum(link["offered_packets"] for link in towards)
        record["metrics"] |= {
            "mean_queue_packets": down["mean_queue_packets"],
            "sd_queue_packets": down["sd_queue_packets"],
            "loss_ratio": sum(sum(link["dropped_packets"].values()) for link in towards) / offered if offered else 0.0,
        }


_LINK_COLUMNS = (
    "utilisation",
    "offered_packets",
    "delivered_packets",
    "dropped_packets",
    "mean_queue_packets",
    "sd_queue_packets",
)


def _link_record(name: str, direction: Mapping[str, Any]) -> dict[str, Any]:
    columns = {column: direction[column] for column in _LINK_COLUMNS}
    return {"name": name, "marked_packets": direction["ce_marked_packets"]} | columns


_ANY_VIDEO = {"playout_buffer_bytes": 0.0, "video_kbps": 0.0}


def _of_the_video(cc: str, described: Mapping[str, float]) -> dict[str, float]:
    """What the CCP family is told of the video, as the simulator tells it at the start."""
    if cc == "ccplb" and described:
        return {"pob_bytes": float(described["playout_buffer_bytes"])}
    if cc == "ccplca" and described:
        return {"video_kbps": float(described["video_kbps"])}
    return {}


def _flow_record(flow: Flow, received: int | None, seconds: float) -> dict[str, Any]:
    times = flow.columns["time_s"]
    active = max(times[-1] - times[0], 1e-9) if times else 0.0
    got = flow.last("bytes_acked") if received is None else received
    sent = flow.last("data_segs_out")
    mean = flow.mean("rtt")
    return {
        "name": flow.name,
        "cc": flow.cc,
        "goodput_mbps": got * 8e-6 / (active or seconds),
        "throughput_mbps": (flow.last("bytes_sent") + sent * IP_AND_TCP_HEADER) * 8e-6 / (active or seconds),
        "sent_packets": int(sent),
        "retransmitted_packets": int(flow.last("total_retrans")),
        "rto_count": int(flow.last("total_rto")),
        "mean_rtt_ms": mean / 1000 if mean is not None else None,
        "min_rtt_ms": flow.last("min_rtt") / 1000,
        "start_s": times[0] if times else 0.0,
        "end_s": times[-1] if times else 0.0,
    }

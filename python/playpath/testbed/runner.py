"""`--world kernel`: one session of a resolved scenario on the real kernel, as a record in the simulator's schema."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playpath.testbed import controls, namespaces
from playpath.testbed.bed import IP_AND_TCP_HEADER, TOLERANCE, Testbed
from playpath.testbed.controls import Control
from playpath.testbed.errors import MissingToolError, TestbedError
from playpath.testbed.quantities import number
from playpath.testbed.sampling import Flow, Sampler
from playpath.testbed.server import PORT
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

    Returns
    -------
    dict
        `metrics`, `flows`, `links`, `events`, `warnings`, `manifest`, `digest`, `series`, as the simulator gives them.

    Raises
    ------
    TestbedError
        The run failed, or this scenario cannot run here; MissingToolError if a right or program is missing.
    """
    _check(scenario)
    sending = translate(sender)
    mss = min(int(sender.get("mss") or MSS), MSS)
    used = sender.get("paths") or [path["name"] for path in scenario["path"]]
    paths = [path for path in scenario["path"] if path["name"] in used]
    if len(paths) > 1:
        raise TestbedError("the kernel world runs single-path TCP; name one path in the sender's `paths`")
    session = _Session(scenario, sender, seed, mss)
    for attempt in range(1, tries + 1):
        realtime = all(_rate(path) <= _MAX_REALTIME_RATE for path in paths)
        links = scenario.get("link") or []
        with Testbed(paths, links=links, seed=seed, mss=mss, tolerance=tolerance, realtime=realtime) as bed:
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
    player = scenario.get("player") or {}
    if scenario.get("video") and player.get("kind", "progressive") != "progressive":
        raise TestbedError(f"the kernel world plays `progressive` so far, not `{player.get('kind')}`")
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


class _InvalidLinkError(TestbedError):
    """The emulator was too late, or packets were lost beside it."""


def _rate(path: Mapping[str, Any]) -> float:
    """Bits per second; of a trace or an unlimited link, none that is too fast for real-time scheduling is known."""
    rate = path.get("rate")
    return number(rate) if rate and rate != "unlimited" else 0.0


class _Session:
    """A run in progress."""

    def __init__(self, scenario: Mapping[str, Any], sender: Mapping[str, Any], seed: int, mss: int) -> None:
        self.scenario = scenario
        self.sender = sender
        self.seed = seed
        self.mss = mss
        self.limit = number(scenario["run"]["duration"]) if scenario["run"].get("duration") else None

    def run(self, bed: Testbed, sending: Sending) -> dict[str, Any]:
        namespaces.write_sysctls(bed.server, sending.sysctls)
        server = bed.start_server()
        server.serve_zeros(_FILE, _FILE_BYTES)
        video = self.scenario.get("video")
        described = self._describe() if video else {}
        parameters = sending.parameters | _of_the_video(sending.cc, described)
        control = bed.use_control(sending.cc, parameters)
        flows = self._bulk_flows(bed, control)
        ports = {PORT: str(self.sender["name"])} | {flow.port: flow.name for flow in flows}
        sampler = Sampler(bed.server, ports)
        sampler.start()
        received = bed.received_bytes()
        start = time.monotonic()
        for flow in flows:
            flow.open(bed.server, bed.client, bed.ends[0].server_address)
        try:
            played = self._play(bed, described) if video else self._wait(bed)
        finally:
            elapsed = time.monotonic() - start
            sampled = sampler.stop()
            for flow in flows:
                flow.close()
        wire_bytes = bed.received_bytes() - received
        hidden = bed.hidden_drops()
        if hidden:
            raise TestbedError(f"{hidden} packets were dropped in front of the emulator: the run is not valid")
        return self._record(played, sampled, flows, elapsed, wire_bytes, control, sending)

    def _settings(self, bed: Testbed | None, until: float | None) -> str:
        address = bed.ends[0].server_address if bed else "127.0.0.1"
        settings = {
            "server": f"{address}:{PORT}",
            "path": f"/{_FILE}",
            "mss": self.mss,
            "until_s": until,
            "video": self.scenario["video"],
            "player": self.scenario["player"],
        }
        return json.dumps(settings)

    def _describe(self) -> dict[str, float]:
        done = subprocess.run(
            [client(), "describe", self._settings(None, None)], check=False, capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            raise TestbedError(done.stderr.strip())
        described: dict[str, float] = json.loads(done.stdout)
        return described

    def _play(self, bed: Testbed, described: Mapping[str, float]) -> dict[str, Any]:
        until = self.limit or described["duration_s"] + _MARGIN_S
        player = bed.start("player", "client", [client(), "play", self._settings(bed, until)])
        deadline = time.monotonic() + until + 10
        while player.process.poll() is None:
            bed.check()
            if time.monotonic() > deadline:
                raise TestbedError(f"the player hangs: it did not end {until + 10:.0f} s after its start")
            time.sleep(0.05)
        bed.check()  # a player that lost its server says less than the server's end does
        if player.process.returncode != 0:
            raise TestbedError(player.words() or f"the player ended with status {player.process.returncode}")
        played: dict[str, Any] = json.loads(player.output.read_text())
        return played

    def _wait(self, bed: Testbed) -> dict[str, Any]:
        if self.limit is None:
            raise TestbedError("a scenario without a video needs run.duration in the kernel world")
        deadline = time.monotonic() + self.limit
        while time.monotonic() < deadline:
            bed.check()
            time.sleep(min(0.1, max(0.0, deadline - time.monotonic())))
        return {"metrics": {}, "body_bytes": None}

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
            "throughput_mbps": wire_bytes * 8e-6 / elapsed,
            "retransmitted_packets": sum(flow.last("total_retrans") for flow in own),
            "rto_count": sum(flow.last("total_rto") for flow in own),
            "loss_ratio": None,
            "mean_rtt_ms": statistics.fmean(rtts) / 1000 if rtts else None,
        }
        return {
            "metrics": metrics,
            "flows": [
                _flow_record(flow, received.get(flow.name, body if flow in own else None), seconds) for flow in sampled
            ],
            "links": [],
            "events": [],
            "warnings": sending.warnings + control.warnings,
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
        offered = down["offered_packets"]
        record["metrics"] |= {
            "mean_queue_packets": down["mean_queue_packets"],
            "sd_queue_packets": down["sd_queue_packets"],
            "loss_ratio": sum(down["dropped_packets"].values()) / offered if offered else 0.0,
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


def client() -> str:
    """Path of `playpath-client`."""
    own = os.environ.get("PLAYPATH_CLIENT")
    here = Path(__file__).resolve()
    built = [parent / "target/release/playpath-client" for parent in here.parents[2:5]]
    for candidate in [own] if own else [*map(str, built), shutil.which("playpath-client")]:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise MissingToolError("playpath-client is not built: `make kernel`")

"""The work of `playpath testbed exec` and `calibrate`: run a program behind a scenario's path, and measure the emulated links."""

import contextlib
import logging
import math
import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playpath.base.engine import number
from playpath.base.errors import InputError
from playpath.real.testbed import namespaces
from playpath.real.testbed.bed import IP_AND_TCP_HEADER, Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.media import CLIP_S, MANIFEST, ladder, link_into, progressive
from playpath.real.testbed.players.scene import kind_of, ladder_of
from playpath.real.testbed.senders import header_of, payload_of, translate
from playpath.real.testbed.sockdiag import Diag
from playpath.real.testbed.traffic import BulkFlow
from playpath.scenario import resolved

_log = logging.getLogger("playpath.real.testbed")
_CUBIC: resolved.Sender = {"name": "cubic", "cc": {"name": "cubic"}}
_MSS = 1448
_BULK_PORT = 9000
_DATAGRAMS = 300
_DATAGRAM_BYTES = 100
_IP_AND_UDP_HEADER = 28
_MIN_QUEUE = 64
"""Smallest queue limit in packets: with less, CUBIC's reduction empties the queue and the link idles, but it must stay busy."""
_PATIENCE_S = 10
_BLUR = 5e-4
"""Uncertainty allowed for an instant, as a share of the measured time."""
_LOOK_S = 0.25
_WANTED_SHARE = 0.002
_WANTED_DELAY_US = {"p50": 100.0, "p99": 500.0}
"""Limits that a link should keep on an unloaded machine."""
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h; Python has no constant for it


def execute(
    scenario: resolved.Document,
    command: Sequence[str],
    *,
    sender: resolved.Sender = _CUBIC,
    seed: int = 1,
    media: bool = False,
) -> int:
    """Run a program in the client's namespace, behind the paths of a scenario, and return its exit status.

    The program's environment has `PLAYPATH_SERVER`, the server's address over the first path;
    `PLAYPATH_SERVER_NAMESPACE`, for programs to be started there with `ip netns exec`; `PLAYPATH_URL`, the URL of a web
    server with a large file `zeros`; with `media` also `PLAYPATH_VIDEO`, the URL of the scenario's video as a file or, for
    a player of segments, as a manifest. The server's connections have the settings of `sender`; there is no cross
    traffic.
    """
    sending = translate(sender)
    unplayed = [f"traffic {group['name']}: does not run beside a program" for group in scenario.get("traffic") or []]
    for text in (*sending.warnings, *unplayed):
        _log.warning("%s", text)
    with Testbed(scenario, seed=seed, mss=payload_of(sender), header_bytes=header_of(sender), realtime=False) as bed:
        namespaces.write_sysctls(bed.server, sending.sysctls)
        namespaces.write_sysctls(bed.client, sending.client_sysctls)
        bed.use_control(sending.cc, sending.parameters, route=sending.route)
        server = bed.start_server()
        server.serve_zeros("zeros", 1 << 36)
        address = bed.ends[0].server_address
        environment = os.environ | {
            "PLAYPATH_SERVER": address,
            "PLAYPATH_SERVER_NAMESPACE": bed.server,
            "PLAYPATH_URL": f"http://{address}:{server.port}/",
        }
        if media:
            environment["PLAYPATH_VIDEO"] = environment["PLAYPATH_URL"] + media_of(scenario, server.www)
        bed.emulator.begin_at(time.monotonic())
        try:
            program = subprocess.Popen(namespaces.inside(bed.client, command), env=environment)
        except OSError as error:
            raise TestbedError(f"cannot run {command[0]}: {error.strerror}") from None
        try:
            return _wait_for(program, bed)
        finally:
            if program.poll() is None:
                program.kill()
                program.wait()


def _wait_for(program: subprocess.Popen[bytes], bed: Testbed) -> int:
    """Wait for its exit status by polling: a signal may not interrupt an unlimited wait (polars makes SIGINT restart it)."""
    while True:
        try:
            status = program.wait(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            bed.check()
        except KeyboardInterrupt:
            with contextlib.suppress(subprocess.TimeoutExpired):  # in a terminal the program gets Ctrl-C as well
                program.wait(timeout=1.0)
            raise
        else:
            bed.check()
            return status if status >= 0 else 128 - status  # as a shell reports a signal


def media_of(scenario: resolved.Document, www: Path) -> str:
    """Encode the scenario's video and let a server with this root serve it; return its path on the server."""
    kind = kind_of(scenario, "of another program", "progressive", "dash")
    video = scenario.get("video") or {}
    duration_s = number(video.get("duration") or f"{CLIP_S} s")
    if kind == "dash":
        return f"{link_into(www, ladder(*ladder_of(scenario), duration_s))}/{MANIFEST}"
    rate = video.get("rate")
    if rate is None:
        raise InputError("[video] rate is missing: the encoder needs one")
    return link_into(www, progressive(number(rate), duration_s))


@dataclass(frozen=True)
class Calibration:
    """A link as configured, and its measurement."""

    rate_mbps: float
    rtt_ms: float
    """`rate_mbps` and `rtt_ms`: as configured."""
    queue_packets: int
    """Queue limit of the link: one bandwidth-delay product, at least 64 packets, so that CUBIC keeps the link busy."""
    goodput_share: float
    """TCP payload that the receiver's kernel got between two instants without missing data, as a share of the link's rate less
    headers; 1 is perfect."""
    min_rtt_ms: float
    """Smallest RTT that the sender's TCP measured; it includes the machine's own delay on top of `rtt_ms`."""
    lateness_us: dict[str, float]
    """How late the emulator delivered packets in the direction to the client: `p50`, `p90`, `p99`, `p999`, `max`."""
    delay_error_us: dict[str, float]
    """One-way delay of single datagrams by the kernel's time stamps, less half of `rtt_ms` and the transmission time: `p50`,
    `p99`."""
    hidden_drops: int
    """Packets dropped before the emulator."""
    cpu_share: float
    """Share of one core used by the emulator."""

    @property
    def problems(self) -> list[str]:
        """Where the link misses its limits; see the row *wanted* in docs/appendix/kernel-results.md."""
        found = []
        if abs(self.goodput_share - 1) > _WANTED_SHARE:
            found.append(f"payload {100 * (self.goodput_share - 1):+.1f} %")
        found += [
            f"delay error {name} {self.delay_error_us[name]:.0f} us"
            for name, most in _WANTED_DELAY_US.items()
            if self.delay_error_us[name] > most
        ]
        if self.hidden_drops:
            found.append(f"{self.hidden_drops} hidden drops")
        return found


def calibrate(
    rates_mbps: Sequence[float] = (1, 2, 10, 100, 1000), rtts_ms: Sequence[float] = (10, 50, 100), seconds: float = 3.0
) -> Iterator[Calibration]:
    """Measure each rate at 50 ms, and each RTT at 10 Mbit/s, with one CUBIC transfer of `seconds` after slow start."""
    done = set()
    for rate, rtt in [*((rate, 50.0) for rate in rates_mbps), *((10.0, rtt) for rtt in rtts_ms)]:
        if (rate, rtt) not in done:
            done.add((rate, rtt))
            yield _measure(rate, rtt, seconds)


def _measure(rate_mbps: float, rtt_ms: float, seconds: float) -> Calibration:
    packet_bits = 8 * (_MSS + IP_AND_TCP_HEADER)
    queue = max(_MIN_QUEUE, math.ceil(rate_mbps * 1e3 * rtt_ms / packet_bits))
    path: resolved.Path = {
        "name": "calibration",
        "rate": f"{rate_mbps:g} Mbit/s",
        "rtt": f"{rtt_ms:g} ms",
        "queue": {"kind": "droptail", "limit": f"{queue} packets"},
    }
    with Testbed(network([path]), realtime=rate_mbps <= 200) as bed:
        errors = _delay_errors(bed, rate_mbps, rtt_ms)
        flow = BulkFlow("calibration", "cubic", _BULK_PORT)
        diag = Diag(bed.server)
        flow.open(bed.server, bed.client, bed.ends[0].server_address)
        try:
            time.sleep(1.0 + 20 * rtt_ms / 1000)
            start, arrived = _whole_stream(flow, diag, rtt_ms / 1000, seconds)
            busy = _cpu_seconds(bed.emulator.child.process.pid)
            time.sleep(seconds)
            bed.check()
            end, arrived_by_then = _whole_stream(flow, diag, rtt_ms / 1000, seconds)
            elapsed, got = end - start, arrived_by_then - arrived
            busy = _cpu_seconds(bed.emulator.child.process.pid) - busy
            infos = _server_infos(diag)
            hidden = bed.hidden_drops()
        finally:
            flow.close()
            diag.close()
    ideal = rate_mbps * 1e6 / 8 * _MSS / (_MSS + IP_AND_TCP_HEADER)
    return Calibration(
        rate_mbps=rate_mbps,
        rtt_ms=rtt_ms,
        queue_packets=queue,
        goodput_share=got / elapsed / ideal,
        min_rtt_ms=infos[0]["min_rtt"] / 1000 if infos else float("nan"),
        lateness_us=bed.report["paths"][0]["down"]["lateness_us"] if bed.report else {},
        delay_error_us=errors,
        hidden_drops=hidden,
        cpu_share=busy / elapsed,
    )


def _whole_stream(flow: BulkFlow, diag: Diag, rtt_s: float, seconds: float) -> tuple[float, int]:
    """An instant at which data arrive with none missing before them, and the number of bytes that have arrived by then.

    If a segment is missing, the receiver holds later data that the link has already carried, up to a queueful, and all of it counts
    at once when the gap is filled: measured from or to such an instant the stream would seem slower or faster than the link. A gap
    lasts at least a round trip, and the server learns of it half a round trip after the receiver; so checking just before and just
    after the instant detects it.
    """
    patience = time.monotonic() + _PATIENCE_S
    while time.monotonic() < patience:
        was_whole = _is_whole(diag)
        instant = _next_arrival(flow, _BLUR * seconds)
        time.sleep(0.6 * rtt_s + 0.001)
        if instant is not None and was_whole and _is_whole(diag):
            return instant
    raise TestbedError(f"the calibration's transfer always had data missing for {_PATIENCE_S} s")


def _is_whole(diag: Diag) -> bool:
    """Whether, as far as the server knows, no data are missing at the receiver."""
    return all(info["sacked"] == info["lost"] == info["retrans"] == 0 for info in _server_infos(diag))


def _server_infos(diag: Diag) -> list[dict[str, int]]:
    return [found.info for found in diag.sockets() if found.local[1] == _BULK_PORT]


def _next_arrival(flow: BulkFlow, blur_s: float) -> tuple[float, int] | None:
    """The time of the next arrival of data, and the bytes arrived by then; None if the time is uncertain by more than `blur_s`.

    At 1 Mbit/s a packet takes 12 ms: without the exact time of an arrival the count would be uncertain by that much.
    """
    before, looked, patience = flow.arrived_bytes(), time.monotonic(), time.monotonic() + _PATIENCE_S
    while looked < patience:
        time.sleep(20e-6)
        arrived, now = flow.arrived_bytes(), time.monotonic()
        if arrived != before:
            return (now, arrived) if now - looked < blur_s else None
        looked = now
    raise TestbedError("the calibration's transfer has stopped")


def _delay_errors(bed: Testbed, rate_mbps: float, rtt_ms: float) -> dict[str, float]:
    """One-way delays of single datagrams to the client, in microseconds beyond the link's expected delay."""
    receiver = namespaces.call_inside(bed.client, _stamped_socket)
    sender = namespaces.call_inside(bed.server, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    expected_us = rtt_ms * 500 + (_DATAGRAM_BYTES + _IP_AND_UDP_HEADER) * 8 / rate_mbps
    sent: list[int] = []
    errors: list[float] = []
    with sender, receiver:
        address = (bed.ends[0].client_address, receiver.getsockname()[1])
        for _ in range(_DATAGRAMS):
            sent.append(time.time_ns())
            sender.sendto(len(sent).to_bytes(4, "big").ljust(_DATAGRAM_BYTES), address)
            time.sleep(0.004)
        time.sleep(2 * rtt_ms / 1000)
        with contextlib.suppress(TimeoutError):
            while len(errors) < len(sent):
                data, ancillary, _, _ = receiver.recvmsg(_DATAGRAM_BYTES, 128)
                seconds, nanos = struct.unpack("qq", ancillary[0][2][:16])
                stamp = sent[int.from_bytes(data[:4], "big") - 1]
                errors.append((seconds * 1_000_000_000 + nanos - stamp) / 1000 - expected_us)
    if len(errors) < 0.9 * len(sent):
        raise TestbedError(f"the calibration lost {len(sent) - len(errors)} of {len(sent)} datagrams")
    errors.sort()
    return {"p50": errors[len(errors) // 2], "p99": errors[len(errors) * 99 // 100]}


def _stamped_socket() -> socket.socket:
    """A UDP socket whose datagrams carry the kernel's receive time."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("0.0.0.0", 0))
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    made.settimeout(0.5)
    return made


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

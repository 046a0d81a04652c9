"""Packet scripts of tests/packets against Linux's own TCP, over a TUN device in a network namespace of its own.

The same lines as in ``crates/transport/tests/packets.rs``, with the kernel as the endpoint and this program as its peer. What differs
from there: time is real, so segments may come some milliseconds off, and what follows counts from where they came; settings of the
endpoint become sysctls, routes and socket options (`_Setting`); of ``expect`` what TCP_INFO tells is looked at, events are not.

    python tests/testbed/kernel_tcp.py [SCRIPT …]       as root: says of each script whether it holds for this kernel, and where it does not
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "packets"
TOLERANCE = 0.012
"""Seconds that a segment may be off: timers of the kernel count in steps of 1 to 10 ms, and programs wake late."""
_COARSE_FROM, _COARSE_PART = 0.25, 1 / 8
"""Timers longer than 63 steps (252 ms at 250 Hz) expire up to an eighth late (``kernel/time/timer.c``)."""
_APART = 0.0015
"""Seconds between segments that the peer sends at one instant of the script: Linux holds a last segment back for a near ACK only while it
has just sent something (``tcp_tso_should_defer``: 1 ms), which no sender that is not paced does here."""
_LONGEST = 10.0
"""Seconds of waiting after which a script ends here."""
_QUIET = 0.0005
"""Seconds in which an answer that is due at once has come: the device hands a segment over before its write returns."""
_KERNEL, _PEER, _PORT, _PEER_PORT = "10.99.0.1", "10.99.0.2", 8080, 4321
_ISN = 1_000_000
_FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "E": 64, "W": 128}
_PSH = 8
_TIMESTAMPS = 12
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN_NO_PI = 0x400454CA, 0x1001


class DiffersError(Exception):
    """The kernel does something else than the script says."""


class _EndedError(Exception):
    """What follows would take too long."""


class NotForKernelError(Exception):
    """The script asks for what Linux's TCP cannot be set to."""


@dataclass
class Segment:
    """A TCP segment; sequence numbers as the script counts them."""

    flags: int = 16
    seq: int = 0
    length: int = 0
    ack: int = 0
    window: int = 0
    mss: int | None = None
    scale: int | None = None
    has_sack: bool = False
    blocks: list[tuple[int, int]] = field(default_factory=list)
    timestamps: tuple[int, int] | None = None
    ecn: int = 0

    def __str__(self) -> str:
        letters = "".join(letter for letter, bit in _FLAGS.items() if self.flags & bit and letter != "P")
        blocks = " ".join(f"{left}:{right}" for left, right in self.blocks)
        end = self.seq + self.length
        return f"{letters} {self.seq}:{end} ack {self.ack} win {self.window} sack {blocks or '-'} ecn {self.ecn}"


@dataclass
class _Setting:
    """What the ``config`` line asks for."""

    mss: int = 1448
    peer_window: int = 1_000_000
    initial_window: int = 10
    sysctls: dict[str, str] = field(default_factory=dict)
    nodelay: bool = True
    receive_buffer: int | None = None
    send_buffer: int | None = None
    has_timestamps: bool = True
    has_ecn: bool = False
    cc: str = "reno"


def _setting(words: Sequence[str]) -> _Setting:
    """Of a ``config`` line. What Linux has one way of only, how losses are found and ACKs delayed, is as it has it: whether the script
    holds nevertheless is the question. Raises NotForKernelError."""
    setting = _Setting()
    for word in words[1:]:
        key, value = word.split("=")
        if not (_note_sysctl(setting, key, value) or _note_end(setting, key, value)):
            raise NotForKernelError(word)
    if not setting.has_timestamps and not any(word.startswith("mss=") for word in words):
        setting.mss += _TIMESTAMPS
    return setting


def _note_sysctl(setting: _Setting, key: str, value: str) -> bool:
    """What a switch of the namespace stands for, or what Linux has one way of only; False: something else."""
    switch = "1" if value == "on" else "0"
    match key:
        case "timestamps" | "sack" | "frto" | "ecn":
            setting.sysctls[f"net/ipv4/tcp_{key}"] = switch
        case "validation" if value in ("none", "rfc2861"):
            setting.sysctls["net/ipv4/tcp_slow_start_after_idle"] = "0" if value == "none" else "1"
        case "detection":
            setting.sysctls["net/ipv4/tcp_early_retrans"] = "3" if value == "rack" else "0"  # no tail loss probe
        case "cc":
            setting.cc = {"newreno": "reno", "fixed": "reno"}.get(value, value)
            return setting.cc in ("reno", "cubic", "bbr")
        case _:
            return key in ("recovery", "delayed_ack", "limited_transmit", "counts_window_updates")
    setting.has_timestamps &= (key, value) != ("timestamps", "off")
    setting.has_ecn |= (key, value) == ("ecn", "on")
    return True


def _note_end(setting: _Setting, key: str, value: str) -> bool:
    """What the socket or its route is told; False: nothing of that kind."""
    match key:
        case "mss":
            setting.mss = int(value)
        case "cwnd" | "iw":
            setting.initial_window = int(value)
        case "peer_window":
            setting.peer_window = int(value)
        case "nagle":
            setting.nodelay = value == "off"
        case "receive_buffer":
            setting.receive_buffer = int(value)
        case "send_buffer":
            setting.send_buffer = int(value)
        case _:
            return False
    return True


def _checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Kernel:
    """Linux's endpoint, and the wire to it. Made inside a network namespace of its own."""

    def __init__(self, setting: _Setting) -> None:
        self._setting = setting
        self._device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self._device, _TUNSETIFF, struct.pack("16sH22s", b"packets", _IFF_TUN_NO_PI, b""))
        sysctls = {
            "net/ipv6/conf/all/disable_ipv6": "1",
            "net/ipv4/tcp_congestion_control": "reno",
            "net/ipv4/tcp_no_metrics_save": "1",
            "net/ipv4/tcp_wmem": "4096 4194304 4194304",
            "net/ipv4/tcp_rmem": f"4096 131072 {6291456 * 256 // 160}",  # 6 MB of it for payload, as the scripts have
        }
        for name, value in (sysctls | setting.sysctls).items():
            Path("/proc/sys", name).write_text(value)
        mtu = str(setting.mss + 40 + (_TIMESTAMPS if setting.has_timestamps else 0))
        _ip("addr", "add", _KERNEL, "peer", _PEER, "dev", "packets")
        _ip("link", "set", "packets", "mtu", mtu, "up")
        _ip("route", "replace", _PEER, "dev", "packets", "initcwnd", str(setting.initial_window))
        self._listener: socket.socket | None = None
        self._socket: socket.socket | None = None
        self._isn: int | None = None
        self._scale = self._peer_scale = 0
        self._clock: list[tuple[int, int]] = []

    def forget_initial_window(self) -> None:
        """It has served to begin with a window of the script's; a pause or too little to send lead back to Linux's own."""
        _ip("route", "replace", _PEER, "dev", "packets")

    def open(self, is_active: bool) -> None:
        """``connect`` or ``listen``."""
        end = socket.socket()
        if self._setting.receive_buffer:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._setting.receive_buffer)
        if self._setting.send_buffer:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._setting.send_buffer)
        if self._setting.nodelay:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._setting.cc.encode())
        end.setblocking(False)
        end.bind((_KERNEL, _PORT))
        if is_active:
            self._socket = end
            with contextlib.suppress(BlockingIOError):
                end.connect((_PEER, _PEER_PORT))
        else:
            self._listener = end
            end.listen()

    @property
    def end(self) -> socket.socket:
        """The connection. Raises DiffersError before it is accepted."""
        if self._socket is None:
            assert self._listener, "`listen`, `connect` or `established` comes first"
            try:
                self._socket, _ = self._listener.accept()
            except BlockingIOError:
                raise DiffersError("the connection is not accepted") from None
            self._socket.setblocking(False)
        return self._socket

    def is_there(self) -> bool:
        """The connection is accepted, or was asked for."""
        with contextlib.suppress(DiffersError):
            return self.end is not None
        return False

    def read(self, most: int) -> int:
        """Take what has come; before the connection is there, nothing."""
        try:
            return len(self.end.recv(most)) if most else 0
        except (DiffersError, OSError):
            return 0

    def send(self, segment: Segment) -> None:
        """To the kernel."""
        options = b""
        if segment.mss is not None:
            options += struct.pack("!BBH", 2, 4, segment.mss)
        if segment.has_sack:
            options += b"\x04\x02"
        if segment.scale is not None:
            options += struct.pack("!BBB", 3, 3, segment.scale)
            self._peer_scale = segment.scale
        if segment.timestamps:
            value, echo = segment.timestamps
            options += struct.pack("!BBII", 8, 10, value, self._echo(echo))
        if segment.blocks:
            numbers = [self._wire(number) for block in segment.blocks for number in block]
            options += struct.pack(f"!BB{len(numbers)}I", 5, 2 + 4 * len(numbers), *numbers)
        options += b"\1" * (-len(options) % 4)
        scale = 0 if segment.flags & _FLAGS["S"] else self._peer_scale
        window = min(segment.window >> scale, 65535)
        offset = (20 + len(options)) // 4 << 4
        head = struct.pack(
            "!HHIIBBHHH", _PEER_PORT, _PORT, (_ISN + segment.seq) % 2**32,
            self._wire(segment.ack) if segment.flags & _FLAGS["."] else 0, offset, segment.flags, window, 0, 0,
        )  # fmt: skip
        ends = socket.inet_aton(_PEER) + socket.inet_aton(_KERNEL)
        body = head + options + b"\0" * segment.length
        sum_of_all = _checksum(ends + struct.pack("!BBH", 0, 6, len(body)) + body)
        body = body[:16] + struct.pack("!H", sum_of_all) + body[18:]
        packet = struct.pack("!BBHHHBBH", 0x45, segment.ecn, 20 + len(body), 1, 0x4000, 64, 6, 0) + ends
        os.write(self._device, packet[:10] + struct.pack("!H", _checksum(packet)) + packet[12:] + body)

    def receive(self, patience: float) -> Segment | None:
        """The next segment from the kernel, waited for so long."""
        deadline = time.monotonic() + patience
        while True:
            left = deadline - time.monotonic()
            if not select.select([self._device], [], [], max(left, 0))[0]:
                return None
            packet = os.read(self._device, 65536)
            if packet[0] >> 4 == 4 and packet[9] == 6:
                return self._parse(packet)

    def info(self) -> dict[str, str]:
        """Of TCP_INFO, in the words of the scripts; times in milliseconds."""
        raw = self.end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 280)
        state, ca_state = raw[0], raw[1]
        words = struct.unpack_from("=24I", raw, 8)
        rto, unacked, sacked, lost, retrans = words[0], words[4], words[5], words[6], words[7]
        rtt, ssthresh, cwnd, total_retrans = words[15], words[17], words[18], words[23]
        min_rtt = struct.unpack_from("=I", raw, 148)[0]
        return {
            "cwnd": str(cwnd),
            "ssthresh": "inf" if ssthresh > 1 << 30 else str(ssthresh),
            "unacked": str(unacked),
            "sacked": str(sacked),
            "lost": str(lost),
            "retrans": str(retrans),
            "in_flight": str(unacked - sacked - lost + retrans),
            "total_retrans": str(total_retrans),
            "ca_state": ("open", "disorder", "cwr", "recovery", "loss")[ca_state],
            "state": _STATES[state],
            "srtt_ms": str(rtt / 1000),
            "rto_ms": str(rto / 1000),
            "min_rtt_ms": str(0 if min_rtt == 2**32 - 1 else min_rtt / 1000),
        }

    def _wire(self, number: int) -> int:
        return ((self._isn or 0) + number) % 2**32

    def _echo(self, echo: int) -> int:
        """The scripts' endpoint counts microseconds from 1; the kernel milliseconds from anywhere, and the script's clock stands still at
        times: what counts is the last segment sent by then.
        """
        sent = [known for known in self._clock if known[0] <= echo] or self._clock[:1]
        return 0 if not sent or echo == 0 else (sent[-1][1] + (echo - sent[-1][0]) // 1000) % 2**32

    def note_clock(self, stamp: int, script_time: float) -> None:
        """The kernel's timestamp at a time of the script."""
        self._clock.append((round(script_time * 1e6) + 1, stamp))

    def _parse(self, packet: bytes) -> Segment:
        body = packet[(packet[0] & 15) * 4 : struct.unpack_from("!H", packet, 2)[0]]
        _, _, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", body)
        segment = Segment(flags=flags & 0xDF, ecn=packet[1] & 3)
        if self._isn is None:
            self._isn = seq
        segment.seq = (seq - self._isn) % 2**32
        segment.ack = (ack - _ISN) % 2**32 if flags & _FLAGS["."] else 0
        head = (offset >> 4) * 4
        segment.length = len(body) - head
        self._options(segment, body[20:head])
        if flags & _FLAGS["S"]:
            self._scale = segment.scale or 0
        segment.window = window << (0 if flags & _FLAGS["S"] else self._scale)
        return segment

    def _options(self, segment: Segment, options: bytes) -> None:
        while options and options[0]:
            kind, size = options[0], 1 if options[0] == 1 else options[1]
            value = options[2:size]
            match kind:
                case 2:
                    segment.mss = struct.unpack("!H", value)[0]
                case 3:
                    segment.scale = value[0]
                case 4:
                    segment.has_sack = True
                case 5:
                    numbers = [(number - _ISN) % 2**32 for number in struct.unpack(f"!{len(value) // 4}I", value)]
                    segment.blocks = list(zip(numbers[::2], numbers[1::2], strict=True))
                case 8:
                    segment.timestamps = struct.unpack("!II", value)
            options = options[size:]


_GONE = "CLOSED"
_STATES = (
    "", "ESTABLISHED", "SYN-SENT", "SYN-RECEIVED", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", _GONE, "CLOSE-WAIT", "LAST-ACK",
    "LISTEN", "CLOSING",
)  # fmt: skip
_OF_TIME = ("srtt_ms", "rto_ms", "min_rtt_ms")


class Script:
    """One script, line by line."""

    def __init__(self) -> None:
        self._kernel: Kernel | None = None
        self._setting = _Setting()
        self._reads = True
        self._now = 0.0
        self._heard = 0.0
        self._armed = 0.0
        self._begin = time.monotonic()

    def run(self, text: str) -> None:
        """Raises DiffersError at the first line that does not hold, NotForKernelError where the kernel cannot be set so."""
        for number, raw in enumerate(text.splitlines(), 1):
            line = raw.split("#")[0].strip()
            if line and not line.startswith("holds "):
                try:
                    self._line(line)
                except _EndedError:
                    return
                except DiffersError as error:
                    raise DiffersError(f"line {number}, `{line}`: {error}") from None
        self._nothing_left(_QUIET)

    @property
    def _end(self) -> Kernel:
        assert self._kernel, "`config` comes first"
        return self._kernel

    def _line(self, line: str) -> None:
        words = line.split()
        if words[0] == "config":
            self._setting = _setting(words[1:])
            self._kernel = Kernel(self._setting)
            self._begin = time.monotonic() - self._now
            return
        if words[0] == "established":
            self._establish(words[1:])
            return
        at = self._now + float(words[0][1:]) if words[0].startswith("+") else float(words[0])
        if at - self._now > _LONGEST:
            raise _EndedError
        if words[1] == ">":
            self._expect_segment(at, words[2:])
        elif words[1] != "event":
            self._wait(at, is_silent=words[1] == "<")
            self._act(words[1], words[2:])
            if self._reads:
                self._end.read(1 << 20)

    def _act(self, verb: str, words: Sequence[str]) -> None:
        match verb:
            case "<":
                self._armed = self._now
                if (left := self._heard + _APART - time.monotonic()) > 0:
                    self._nothing_left(left)
                    self._begin += left  # the script's clock stands still meanwhile
                self._heard = time.monotonic()
                self._end.send(self._segment(words))
            case "listen" | "connect":
                self._end.open(verb == "connect")
            case "write":
                self._write(int(words[0]))
            case "read":
                taken = self._end.read(int(words[0]))
                if len(words) > 1 and taken != int(words[1]):
                    raise DiffersError(f"read {taken}")
            case "noread":
                self._reads = False
            case "close":
                self._end.end.shutdown(socket.SHUT_WR)
            case "abort":
                self._end.end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._end.end.close()
            case "expect":
                self._expect_state(words)
            case "none":
                self._nothing_left(_QUIET)
            case _:
                raise NotForKernelError(f"action {verb}")

    def _write(self, count: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while count:
                count -= self._end.end.send(bytes(count))

    def _wait(self, at: float, *, is_silent: bool) -> None:
        """Until the script's time is `at`. What the kernel sends before stays in the device, or is wrong where all must be silent."""
        left = max(self._begin + at - time.monotonic(), 0)
        if is_silent:
            self._nothing_left(left)
        elif left:
            time.sleep(left)
        self._now = at

    def _nothing_left(self, patience: float) -> None:
        segment = self._end.receive(patience)
        if segment:
            raise DiffersError(f"not expected at {time.monotonic() - self._begin:.3f}: {segment}")

    def _expect_segment(self, at: float, words: Sequence[str]) -> None:
        # A timer runs since the last segment came or the last timer expired; what an application writes meanwhile does not begin it anew.
        is_timer, runs = at > self._now, at - self._armed
        tolerance = TOLERANCE + (runs * _COARSE_PART if is_timer and runs > _COARSE_FROM else 0)
        patience = max(self._begin + at - time.monotonic(), 0) + 2 * tolerance
        segment = self._end.receive(patience)
        came = time.monotonic() - self._begin
        if segment is None:
            raise DiffersError("nothing was sent")
        if segment.timestamps:
            self._end.note_clock(segment.timestamps[0], at)
        if abs(came - at) > tolerance:
            raise DiffersError(f"sent at {came:.4f}, not at {at:.4f}: {segment}")
        self._begin, self._now = time.monotonic() - at, at
        if is_timer:
            self._armed = at
        _compare(segment, words)

    def _expect_state(self, words: Sequence[str]) -> None:
        if not self._end.is_there():
            return  # a listener tells nothing of a handshake under way
        info = self._end.info()
        for word in words:
            key, value = word.split("=")
            got = info.get(key)
            if got is None or (got == _GONE and value == "TIME-WAIT"):
                continue  # the kernel keeps TIME-WAIT apart from the socket
            if abs(float(got) - float(value)) > 6 + 0.02 * float(value) if key in _OF_TIME else got != value:
                raise DiffersError(f"{key} is {got}")

    def _establish(self, words: Sequence[str]) -> None:
        rtt, window = words[1].removeprefix("rtt="), self._setting.peer_window
        is_ecn, scale = self._setting.has_ecn, 0 if window < 1 << 16 else 7  # small windows to the byte
        steps = {
            "server": [
                "+0 listen",
                f"+0 < S 0:0 win {window} mss 1460 sackok wscale {scale} ts 1 0 ecnok",
                f"+0 > S{'E.' if is_ecn else '.'} *",
                f"+{rtt} < . 1:1 ack 1 win {window} ts 2 1",
            ],
            "client": [
                "+0 connect",
                f"+0 > S{'EW' if is_ecn else ''} *",
                f"+{rtt} < S. 0:0 ack 1 win {window} mss 1460 sackok wscale {scale} ts 1 1 ecnok",
                "+0 > . 1:1 ack 1",
            ],
        }
        for step in steps[words[0]]:
            self._line(step)
        at = time.monotonic()
        self._end.forget_initial_window()
        self._begin += time.monotonic() - at
        _ = self._end.end

    def _segment(self, words: Sequence[str]) -> Segment:
        segment = Segment(flags=sum(_FLAGS[letter] for letter in words[0]), window=self._setting.peer_window)
        first, end = map(int, words[1].split(":"))
        segment.seq, segment.length = first, end - first
        rest: Iterator[str] = iter(words[2:])
        for word in rest:
            match word:
                case "ack":
                    segment.ack = int(next(rest))
                case "win":
                    segment.window = int(next(rest))
                case "mss":
                    segment.mss = int(next(rest))
                case "wscale":
                    segment.scale = int(next(rest))
                case "sackok":
                    segment.has_sack = True
                case "ecnok":
                    answer = bool(segment.flags & _FLAGS["."])
                    segment.flags |= 0 if not self._setting.has_ecn else _FLAGS["E"] | (0 if answer else _FLAGS["W"])
                case "ce" | "ect0":
                    segment.ecn = 3 if word == "ce" else 2
                case "ts":
                    stamps = (int(next(rest)), int(next(rest)))
                    segment.timestamps = stamps if self._setting.has_timestamps else None
                case _ if ":" in word:
                    left, right = map(int, word.split(":"))
                    segment.blocks.append((left, right))
        return segment


def _compare(segment: Segment, words: Sequence[str]) -> None:
    """Every field that the line names."""
    if segment.flags & ~_PSH != sum(_FLAGS[letter] for letter in words[0]):
        raise DiffersError(f"flags differ, got {segment}")
    if words[1] == "*":
        return
    first, end = map(int, words[1].split(":"))
    if (segment.seq, segment.seq + segment.length) != (first, end):
        raise DiffersError(f"range differs, got {segment}")
    rest, blocks = iter(words[2:]), []
    for word in rest:
        got = {"ack": segment.ack, "win": segment.window, "mss": segment.mss, "wscale": segment.scale}.get(word)
        if word in ("ack", "win", "mss", "wscale"):
            if got != int(next(rest)):
                raise DiffersError(f"{word} differs, got {segment} mss {segment.mss} wscale {segment.scale}")
        elif word == "echo":
            if segment.timestamps is None or segment.timestamps[1] != int(next(rest)):
                raise DiffersError(f"echo differs, got {segment.timestamps}")
        elif word in ("sackok", "ect0", "notect"):
            if not {"sackok": segment.has_sack, "ect0": segment.ecn == 2, "notect": segment.ecn == 0}[word]:
                raise DiffersError(f"{word} differs, got {segment}")
        elif ":" in word:
            left, right = map(int, word.split(":"))
            blocks.append((left, right))
    if segment.blocks != blocks:
        raise DiffersError(f"sack differs, got {segment}")


def play(file: Path) -> None:
    """A script against this kernel, in a network namespace of its own (this process stays there). As `Script.run`."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace of its own: needs root")
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    Script().run(file.read_text())


def outcome(file: Path, attempts: int = 3) -> str:
    """Of a script in a process of its own: "" if it holds, else what differs. Several attempts, for time is real here."""
    words = ""
    for _ in range(attempts):
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--play", str(file)], capture_output=True, text=True, timeout=120
            )
        except OSError as error:  # a machine may refuse to start a process for a moment: says nothing about the script
            words = f"not started: {error}"
            time.sleep(1)
            continue
        words = done.stdout.strip() or done.stderr.strip()
        if not words or words.startswith("cannot be set"):
            break
    return words


def main(words: Sequence[str]) -> None:
    """See the module."""
    if words[:1] == ["--play"]:
        try:
            play(Path(words[1]))
        except DiffersError as error:
            print(error)
        except NotForKernelError as error:
            print(f"cannot be set: {error}")
        return
    for file in [Path(word) for word in words] or sorted(SCRIPTS.glob("*.pkt")):
        print(f"{file.name}: {outcome(file) or 'holds'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

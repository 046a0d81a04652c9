"""TCP sockets of a namespace, by netlink (sock_diag), with `struct tcp_info` in the kernel's names.

References: linux/inet_diag.h, linux/tcp.h (`struct tcp_info`), linux/sock_diag.h. Fields that a kernel does not send
are left out of the record. Units are the kernel's: windows in packets, times in microseconds (`rto`, `rtt`, `rttvar`,
`min_rtt`), rates in bytes per second.
"""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from playpath.real.testbed import namespaces
from playpath.real.testbed.errors import TestbedError

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _SOCK_DESTROY = 20, 21
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_DUMP = 0x1, 0x4, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO, _INET_DIAG_CONG = 2, 4

ESTABLISHED = 1
LISTEN = 10

# Offset and format of the members of struct tcp_info that records contain.
_MEMBERS = {
    "ca_state": (1, "B"),
    "rto": (8, "I"),
    "snd_mss": (16, "I"),
    "unacked": (24, "I"),
    "sacked": (28, "I"),
    "lost": (32, "I"),
    "retrans": (36, "I"),
    "rtt": (68, "I"),
    "rttvar": (72, "I"),
    "snd_ssthresh": (76, "I"),
    "snd_cwnd": (80, "I"),
    "total_retrans": (100, "I"),
    "pacing_rate": (104, "Q"),
    "bytes_acked": (120, "Q"),
    "notsent_bytes": (144, "I"),
    "min_rtt": (148, "I"),
    "data_segs_out": (156, "I"),
    "delivery_rate": (160, "Q"),
    "busy_time": (168, "Q"),
    "rwnd_limited": (176, "Q"),
    "sndbuf_limited": (184, "Q"),
    "delivered": (192, "I"),
    "bytes_sent": (200, "Q"),
    "bytes_retrans": (208, "Q"),
    "total_rto": (240, "H"),
}
COLUMNS = tuple(_MEMBERS)
"""Names of the columns, in the order of `struct tcp_info`."""


@dataclass(frozen=True)
class SocketInfo:
    state: int
    local: tuple[str, int]
    peer: tuple[str, int]
    cc: str
    info: dict[str, int]
    identity: bytes = field(default=b"", repr=False)


class Diag:
    """A netlink socket inside a namespace, to which it stays bound."""

    def __init__(self, namespace: str) -> None:
        self._socket = namespaces.call_inside(
            namespace,
            lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG),
        )
        self._sequence = 0

    def sockets(self, states: int = 1 << ESTABLISHED) -> list[SocketInfo]:
        """All IPv4 TCP sockets in these states (a bit for each state)."""
        self._ask(_SOCK_DIAG_BY_FAMILY, _NLM_F_DUMP, states, bytes(48))
        return list(self._answers())

    def destroy_all(self) -> None:
        """Reset every connection, including orphans: a remaining one would keep the namespace and its congestion control alive.

        Does nothing on a kernel without CONFIG_INET_DIAG_DESTROY; orphans then end at their next timer.
        """
        everything_but_listen = 0xFFF & ~(1 << LISTEN)
        for found in self.sockets(everything_but_listen):
            self.destroy(found)

    def destroy(self, found: SocketInfo) -> None:
        self._ask(_SOCK_DESTROY, _NLM_F_ACK, 0, found.identity)
        self._socket.recv(1 << 16)

    def _ask(self, kind: int, flags: int, states: int, identity: bytes) -> None:
        self._sequence += 1
        request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, _EXTENSIONS, 0, states) + identity
        header = struct.pack("=IHHII", 16 + len(request), kind, _NLM_F_REQUEST | flags, self._sequence, 0)
        self._socket.sendto(header + request, (0, 0))

    def _answers(self) -> Iterator[SocketInfo]:
        while True:
            data = self._socket.recv(1 << 18)
            at = 0
            while at < len(data):
                length, kind, _, sequence, _ = struct.unpack_from("=IHHII", data, at)
                if kind == _NLMSG_ERROR:
                    raise TestbedError(f"sock_diag: error {-struct.unpack_from('=i', data, at + 16)[0]}")
                if kind == _NLMSG_DONE:
                    return
                if sequence == self._sequence:
                    yield _parse(data[at + 16 : at + length])
                at += (length + 3) & ~3

    def close(self) -> None:
        self._socket.close()


_EXTENSIONS = (1 << (_INET_DIAG_INFO - 1)) | (1 << (_INET_DIAG_CONG - 1))


def _parse(message: bytes) -> SocketInfo:
    """`struct inet_diag_msg` and its attributes."""
    _, state = struct.unpack_from("=BB", message, 0)
    local_port, peer_port = struct.unpack_from(">HH", message, 4)
    local, peer = (socket.inet_ntoa(message[at : at + 4]) for at in (8, 24))
    cc, info, at = "", {}, 72
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if length < 4:
            break
        value = message[at + 4 : at + length]
        if kind == _INET_DIAG_CONG:
            cc = value.rstrip(b"\0").decode()
        elif kind == _INET_DIAG_INFO:
            info = _tcp_info(value)
        at += (length + 3) & ~3
    return SocketInfo(state, (local, local_port), (peer, peer_port), cc, info, message[4:52])


def _tcp_info(value: bytes) -> dict[str, int]:
    return {
        name: struct.unpack_from("=" + format, value, offset)[0]
        for name, (offset, format) in _MEMBERS.items()
        if offset + struct.calcsize(format) <= len(value)
    }

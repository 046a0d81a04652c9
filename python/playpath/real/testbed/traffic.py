"""Bulk cross traffic: connections on which the server writes endlessly and the client reads everything."""

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass

from playpath.real.testbed import namespaces

_TCP_INFO, _TCP_CONGESTION = 11, 13
_BYTES_RECEIVED = 128  # its offset in struct tcp_info
_CHUNK = bytes(1 << 16)


@dataclass
class BulkFlow:
    """One connection.

    `port` is used by no other flow, so that samples can be assigned to it. `cc` is set on the accepted socket, because the
    route's control overrides a listener's.
    """

    name: str
    cc: str
    port: int

    def open(self, server: str, client: str, address: str) -> None:
        """Let the server listen, connect to it and begin."""
        self._server, self._client, self._address = server, client, address
        self._stopping = threading.Event()
        self._connection: socket.socket | None = None
        self._listener = namespaces.call_inside(server, self._listen)
        self._threads = [
            threading.Thread(target=target, name=f"{self.name}-{side}", daemon=True)
            for side, target in (("send", self._send), ("receive", self._receive))
        ]
        for thread in self._threads:
            thread.start()

    def arrived_bytes(self) -> int:
        """Bytes that the client's TCP has received in order, read by the program or not; 0 without a connection."""
        if self._connection is None:
            return 0
        (arrived,) = struct.unpack_from(
            "=Q", self._connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 256), _BYTES_RECEIVED
        )
        return int(arrived)

    def close(self) -> None:
        self._stopping.set()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _listen(self) -> socket.socket:
        listener = socket.create_server((self._address, self.port))
        listener.settimeout(0.1)
        return listener

    def _send(self) -> None:
        connection = None
        while connection is None and not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = self._listener.accept()
        if connection is None:
            return
        connection.settimeout(0.1)
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, self.cc.encode())
            while not self._stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    connection.send(_CHUNK)

    def _receive(self) -> None:
        with contextlib.suppress(OSError):
            connection = namespaces.call_inside(
                self._client, lambda: socket.create_connection((self._address, self.port), timeout=10)
            )
            self._connection = connection
            with connection:
                connection.settimeout(0.1)
                while not self._stopping.is_set():
                    with contextlib.suppress(TimeoutError):
                        if not connection.recv(1 << 18):
                            break

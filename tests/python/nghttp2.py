"""The order of DATA frames that nghttp2 gives responses under RFC 9218, by its library: what our server's half is held to."""

from __future__ import annotations

import ctypes
import ctypes.util
import random
from typing import Any

Case = dict[str, Any]
"""`requests`: each with `after` (DATA frames sent before it comes), `bytes`, `priority`; `frames`: request and bytes of each."""

_SETTINGS_INITIAL_WINDOW_SIZE, _SETTINGS_NO_RFC7540_PRIORITIES = 4, 9
_FLAG_EOF = 1
_DATA = 0
_STREAM_WINDOW, _CONNECTION_WINDOW = 6 << 20, 15 << 20


class _Field(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("value", ctypes.c_char_p),
        ("name_length", ctypes.c_size_t),
        ("value_length", ctypes.c_size_t),
        ("flags", ctypes.c_uint8),
    )


class _Setting(ctypes.Structure):
    _fields_ = (("identifier", ctypes.c_int32), ("value", ctypes.c_uint32))


_Read = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_void_p,
    ctypes.c_void_p,
)


class _Provider(ctypes.Structure):
    _fields_ = (("source", ctypes.c_void_p), ("read", _Read))


def library() -> ctypes.CDLL | None:
    """The machine's libnghttp2, if it is there and knows RFC 9218 (1.50 or newer)."""
    name = ctypes.util.find_library("nghttp2")
    found = ctypes.CDLL(name) if name else None
    if found is None or not hasattr(found, "nghttp2_session_change_extpri_stream_priority"):
        return None
    for function in ("nghttp2_session_mem_send", "nghttp2_session_mem_recv"):
        getattr(found, function).restype = ctypes.c_ssize_t
    return found


def _fields(pairs: list[tuple[str, str]]) -> Any:
    encoded = [(name.encode(), value.encode()) for name, value in pairs]
    return (_Field * len(pairs))(*[_Field(name, value, len(name), len(value), 0) for name, value in encoded])


class _Session:
    """One end of a connection."""

    def __init__(self, nghttp2: ctypes.CDLL, end: str) -> None:
        self._nghttp2 = nghttp2
        callbacks = ctypes.c_void_p()
        nghttp2.nghttp2_session_callbacks_new(ctypes.byref(callbacks))
        self.handle = ctypes.c_void_p()
        getattr(nghttp2, f"nghttp2_session_{end}_new")(ctypes.byref(self.handle), callbacks, None)
        nghttp2.nghttp2_session_callbacks_del(callbacks)

    def call(self, name: str, *arguments: Any) -> int:
        """A function of the session; fails as the library does."""
        result = int(getattr(self._nghttp2, f"nghttp2_{name}")(self.handle, *arguments))
        assert result >= 0, f"nghttp2_{name} gave {result}"
        return result

    def sent(self) -> bytes:
        """The next piece that it wants sent: a frame, or several small ones."""
        data = ctypes.c_char_p()
        length = self.call("session_mem_send", ctypes.byref(data))
        return ctypes.string_at(data, length) if length else b""

    def receive(self, data: bytes) -> None:
        """Bytes from the other end."""
        self.call("session_mem_recv", data, ctypes.c_size_t(len(data)))


def _data_frames(data: bytes) -> list[list[int]]:
    """Stream and bytes of the DATA frames among whole frames."""
    frames = []
    while data:
        length, kind = int.from_bytes(data[:3]), data[3]
        if kind == _DATA:
            frames.append([int.from_bytes(data[5:9]), length])
        data = data[9 + length :]
    return frames


class _Exchange:
    """A client that asks, and a server that answers with as many bytes as were asked for."""

    def __init__(self, nghttp2: ctypes.CDLL) -> None:
        self.client, self.server = _Session(nghttp2, "client"), _Session(nghttp2, "server")
        self._left: dict[int, int] = {}
        self._read = _Read(self._give)
        wide = (_Setting * 1)(_Setting(_SETTINGS_INITIAL_WINDOW_SIZE, _STREAM_WINDOW))
        self.client.call("submit_settings", 0, wide, ctypes.c_size_t(1))
        self.client.call("session_set_local_window_size", 0, 0, _CONNECTION_WINDOW)
        by_urgency = (_Setting * 1)(_Setting(_SETTINGS_NO_RFC7540_PRIORITIES, 1))
        self.server.call("submit_settings", 0, by_urgency, ctypes.c_size_t(1))
        # Settings count once they are acknowledged.
        for _ in range(2):
            self.carry(self.client, self.server)
            self.carry(self.server, self.client)

    def _give(self, _session: Any, stream: int, buffer: Any, most: int, flags: Any, *_unused: Any) -> int:
        given = min(most, self._left[stream])
        ctypes.memset(buffer, 0, given)
        self._left[stream] -= given
        if not self._left[stream]:
            flags[0] |= _FLAG_EOF
        return given

    def carry(self, sender: _Session, receiver: _Session) -> None:
        """All that one end has to say."""
        while data := sender.sent():
            receiver.receive(data)

    def ask(self, size: int, priority: str) -> None:
        """A request, and the server's answer to it."""
        path = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/"), ("priority", priority)]
        stream = self.client.call("submit_request", None, _fields(path), ctypes.c_size_t(len(path)), None, None)
        self._left[stream] = size
        self.carry(self.client, self.server)
        answer = [(":status", "200")]
        provider = _Provider(None, self._read)
        self.server.call("submit_response", stream, _fields(answer), ctypes.c_size_t(1), ctypes.byref(provider))


def frames(nghttp2: ctypes.CDLL, requests: list[dict[str, Any]]) -> list[list[int]]:
    """Number of the request and bytes of every DATA frame, in the order of the server."""
    exchange, sent, waiting = _Exchange(nghttp2), list[list[int]](), list(requests)
    while True:
        while waiting and waiting[0]["after"] <= len(sent):
            request = waiting.pop(0)
            exchange.ask(request["bytes"], request["priority"])
        data = exchange.server.sent()
        if not data:
            return [[(stream - 1) // 2, size] for stream, size in sent]
        sent += _data_frames(data)
        exchange.client.receive(data)
        exchange.carry(exchange.client, exchange.server)


def cases(nghttp2: ctypes.CDLL, count: int = 40) -> list[Case]:
    """Cases with what nghttp2 makes of them: two to six requests, most of them while others are served.

    Responses of one urgency are all incremental or all not: how the two mix is left open by RFC 9218 (section 10).
    """
    draw, made = random.Random(9218), list[Case]()
    for _ in range(count):
        after, requests = 0, []
        levels = [f"u={urgency}" + draw.choice(["", ", i", ", i"]) for urgency in range(3)]
        for number in range(draw.randint(2, 6)):
            after = min(after + draw.choice([0, 0, 1, 2, 5]), 2 * number)
            requests.append({"after": after, "bytes": draw.randint(33_000, 200_000), "priority": draw.choice(levels)})
        made.append({"requests": requests, "frames": frames(nghttp2, requests)})
    return made

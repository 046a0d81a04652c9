"""Measure the user's own link with a few connections and one download, for the first figures of a path."""

import http.client
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from playpath.base.errors import InputError, RunError

CONNECTIONS = 10
SECONDS = 8.0
MAX_BYTES = 50_000_000
_PATIENCE_S = 5.0
_MIN_BYTES = 200_000
_LEARNING_SHARE = 0.25
"""The share of the download's time, from its start, that is left out because TCP is still finding the rate."""
_CHUNK = 65536


@dataclass(frozen=True)
class Link:
    """The measurement: `rate_mbps` of the download's body; `rtt_ms`, the shortest time that setting up a connection took."""

    rate_mbps: float
    rtt_ms: float
    bytes: int
    seconds: float


def check_url(url: str) -> SplitResult:
    """The parts of an http or https address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"'{url}': {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"'{url}': give the address of a large file, such as https://example.org/video.mp4")
    return parts


def measure(url: str, *, seconds: float = SECONDS, max_bytes: int = MAX_BYTES) -> Link:
    """Set up ten connections, then download for at most `seconds` or `max_bytes`.

    InputError for a bad address, RunError if the server does not deliver.
    """
    parts = check_url(url)
    try:
        rtt = _round_trip(parts)
        samples = _download(url, seconds, max_bytes)
    except urllib.error.HTTPError as error:
        raise RunError(f"{url}: the server answers {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise RunError(f"{url}: {reason}") from None
    if samples[-1][1] < _MIN_BYTES:
        raise RunError(f"{url}: only {samples[-1][1] / 1000:.0f} kB arrived; give a file of 10 MB or more")
    return Link(rate_mbps(samples), rtt * 1000, samples[-1][1], samples[-1][0])


def rate_mbps(samples: Sequence[tuple[float, int]]) -> float:
    """The rate at which bytes arrived, without the time that TCP takes to find it.

    Args:
        samples: (seconds since the request, bytes received by then).
    """
    end, total = samples[-1]
    begin, before = next(sample for sample in samples if sample[0] >= _LEARNING_SHARE * end)
    if begin >= end:
        begin, before = samples[0]
    return (total - before) * 8e-6 / (end - begin)


def _address(parts: SplitResult) -> tuple[str, int]:
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _round_trip(parts: SplitResult) -> float:
    """Setting up a connection takes one round trip; the shortest of several met no queue."""
    family, kind, protocol, _, address = socket.getaddrinfo(*_address(parts), type=socket.SOCK_STREAM)[0]
    times = []
    for _ in range(CONNECTIONS):
        with socket.socket(family, kind, protocol) as end:
            end.settimeout(_PATIENCE_S)
            begin = time.monotonic()
            end.connect(address)
            times.append(time.monotonic() - begin)
    return min(times)


def _download(url: str, seconds: float, max_bytes: int) -> list[tuple[float, int]]:
    request = urllib.request.Request(url, headers={"User-Agent": "playpath init", "Accept-Encoding": "identity"})
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:
        begin, total = time.monotonic(), 0
        samples = [(0.0, 0)]
        while samples[-1][0] < seconds and total < max_bytes and (part := answer.read1(_CHUNK)):
            total += len(part)
            samples.append((time.monotonic() - begin, total))
        return samples

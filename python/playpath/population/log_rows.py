"""Turns a row of a log, given as names and values, into a sample: what each column means, and in which unit.

Names are those that servers, delivery networks and players use: nginx's variables, the kernel's `tcp_info`, Fastly's and Akamai's
log fields, CMCD's keys. Capitals and punctuation are ignored (`Download Ms` is `download_ms`). A name that ends in a unit is
unambiguous; a name without one is used only if its source defines the unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from playpath.base import engine
from playpath.base.errors import InputError, unknown_name
from playpath.population.log_groups import GroupColumns, normal
from playpath.population.log_names import EVERYONE

if TYPE_CHECKING:
    from playpath.base.declared import Cmcd

MIN_BYTES = 50_000
"""The time of smaller objects depends on round trips, not on the rate."""
_MAX_BPS = 1e12

Fields = Mapping[str, str]
"""The meaning of the user's columns: their name → ours."""


@dataclass(frozen=True)
class Sample:
    """One transfer, or one snapshot of a connection."""

    session: str
    """Name of the session: CMCD's `sid`, the client's address, or a column."""
    mbps: float | None
    rtt_ms: float | None = None
    is_limited: bool = False
    """Whether the sender was application-limited for part of the time: then its throughput says nothing about the path."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Columns to group by."""
    is_served: bool = False
    """Whether a server measured its time."""


def _units(stems: str, units: Mapping[str, float]) -> dict[str, float]:
    return {f"{stem}_{unit}": factor for stem in stems.split() for unit, factor in units.items()}


_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}
_BITS = {"mbps": 1.0, "kbps": 1e-3, "bps": 1e-6, "mbit_s": 1.0, "kbit_s": 1e-3, "bit_s": 1e-6}

RATES = _units(
    "throughput measured_throughput mtp bandwidth estimated_bandwidth goodput download_rate download speed rate", _BITS
) | {"mtp": 1e-3, "throughput": 1e-3, "cmcd_measured_throughput": 1e-3}
"""Throughput columns → factor to Mbit/s. Names without a unit: CMCD's `mtp` and Akamai's `throughput`, both in kbit/s."""
_DELIVERY = ("delivery_rate", "tcpi_delivery_rate", "socket_tcpi_delivery_rate")
_DURATIONS = _units(
    "duration elapsed time_elapsed time_taken request_time download download_time transfer transfer_time load_time",
    _SECONDS,
) | {
    "request_time": 1.0,  # nginx
    "time_taken": 1.0,  # W3C
    "transfertimemsec": 1e-3,  # Akamai DataStream 2
    "downloadtime": 1e-3,
    "time_elapsed": 1e-6,  # Fastly's documented format: time.elapsed.usec
}
_SERVER_TIMES = ("request_time", "time_taken", "time_taken_ms", "transfertimemsec", "time_elapsed")
"""Of nginx, CloudFront, IIS, Akamai and Fastly: durations that servers measure."""
SERVED_NOTE = (
    "a server's times end when the last byte is handed to its kernel, before it has arrived: rates are too high, of objects of 2 MB on "
    "slow lines by a tenth, of smaller ones by more; if players' measurements (CMCD, beacons) are available, they are better"
)
_SIZES = (
    "bytes",
    "body_bytes_sent",
    "sc_bytes",
    "response_body_size",
    "resp_body_size",
    "resp_body_bytes",
    "resp_bytes",
    "response_bytes",
    "bytes_downloaded",
    "downloaded_bytes",
    "size_bytes",
    "object_bytes",
    "size",
    "totalbytes",
    "objsize",
    "edgeresponsebytes",
)
_SENT = "bytes_sent"
"""A size in an access log; beside another size what the connection sent, as TCP_INFO has it."""
_RTTS = {name: 1e3 * factor for name, factor in _units("min_rtt minrtt rtt ping", _SECONDS).items()} | dict.fromkeys(
    # The kernel's fields, in microseconds.
    ["min_rtt", "tcpi_min_rtt", "socket_tcpi_min_rtt", "rtt", "tcpi_rtt", "socket_tcpi_rtt", "tcpinfo_rtt"],
    1e-3,
)
_MIN_RTTS = {name: factor for name, factor in _RTTS.items() if "min" in name}
_SMOOTHED = ("rtt", "tcpi_rtt", "socket_tcpi_rtt", "tcpinfo_rtt")
"""The kernel's estimate when the row was written; it includes the sender's own queue."""
_PLAYER_RTTS = _MIN_RTTS | {name: factor for name, factor in _RTTS.items() if name not in _SMOOTHED}
_LIMITED = ("delivery_rate_app_limited", "tcpi_delivery_rate_app_limited", "app_limited")
_SESSIONS = (
    "session",
    "session_id",
    "sessionid",
    "sid",
    "cmcd_session_id",
    "user",
    "user_id",
    "viewer",
    "viewer_id",
    "name",
)
_PEERS = ("client", "connection", "peer", "remote_addr", "client_ip", "clientip", "c_ip", "cliip", "ip")
_ASKED = ("cs_uri_query", "request", "url", "request_uri", "query", "querystr")

KNOWN = (
    "session",
    "bytes",
    "duration_s",
    "duration_ms",
    "duration_us",
    *(f"throughput_{u}" for u in ("mbps", "kbps", "bps")),
)
"""The meanings that `--fields` can give a column, besides those of `_ALSO`."""
_ALSO = ("rtt_ms", "rtt_us", "app_limited", "start_time", "end_time", "first_byte_ms", "min_rtt_ms", "bytes_retrans")


def fields_of(text: str) -> dict[str, str]:
    """Parse `"session=viewer, bytes=n"`: the user's columns → their meaning."""
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        ours, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not equals or not theirs:
            raise InputError(f'--fields: "{part}" is not of the form OURS=YOURS, such as "session=viewer,bytes=size"')
        if ours not in (*KNOWN, *_ALSO):
            raise unknown_name("field", ours, (*KNOWN, *_ALSO))
        found[normal(theirs)] = ours
    return found


def check_fields(fields: Fields, columns: Iterable[str]) -> None:
    """Refuse a column in `--fields` that the log does not have."""
    there = [normal(name) for name in columns]
    for theirs in fields:
        if theirs not in there:
            raise InputError(f"--fields: {unknown_name('column', theirs, there)}")


def has_throughput(columns: set[str]) -> bool:
    """Whether columns of these names give a throughput, or sizes and times."""
    return bool(columns & {*RATES, *_DELIVERY}) or bool(columns & {*_SIZES, _SENT} and columns & _DURATIONS.keys())


def sample_of(row: Mapping[str, Any], fields: Fields, keep: GroupColumns) -> Sample | None:
    """A row's sample of the path; None if the row cannot be read.

    The first source available is used: a measured throughput, the transfer's size and time, the player's CMCD figure.
    """
    columns = {normal(str(key)): value for key, value in row.items() if value is not None}
    sample = _measured(columns | {fields[name]: value for name, value in columns.items() if name in fields})
    return None if sample is None else replace(sample, kept=keep.of(columns, (*_asked(columns), _headers(columns))))


@dataclass(frozen=True)
class NamedRow:
    """A row's columns by normalised name, and the transfer that they describe; None for what is not logged."""

    columns: Mapping[str, Any]
    session: str | None
    size: float | None
    sent: float | None
    """Bytes sent by the connection."""
    seconds: float | None
    min_rtt_ms: float | None
    is_served: bool
    """Whether a server measured the time."""
    has_smoothed_rtt: bool
    """Whether the only RTT is a smoothed one."""


def named_row(row: Mapping[str, Any], fields: Fields) -> NamedRow:
    """Read a row as a transfer."""
    columns = {normal(str(key)): value for key, value in row.items() if value is not None}
    named = columns | {fields[name]: value for name, value in columns.items() if name in fields}
    session = _cmcd(named)["sid"] or _first(named, (*_SESSIONS, *_PEERS))
    name = None if session is None else str(session)
    is_served = _is_served(named)
    min_rtt = _scaled(named, _MIN_RTTS if is_served else _PLAYER_RTTS)
    has_smoothed = min_rtt is None and _scaled(named, _RTTS) is not None
    return NamedRow(named, name, *_sizes(named), _scaled(named, _DURATIONS), min_rtt, is_served, has_smoothed)


def is_below_zero(row: Mapping[str, Any], fields: Fields, others: Iterable[str] = ()) -> bool:
    """Whether a size or a time of a transfer is negative, which is impossible; `others` are further columns to check."""
    columns = named_row(row, fields).columns
    named = {**columns, **{fields[name]: value for name, value in columns.items() if name in fields}}
    return any(_is_below_zero(named.get(name)) for name in (*_SIZES, _SENT, *_DURATIONS, *others))


def _is_below_zero(value: Any) -> bool:
    try:
        return float(value) < 0
    except (TypeError, ValueError):
        return False


def _measured(named: Mapping[str, Any]) -> Sample | None:
    cmcd = _cmcd(named)
    session = str(cmcd["sid"] or _first(named, (*_SESSIONS, *_PEERS)) or EVERYONE)
    rtt = _scaled(named, _RTTS)
    rate = _scaled(named, RATES)
    if rate is None and (delivered := number(_first(named, _DELIVERY))) is not None:
        rate = delivered * 8e-6
    if rate is not None:
        limited = str(_first(named, _LIMITED) or "").lower() in ("1", "true", "yes")
        return Sample(session, rate, rtt, limited)
    (size, _), seconds = _sizes(named), _scaled(named, _DURATIONS)
    if size is not None and seconds is not None:
        return _transfer(session, size, seconds, rtt, _is_served(named))
    return None if cmcd["mtp_kbps"] is None else Sample(session, cmcd["mtp_kbps"] / 1000, rtt)


def _transfer(session: str, size: float, seconds: float, rtt_ms: float | None, is_served: bool) -> Sample:
    """The sample of a served request; if it is too small or too quick to say anything about the path, it counts as limited."""
    if size < MIN_BYTES or seconds <= 0:
        return Sample(session, None, rtt_ms, is_limited=True)
    return Sample(session, size * 8e-6 / seconds, rtt_ms, is_served=is_served)


def _is_served(named: Mapping[str, Any]) -> bool:
    logged = (own for own in _DURATIONS if own in named)
    return next((own for own in logged if number(named[own]) is not None), "") in _SERVER_TIMES


def number(value: Any) -> float | None:
    """A finite number that is not negative, of a list (CMCD 2) the first one; None otherwise (logs write "-" for "not known")."""
    if value is None:
        return None
    value = value[0] if isinstance(value, list) and value else value
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if 0 <= found < _MAX_BPS else None


def _cmcd(named: Mapping[str, Any]) -> Cmcd:
    """CMCD data from a query, from logged headers (`http_cmcd_request` and the like), or from Akamai's `//1.0@V/bl=…`."""
    asked = [word for word in _asked(named) if "CMCD=" in word]
    bare = re.sub(r"^//[\d.]+@V/", "", str(named.get("cmcd", "")))
    parsed = [engine.parse_cmcd(text) for text in (_headers(named), *asked, bare) if text]
    return next((one for one in parsed if one["sid"] is not None or one["mtp_kbps"] is not None), None) or _no_cmcd()


@cache
def _no_cmcd() -> Cmcd:
    return engine.parse_cmcd("")


def _sizes(named: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Bytes of the transfer, and what its connection sent."""
    sizes = tuple(name for name in _SIZES if name in named)
    sent = number(named.get(_SENT))
    return (number(_first(named, sizes)), sent) if sizes else (sent, None)


def _headers(named: Mapping[str, Any]) -> str:
    """The CMCD headers, joined by commas."""
    return ",".join(str(value) for key, value in named.items() if "cmcd_" in key and "=" in str(value))


def _asked(named: Mapping[str, Any]) -> Iterator[str]:
    """The words of a request, its URL among them."""
    return (word for name in _ASKED if name in named for word in str(named[name]).split())


def _first(named: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((named[name] for name in names if named.get(name) not in (None, "", "-")), None)


def _scaled(named: Mapping[str, Any], factors: Mapping[str, float]) -> float | None:
    """The value of the first known column, converted by `factors`."""
    found = ((number(named[name]), factor) for name, factor in factors.items() if name in named)
    return next((value * factor for value, factor in found if value is not None), None)

"""Logs as streams of transfers, session by session, for `playpath population infer`.

A file is read line by line, compressed or not, so that memory holds only the sessions under way: a session is complete when it had
no row for half an hour, or when its file ends. A file without a column for sessions is one session with the file's name. Invalid
rows are counted by what is wrong with them (`Faults`) and reported.
"""

import bz2
import csv
import gzip
import hashlib
import io
import itertools
import lzma
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from playpath.base.errors import InputError, unknown_name
from playpath.base.words import listing
from playpath.population import log_counters
from playpath.population.log_groups import moment, normal
from playpath.population.log_lines import Reading, is_whole, json_rows, nginx_format, nginx_row, remedy_for, w3c_rows
from playpath.population.log_names import Names
from playpath.population.log_rows import SERVED_NOTE, check_fields, is_below_zero, named_row, number

_PACKED: Mapping[bytes, Callable[..., IO[Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""First bytes of compressed files, whatever their names."""
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
"""Endings of compressed files."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_IDLE_S = 1800.0
"""A session without a request for this long has ended."""
_LOOKED_AT = 5
"""Lines by which the kind of a log is told."""
_LONGEST_S = 600.0
"""Longest transfer; a longer one means that the clock jumped."""
_FAR_S = 6 * 3600.0
"""A row that is this far ahead of those before and after it has a wrong clock."""
_NAMELESS = "rows name no session, where others of their file do, and are left out"
_BACK = "rows begin and end before the row above them: a clock that jumped, or rows out of order"
_AHEAD = "rows are hours ahead of those around them (a clock that is wrong), and left out where the rest of their session is not"

_BACK_S = 1.0
"""Rounding cannot make a row's time this much earlier than that of the row before."""

_PAYLOAD = 1448
"""Bytes of a full packet."""
_SENT = ("bytes_sent_wire", "tcpi_bytes_sent", "tcp_bytes_sent", "tcpinfo_bytes_sent")
_CONNECTIONS = ("connection", "connection_id", "conn_id", "conn")
_RETRANSMITTED = ("bytes_retrans", "tcpi_bytes_retrans", "retransmitted_bytes", "tcpinfo_bytes_retrans")

EMULATED = {"start_time", "end_time", "size", "trans_time", "cwnd", "rtt", "min_rtt", "delivery_rate"}
"""Columns of the published chunk logs of Puffer and of emulations of it; units: kB of 1000 bytes, ms, segments."""

_STARTS = ("start_time", "time_start", "start", "request_start", "requested_at", "reqtimesec", "start_s", "start_ms")
_ENDS = ("end_time", "time_end", "end", "msec", "time_iso8601", "time_local", "timestamp", "datetime", "ts", "time")
_FASTLY = "time_elapsed"
"""In Fastly's formats `timestamp` is `time.start`."""
_FROM_BEGIN = {"start_s": 1.0, "start_ms": 1e-3}
"""Columns whose times may count from the start of the session."""
_FIRST_BYTES = {"first_byte_ms": 1e-3, "ttfb_ms": 1e-3, "ttfb": 1e-3, "first_byte_s": 1.0, "time_to_first_byte": 1.0}
_SOCKET: Mapping[str, tuple[tuple[str, float], ...]] = {
    "cwnd": (("cwnd", 1.0), ("snd_cwnd", 1.0), ("tcpi_snd_cwnd", 1.0), ("tcpinfo_snd_cwnd", 1.0)),
    "ssthresh": (("ssthresh", 1.0), ("snd_ssthresh", 1.0), ("tcpi_snd_ssthresh", 1.0)),
    "rto_s": (("rto_ms", 1e-3), ("tcpi_rto", 1e-6), ("rto", 1e-6)),
    "idle_s": (("last_snd_s", 1.0), ("tcpi_last_data_sent", 1e-3), ("last_data_sent", 1e-3)),
}
_SMOOTHED = "rows tell a smoothed RTT, which has queues in it and is not used: log min_rtt, or the player's time of the first byte"
_WRITTEN = "rows tell when the server wrote the first byte, not when it arrived, which is not used"
_LOSS_SHARES = ("loss_percent", "packet_loss_percent", "loss")
_SHARE = "rows tell a share of lost packets, which is not used: log the bytes that were sent again (bytes_retrans)"
_MIXED = (
    "sessions have counters of several connections in one column, so their retransmissions are not used: log the connection as well, or "
    "what was sent again in each transfer"
)
_NO_SSTHRESH = 2**31 - 1


@dataclass
class Session:
    """The transfers of one viewer's session, in the order of their requests."""

    name: str
    transfers: list[dict[str, Any]]
    """In the engine's form: at_s, took_s, bytes, first_byte_s, again, socket."""
    retransmitted: float | None = None
    """Share of the bytes that was retransmitted, if the log counts it."""
    viewer: str = ""
    """The viewer's name in the log, before sessions with the same name get numbers."""


@dataclass
class Faults:
    """What was left out or merged, and how often."""

    counts: Counter[str] = field(default_factory=Counter)
    has_server_times: bool = False

    def notes(self) -> list[str]:
        served = [SERVED_NOTE] if self.has_server_times else []
        return [*served, *(f"{count} {what}" for what, count in sorted(self.counts.items()))]


def sessions(files: Iterable[Path], kind: str, how: Reading, names: Names, faults: Faults) -> Iterator[Session]:
    """All sessions of some logs, each yielded as soon as it is complete."""
    for file in files:
        found = False
        for session in _of_file(file, kind, how, names, faults):
            found = True
            yield session
        if not found:
            raise InputError(f"{file}: {_unreadable(file, kind, how)}")


def _unreadable(file: Path, kind: str, how: Reading) -> str:
    """Why no row of a log could be used, and its first row but headings."""
    with _opened(file) as lines:
        rows = [line.strip() for line in itertools.islice((line for line in lines if line.strip()), 20)]
    what = f"no row gives {listing(_missing(rows, kind, how, file))}"
    if not rows:
        return f"{what}; the file is empty"
    kind = _kind(rows[:_LOOKED_AT], how) if kind == "auto" else kind
    first = next((row for row in rows[kind in ("beacons", "tcpinfo") :] if not row.startswith("#")), "")
    shown = f"; the first is: {first[:120]}" if first.isprintable() and first else ""
    return f"{what}; read as {kind}: {remedy_for(kind)}{shown}"


def _missing(rows: Iterable[str], kind: str, how: Reading, file: Path) -> list[str]:
    """What none of these rows gives of all that a transfer needs, with a name that a column of it may have."""
    read = [columns for columns, _ in _columns(rows, kind, how, file) if columns is not None]
    named = [named_row(columns, how.fields) for columns in read]
    found = {
        "the time of a request (start_time)": any(_asked_at(row.columns, 0.0) for row in named),
        "its size (bytes)": any(row.size is not None for row in named),
        "how long it took (duration_ms)": any(row.seconds is not None for row in named),
    }
    return [what for what, is_there in found.items() if not is_there] or list(found)


@dataclass(slots=True)  # all rows of the sessions under way are in memory
class _Row:
    session: str | None
    at: float
    took: float
    bytes: float
    first_byte: float | None
    socket: dict[str, float]
    sent: float | None = None
    retransmitted: float | None = None
    is_served: bool = False
    """A server measured its times."""
    connection: str | None = None
    whole: float | None = None
    """Its moment in the log, if that is one of whole seconds: then it began within a second after `at`."""
    unused: tuple[str, ...] = ()
    """What it tells besides that says less of the path than it seems to."""
    content: int = 0
    """Hash of all its columns, in a log of whole seconds."""


Columns = Iterator[tuple[Mapping[str, Any] | None, Callable[[Mapping[str, Any]], _Row | None]]]


_END = _Row(None, math.inf, 0.0, 0.0, None, {})
"""Behind the last row of a file."""


@dataclass
class _Clock:
    """How late it is in a log, some of whose rows have wrong clocks: it goes hours on, or back, where rows of two sessions say so."""

    now: float = -math.inf

    def is_wrong(self, row: _Row, after: _Row) -> bool:
        """Whether a row alone is hours ahead."""
        return row.at - self.now > _FAR_S and row.at - after.at > _FAR_S

    def go(self, row: _Row, after: _Row) -> None:
        end = row.at + row.took
        if self.now == -math.inf or abs(end - self.now) <= _FAR_S:
            self.now = max(self.now, end)
        elif row.session != after.session and abs(row.at - after.at) <= _FAR_S:
            self.now = end


def _of_file(file: Path, kind: str, how: Reading, names: Names, faults: Faults) -> Iterator[Session]:
    # A table of users cannot name a file of several lines.
    own = stem(file) if stem(file).isprintable() else in_file_name(stem(file))
    active: dict[str, list[_Row]] = {}
    latest: dict[str, float] = {}
    clock = _Clock()
    has_names = False
    swept = -math.inf
    for row, after in itertools.pairwise(itertools.chain(_rows(file, kind, how, faults), [_END])):
        if row.session is not None and not has_names:
            has_names = True
            if nameless := active.pop(own, []):
                faults.counts[_NAMELESS] += len(nameless)
        elif row.session is None and has_names:
            faults.counts[_NAMELESS] += 1
            continue
        name = own if row.session is None else in_file_name(names.of(row.session))
        end = row.at + row.took
        if clock.is_wrong(row, after) and row.at - latest.get(name, -math.inf) > _FAR_S:
            faults.counts[_AHEAD] += 1
            if name in active:
                continue
        else:
            clock.go(row, after)
        if name in active and _is_back(active[name][-1], row):
            faults.counts[_BACK] += 1
        if name in active and (row.at - latest[name] > _IDLE_S or active[name][-1].at - end > _IDLE_S):
            yield from _complete(name, active.pop(name), faults)
        active.setdefault(name, []).append(row)
        latest[name] = max(latest.get(name, end), end) if len(active[name]) > 1 else end
        swept = min(swept, clock.now)
        if clock.now - swept > _IDLE_S:
            swept = clock.now
            for old in [name for name in active if clock.now - latest[name] > _IDLE_S]:
                del latest[old]
                yield from _complete(old, active.pop(old), faults)
    for name, rows in active.items():
        yield from _complete(name, rows, faults)


def _is_back(before: _Row, row: _Row) -> bool:
    """Whether a row is out of order: logs are sorted by the requests' starts or ends, so both cannot be earlier than the row before."""
    return row.at < before.at - _BACK_S and row.at + row.took < before.at + before.took - _BACK_S


def in_file_name(name: str) -> str:
    """A session's name in a form that is safe in file names, for the files of its draws. If characters are replaced, a part of the name's
    hash is added to keep it unique: two IPv6 addresses may differ only in their colons.
    """
    safe = re.sub(r"[^\w.-]+", "_", name)[:80]
    return safe if safe == name else f"{safe}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def stem(file: Path) -> str:
    """A file's name without the endings for compression and format."""
    return Path(file.stem).stem if file.suffix in ENDINGS else file.stem


def _complete(name: str, rows: list[_Row], faults: Faults) -> Iterator[Session]:
    """In order, with transfers that overlap taken as one."""
    if copies := len(rows) - len(once := {_identity(row): row for row in rows}):
        faults.counts["rows have the session, times and size of another and are left out"] += copies
        rows = list(once.values())
    # Whole seconds do not tell the order within one, but rows are written in theirs.
    late_s = 1.0 if all(row.whole is not None for row in rows) else 0.0
    rows.sort(key=lambda row: row.whole if late_s and row.whole is not None else row.at)
    transfers: list[dict[str, Any]] = []
    retransmitted = _retransmitted(rows, faults)
    begin = free = -math.inf  # of the transfer before: what may be merged with it, and when the next one may begin
    first = min(row.at for row in rows)
    for row in rows:
        at = row.at - first
        at = free if at < free < at + late_s else at
        again = None if row.retransmitted is None else round(row.retransmitted / _PAYLOAD)
        if at < free - 0.002:
            last = transfers[-1]
            faults.counts["transfers overlap the one before and are merged with it"] += 1
            last["bytes"] += row.bytes
            last["at_s"] = max(begin, min(last["at_s"], at))
            free = max(free, at + row.took)
            last["took_s"] = free - last["at_s"]
            if again is not None and "again" in last:
                last["again"] += again
            continue
        transfer: dict[str, Any] = {"at_s": at, "took_s": row.took, "bytes": row.bytes}
        begin, free = free, at + row.took
        if row.first_byte is not None and 0 < row.first_byte <= row.took:
            transfer["first_byte_s"] = row.first_byte
        if again is not None:
            transfer["again"] = again
        if row.socket:
            transfer["socket"] = row.socket
        transfers.append(transfer)
    began = transfers[0]["at_s"]
    for transfer in transfers:
        transfer["at_s"] -= began
    yield Session(name, transfers, retransmitted)


def _identity(row: _Row) -> tuple[float, ...]:
    """What only a row that is written twice shares with another: within a whole second two transfers may have the same time and size, but
    not the same request.
    """
    return (row.at, row.took, row.bytes, row.content)


def _ended(row: _Row) -> float:
    return round(row.at + row.took, 3)


def _retransmitted(rows: list[_Row], faults: Faults) -> float | None:
    """Share of the bytes that was retransmitted. In each row, the counter is replaced by the transfer's own figure, if it is known."""
    counted = sorted((row for row in rows if row.retransmitted is not None), key=_ended)
    repeated = log_counters.increments(
        [(row.connection, row.retransmitted) for row in counted if row.retransmitted is not None]
    )
    sent = log_counters.increments([(row.connection, row.sent) for row in counted if row.sent is not None])
    for row, own in zip(counted, repeated or itertools.repeat(None), strict=False):
        row.retransmitted = own
    if repeated is None:
        faults.counts[_MIXED] += 1
        return None
    again = sum(filter(None, repeated))
    # If the sent bytes are not logged: the sizes of the transfers plus the retransmissions.
    total = sum(filter(None, sent)) if sent else sum(row.bytes for row in counted) + again
    return again / total if total > 0 and again <= total else None


def _rows(file: Path, kind: str, how: Reading, faults: Faults) -> Iterator[_Row]:
    with _opened(file) as lines:
        for columns, read in _whole(_columns(lines, kind, how, file), file):
            row = None if columns is None else read(columns)
            if row is None and columns is not None and is_below_zero(columns, how.fields, ("trans_time", *_STARTS)):
                faults.counts["rows have a time or a size below zero and are left out"] += 1
            elif row is None:
                faults.counts["rows could not be read and are left out"] += 1
            elif not (row.took > 0 and row.bytes > 0):
                faults.counts["rows have no time or no size above zero and are left out"] += 1
            elif row.took > _LONGEST_S:
                faults.counts[f"rows took longer than {_LONGEST_S:.0f} s (a clock that jumped) and are left out"] += 1
            else:
                faults.has_server_times |= row.is_served
                faults.counts.update(row.unused)
                if row.whole is not None:
                    row.content = hash(tuple(map(str, (columns or {}).values())))
                yield row


def _whole(columns: Columns, file: Path) -> Columns:
    """Turn errors of the readers, which do not name the file, into ones that do."""
    try:
        yield from columns
    except (EOFError, OSError, zlib.error, lzma.LZMAError, csv.Error) as error:
        raise InputError(f"{file}: is damaged or ends too early ({str(error).rstrip('.').lower()})") from None


def _opened(file: Path) -> io.TextIOBase:
    try:
        if file.exists() and not file.is_file():
            raise InputError(f"{file}: is {'a folder' if file.is_dir() else 'a device, a pipe or a socket'}")
        with file.open("rb") as packed:
            begins = packed.read(6)
        if begins.startswith(_ZSTD):
            raise InputError(
                f"{file}: is compressed with zstd, which is not supported; allowed: plain text, gzip, bzip2, xz"
            )
        opened: Callable[..., Any] = next((opens for magic, opens in _PACKED.items() if begins.startswith(magic)), open)
        stream = opened(file, "rt", encoding="utf-8-sig", errors="replace", newline=None)
        return stream
    except OSError as error:
        raise InputError(f"{file}: {(error.strerror or str(error)).lower()}") from None


def _columns(lines: Iterable[str], kind: str, how: Reading, file: Path) -> Columns:
    """Each row as columns, with the function that reads it."""
    rest = iter(lines)
    head = list(itertools.islice((line for line in rest if line.strip()), _LOOKED_AT)) or [""]
    first, stream = head[0], itertools.chain(head[1:], rest)
    kind = _kind(head, how) if kind == "auto" else kind
    if kind in ("beacons", "tcpinfo"):
        yield from _table(first, stream, how)
    elif kind == "json":
        whole = ["".join(_chained(first, stream))] if is_whole(first) else _chained(first, stream)
        for columns in itertools.chain.from_iterable(map(json_rows, whole)):
            yield columns, lambda columns: _row(columns, how)
    elif kind == "nginx":
        form = nginx_format(how)
        for line in _chained(first, stream):
            yield nginx_row(line, form, how), lambda columns: _row(columns, how)
    elif kind == "w3c":
        for row in w3c_rows(_chained(first, stream), how):
            yield row, lambda columns: _row(columns, how)
    else:
        raise InputError(
            f"{file}: {kind} logs have no size and time of each transfer; infer reads nginx, w3c, json and beacons"
        )


def _chained(first: str, stream: Iterator[str]) -> Iterator[str]:
    yield first
    yield from (line for line in stream if line.strip())


def _kind(head: list[str], how: Reading) -> str:
    """The kind of a log by its first lines, of which the very first may be cut off in an access log."""
    first = head[0]
    if how.log_format:
        return "nginx"
    if first.startswith("#"):
        return "w3c"
    if first.lstrip().startswith(("{", "[{")) or first.strip() == "[":
        return "json"
    return "nginx" if any(re.search(r'"[A-Z]+ [^"]* HTTP/', line) for line in head) else "beacons"


def _table(head: str, stream: Iterator[str], how: Reading) -> Columns:
    delimiter = max(",;\t", key=head.count)
    names = [normal(cell) for cell in next(csv.reader([head], delimiter=delimiter), [])]
    check_fields(how.fields, names)
    read = _emulated if set(names) >= EMULATED else lambda columns: _row(columns, how)
    for cells in csv.reader(stream, delimiter=delimiter):
        if cells:
            yield (dict(zip(names, cells, strict=False)) if len(cells) == len(names) else None), read


def _emulated(columns: Mapping[str, Any]) -> _Row | None:
    """Read a row of Puffer's chunk logs, or of emulations of them."""
    when, took, size = moment(columns["start_time"]), number(columns["trans_time"]), number(columns["size"])
    if when is None or took is None or size is None:
        return None
    factors = (("cwnd", "cwnd", 1.0), ("rtt_s", "rtt", 1e-3), ("rto_s", "rto", 1e-3), ("min_rtt_s", "min_rtt", 1e-3))
    fields = (*factors, ("idle_s", "last_snd", 1.0), ("ssthresh", "ssthresh", 1.0))
    socket = _positive((ours, columns.get(name), factor) for ours, name, factor in fields)
    sent, again = number(columns.get("bytes_sent")), number(columns.get("bytes_retrans"))
    return _Row(None, when.timestamp(), took / 1e3, size * 1e3, None, socket, sent, again)


def _row(row: Mapping[str, Any], how: Reading) -> _Row | None:
    named = named_row(row, how.fields)
    if named.size is None or named.seconds is None:
        return None
    columns = named.columns
    asked = _asked_at(columns, named.seconds)
    if asked is None:
        return None
    at, whole = asked
    first_byte = _in_seconds(columns, _FIRST_BYTES)
    fields = ((ours, columns.get(name), factor) for ours, known in _SOCKET.items() for name, factor in known)
    socket = _positive(fields)
    if named.min_rtt_ms:
        socket["min_rtt_s"] = named.min_rtt_ms / 1e3
    sent, again = _figure(columns, _SENT), _figure(columns, _RETRANSMITTED)
    sent = named.sent if sent is None else sent
    unused = [_SMOOTHED] if named.has_smoothed_rtt else []
    if named.is_served and first_byte is not None:
        first_byte = None
        unused.append(_WRITTEN)
    if again is None and _figure(columns, _LOSS_SHARES) is not None:
        unused.append(_SHARE)
    served = named.is_served
    connection = next((str(columns[name]) for name in _CONNECTIONS if name in columns), None)
    return _Row(
        named.session,
        at,
        named.seconds,
        named.size,
        first_byte,
        socket,
        sent,
        again,
        served,
        connection,
        whole,
        tuple(unused),
    )


def _asked_at(columns: Mapping[str, Any], took: float) -> tuple[float, float | None] | None:
    """The time of a transfer's request, which a log gives directly or by its end; and what the log gives, if it is whole seconds."""
    starts = (*_STARTS, "timestamp") if _FASTLY in columns else _STARTS
    start = next((when for name in starts if (when := moment(columns.get(name))) is not None), None)
    both = f"{columns['date']} {columns['time']}" if {"date", "time"} <= columns.keys() else None
    end = moment(both) or next((when for name in _ENDS if (when := moment(columns.get(name))) is not None), None)
    told = start or end
    if told is None:
        begin = _in_seconds(columns, _FROM_BEGIN)
        return None if begin is None else (begin, None)
    at = told.timestamp()
    return at if start else at - took, None if told.microsecond else at


def _in_seconds(columns: Mapping[str, Any], units: Mapping[str, float]) -> float | None:
    return next(
        (value * unit for name, unit in units.items() if (value := number(columns.get(name))) is not None), None
    )


def _figure(columns: Mapping[str, Any], names: Iterable[str]) -> float | None:
    return next((value for name in names if (value := number(columns.get(name))) is not None), None)


def _positive(fields: Iterable[tuple[str, Any, float]]) -> dict[str, float]:
    """The values that are present and above zero; zero means that nothing was recorded."""
    found: dict[str, float] = {}
    for ours, value, factor in fields:
        figure = number(value)
        if figure is not None and figure > 0 and not (ours == "ssthresh" and figure >= _NO_SSTHRESH):
            found.setdefault(ours, figure * factor)
    return found


KINDS = ("auto", "nginx", "w3c", "json", "beacons")
"""Kinds of logs that have the size and the duration of each transfer."""


def check_files(files: Iterable[Path]) -> None:
    """Refuse a folder, and a log that is named twice: its viewers would count twice."""
    seen = set[Path]()
    for file in files:
        if file.is_dir():
            raise InputError(f"{file}: is a folder; give the logs in it ({file}/*)")
        if file.resolve() in seen:
            raise InputError(f"{file}: is named twice; name each log once")
        seen.add(file.resolve())


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise unknown_name("kind of log", kind, KINDS)

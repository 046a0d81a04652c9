"""A users' table from what people have: access logs, CMCD, player beacons, TCP_INFO samples.

Every reader gives *samples* (a session, when, how many bytes in which time, or a throughput; an RTT), and one estimator makes
rows of a users' table of them. What a path can carry is inferred, with these caveats:

- a transfer that waited for the sender or the player says less than the path could carry: samples marked application-limited, and
  objects under 50 kB (their time is a few round trips, whatever the rate), are left out;
- throughput is what one flow of *today's* sender got, queues, losses and competitors included: a floor of the path's rate, not the rate.
  The 90th percentile of a session's samples is taken, which is nearer to the path than the mean;
- the RTT is the smallest sample: what queues add belongs to the sender, not to the path. A log without RTTs gives none, and the column is
  left out.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from playpath import engine
from playpath.errors import InputError, unknown_name
from playpath.files import read_text, rows_of

LEAST_BYTES = 50_000
"""Objects smaller than this tell of round trips, not of the rate."""
_PERCENTILE = 0.9
_MOST_BPS = 1e12
NGINX_FORMAT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
    "$request_time $tcpinfo_rtt"
)
"""nginx's combined format with the two figures that an estimate needs, `$request_time` and `$tcpinfo_rtt`."""


@dataclass(frozen=True)
class Sample:
    """One transfer, or one look at a connection.

    Attributes
    ----------
    session : str
        Whose it is: CMCD's `sid`, the client's address, or a column.
    mbps : float or None
        Throughput.
    rtt_ms : float or None
    is_limited : bool
        The sender had nothing to send for a part of the time: its throughput says nothing of the path.
    """

    session: str
    mbps: float | None
    rtt_ms: float | None = None
    is_limited: bool = False


class User(TypedDict):
    """A row of the users' table."""

    name: str
    rate_mbps: float
    rtt_ms: NotRequired[float]
    samples: int


@dataclass(frozen=True)
class Import:
    """What logs gave.

    Attributes
    ----------
    rows : list of User
    notes : list of str
        What was left out, and why.
    """

    rows: list[User]
    notes: list[str]

    def to_csv(self) -> str:
        """The users' table."""
        names = ["name", "rate_mbps", *(["rtt_ms"] if any("rtt_ms" in row for row in self.rows) else []), "samples"]
        text = io.StringIO()
        writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()


def read_logs(files: Iterable[Path], kind: str = "auto", *, log_format: str = NGINX_FORMAT) -> Import:
    """Read logs of one kind and estimate each session's path.

    Parameters
    ----------
    files : iterable of Path
    kind : str
        `"auto"`, or one of `KINDS`.
    log_format : str
        nginx's `log_format`, for the kind `nginx`.

    Raises
    ------
    InputError
        A file cannot be read, or nothing in it can be used: one line.
    """
    if kind != "auto" and kind not in KINDS:
        raise unknown_name("kind of log", kind, ("auto", *KINDS))
    samples: list[Sample] = []
    notes: list[str] = []
    for file in files:
        text = read_text(file)
        found = _detect(text, file) if kind == "auto" else kind
        try:
            read, skipped = _take(KINDS[found](text, log_format))
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        samples += read
        if skipped:
            notes.append(f"{file}: {skipped} lines could not be read and are left out")
    return _estimate(samples, notes)


def _take(items: Iterator[Sample | None]) -> tuple[list[Sample], int]:
    samples, skipped = [], 0
    for item in items:
        if item is None:
            skipped += 1
        else:
            samples.append(item)
    return samples, skipped


def _estimate(samples: list[Sample], notes: list[str]) -> Import:
    by_session: dict[str, list[Sample]] = {}
    for sample in samples:
        by_session.setdefault(sample.session, []).append(sample)
    rows, poor = [], 0
    for session, own in by_session.items():
        rates = [s.mbps for s in own if s.mbps is not None and not s.is_limited]
        rtts = [s.rtt_ms for s in own if s.rtt_ms is not None and s.rtt_ms > 0]
        if not rates:
            poor += 1
            continue
        row: User = {
            "name": session,
            "rate_mbps": _digits(float(np.quantile(rates, _PERCENTILE))),
            "samples": len(rates),
        }
        if rtts:
            row["rtt_ms"] = _digits(min(rtts))
        rows.append(row)
    if not rows:
        raise InputError(
            f"no session can be used: {len(samples)} samples, none with a throughput of its path (objects under "
            f"{LEAST_BYTES // 1000} kB and application-limited samples tell nothing of it)"
        )
    limited = sum(s.is_limited for s in samples)
    if limited:
        notes.append(f"{limited} of {len(samples)} samples are application-limited and left out")
    if poor:
        notes.append(f"{poor} sessions have no sample of their path and are left out")
    without = [row for row in rows if "rtt_ms" not in row]
    if without and len(without) < len(rows):
        rows = [row for row in rows if "rtt_ms" in row]
        notes.append(f"{len(without)} sessions have no RTT and are left out")
    elif without:
        notes.append("no RTT is known: give the scenario's path an `rtt`, or a distribution")
    notes.append(
        "rates are what a flow of today's sender got (90th percentile of a session's samples): a floor of what the path can carry"
    )
    return Import(rows, notes)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _transfer(session: str, size: float, seconds: float, rtt_ms: float | None) -> Sample:
    """A request served: too small or too quick to tell of the path counts as limited."""
    if size < LEAST_BYTES or seconds <= 0:
        return Sample(session, None, rtt_ms, is_limited=True)
    return Sample(session, size * 8e-6 / seconds, rtt_ms)


def _detect(text: str, file: Path) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    if text.startswith(("#Version", "#Fields")):
        return "w3c"
    cells = {cell.strip().lower() for cell in first.split(",")}
    if {"delivery_rate"} & cells:
        return "tcpinfo"
    if cells & _RATES.keys() and len(cells) > 1:
        return "beacons"
    if re.search(r'"(?:GET|HEAD) [^"]* HTTP/', first):
        return "nginx"
    if first.lstrip().startswith("{") and "delivery_rate" in first:
        return "tcpinfo"
    if "CMCD=" in first or re.search(r"\b(?:bl|br|mtp|sid)=", first):
        return "cmcd"
    raise InputError(f"{file}: the kind of log is not recognised; give --kind, one of: {', '.join(KINDS)}")


def _nginx(text: str, log_format: str) -> Iterator[Sample | None]:
    pattern, names = _compile(log_format)
    size = next((n for n in ("body_bytes_sent", "bytes_sent") if n in names), None)
    if size is None or "request_time" not in names:
        raise InputError(
            "the log format needs $body_bytes_sent (or $bytes_sent) and $request_time; add them to nginx's log_format"
        )
    for line in text.splitlines():
        if not line.strip():
            continue
        found = pattern.fullmatch(line.rstrip())
        yield None if found is None else _request(found.groupdict(), size)


def _request(fields: Mapping[str, str], size: str) -> Sample | None:
    number, seconds = _float(fields[size]), _float(fields["request_time"])
    if number is None or seconds is None:
        return None
    rtt_us = _float(fields.get("tcpinfo_rtt", ""))
    query = fields.get("request", "").split(" ")[1] if " " in fields.get("request", "") else ""
    headers = ",".join(v for k, v in fields.items() if k.startswith("http_cmcd_") and v not in ("-", ""))
    told = (engine.parse_cmcd(text)["sid"] for text in (headers, query))
    session = next((sid for sid in told if sid is not None), None) or fields.get("remote_addr", "all")
    return _transfer(session, number, seconds, None if rtt_us is None else rtt_us / 1000)


def _compile(log_format: str) -> tuple[re.Pattern[str], set[str]]:
    """Nginx's log_format as a pattern: each variable takes the text up to the character that follows it, which nginx escapes in quoted
    ones. No way back: a hostile line costs no more than its length.
    """
    parts = re.split(r"\$(\w+|\{\w+\})", log_format)
    pattern, names = "", set()
    for index, part in enumerate(parts):
        if index % 2 == 0:
            pattern += re.escape(part)
            continue
        name, behind = part.strip("{}"), parts[index + 1][:1]
        text = f"[^{re.escape(behind)}]*+" if behind else ".*" if index == len(parts) - 2 else r"\S*+"
        pattern += text if name in names else f"(?P<{name}>{text})"
        names.add(name)
    return re.compile(pattern), names


def _w3c(text: str, _: str) -> Iterator[Sample | None]:
    """W3C extended logs, as CloudFront writes them: `#Fields:` names the columns; `time-taken` in seconds."""
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("#Fields:"):
            names = line.removeprefix("#Fields:").split()
            if not {"sc-bytes", "time-taken"} <= set(names):
                raise InputError("the log has no fields sc-bytes and time-taken")
        elif line.strip() and not line.startswith("#"):
            cells = dict(zip(names, line.split("\t") if "\t" in line else line.split(), strict=False))
            size, seconds = _float(cells.get("sc-bytes", "")), _float(cells.get("time-taken", ""))
            told = engine.parse_cmcd(cells.get("cs-uri-query", ""))
            session = told["sid"] or cells.get("c-ip", "all")
            yield None if size is None or seconds is None else _transfer(session, size, seconds, None)


def _cmcd(text: str, _: str) -> Iterator[Sample | None]:
    """A line for each request: its URL, or its CMCD headers. The player's own measurement (`mtp`) is the throughput."""
    for line in text.splitlines():
        if not line.strip():
            continue
        told = engine.parse_cmcd(
            re.sub(r"(?i)[\s;|]*\bCMCD-\w+:\s*", ",", line.strip()).lstrip(",") if "CMCD=" not in line else line.strip()
        )
        if told["mtp_kbps"] is None:
            yield None if told["sid"] is None else Sample(told["sid"], None, is_limited=True)
        else:
            yield Sample(told["sid"] or "all", told["mtp_kbps"] / 1000)


_RATES = {
    "throughput_mbps": 1.0,
    "throughput_kbps": 1e-3,
    "mtp_kbps": 1e-3,
    "throughput_bps": 1e-6,
    "bandwidth_kbps": 1e-3,
}
_SESSIONS = ("session", "session_id", "sid", "user", "name", "client", "connection", "peer")


def _beacons(text: str, _: str) -> Iterator[Sample | None]:
    """A CSV of players' reports: a column of `_RATES`, optionally a session (`_SESSIONS`), `rtt_ms`, `app_limited`."""
    reader = _table(text)
    rate = next((name for name in _RATES if name in reader.columns), None)
    if rate is None:
        raise InputError(f"no column of throughput; one of: {', '.join(_RATES)}")
    session = next((name for name in _SESSIONS if name in reader.columns), None)
    for row in reader.rows:
        value = _float(row.get(rate))
        limited = row.get("app_limited", "").lower() in ("1", "true", "yes")
        name = row.get(session, "all") if session else "all"
        yield None if value is None else Sample(name, value * _RATES[rate], _float(row.get("rtt_ms", "")), limited)


def _tcpinfo(text: str, _: str) -> Iterator[Sample | None]:
    """TCP_INFO samples, CSV or a JSON object a line, in the kernel's names: `delivery_rate` (bytes/s), `delivery_rate_app_limited`,
    `min_rtt` or `rtt` (us), and whose they are.
    """
    rows = map(_object, text.splitlines()) if text.lstrip().startswith("{") else _table(text).rows
    for row in rows:
        rate = _float(row.get("delivery_rate", ""))
        rtt = _float(row.get("min_rtt", row.get("rtt", "")))
        limited = str(row.get("delivery_rate_app_limited", "")).lower() in ("1", "true", "yes")
        session = str(next((row[name] for name in _SESSIONS if name in row), "all"))
        yield None if rate is None else Sample(session, rate * 8e-6, None if rtt is None else rtt / 1000, limited)


def _object(line: str) -> Mapping[str, Any]:
    """A JSON object; empty where a line is something else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class _Table:
    columns: list[str]
    rows: Iterable[dict[str, str]]


def _table(text: str) -> _Table:
    reader = rows_of(text)
    _, head = next(reader, (1, []))
    columns = [cell.strip().lower() for cell in head]
    return _Table(
        columns, (dict(zip(columns, (c.strip() for c in cells), strict=False)) for _, cells in reader if any(cells))
    )


def _float(text: Any) -> float | None:
    """A number that is finite and not negative; None otherwise ("-" is how logs say "not known")."""
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < _MOST_BPS else None


KINDS: Mapping[str, Callable[[str, str], Iterator[Sample | None]]] = {
    "nginx": _nginx,
    "w3c": _w3c,
    "cmcd": _cmcd,
    "beacons": _beacons,
    "tcpinfo": _tcpinfo,
}
"""Readers by kind: text and nginx's log format → samples; None for a line that cannot be read."""

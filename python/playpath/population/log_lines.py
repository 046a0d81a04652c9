"""Logs as rows: nginx's lines, W3C's columns, CSV, JSON objects, CMCD, dumps of `ss -ti`."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.files import rows_of
from playpath.population.log_groups import GroupColumns, moment, normal
from playpath.population.log_names import EVERYONE
from playpath.population.log_rows import MIN_BYTES, Fields, Sample, check_fields, has_throughput, number, sample_of

NGINX_FORMAT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
"""nginx's combined format; it is followed by what an estimate needs, in one of the forms that `_tail` reads."""


@dataclass(frozen=True)
class Reading:
    log_format: str = ""
    """nginx's `log_format`; if empty, the combined format followed by times."""
    fields: Fields = field(default_factory=dict)
    """What the user's columns mean."""
    keep: GroupColumns = field(default_factory=GroupColumns)
    """The columns to group by."""


def nginx(text: str, how: Reading) -> Iterator[Sample | None]:
    """An access log, a line for each request."""
    form = nginx_format(how)
    for line in filter(str.strip, text.splitlines()):
        row = nginx_row(line, form, how)
        yield None if row is None else sample_of(row, how.fields, how.keep)


def nginx_format(how: Reading) -> re.Pattern[str]:
    """The regular expression for a line."""
    pattern, names = _compile(how.log_format or NGINX_FORMAT)
    if how.log_format:
        check_fields(how.fields, names)
    sized = {"body_bytes_sent", "bytes_sent"} & names
    if how.log_format and not how.fields and (not sized or "request_time" not in names):
        raise InputError(
            "the log format needs $body_bytes_sent (or $bytes_sent) and $request_time; add them to nginx's log_format"
        )
    return pattern


def nginx_row(line: str, form: re.Pattern[str], how: Reading) -> dict[str, str] | None:
    """A line's variables; None if it has another format."""
    found = form.fullmatch(line.rstrip()) if how.log_format else form.match(line.rstrip())
    if found is None:
        return None
    row = found.groupdict()
    return row if how.log_format else row | _tail(line.rstrip()[found.end() :])


def _tail(text: str) -> dict[str, str]:
    """Parse what follows the combined format: `0.482`, `0.482 61000`, or `rt=0.482 urt="0.004" rtt=61000`."""
    named: dict[str, str] = dict(re.findall(r'(?<![\w.-])([\w.-]+)[=:]"?([^\s",]+)"?', text))
    ours = {"rt": "request_time", "rtt": "tcpinfo_rtt"}
    row = {ours.get(name.lower(), name): value for name, value in named.items()}
    bare = [] if named else text.replace('"', "").split()
    return row | dict(zip(("request_time", "tcpinfo_rtt"), bare, strict=False))


def _compile(log_format: str) -> tuple[re.Pattern[str], set[str]]:
    """Turn nginx's log_format into a regular expression: each variable extends to the character that follows it, which nginx escapes
    in quoted ones. The expression does not backtrack, so that a hostile line takes only linear time.
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


def remedy_for(kind: str) -> str:
    """What to do if no row of a log of this kind can be read."""
    return {
        "nginx": "give nginx's log_format with --log-format; it needs $body_bytes_sent and $request_time",
        "json": "give the meaning of the keys with --fields: session=…, bytes=…, duration_ms=… or throughput_kbps=…, rtt_ms=…",
        "w3c": "it needs the fields sc-bytes and time-taken",
    }.get(kind, "give the meaning of the columns with --fields")


def w3c(text: str, how: Reading) -> Iterator[Sample | None]:
    """W3C extended logs, as CloudFront and IIS write them."""
    for row in w3c_rows(text.splitlines(), how, required={"sc_bytes", "time_taken"}):
        yield sample_of(row, how.fields, how.keep)


def w3c_rows(lines: Iterable[str], how: Reading, required: Set[str] = frozenset()) -> Iterator[dict[str, str]]:
    """The rows of a W3C log: `#Fields:` names the columns. `time-taken` is in seconds, IIS's in ms."""
    names: list[str] = []
    is_iis = False
    for line in lines:
        if line.startswith("#"):
            is_iis |= "Internet Information" in line
            if line.startswith("#Fields:"):
                names = [normal(name) for name in line.removeprefix("#Fields:").split()]
                check_fields(how.fields, names)
                if not how.fields and not required <= set(names):
                    raise InputError("the log has no fields sc-bytes and time-taken")
                names = ["time_taken_ms" if is_iis and name == "time_taken" else name for name in names]
        elif line.strip():
            cells = line.rstrip("\n").split("\t") if "\t" in line else line.split()
            yield dict(zip(names, cells, strict=False))


def cmcd(text: str, how: Reading) -> Iterator[Sample | None]:
    """One line for each request, with its URL or its CMCD headers. The player's own measurement (`mtp`) is the throughput."""
    for line in filter(str.strip, text.splitlines()):
        cmcd = engine.parse_cmcd(
            re.sub(r"(?i)[\s;|]*\bCMCD-\w+:\s*", ",", line.strip()).lstrip(",") if "CMCD=" not in line else line.strip()
        )
        if cmcd["mtp_kbps"] is None:
            yield None if cmcd["sid"] is None else Sample(cmcd["sid"], None, is_limited=True)
        else:
            yield Sample(cmcd["sid"] or EVERYONE, cmcd["mtp_kbps"] / 1000, kept=how.keep.of({}, [line]))


def table(text: str, how: Reading) -> Iterator[Sample | None]:
    """A CSV with a header, separated by commas, semicolons or tabs: players' beacons, TCP_INFO samples, access logs from a database."""
    columns, rows = _columns(text)
    check_fields(how.fields, columns)
    if not has_throughput({how.fields.get(name, name) for name in map(normal, columns)}):
        raise InputError(
            "no column for throughput (such as throughput_kbps), nor for size and time (bytes, duration_ms); the columns are "
            f"{', '.join(columns)[:200]}; say which is which with --fields"
        )
    for row in rows:
        yield sample_of(row, how.fields, how.keep)


def objects(text: str, how: Reading) -> Iterator[Sample | None]:
    """JSON: an object a line (nginx with escape=json, Fastly, Akamai's DataStream, CMCD 2), or one list of them."""
    rows = list(json_rows(text))
    check_fields(how.fields, dict.fromkeys(key for row in rows if row for key in row))
    for row in rows:
        yield None if row is None else sample_of(row, how.fields, how.keep)


_HAR = re.compile(r'\s*\{\s*(?:"log"\s*:\s*(?:\{|$)|$)')
_MEDIA = re.compile(r"\.(?:m4[sav]|mp4|cmf[vat]|ts|webm|aac)(?:\?|$)")


def is_whole(first: str) -> bool:
    """Whether JSON that begins with this line is one list or a browser's HAR, not an object a line."""
    return first.lstrip().startswith("[") or _HAR.match(first) is not None


def _har_rows(entries: Iterable[Any]) -> Iterator[Mapping[str, Any] | None]:
    """The video and audio requests of a browser's network log (HAR 1.2). `time` counts from before the connection is open, `timings` are
    in ms and -1 where they do not apply.
    """
    for entry in entries:
        try:
            url, answer, timings = entry["request"]["url"], entry["response"], entry["timings"]
            content = answer["content"]
            if not (str(content.get("mimeType", "")).startswith(("video/", "audio/")) or _MEDIA.search(url)):
                continue
            spent = {name: max(0.0, number(value) or 0.0) for name, value in timings.items()}
            asked = moment(entry["startedDateTime"])
            sizes = (answer.get("_transferSize"), answer.get("bodySize"), content.get("size"))
        except (KeyError, TypeError, AttributeError):
            yield None
            continue
        before = sum(spent.get(name, 0.0) for name in ("blocked", "dns", "connect"))
        first_byte = spent.get("send", 0.0) + spent.get("wait", 0.0)
        yield {
            "start_time": None if asked is None else asked.timestamp() + before / 1e3,
            "duration_ms": first_byte + spent.get("receive", 0.0),
            "first_byte_ms": first_byte,
            "bytes": next((size for size in map(number, sizes) if size is not None), None),
            "request": url,
        }


def json_rows(text: str) -> Iterator[Mapping[str, Any] | None]:
    """The objects; None for a line that is not one."""
    whole = _json(text) if is_whole(text.split("\n", 1)[0]) else None
    if isinstance(whole, dict) and isinstance(whole.get("log"), dict):
        yield from _har_rows(whole["log"].get("entries") or ())
        return
    for item in whole if isinstance(whole, list) else map(_json, filter(str.strip, text.split("\n"))):
        yield item if isinstance(item, dict) else None


def _json(text: str) -> Any:
    try:
        return json.loads(text.rstrip().rstrip(","))
    except (ValueError, RecursionError):
        return None


def tcp_info(text: str, how: Reading) -> Iterator[Sample | None]:
    """TCP_INFO samples, as CSV or one JSON object per line, with the kernel's names: `delivery_rate` (bytes/s),
    `delivery_rate_app_limited`, `min_rtt` or `rtt` (us), and a column for the session; or the output of `ss -ti`.
    """
    if is_ss(text):
        return _ss(text)
    return objects(text, how) if text.lstrip().startswith(("{", "[")) else table(text, how)


def is_ss(text: str) -> bool:
    """Whether the text is output of `ss -ti`."""
    return "cwnd:" in text and re.search(r"\brtt:[\d.]+/", text) is not None


_SS_RATE = re.compile(r"\bdelivery_rate ([\d.]+)([KMG]?)bps\b")
_SS_UNITS = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3}


def _ss(text: str) -> Iterator[Sample | None]:
    """Output of `ss -ti`, once or repeatedly, with each connection on one or two lines. Each peer is a session."""
    peer = EVERYONE
    for line in text.splitlines():
        ends = re.findall(r"(?<!\S)(\S+:(?:\d+|[a-z][\w-]*))(?=\s|$)", line.split("cwnd:")[0].split("users:")[0])
        if len(ends) >= 2 and not line[:1].isspace():
            peer = ends[1]
        if "cwnd:" not in line:
            continue
        rate = _SS_RATE.search(line)
        rtt = re.search(r"\bminrtt:([\d.]+)", line) or re.search(r"\brtt:([\d.]+)/", line)
        sent = re.search(r"\bbytes_(?:acked|sent):(\d+)", line)
        is_short = sent is not None and int(sent[1]) < MIN_BYTES
        mbps = None if rate is None else float(rate[1]) * _SS_UNITS[rate[2]]
        is_limited = mbps is None or is_short or re.search(r"\bapp_limited\b", line) is not None
        yield Sample(peer, mbps, float(rtt[1]) if rtt else None, is_limited)


def _columns(text: str) -> tuple[list[str], Iterator[dict[str, str]]]:
    text = text.lstrip("\ufeff")
    head = text.split("\n", 1)[0]
    reader = rows_of(text, delimiter=max(",;\t", key=head.count))
    _, first = next(reader, (1, []))
    columns = [cell.strip() for cell in first]
    return columns, (dict(zip(columns, (c.strip() for c in cells), strict=False)) for _, cells in reader if any(cells))

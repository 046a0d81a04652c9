"""Makes a users' table from what people have: access logs, CMCD, player beacons, TCP_INFO samples.

Every reader yields *samples* (a session with a transfer's bytes and time, or a throughput; an RTT), from which an estimator makes
the rows of a users' table. Estimates of a path's capacity have these caveats:

- a transfer that waited for the sender or the player was slower than the path's capacity: samples marked application-limited, and
  objects under 50 kB (their time is a few round trips, whatever the rate), are left out;
- throughput is what one flow of *today's* sender got, with queues, losses and competitors: a lower bound of the path's rate. The
  90th percentile of a session's samples is used, which is nearer to the path's rate than the mean;
- the RTT is the smallest sample: queueing delay belongs to the sender, not to the path. If a log has no RTTs, the column is left
  out.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from playpath.base.errors import InputError, unknown_name
from playpath.base.files import read_text, text_cell
from playpath.population import known_from
from playpath.population.log_groups import UNKNOWN, GroupColumns, normal, usual
from playpath.population.log_lines import Reading, cmcd, is_ss, nginx, objects, remedy_for, table, tcp_info, w3c
from playpath.population.log_names import Names
from playpath.population.log_plausibility import ImplausibleValues
from playpath.population.log_rows import MIN_BYTES, SERVED_NOTE, Sample, fields_of, has_throughput
from playpath.population.transfers import ENDINGS, check_files

_PERCENTILE = 0.9


class User(TypedDict):
    """A row of the users' table."""

    name: str
    rate_mbps: float
    rtt_ms: NotRequired[float]
    samples: int
    groups: NotRequired[dict[str, str]]


@dataclass(frozen=True)
class Import:
    """The result of reading logs."""

    rows: list[User]
    notes: list[str]
    """What was left out, and why."""
    kept: tuple[str, ...] = ()
    """Columns to group by, with their names in the table."""

    def to_csv(self) -> str:
        rtt = ["rtt_ms"] if any("rtt_ms" in row for row in self.rows) else []
        names = ["name", "rate_mbps", *rtt, "samples", known_from.COLUMN]
        text = io.StringIO()
        writer = csv.DictWriter(text, [*names, *self.kept], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in self.rows:
            groups = {name: text_cell(value) for name, value in row.get("groups", {}).items()}
            origin = {"name": text_cell(row["name"]), known_from.COLUMN: known_from.RATES}
            writer.writerow({**row, **origin, **groups})
        return text.getvalue()


def read_logs(
    files: Sequence[Path],
    kind: str = "auto",
    *,
    log_format: str = "",
    fields: str = "",
    keep: str = "",
    keep_names: bool = False,
) -> Import:
    """Read logs of one kind and estimate each session's path.

    Args:
        kind: `"auto"`, or one of `KINDS`.
        log_format: nginx's `log_format`, for the kind `nginx`; by default the combined format followed by times.
        fields: What the user's columns mean: `"session=viewer, bytes=size, duration_ms=took"`.
        keep: Columns by which results are to be grouped: `"country, device, day"`. A session has the value that most
            of its rows have.
        keep_names: Keep viewers' names and addresses as in the log; by default they are hashed with a key of this run.
    """
    if kind != "auto" and kind not in KINDS:
        raise unknown_name("kind of log", kind, ("auto", *KINDS))
    check_files(files)
    samples: list[Sample] = []
    notes: list[str] = []
    how = Reading(log_format, fields_of(fields), GroupColumns(keep))
    for file in files:
        text = read_text(file, remedy="decompress it first" if file.suffix in ENDINGS and file.is_file() else "")
        found = ("nginx" if log_format else _detect(text, file, how)) if kind == "auto" else kind
        try:
            read, skipped = _take(KINDS[found](text, how))
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        if skipped and not read:
            raise InputError(f"{file}: {_nothing(found, text)}")
        samples += read
        if unused := _UNUSED.search(text[:20_000]):
            notes.append(
                f"{file}: {unused[0]} is not used: a sender's losses and retransmissions are not its path's loss rate"
            )
        if skipped:
            notes.append(f"{file}: {skipped} lines could not be read and are left out")
        if any(sample.is_served for sample in read) and SERVED_NOTE not in notes:
            notes.append(SERVED_NOTE)
    how.keep.check()
    return _estimate(samples, notes, tuple(how.keep.names), Names.of_run(keep_names))


_UNUSED = re.compile(r"\b\w*(?:loss|retrans)\w*\b", re.IGNORECASE)
"""Columns and fields of losses, which are not used."""


def _nothing(kind: str, text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    remedy = "they have neither mtp nor sid" if kind == "cmcd" else remedy_for(kind)
    return f"read as {kind}, no line has a size and a time, or a throughput; {remedy}; the first is: {first[:120]}"


def _take(items: Iterator[Sample | None]) -> tuple[list[Sample], int]:
    samples, skipped = [], 0
    for item in items:
        if item is None:
            skipped += 1
        else:
            samples.append(item)
    return samples, skipped


def _estimate(samples: list[Sample], notes: list[str], kept: tuple[str, ...], names: Names) -> Import:
    by_session: dict[str, list[Sample]] = {}
    for sample in samples:
        by_session.setdefault(sample.session, []).append(sample)
    rows, poor = [], 0
    for session, own in by_session.items():
        rates = [s.mbps for s in own if s.mbps and not s.is_limited]
        rtts = [s.rtt_ms for s in own if s.rtt_ms is not None and s.rtt_ms > 0]
        if not rates:
            poor += 1
            continue
        row: User = {
            "name": names.of(session),
            "rate_mbps": _digits(float(np.quantile(rates, _PERCENTILE))),
            "samples": len(rates),
        }
        if rtts:
            row["rtt_ms"] = _digits(min(rtts))
        if kept:
            row["groups"] = {name: usual(s.kept[name] for s in own if name in s.kept) for name in kept}
        rows.append(row)
    if not rows:
        raise InputError(
            f"no session can be used: {len(samples)} samples, none with a throughput of its path (objects under "
            f"{MIN_BYTES // 1000} kB and application-limited samples say nothing about it)"
        )
    limited = sum(s.is_limited for s in samples)
    if limited:
        notes.append(f"{limited} of {len(samples)} samples are application-limited and left out")
    if nothing := sum(s.mbps == 0 and not s.is_limited for s in samples):
        notes.append(f"{nothing} samples have a throughput of 0, which cannot be a measurement, and are left out")
    if poor:
        notes.append(f"{poor} sessions have no usable sample of their path and are left out")
    without = [row for row in rows if "rtt_ms" not in row]
    if without and len(without) < len(rows):
        rows = [row for row in rows if "rtt_ms" in row]
        notes.append(f"{len(without)} sessions have no RTT and are left out")
    elif without:
        notes.append("no RTT is known: give the scenario's path an `rtt`, or a distribution")
    notes.append(
        "rates are the throughput of today's sender (90th percentile of a session's samples): a lower bound of the path's capacity"
    )
    implausible = ImplausibleValues()
    for row in rows:
        implausible.add(row["name"], rate_mbps=row["rate_mbps"], rtt_ms=row.get("rtt_ms"))
    notes += implausible.notes()
    notes += _mixed(by_session.values(), rows, kept)
    return Import(rows, notes, kept)


def _mixed(sessions: Iterable[list[Sample]], rows: list[User], kept: tuple[str, ...]) -> Iterator[str]:
    """Notes on group columns with several values in a session, or none."""
    for name in kept:
        several = sum(len({s.kept[name] for s in own if name in s.kept}) > 1 for own in sessions)
        if several:
            yield f"{several} sessions have several values of {name}; each counts to the one that most of its rows have"
        unknown = sum(row["groups"][name] == UNKNOWN for row in rows)
        if unknown:
            yield f'{unknown} sessions have no {name}; it is "{UNKNOWN}" there'


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _detect(text: str, file: Path, how: Reading) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "").lstrip("\ufeff")
    if first.startswith("#"):
        return "w3c"
    if first.lstrip().startswith(("{", "[{")) or first.strip() == "[":
        return "json"
    if is_ss(text):
        return "tcpinfo"
    columns = {normal(cell) for cell in re.split("[,;\t]", first)}
    if len(columns) > 1 and (has_throughput({how.fields.get(name, name) for name in columns})):
        return "beacons"
    if re.search(r'"[A-Z]+ [^"]* HTTP/', first):
        # Logged CMCD beacons: their bodies are empty; the player's measurements are in the query.
        return "cmcd" if "CMCD=" in first and re.search(r'" 20[24] (?:0|-) ', first) else "nginx"
    if "CMCD=" in first or re.search(r"\b(?:bl|br|mtp|sid)=", first):
        return "cmcd"
    raise InputError(
        f"{file}: the kind of log is not recognised; give --kind ({', '.join(KINDS)}), for nginx --log-format, or the meaning of the "
        f"columns with --fields; it begins with: {first[:100]}"
    )


KINDS: Mapping[str, Callable[[str, Reading], Iterator[Sample | None]]] = {
    "nginx": nginx,
    "w3c": w3c,
    "json": objects,
    "cmcd": cmcd,
    "beacons": table,
    "tcpinfo": tcp_info,
}
"""Kind of log → reader, which takes a text and how to read it, and yields samples; None for a line that cannot be read."""

"""The result of a session: metrics, flows, links, events, warnings, manifest and, on request, its time series."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from playpath.base import engine
from playpath.base.errors import InputError, unknown_name
from playpath.base.files import write_frame, write_text
from playpath.base.frames import pl
from playpath.base.manifest import RunManifest
from playpath.base.metrics import format_value, metric
from playpath.base.tabular import Json, Tabular
from playpath.results.recorded import EventRecord, FlowRecord, LinkRecord, SessionRecord, WindowEvent

Columns = dict[str, np.ndarray]

PACKETS = ("packets.", "acks.", "sacks.", "drops.")
"""Prefixes of the series of single packets; see `playpath.results.packets`."""
_SERIES = ("flow.", "link.", "player", "switches.", *PACKETS)
_LONGEST_NAME = 120
"""Limit in bytes: file systems allow 255, and suffixes are added."""


@dataclass(frozen=True, eq=False)
class Session(Tabular):
    """The result of one session: one sender, one seed, one world."""

    scenario: str
    world: str
    sender: str
    cc: str
    seed: int
    metrics: dict[str, float | None]
    """Metric → value in the unit that ends its name; None if there is no value (no start-up delay without a start)."""
    flows: list[FlowRecord]
    links: list[LinkRecord]
    """`flows` and `links`: every flow, cross traffic included, and every link."""
    events: list[EventRecord]
    """Playback events in order of time."""
    warnings: list[str]
    """What a careful reader should know before trusting the figures."""
    manifest: RunManifest
    """What the result depends on."""
    digest: str
    """Digest of the whole record; equal digests mean equal results."""
    series: Mapping[str, Columns] = field(default_factory=dict, repr=False)
    """Time series by name: `flow.<name>`, `link.<name>`, `player`; with several paths `flow.<name>/<path>` and `switches.<name>`,
    with a row for each switch; packets, ACKs and drops as described in `playpath.results.packets`. Empty unless traced."""
    sessions: list[SessionRecord] = field(default_factory=list)
    """Every video session with `name`, `start_s`, `metrics`: the main one, then those in the traffic."""
    schema: int = engine.SCHEMA_VERSION
    """Version of the JSON schema (docs/reference/record.schema.json); 0 for records older than the schema."""
    window_events: dict[str, list[WindowEvent]] = field(default_factory=dict, repr=False)
    """For each flow the events of its congestion control and its reactions (`time_s`, `event`, `cwnd_before`, `cwnd_after` …).
    Empty unless traced, and in the kernel world."""

    def __repr__(self) -> str:
        traced = f"; {len(self.series)} time series" if self.series else ""
        return f"<Session {self.scenario}, {self.world}: {self.sender or 'no sender'}, seed {self.seed}{traced}>"

    def to_dict(self) -> Json:
        """The JSON form, without the time series."""
        return {key: value for key, value in self.__dict__.items() if key != "series"}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_polars(self) -> pl.DataFrame:
        """The metrics, one row each: `metric`, `value`, `unit`."""
        rows = [{"metric": k, "value": v, "unit": metric(k).unit} for k, v in self.metrics.items()]
        return pl.DataFrame(rows, schema={"metric": pl.String, "value": pl.Float64, "unit": pl.String})

    def frame(self, name: str) -> pl.DataFrame:
        """A time series as a frame, for example `session.frame("player")`. InputError if there is none with this name."""
        if name not in self.series:
            raise unknown_name("time series", name, self.series)
        return pl.DataFrame(dict(self.series[name]))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(metric(k).label)}</th>"
            f"<td>{format_value(v)} {escape(metric(k).unit)}</td></tr>"
            for k, v in self.metrics.items()
        )
        return f"<table><caption>{escape(self.sender)}, seed {self.seed}</caption>{rows}</table>"

    def save(self, folder: str | Path) -> None:
        """Write `record.json` and one Parquet file for each time series."""
        target = Path(folder)
        files = file_names(self.series)
        for name, file in files.items():
            write_frame(target / f"{file}.parquet", self.frame(name))
        stored = {**self.to_dict(), "series": files}
        write_text(target / "record.json", json.dumps(stored, ensure_ascii=False) + "\n")
        for path in target.glob("*.parquet"):  # series of an earlier run
            if path.stem not in files.values() and path.stem.startswith(_SERIES):
                path.unlink()

    @classmethod
    def load(cls, folder: str | Path) -> Session:
        """Read what `save` wrote, including time series if there are any."""
        source = Path(folder)
        stored = json.loads((source / "record.json").read_text(encoding="utf-8"))
        found = stored.setdefault("schema", 0)
        if found > engine.SCHEMA_VERSION:
            known = engine.SCHEMA_VERSION
            raise InputError(
                f"{source / 'record.json'}: schema {found} is newer than this playpath's; allowed: up to {known}"
            )
        files = stored.pop("series")
        series = {name: columns(pl.read_parquet(source / f"{file}.parquet")) for name, file in files.items()}
        return cls(**stored, series=series)


def columns(frame: pl.DataFrame) -> Columns:
    return {name: frame[name].to_numpy() for name in frame.columns}


def switch_series(by_flow: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, Columns]:
    """The path switches of MPTCP flows as series `switches.<flow>`, one row each.

    >>> found = switch_series({"video": [{"time_s": 0.5, "to": "wifi"}]})
    >>> found["switches.video"]["time_s"].tolist()
    [0.5]
    """
    return {
        f"switches.{flow}": {key: np.array([row[key] for row in rows]) for key in rows[0]}
        for flow, rows in by_flow.items()
        if rows
    }


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A distinct file name for each name.

    >>> file_names(["flow.a/b", "flow.a_b"])
    {'flow.a/b': 'flow.a_b', 'flow.a_b': 'flow.a_b.2'}
    """
    taken: dict[str, str] = {}
    for name in names:
        file, number = slug(name), 1
        while file in taken.values():
            number += 1
            file = f"{slug(name)}.{number}"
        taken[name] = file
    return taken


def slug(name: str) -> str:
    """A safe file name for any text: never hidden, empty, outside its folder, or too long for a file system.

    >>> slug("ccplb(pob_rate=2)"), slug("flow.cubic"), slug("../x"), slug("")
    ('ccplb_pob_rate=2_', 'flow.cubic', '_._x', '_')
    """
    safe = "".join(c if c.isalnum() or c in "-_.=+" else "_" for c in name) or "_"
    if safe[0] in ".-":  # otherwise hidden, the parent folder, or an option of another program
        safe = f"_{safe[1:]}"
    short = safe.encode()[:_LONGEST_NAME].decode(errors="ignore")
    return safe if short == safe else f"{short}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}"

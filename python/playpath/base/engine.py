"""The Rust engine behind typed functions: text in, plain Python data out.

The extension module `playpath._engine` exchanges JSON, so that no per-packet call crosses from Rust to Python. It raises
`InputError` (the scenario is wrong) or `RunError` (the run failed).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from playpath.base.errors import InputError, in_python
from playpath.base.files import replaced
from playpath.base.printing import own_code_runs
from playpath.results.measured import Measurements
from playpath.results.recorded import EventRecord, FlowRecord, LinkRecord, SessionRecord, WindowEvent
from playpath.scenario.resolved import Document as ResolvedDocument

if TYPE_CHECKING:
    import numpy as np

    from playpath.base.declared import Cmcd, Component, DeclaredMetric, DeclaredTable, KernelControl
    from playpath.base.manifest import RunManifest


try:
    from playpath import _engine
    from playpath._engine import (
        DOCUMENTS,
        SCHEMA_VERSION,
        build,
        check,
        convert_trace,
        generate_trace,
        jain_index,
        number,
        record_reference,
        schema,
        version,
    )
except ImportError as error:  # pragma: no cover - a broken installation
    raise ImportError(
        f"the engine playpath._engine is not built for this Python ({error}); run `make setup` or `pip install .`"
    ) from error

__all__ = [
    "DOCUMENTS",
    "SCHEMA_VERSION",
    "build",
    "check",
    "convert_trace",
    "generate_trace",
    "jain_index",
    "number",
    "record_reference",
    "schema",
    "version",
]

Columns = dict[str, "np.ndarray"]
"""A time series: column name → values, all of one length."""


class Figures(TypedDict):
    """The results of a run (docs/reference/record.schema.json)."""

    metrics: dict[str, float | None]
    sessions: list[SessionRecord]
    flows: list[FlowRecord]
    links: list[LinkRecord]
    events: list[EventRecord]
    warnings: list[str]


Switch = TypedDict("Switch", {"time_s": float, "from": str, "to": str, "reason": str})
"""A sender's switch from one path to another."""


class Record(Figures):
    """The record of a run, as every world gives it."""

    manifest: RunManifest
    digest: str
    window_events: NotRequired[dict[str, list[WindowEvent]]]
    """In the record of a traced run: flow name → its window events."""
    path_switches: NotRequired[dict[str, list[Switch]]]
    """In the record of a traced run: flow name → its path switches. A session stores them as time series."""


class PathFigures(TypedDict):
    """The figures of a path; `rate_mbps` is a trace's mean rate, None if unlimited."""

    name: str
    rate_mbps: float | None
    rtt_ms: float
    loss_percent: float


class FilmFigures(TypedDict):
    """The figures of a film: `rate_mbps` and `fps` of a film of pictures, the others of a manifest. Rates are means over segments."""

    duration_s: float
    rate_mbps: NotRequired[float]
    fps: NotRequired[float]
    segments: NotRequired[int]
    rungs_kbps: NotRequired[list[float]]
    audio_kbps: NotRequired[list[float]]
    warnings: NotRequired[list[str]]


Watch = Callable[[float, float], None]
"""Called from time to time, by the thread that plays, with the seconds played and the seconds expected."""


class Combination(TypedDict):
    """One value for each varied key: `value` is its display name, `settings` maps key → value."""

    value: str
    settings: dict[str, Any]


def combinations(resolved: ResolvedDocument, axes: Mapping[str, Sequence[Any]]) -> list[Combination]:
    """Every combination of the values of `axes` on a resolved scenario."""
    return json.loads(_engine.combinations(json.dumps(resolved), json.dumps(list(axes.items()), default=str)))


def resolve(text: str, base_dir: str, overrides: Mapping[str, Any]) -> ResolvedDocument:
    """Parse, override and validate a scenario; every default written out.

    Args:
        text: TOML, or JSON if it starts with `{`.
        base_dir: Folder that relative file names in the scenario start from.
        overrides: `cc`, `scheduler` (lists), `seeds` (int), `set` (dotted key → value).
    """
    for key, value in overrides.get("set", {}).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f'set["{key}"]: {value} is not a finite number')
    try:
        return json.loads(_engine.resolve(text, base_dir, json.dumps(overrides, default=_plain)))
    except InputError as error:
        raise InputError(in_python(str(error))) from None


def _plain(value: Any) -> Any:
    """Encode a value that JSON does not know: a NumPy number as Python's own, anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)


def path_figures(resolved_json: str) -> list[PathFigures]:
    return json.loads(_engine.path_figures(resolved_json))


def film_figures(resolved_json: str) -> FilmFigures | None:
    return json.loads(_engine.film_figures(resolved_json))


def run(
    resolved_json: str,
    sender: str,
    seed: int,
    *,
    trace: bool,
    packets: bool = False,
    controller: Callable[[], Any] | None = None,
    rule: Callable[[], Any] | None = None,
    watch: Watch | None = None,
    series: Sequence[str] | None = None,
    every_s: float | None = None,
) -> tuple[Record, dict[str, Columns]]:
    """Play one session: its record and, with `trace`, its time series by name.

    Releases the interpreter lock.

    Args:
        resolved_json: A resolved scenario.
        sender: Name of the sender.
        seed: Seed of the session.
        trace: Also return time series.
        packets: Include the series of single packets.
        controller, rule: Factories of the user's own congestion control or ABR rule.
        watch: Called as the session proceeds.
        series: Only series whose names begin with one of these; window events are then left out of the record, since
            they would take a tenth of the session's time.
        every_s: Sampling interval of the series, above 0; by default the scenario's.
    """
    with _own_code(sender, seed, controller or rule):
        wanted = None if series is None else list(series)
        text, found = _engine.run(resolved_json, sender, seed, trace, packets, controller, rule, watch, wanted, every_s)
    return json.loads(text), found


def run_metrics(resolved_json: str, sender: str, seed: int) -> tuple[dict[str, float | None], str]:
    """One session's metrics and digest, as in its record; for many sessions of which nothing else is kept.

    Releases the interpreter lock.
    """
    with _own_code(sender, seed):
        played = json.loads(_engine.run_metrics(resolved_json, sender, seed))
    return played["metrics"], played["digest"]


def record(measurements: Measurements) -> Figures:
    """Compute the figures of a run measured in another world, in the form of the simulator's records."""
    made = json.loads(_engine.record(json.dumps(measurements)))
    del made["manifest"]
    return made


def declarations() -> dict[str, DeclaredTable]:
    return json.loads(_engine.declarations())


def registry(kind: str) -> list[Component]:
    return json.loads(_engine.registry(kind))


def metrics() -> list[DeclaredMetric]:
    return json.loads(_engine.registry("metric"))


def kernel_control(cc: str | Mapping[str, Any], validation: str) -> KernelControl:
    """What represents a congestion control in Linux; `cc` and `validation` as in a resolved sender."""
    return json.loads(_engine.kernel_control(json.dumps(cc), validation))


def capture(resolved_json: str, sender: str, seed: int, path: str) -> None:
    """One session's packets at the server, written to a pcapng file."""
    with replaced(Path(path)) as temporary, _own_code(sender, seed):
        _engine.capture(resolved_json, sender, seed, str(temporary))


def qlogs(resolved_json: str, sender: str, seed: int, folder: str) -> None:
    """Write a qlog of each QUIC connection of a session into a folder."""
    with _own_code(sender, seed):
        _engine.qlogs(resolved_json, sender, seed, folder)


def p1203(resolved_json: str, sender: str, seed: int) -> str:
    """One session as the input of ITU-T P.1203 tools, in JSON."""
    with _own_code(sender, seed):
        return _engine.p1203(resolved_json, sender, seed)


def parse_cmcd(text: str) -> Cmcd:
    """Parse the CMCD data that a player sent with a request."""
    return json.loads(_engine.parse_cmcd(text))


def preview_trace(text: str, format: str | None, bins: int) -> dict[str, Any]:
    """The fields of a `traces.Preview`."""
    return json.loads(_engine.preview_trace(text, format, bins))


def infer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Infer the path behind a session of a log; `crates/api/src/infer.rs` lists the fields of question and answer."""
    return json.loads(_engine.infer(json.dumps(question)))


@contextmanager
def _own_code(sender: str, seed: int, target: Callable[[], Any] | None = None) -> Iterator[None]:
    """Turn an exception in the user's own code into a one-line error that says where it was raised."""
    try:
        with own_code_runs():
            yield
    except _engine.OwnCodeError as error:
        from playpath.run.own import failure

        reference, method = error.args
        cause = error.__cause__ or error
        raise failure(sender, seed, target or reference, method, cause) from cause

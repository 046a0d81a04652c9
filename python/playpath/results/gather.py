"""Builds a comparison from finished sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playpath.base.frames import pl
from playpath.base.tabular import Row
from playpath.base.words import listing
from playpath.results.comparison import Comparison
from playpath.results.record import Session
from playpath.scenario import Scenario


def whole_seeds(
    sessions: Sequence[Session], senders: Sequence[str], last: Mapping[str, int] | None = None
) -> list[Session]:
    """Sessions of the seeds that were finished by every sender that had to play them."""
    found = {(session.sender, session.seed) for session in sessions}
    ends = last or {}
    wanted = {seed: [s for s in senders if seed <= ends.get(s, seed)] for seed in {seed for _, seed in found}}
    whole = {seed for seed, names in wanted.items() if all((name, seed) in found for name in names)}
    return [session for session in sessions if session.seed in whole]


def gather(scenario: Scenario, world: str, sessions: list[Session], *, interrupted: bool) -> Comparison:
    """A comparison of finished sessions; every sender has the same seeds, or, in a race, the first of them."""
    names = list(dict.fromkeys(name for session in sessions for name in session.metrics))
    rows = [
        {"sender": s.sender, "cc": s.cc, "seed": s.seed, "digest": s.digest}
        | {name: s.metrics.get(name) for name in names}
        for s in sessions
    ]
    schema = {"sender": pl.String, "cc": pl.String, "seed": pl.Int64, "digest": pl.String}
    return Comparison(
        scenario=scenario,
        world=world,
        seeds=sorted({s.seed for s in sessions}),
        table=pl.DataFrame(rows, schema=schema | dict.fromkeys(names, pl.Float64)),
        flows=_long(sessions, "flows"),
        links=_long(sessions, "links"),
        notes=_notes(sessions, has_video=scenario.has_video),
        interrupted=interrupted,
    )


def _long(sessions: list[Session], part: str) -> pl.DataFrame:
    """A row for each flow or link of each session; nested values become columns such as `dropped_packets.queue`."""
    rows = [{"sender": s.sender, "seed": s.seed} | _flat(entry) for s in sessions for entry in getattr(s, part)]
    return pl.DataFrame(rows, infer_schema_length=None)


def _flat(entry: Mapping[str, Any], prefix: str = "") -> Row:
    flat: Row = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            flat[prefix + key] = value
    return flat


def _notes(sessions: list[Session], *, has_video: bool) -> list[str]:
    """Warnings of all sessions: each once, with the senders that it concerns (not named if there is only one and no video) and the
    number of their runs.
    """
    runs: dict[str, int] = {}
    found: dict[str, dict[str, int]] = {}
    for session in sessions:
        runs[session.sender] = runs.get(session.sender, 0) + 1
        for text in dict.fromkeys(session.warnings):
            counts = found.setdefault(text, {})
            counts[session.sender] = counts.get(session.sender, 0) + 1
    names_senders = has_video or len(runs) > 1
    notes = []
    for text, counts in found.items():
        whose = f"{listing(list(counts))}: " if names_senders else ""
        of = sum(runs[sender] for sender in counts)
        notes.append(f"{whose}{text} ({sum(counts.values())} of {of} runs)")
    return notes

"""Saving and loading a comparison."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from playpath.base.files import write_frame, write_text
from playpath.base.frames import pl
from playpath.results import bands
from playpath.results.record import Session, file_names
from playpath.results.sensitivity import Sensitivity
from playpath.scenario import Scenario
from playpath.scenario.choices import restored

if TYPE_CHECKING:
    from playpath.results.comparison import Comparison


def save(result: Comparison, target: Path) -> None:
    """Write tables and timelines, and the JSON file last."""
    for name, frame in (("sessions", result.table), ("flows", result.flows), ("links", result.links)):
        write_frame(target / f"{name}.parquet", frame)
    save_timelines(result, target)
    stored = {**result.to_dict(), "notes": result.notes, "interrupted": result.interrupted}
    write_text(target / "comparison.json", json.dumps(stored, ensure_ascii=False, indent=1) + "\n")


def save_timelines(result: Comparison, target: Path) -> None:
    timelines = file_names(result.timelines)
    for sender, file in timelines.items():
        result.timelines[sender].save(target / "timelines" / file)
    for record in target.glob("timelines/*/record.json"):
        if record.parent.name not in timelines.values():  # left by another run or by a sender that is not in this one
            shutil.rmtree(record.parent)
    write_frame(target / "bands.parquet", result.bands)


def load(source: Path) -> Comparison:
    from playpath.results.comparison import Comparison, Failure  # comparison.py imports this module

    stored = json.loads((source / "comparison.json").read_text(encoding="utf-8"))
    manifest = stored["manifest"]
    found = [Session.load(path.parent) for path in sorted(source.glob("timelines/*/record.json"))]
    stopping = stored.get("stopping") or {}
    return Comparison(
        scenario=restored(Scenario.stored(manifest["scenario"], None), manifest),
        world=stored["world"],
        seeds=manifest["seeds"],
        table=pl.read_parquet(source / "sessions.parquet"),
        flows=pl.read_parquet(source / "flows.parquet"),
        links=pl.read_parquet(source / "links.parquet"),
        notes=stored["notes"],
        timelines={session.sender: session for session in found},
        bands=_stored_bands(source / "bands.parquet"),
        interrupted=stored["interrupted"],
        failures=[Failure(**entry) for entry in stored.get("failed", [])],
        looks=stopping.get("looks", []),
        most=stopping.get("most"),
        sensitivity=Sensitivity.from_dict(varied) if (varied := stored.get("sensitivity")) else None,
    )


def _stored_bands(path: Path) -> pl.DataFrame:
    """The stored bands; empty for results of versions without them."""
    found = pl.read_parquet(path) if path.is_file() else None
    return pl.DataFrame(schema=bands.SCHEMA) if found is None or "series" not in found.columns else found

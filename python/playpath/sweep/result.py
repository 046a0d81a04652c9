"""The result of a sweep: a table of all cells, and the winner at each point."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from playpath.base import engine
from playpath.base.errors import Interrupted
from playpath.base.files import write_frame, write_text
from playpath.base.manifest import compared, package_version
from playpath.base.metrics import BULK_CRITERIA, NETWORK_CRITERIA, VIDEO_CRITERIA
from playpath.base.tabular import Json, Named, Tabular
from playpath.judge.race import RULE
from playpath.judge.ranking import Ranker, identical_replicas
from playpath.results.effects import Effect, effects
from playpath.scenario import Scenario, parse_value
from playpath.scenario.choices import restored
from playpath.sweep import headline
from playpath.sweep.design import Design
from playpath.sweep.store import Store
from playpath.sweep.worker import KEYS


@dataclass(frozen=True, eq=False)
class SweepResult(Tabular):
    name: str
    base: Scenario
    keys: list[str]
    """The settings that vary."""
    table: pl.DataFrame
    """A row for each cell, in the design's order: `point`, the settings, `sender`, `seed`, …, the metrics, `error`."""
    looks: Sequence[int] = ()
    """Numbers of seeds at which points were judged: the first at every point, the others at points that were open."""
    most: int | None = None
    """The number of seeds at which `until_decided` gives up, fixed before the start; None without it."""
    interrupted: bool = False
    """Whether cells are missing; running the same sweep again resumes it."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """The design as read."""

    def __repr__(self) -> str:
        return f"<SweepResult {self.name}: {self.table.height} cells; {self.headline}>"

    @property
    def metric_names(self) -> list[str]:
        return [name for name in self.table.columns if name not in KEYS and name not in ("point", *self.keys)]

    @cached_property
    def is_comparison(self) -> bool:
        """Whether several senders were played at some point; a single one has nothing to be compared with."""
        played = self.table.group_by("point").agg(pl.col("sender").n_unique())
        return bool((played["sender"] > 1).any())

    @property
    def alone(self) -> str:
        """Why there is no best, if each point has a single sender."""
        names = self.table["sender"].unique(maintain_order=True).to_list()
        alone = f"{names[0]} was played alone" if len(names) == 1 else f"{', '.join(names)} were each played alone"
        return f"{alone}: there is nothing to compare with; name senders with `cc` in the design, or with --cc"

    @cached_property
    def varied(self) -> list[str]:
        """The criteria that are not the same in all sessions."""
        criteria = VIDEO_CRITERIA if self.base.has_video else BULK_CRITERIA
        return [n for n in criteria if n in self.metric_names and self.table[n].drop_nulls().n_unique() > 1]

    def means(self) -> pl.DataFrame:
        """A row for each point and sender: the settings, `sender`, the number of `seeds`, and the means of the `varied` criteria."""
        good = self.table.filter(pl.col("error").is_null())
        grouped = good.group_by("point", *self.keys, "sender", maintain_order=True)
        return grouped.agg(pl.len().alias("seeds"), pl.col(self.varied).mean())

    @property
    def errors(self) -> pl.DataFrame:
        """The cells that failed, with their errors."""
        return self.table.filter(pl.col("error").is_not_null())

    @property
    def digest(self) -> str:
        """SHA-256 over all cells in the design's order; independent of executor, chunks and interruptions."""
        rows = self.table.select("cell", "digest", "error").iter_rows()
        text = "\n".join(f"{cell} {digest or error}" for cell, digest, error in rows)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def decisions(self) -> pl.DataFrame:
        """A row for each point: its settings, `best`, `is_decided`, the first sender that is not alike, and how far it is behind.

        `winners` are the best and all senders alike with it. `level` says for whom the `second` differs: "viewer" or
        "network"; null if all are alike. `p` is that of the difference, corrected for all pairs of senders.
        """
        return pl.DataFrame(self._judged[0], infer_schema_length=None)

    @cached_property
    def _judged(self) -> tuple[list[Named], dict[int, list[Effect]]]:
        """The decision at every point, and the effects if there are choices, from the same ranker."""
        rows, found = [], {}
        for group in self.table.filter(pl.col("error").is_null()).partition_by("point", maintain_order=True):
            ranker = self._ranker(group)
            if ranker.seeds:
                rows.append(self._decide(group, ranker))
                found[int(group["point"][0])] = effects(self.base.choices, ranker) if self.base.choices else []
        return rows, found

    @property
    def effects(self) -> dict[int, list[Effect]]:
        """Point → effects of each choice on each sender, relative to the first choice; empty if only senders are compared."""
        return self._judged[1] if self.base.choices else {}

    @cached_property
    def headline(self) -> str:
        return headline.headline(self)

    def open_points(self) -> frozenset[int]:
        """Points at which the best sender is undecided, or, if several senders have choices, an effect of these on one of them."""
        if self.decisions.is_empty():
            return frozenset()
        if self.base.asks_for_whom:
            return frozenset(p for p, found in self.effects.items() if any(e.outcome == "open" for e in found))
        return frozenset(self.decisions.filter(~pl.col("is_decided"))["point"].to_list())

    def racing(self) -> dict[int, frozenset[str]]:
        """Open point → senders that may still be best there; all senders if the effects of choices are asked for."""
        if self.base.asks_for_whom:
            return dict.fromkeys(sorted(self.open_points()), frozenset(self.base.senders))
        places = {point: self.ranker(point).decide().places for point in sorted(self.open_points())}
        return {point: frozenset(s for s, place in found.items() if place[0] == 1) for point, found in places.items()}

    def ranker(self, point: int) -> Ranker:
        return self._ranker(self.table.filter((pl.col("point") == point) & pl.col("error").is_null()))

    def _ranker(self, group: pl.DataFrame) -> Ranker:
        parts = group.sort("seed").partition_by("sender", as_dict=True, maintain_order=True)
        shared = _whole_seeds([part["seed"].to_list() for part in parts.values()], is_race=self.most is not None)
        names = [name for name in self.metric_names if group[name].null_count() < group.height]
        values = {
            str(key[0]): part.filter(pl.col("seed").is_in(shared)).select(names).to_dict(as_series=False)
            for key, part in parts.items()
        }
        criteria = VIDEO_CRITERIA if self.base.has_video else BULK_CRITERIA
        point = {key: parse_value(str(group[key][0])) for key in self.keys} if group.height else {}
        return Ranker(
            values,
            criteria,
            is_random=self.base.has_chance(point) or not identical_replicas(values),
            prefer=self.base.prefer,
            is_race=self.most is not None,
        )

    def _decide(self, group: pl.DataFrame, ranker: Ranker) -> Named:
        decision = ranker.decide()
        best = decision.ranking[0]
        second = next((s for s in decision.ranking[1:] if s not in decision.tied), None)
        name = decision.deciding.get(second) if second is not None else None
        found = ranker.difference(second, best, name) if second is not None and name is not None else None
        return {
            "point": group["point"][0],
            **{key: group[key][0] for key in self.keys},
            "seeds": ranker.seeds,
            "is_random": ranker.is_random,
            "best": best,
            "is_decided": decision.is_decided,
            "winners": [best, *decision.tied],
            "second": second,
            "criterion": name,
            "level": None if name is None else "network" if name in NETWORK_CRITERIA else "viewer",
            "p": None if second is None else decision.p_values.get(second),
            "difference": None if found is None else found.mean,
            "median": None if found is None or found.ci95 is None else found.median,
            "ci95_low": None if found is None or found.ci95 is None else found.ci95[0],
            "ci95_high": None if found is None or found.ci95 is None else found.ci95[1],
            "more_runs": decision.more_runs,
        }

    def to_polars(self) -> pl.DataFrame:
        return self.table

    def to_dict(self) -> Json:
        """The JSON form: counts, decisions, manifest."""
        return {
            "sweep": self.name,
            "points": self.table["point"].n_unique(),
            "cells": self.table.height,
            "failed_cells": self.errors.height,
            "interrupted": self.interrupted,
            "headline": self.headline,
            "decisions": self.decisions.to_dicts(),
            "effects": [{"point": p, **effect.to_dict()} for p, found in self.effects.items() for effect in found],
            "errors": [{"point": r["point"], "sender": r["sender"], "seed": r["seed"], "error": r["error"]}
                       for r in self.errors.head(20).iter_rows(named=True)],
            "manifest": {
                "design": dict(self.source),
                "scenario": dict(self.base.resolved),
                "written": self.base.written,
                **compared(self.base),
                "engine_version": engine.version(),
                "playpath_version": package_version(),
                "stopping": {
                    "rule": None if self.most is None else RULE,
                    "looks": list(self.looks),
                    "most": self.most,
                },
            },
            "digest": self.digest,
        }  # fmt: skip

    def save(self, folder: str | Path) -> None:
        """Write `sweep.parquet` (all cells), `decisions.parquet` and `sweep.json`."""
        target = Path(folder)
        for name, frame in (("sweep", self.table), ("decisions", self.decisions)):
            write_frame(target / f"{name}.parquet", frame)
        stored = {**self.to_dict(), "keys": self.keys}
        write_text(target / "sweep.json", json.dumps(stored, ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> SweepResult:
        source = Path(folder)
        stored = json.loads((source / "sweep.json").read_text(encoding="utf-8"))
        resolved = stored["manifest"]["scenario"]
        return cls(
            name=stored["sweep"],
            base=restored(Scenario.stored(resolved, stored["manifest"].get("written")), stored["manifest"]),
            keys=stored["keys"],
            table=pl.read_parquet(source / "sweep.parquet"),
            looks=stored["manifest"]["stopping"]["looks"],
            most=stored["manifest"]["stopping"].get("most"),
            interrupted=stored["interrupted"],
            source=stored["manifest"]["design"],
        )


def gather(
    design: Design,
    store: Store,
    seen: Sequence[tuple[int, str]],
    *,
    looks: Sequence[int],
    most: int | None,
    interrupted: bool,
) -> SweepResult:
    """The rows of a design from the store, in the design's order.

    Args:
        seen: (point, cell id) in the order of `cells`.
    """
    index = _index(design, sorted(seen, key=lambda pair: pair[0]))
    stored = store.rows(index["cell"])
    if not interrupted:
        store.check_whole(index["cell"], stored)
    table = index.join(stored, on="cell", how="inner", maintain_order="left")
    if table.is_empty():
        raise Interrupted("sweep: stopped before the first cell was finished; nothing to show")
    names = ["point", *design.keys, *(name for name in KEYS if name in table.columns)]
    rest = sorted(name for name in table.columns if name not in names)
    return SweepResult(
        name=design.name,
        base=design.base,
        keys=design.keys,
        table=table.select(names + rest),
        looks=looks,
        most=most,
        interrupted=interrupted,
        source=design.source,
    )


def shown_difference(row: Named) -> float | None:
    """The difference that a row of `decisions` shows: of the median run, as its interval is; of fewer than six runs the mean."""
    shown: float | None = row["difference"] if row["median"] is None else row["median"]
    return shown


def _whole_seeds(seeds: Sequence[Sequence[int]], *, is_race: bool) -> list[int]:
    """The seeds that every sender finished; in a race, every sender that was still in it."""
    own = [(frozenset(found), max(found)) for found in seeds]
    every = sorted(frozenset().union(*(found for found, _ in own)))
    return [seed for seed in every if all(seed in found or (is_race and seed > last) for found, last in own)]


def _index(design: Design, seen: Sequence[tuple[int, str]]) -> pl.DataFrame:
    """A frame of cell ids with their points and settings."""
    points = list(design.points())
    columns: dict[str, list[Any]] = {"point": [p for p, _ in seen], "cell": [c for _, c in seen]}
    for key in design.keys:
        columns[key] = [column_value(points[p][key]) for p, _ in seen]
    return pl.DataFrame(columns, strict=False)


def column_value(value: Any) -> Any:
    """A setting as a value of a column: a table as in a scenario, since tables in a column would all have each other's keys.

    >>> column_value({"kind": "pie", "ecn": True}), column_value("1 %")
    ('{kind = "pie", ecn = true}', '1 %')
    """
    return _inline(value) if isinstance(value, Mapping) else value


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_inline(own)}" for key, own in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)

"""Part of a study in two worlds: the same cases at reduced length, the same seeds, the figures side by side.

Both worlds draw the links' random losses from the same streams, but packets arrive at different times, so single runs differ; the
table gives the mean over the seeds and the range. Nothing is judged here: claims are judged in the simulator, at full length.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from playpath.base.errors import InputError
from playpath.base.files import write_text
from playpath.base.tabular import Named
from playpath.base.worlds import DEFAULT, is_exact
from playpath.papers.runner import Options, Ran, run_cases
from playpath.papers.study import Study

SEEDS = 2
"""A session in real time lasts as long as its media."""


@dataclass(frozen=True)
class SideBySide:
    """The results of both worlds."""

    study: Study
    ran: Mapping[str, Ran]
    """World → its results; if the simulator is compared with itself, the second is `sim again`."""
    seeds: int

    @property
    def interrupted(self) -> bool:
        return any(ran.interrupted for ran in self.ran.values())

    def rows(self) -> list[Named]:
        """A row for each case and metric: the labels that differ, `metric`, and for each world mean, smallest and largest."""
        spec = self.study.two_worlds
        assert spec is not None
        tables = {world: ran.table for world, ran in self.ran.items()}
        labels = [n for n in self.ran[DEFAULT].labels if tables[DEFAULT][n].n_unique() > 1]
        rows = []
        for key in tables[DEFAULT].select(labels).unique(maintain_order=True).iter_rows(named=True):
            for metric in spec.metrics:
                row: Named = {**key, "metric": metric}
                for world, table in tables.items():
                    row |= _figures(world, table, key, metric)
                rows.append(row)
        return rows

    def to_dict(self) -> dict[str, object]:
        spec = self.study.two_worlds
        assert spec is not None
        return {
            "study": self.study.name,
            "seeds": self.seeds,
            "media_share": spec.share,
            "interrupted": self.interrupted,
            "rows": self.rows(),
        }

    def save(self, folder: Path) -> Path:
        """Write every session (`beside-sessions.csv`) and the rows (`beside.csv`)."""
        folder.mkdir(parents=True, exist_ok=True)
        whole = [ran.table.with_columns(pl.lit(world).alias("world")) for world, ran in self.ran.items()]
        write_text(folder / "beside-sessions.csv", pl.concat(whole, how="diagonal").write_csv())
        write_text(folder / "beside.csv", pl.DataFrame(self.rows(), infer_schema_length=None).write_csv())
        return folder / "beside.csv"


def run_side_by_side(study: Study, options: Options) -> SideBySide:
    """Run the cells that are not in the store, in the simulator and then in `options.world`."""
    if study.two_worlds is None:
        raise InputError(f"study '{study.name}' has no part for the {options.world} world")
    seeds = options.seeds or SEEDS
    cases = study.two_worlds.cases(study.two_worlds.share)
    ran: dict[str, Ran] = {}
    for world in (DEFAULT, options.world):
        label = f"{world} again" if world in ran else world
        # Real-time sessions run one at a time unless `jobs` is given: parallel ones compete for this machine.
        jobs = options.jobs if is_exact(world) else options.jobs or 1
        ran[label] = run_cases(study, cases, seeds, replace(options, world=world, jobs=jobs))
        if ran[label].interrupted:
            break
    return SideBySide(study, ran, seeds)


def _figures(world: str, table: pl.DataFrame, key: Mapping[str, Any], metric: str) -> dict[str, float | None]:
    chosen = table.filter(*(pl.col(name) == value for name, value in key.items()))
    values = chosen[metric].drop_nulls().to_list() if metric in chosen.columns else []
    if not values:
        return {world: None, f"{world}_min": None, f"{world}_max": None}
    return {world: sum(values) / len(values), f"{world}_min": min(values), f"{world}_max": max(values)}

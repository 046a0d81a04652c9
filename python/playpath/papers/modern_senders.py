"""Which sender is best today, in each scene of a study, ranked as `playpath compare` ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from playpath.base.metrics import NETWORK_CRITERIA, metric
from playpath.judge.ranking import Decision, Ranker, identical_replicas
from playpath.judge.stats import summarise
from playpath.papers.claims import select
from playpath.papers.study import CurrentSenders, Study
from playpath.results.comparison import format_summary


@dataclass(frozen=True)
class Scene:
    name: str
    ranker: Ranker
    decision: Decision
    says: str
    """The verdict in sentences."""

    @property
    def best(self) -> str:
        return self.decision.ranking[0]

    def standing(self, sender: str) -> str:
        """A sender's standing against the best, by what the viewer sees: "best", "alike", "open" or "behind"."""
        if sender == self.best:
            return "best"
        if sender in self.decision.tied or self.decision.deciding.get(sender) in NETWORK_CRITERIA:
            return "alike"
        return "open" if sender in self.decision.open else "behind"

    def figures(self, sender: str, name: str) -> str:
        """Median of a metric with its interval, and the mean where it is unlike."""
        return format_summary(summarise([v for v in self.ranker.column(sender, name) if v is not None]))

    def to_dict(self) -> dict[str, object]:
        return {"scene": self.name, "verdict": self.says, **self.decision.to_dict()}


def rank_scenes(study: Study, table: pl.DataFrame) -> list[Scene]:
    """Rank every scene of the study; empty if it asks for none."""
    if study.current_senders is None:
        return []
    return [
        _rank(name, select(table, where), study.current_senders) for name, where in study.current_senders.scenes.items()
    ]


def _rank(name: str, rows: pl.DataFrame, asked: CurrentSenders) -> Scene:
    senders: list[str] = rows[asked.column].unique(maintain_order=True).to_list()
    if not senders:
        raise ValueError(f"no case of the grid is in the scene {name}")
    seeds = sorted(rows["seed"].unique().to_list())
    names = [n for n in (*asked.criteria, *asked.shown) if n in rows.columns and rows[n].is_not_null().any()]
    values = {s: _columns(select(rows, {asked.column: s}), seeds, names) for s in senders}
    ranker = Ranker(values, [n for n in asked.criteria if n in names], is_random=not identical_replicas(values))
    decision = ranker.decide()
    return Scene(name, ranker, decision, ranker.verdict)


def _columns(rows: pl.DataFrame, seeds: Sequence[int], names: Sequence[str]) -> dict[str, list[float | None]]:
    place = {seed: row for row, seed in enumerate(rows["seed"].to_list())}
    if len(place) != rows.height:
        raise ValueError("several cases of a sender are in one scene")
    columns = {name: rows[name].to_list() for name in names}
    return {name: [column[place[s]] if s in place else None for s in seeds] for name, column in columns.items()}


def table_rows(scenes: Sequence[Scene], asked: CurrentSenders) -> list[list[str]]:
    """Rows of text: scene, the best sender, those alike or open, the figures of the best, the verdict."""
    rows = []
    for scene in scenes:
        others = {s: scene.standing(s) for s in scene.decision.ranking[1:]}
        listed = {kind: [s for s, k in others.items() if k == kind] for kind in ("alike", "open", "behind")}
        shown = "; ".join(
            f"{metric(n).label} {scene.figures(scene.best, n)} {metric(n).unit}".strip() for n in asked.shown
        )
        best = scene.best if not listed["open"] else f"undecided ({scene.best} leads)"
        rows.append(
            [scene.name, best, shown, *(", ".join(listed[k]) or "–" for k in ("alike", "open", "behind")), scene.says]
        )
    return rows


HEAD = ("scene", "best", "its figures", "alike for the viewer", "undecided", "behind", "in words")

"""The result of a comparison: table, statistics, ranking, verdict, and saving and loading them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from playpath.base.errors import unknown_name
from playpath.base.frames import pl
from playpath.base.manifest import Manifest, manifest
from playpath.base.metrics import BULK_CRITERIA, VIDEO_CRITERIA, format_value
from playpath.base.tabular import Json, Tabular
from playpath.judge import stats
from playpath.judge.lateness import Lateness, lateness
from playpath.judge.race import RULE
from playpath.judge.ranking import Decision, Difference, Ranker, identical_replicas
from playpath.judge.trial import Trial, doubt, viewers_per_arm
from playpath.results import bands, comparison_files
from playpath.results.causes import Cause, causes
from playpath.results.costs import HourlyCost, hourly_costs
from playpath.results.effects import Effect, effects, sentence
from playpath.results.latex import latex_table
from playpath.results.neighbours import Neighbours, neighbours
from playpath.results.notebook import notebook_html
from playpath.results.record import Session
from playpath.results.sensitivity import Sensitivity
from playpath.run.worlds import cc_name
from playpath.scenario import Scenario

_KEYS = ("sender", "cc", "seed", "digest")


@dataclass(frozen=True)
class Failure:
    """A session that failed in a real-time world, where a failure does not stop the others."""

    sender: str
    seed: int
    reason: str


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The result of `compare`."""

    scenario: Scenario
    world: str
    seeds: list[int]
    """The seeds that every sender finished; a sender that left a race has only the first of them."""
    table: pl.DataFrame
    """A row for each session: `sender`, `cc`, `seed`, `digest`, then a column for each metric, with the unit in its name."""
    flows: pl.DataFrame
    links: pl.DataFrame
    """`flows` and `links`: a row for each flow or link of each session."""
    notes: list[str]
    """The gathered warnings of all sessions."""
    timelines: Mapping[str, Session] = field(default_factory=dict, repr=False)
    """One traced session for each sender, all of one seed; empty unless asked for."""
    bands: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=bands.SCHEMA), repr=False)
    """The range of the middle 80 % of the seeds, second by second (see `bands.SCHEMA`); only with timelines."""
    interrupted: bool = False
    """Whether Ctrl-C came before all seeds were done."""
    failures: Sequence[Failure] = ()
    """Sessions that failed. Their seeds are left out for all senders, so that values stay paired; a sender without any finished
    session is not ranked."""
    looks: Sequence[int] = ()
    """Numbers of seeds after which `until_decided` checked whether the best is decided; empty without it."""
    most: int | None = None
    """The number of seeds at which it would have given up, fixed before the start; None without it."""
    sensitivity: Sensitivity | None = None
    """The effect of small variations of the path on the answer; None unless requested."""

    def __repr__(self) -> str:
        return f"<Comparison {self.scenario.name}, {self.world}: {self.headline}>"

    @property
    def unranked(self) -> list[str]:
        """Senders without a session that counts, because of failures."""
        return list(dict.fromkeys(f.sender for f in self.failures if f.sender not in self.senders))

    @property
    def failed_rows(self) -> list[tuple[str, str, str]]:
        """Failures for tables: a row (sender, seeds, reason) for each reason."""
        seeds: dict[tuple[str, str], list[int]] = {}
        for failure in self.failures:
            seeds.setdefault((failure.sender, failure.reason), []).append(failure.seed)
        return [(sender, ", ".join(map(str, found)), reason) for (sender, reason), found in seeds.items()]

    @cached_property
    def senders(self) -> list[str]:
        return self.table["sender"].unique(maintain_order=True).to_list()

    @property
    def metric_names(self) -> list[str]:
        return [name for name in self.table.columns if name not in _KEYS]

    def values(self, sender: str, name: str) -> list[float | None]:
        """A sender's values of a metric, one for each seed that it played, in the order of `seeds`. InputError for an unknown name."""
        if sender not in self._columns:
            raise unknown_name("sender", sender, self._columns)
        if name not in self._columns[sender]:
            raise unknown_name("metric", name, self._columns[sender])
        return self._columns[sender][name]

    @cached_property
    def _columns(self) -> dict[str, dict[str, list[float | None]]]:
        groups = self.table.sort("seed").partition_by("sender", as_dict=True, maintain_order=True)
        return {str(key[0]): group.select(self.metric_names).to_dict(as_series=False) for key, group in groups.items()}

    def summary(self, sender: str, name: str) -> stats.Summary | None:
        """Mean, interval and range of a metric; None if no seed has a value."""
        return stats.summarise([v for v in self.values(sender, name) if v is not None])

    @cached_property
    def ranker(self) -> Ranker:
        criteria = VIDEO_CRITERIA if self.scenario.has_video else BULK_CRITERIA
        return Ranker(
            self._columns,
            criteria,
            is_random=self.scenario.has_chance() or not identical_replicas(self._columns),
            prefer=self.scenario.prefer,
            is_race=self.most is not None,
        )

    @property
    def shown_criteria(self) -> list[str]:
        """The criteria to show as columns: those that this kind of player has, without the video's rate if it is fixed."""
        seen = {name: {v for s in self.senders for v in self.values(s, name)} for name in self.ranker.criteria}
        return [
            name for name, found in seen.items() if found != {None} and (name != "mean_rate_kbps" or len(found) > 1)
        ]

    @cached_property
    def decision(self) -> Decision:
        """Which sender is best, and how sure that is."""
        return self.ranker.decide()

    @property
    def ranking(self) -> list[str]:
        return self.decision.ranking

    @cached_property
    def differences(self) -> list[Difference]:
        """Every other sender against the best, in every metric."""
        best, *others = self.ranking
        found = [self.ranker.difference(other, best, name) for other in others for name in self.metric_names]
        return [d for d in found if d is not None]

    @cached_property
    def effects(self) -> list[Effect]:
        """The effect of each choice on each sender, relative to the first choice; empty if only senders are compared."""
        return effects(self.scenario.choices, self.ranker)

    @cached_property
    def trials(self) -> list[Trial]:
        """How large a real trial would be, for each sender that is not alike with the best; where nothing is random there is none."""
        if not self.ranker.is_random:
            return []
        found: dict[str, Trial] = {}
        criteria = {name: rank for rank, name in enumerate(self.ranker.criteria)}
        # Who shows less of the film has fewer stalls for it.
        shows = {sender for sender in self.senders if self.decision.deciding.get(sender) != "played_s"}
        judged = (d for d in self.differences if d.significant and d.metric in criteria and d.sender in shows)
        proven = [(d.sender, d.metric, d.mean) for d in sorted(judged, key=lambda d: criteria[d.metric])]
        # What makes a sender worse comes before what is proven of it besides, which may speak for it.
        decided = [(d.sender, d.metric, d.mean) for d in self.differences if self._decides(d)]
        unproven = [(name, self.decision.deciding[name], None) for name in self.decision.open]
        best = self.ranking[0]
        for sender, name, mean in [*decided, *proven, *unproven]:
            columns = [self.values(one, name) for one in (sender, best)]
            own, others = ([v for v in column if v is not None] for column in columns)
            pairs = [a - b for a, b in zip(*columns, strict=False) if a is not None and b is not None]
            apart = self.ranker.margin(sender, best, name) if mean is None else mean
            count = viewers_per_arm(own, others, apart if mean is None else None, less=doubt(pairs))
            if count is not None:
                found.setdefault(sender, Trial(sender, best, name, apart, mean is not None, count))
        return [found[name] for name in self.ranking if name in found]

    def _decides(self, found: Difference) -> bool:
        """It is by this one that a sender is worse than the best."""
        decision, sender = self.decision, found.sender
        is_worse = sender in decision.beaten and decision.against[sender] == found.best
        return is_worse and decision.deciding[sender] == found.metric

    def costs(self, price_per_gb: float | None = None) -> list[HourlyCost]:
        """Bytes sent and retransmitted for each hour of video shown, and their price; a sender that showed no video is left out."""
        found = {cost.sender: cost for cost in hourly_costs(self.table, self.flows, price_per_gb)}
        return [found[name] for name in self.ranking if name in found]

    @cached_property
    def causes(self) -> list[Cause]:
        """What was measured on the path under each sender, if rates differ and there is a single path."""
        return causes(self)

    @cached_property
    def neighbours(self) -> list[Neighbours]:
        """Goodput and losses of the other traffic next to each sender; empty if there is none."""
        found = {neighbour.sender: neighbour for neighbour in neighbours(self.table, self.flows)}
        return [found[name] for name in self.ranking if name in found]

    @property
    def is_settled(self) -> bool:
        """Whether further seeds would not change the answer."""
        return (
            all(e.outcome != "open" for e in self.effects) if self.scenario.asks_for_whom else self.decision.is_decided
        )

    @property
    def planned(self) -> int:
        """Seeds to be played, in a race up to the last look that was begun, or was due."""
        return self.looks[-1] if self.looks else len(self.scenario.seeds)

    @cached_property
    def left(self) -> dict[str, int]:
        """Senders that left the race early, because they were proven worse than another → the number of seeds they played."""
        played = {sender: self.table.filter(sender=sender).height for sender in self.senders}
        return {sender: count for sender, count in played.items() if count < len(self.seeds)}

    @cached_property
    def headline(self) -> str:
        """The answer in one line; if each of several senders has choices, the effects of these."""
        return sentence(self.effects) if self.scenario.asks_for_whom else self.ranker.headline

    @cached_property
    def verdict(self) -> str:
        """The answer in a few sentences, with its basis."""
        return self.ranker.verdict

    @cached_property
    def lateness(self) -> Lateness | None:
        """How much the lateness of emulated links adds to the RTT, and whether the verdict survives it; None in the simulator."""
        return lateness(self.links, self._columns, self.ranker, self.decision)

    @cached_property
    def warnings(self) -> list[str]:
        extra = []
        if not self.ranker.is_random:
            extra.append(
                "every seed gave the same result: nothing in this scenario is random, so more seeds add nothing"
            )
        if self._replays_one_moment:
            extra.append(
                "every session begins at the same point of the same trace: at another point, or on another link, the answer may be "
                'different; give the path `start = "random"`, or several traces (playpath population)'
            )
        if self._has_a_fixed_outage:
            extra.append(
                "every session has its outage at the same second: it hits all seeds in much the same phase of their timers, so they count "
                'as one sample, however many there are; let the seed shift it: `outage = { …, spread = "5 s" }`'
            )
        if self.interrupted:
            extra.append(f"interrupted: only {len(self.seeds)} of {self.planned} seeds were finished")
        if self.failures:
            extra.append(self._failure_warning())
        if self.lateness is not None:
            extra.append(self.lateness.warning)
        return [*extra, *self.notes]

    @property
    def _replays_one_moment(self) -> bool:
        paths = self.scenario.resolved.get("path") or []
        return any("trace" in path and path.get("start") != "random" for path in paths)

    @property
    def _has_a_fixed_outage(self) -> bool:
        outages = [path.get("outage") for path in self.scenario.resolved.get("path") or []]
        return any(outage and outage.get("spread", "0 s") == "0 s" for outage in outages)

    def _failure_warning(self) -> str:
        without = f"; not ranked: {', '.join(self.unranked)}" if self.unranked else ""
        count, seeds = len(self.failures), ", ".join(map(str, self.seeds))
        return f"{count} session{'s' if count > 1 else ''} failed; the ranking is over the seeds {seeds}{without}"

    @property
    def digest(self) -> str:
        lines = "\n".join(self.table["digest"].to_list())
        return hashlib.sha256(lines.encode()).hexdigest()

    @cached_property
    def manifest(self) -> Manifest:
        found = manifest(self.scenario, self.world, self.seeds)
        return found if self.most is None else {**found, "until_decided": self.most}

    @cached_property
    def typical_seed(self) -> tuple[int, str | None]:
        """The seed to show, and the criterion that chose it.

        The seed's total over the senders is the (lower) median of the first criterion that differs between seeds; among
        equal ones it is the lowest seed. In a race it is one that all senders played.
        """
        shared = self.seeds[: min(self.left.values(), default=len(self.seeds))]
        for name in self.ranker.criteria:
            totals = sorted((self._total(i, name), seed) for i, seed in enumerate(shared))
            if totals[0][0] != totals[-1][0]:
                return totals[(len(totals) - 1) // 2][1], name
        return self.seeds[0], None

    def _total(self, index: int, name: str) -> float:
        values = [self.values(sender, name)[index] for sender in self.senders]
        return sum(v for v in values if v is not None)

    def with_timelines(self, timelines: Mapping[str, Session], around: pl.DataFrame) -> Comparison:
        """A copy with traced sessions and their bands; values already computed from the table are kept."""
        return self._with(timelines=timelines, bands=around)

    def with_sensitivity(self, found: Sensitivity) -> Comparison:
        """A copy with the result of `playpath.sensitivity`."""
        return self._with(sensitivity=found)

    def _with(self, **changes: Any) -> Comparison:
        changed = replace(self, **changes)
        for name, value in vars(self).items():
            vars(changed).setdefault(name, value)
        return changed

    def to_dict(self) -> Json:
        """The JSON form of `playpath compare --json`."""
        return {
            "scenario": self.scenario.name,
            "world": self.world,
            "seeds": len(self.seeds),
            "senders": [self._sender_dict(name) for name in self.senders],
            "ranking": self.ranking,
            "differences": [d.to_dict() for d in self.differences],
            "effects": [effect.to_dict() for effect in self.effects],
            "costs_per_hour": [cost.to_dict() for cost in self.costs()],
            "neighbours": [found.to_dict() for found in self.neighbours],
            "trials": [trial.to_dict() for trial in self.trials],
            "causes": [cause.to_dict() for cause in self.causes],
            "sensitivity": None if self.sensitivity is None else self.sensitivity.to_dict(),
            "decision": self.decision.to_dict(),
            "stopping": None
            if self.most is None
            else {"rule": RULE, "looks": list(self.looks), "most": self.most, "sessions": self.table.height},
            "headline": self.headline,
            "verdict": self.verdict,
            "lateness": None if self.lateness is None else self.lateness.to_dict(),
            "failed": [dict(failure.__dict__) for failure in self.failures],
            "warnings": self.warnings,
            "manifest": self.manifest,
            "digest": self.digest,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_latex(self) -> str:
        """The ranking as a LaTeX table (package booktabs), with the headline as its caption."""
        return latex_table(self)

    def to_polars(self) -> pl.DataFrame:
        """A row for each session, a column for each metric."""
        return self.table

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def _sender_dict(self, sender: str) -> dict[str, object]:
        summaries = {name: self.summary(sender, name) for name in self.metric_names}
        # A metric that this kind of player does not have is listed all the same, with n = 0.
        absent = {"mean": None, "median": None, "ci95": None, "min": None, "max": None, "n": 0}
        metrics = {name: absent if summary is None else summary.to_dict() for name, summary in summaries.items()}
        return {"name": sender, "cc": cc_name(self.scenario, sender), "metrics": metrics}

    def save(self, folder: str | Path) -> None:
        """Write `comparison.json`, `sessions.parquet`, `flows.parquet`, `links.parquet` and the timelines."""
        comparison_files.save(self, Path(folder))

    def save_timelines(self, folder: str | Path) -> None:
        """Write the timelines and their bands, replacing existing ones."""
        comparison_files.save_timelines(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        return comparison_files.load(Path(folder))


def played_of(runs: int) -> str:
    """A description of what `format_summary` shows for so many runs."""
    is_interval = runs >= stats.MIN_FOR_INTERVAL
    return f"{'Median and its 95 % interval' if is_interval else 'Mean'} of {runs} run{'' if runs == 1 else 's'}"


def format_summary(summary: stats.Summary | None) -> str:
    """The median with its interval, and the mean if that lies outside it; with too few runs for an interval, the mean.

    >>> format_summary(stats.summarise([0.0] * 9 + [60.0])), format_summary(stats.summarise([1.0, 2.0]))
    ('0 (mean 6)', '1.5')
    >>> format_summary(stats.summarise([0.0] * 4 + [1.0] * 5 + [90.0]))
    '1 (0 to 1, mean 9.5)'
    """
    if summary is None:
        return "–"
    middle, mean = format_value(summary.middle), format_value(summary.mean)
    if summary.ci95 is None:
        return middle
    low, high = (format_value(end) for end in summary.ci95)
    parts = [] if low == high else [f"{low} to {high}"]
    if not summary.ci95[0] <= summary.mean <= summary.ci95[1] and mean != middle:
        parts.append(f"mean {mean}")
    return f"{middle} ({', '.join(parts)})" if parts else middle

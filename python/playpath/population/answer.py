"""The answer for a population: whom each sender helps and harms, and what it costs the network."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
from polars.dataframe.group_by import GroupBy

from playpath.base.files import write_frame, write_text
from playpath.base.manifest import PopulationManifest, manifest
from playpath.base.metrics import BULK_CRITERIA, NETWORK_CRITERIA, VIDEO_CRITERIA, metric
from playpath.base.optional import can_draw
from playpath.base.tabular import Json, Tabular
from playpath.base.worlds import DEFAULT
from playpath.judge import stats
from playpath.judge.trial import Trial, doubt, viewers_per_arm
from playpath.population import headline, known_from, raced
from playpath.population.groups import group_labels
from playpath.population.intervals import (
    Estimate,
    between_share,
    is_dominated,
    mean_interval,
    net_interval,
    quantile_band,
    share_interval,
)
from playpath.population.judging import Judgement, judge
from playpath.population.raced import Scores
from playpath.population.sets import VIEWER
from playpath.population.spec import Population
from playpath.population.versus import ALIKE, Relation, Versus, more_units, relation
from playpath.results.effects import Effect, pairs

LEVELS = np.array([0.5, 0.75, 0.95, 0.99])
"""Quantiles that are reported for each metric."""
_STALLED_S = 0.1
_KEYS = ("path", "cell", "sender", "cc", "seed", "digest")


@dataclass(frozen=True, eq=False)
class PopulationResult(Tabular):
    population: Population
    table: pl.DataFrame
    """A row for each session: `path`, `cell`, `sender`, `cc`, `seed`, `digest`, the metrics. All senders have the same paths and seeds,
    except that those that left a race have only the first of them."""
    paths: pl.DataFrame
    """A row for each path: `path`, `unit`, `name`, `weight`, its drawn values, the set's columns as `group.…`, `rate_mbps`."""
    failed: pl.DataFrame
    """Sessions that could not be run: `path`, `sender`, `seed`, `error`. Their paths are left out for all senders."""
    interrupted: bool = False
    """Whether Ctrl-C came before all paths were finished."""
    looks: Sequence[int] = ()
    """Numbers of paths after which `until_decided` checked whether the best is decided; empty without it."""
    most: int | None = None
    """The number of paths at which it gives up, fixed before the start; None without it."""

    @property
    def name(self) -> str:
        return self.population.name

    @property
    def senders(self) -> list[str]:
        found = set(self.table["sender"].unique().to_list())
        return [name for name in self.population.base.senders if name in found]

    @property
    def baseline(self) -> str:
        """The sender that the viewers have today."""
        return self.population.baseline

    @property
    def metric_names(self) -> list[str]:
        return [n for n in self.table.columns if n not in _KEYS and self.table[n].null_count() < self.table.height]

    @property
    def units(self) -> int:
        """Number of links or users that intervals are over."""
        return int(self.paths["unit"].n_unique())

    @property
    def viewer_criteria(self) -> list[str]:
        """The criteria that decide how well a viewer is served, most important first."""
        criteria = VIDEO_CRITERIA if self.population.base.has_video else BULK_CRITERIA
        return [name for name in criteria if name in self.metric_names and name not in NETWORK_CRITERIA]

    @property
    def network_criteria(self) -> list[str]:
        """The criteria that decide if viewers are served alike."""
        return [name for name in VIDEO_CRITERIA if name in NETWORK_CRITERIA and name in self.metric_names]

    @cached_property
    def _sessions(self) -> dict[str, dict[str, np.ndarray]]:
        parts = self.table.sort("path", "seed").partition_by("sender", as_dict=True)
        return {
            str(key[0]): {name: part[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in self.metric_names}
            for key, part in parts.items()
        }

    @cached_property
    def keys(self) -> pl.DataFrame:
        """Path, unit and weight of each session, in the order of `values`; for a sender that left a race only the first ones apply."""
        longest = max(self.senders, key=lambda sender: len(next(iter(self._sessions[sender].values()))))
        one = self.table.filter(pl.col("sender") == longest).sort("path", "seed").select("path", "seed")
        return one.join(self.paths.select("path", "unit", "weight"), on="path", how="left", maintain_order="left")

    @cached_property
    def left(self) -> dict[str, int]:
        """Senders that left the race → the number of paths after which they left."""
        played = {s: self.table.filter(pl.col("sender") == s)["path"].n_unique() for s in self.senders}
        return {sender: number for sender, number in played.items() if number < self.paths.height}

    def values(self, sender: str, name: str) -> np.ndarray:
        """A sender's values of a metric, one for each session that it played; NaN if missing."""
        return self._sessions[sender][name]

    def pair(self, sender: str, other: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Both senders' values of a metric, one for each session that both played."""
        mine, theirs = self.values(sender, name), self.values(other, name)
        both = min(len(mine), len(theirs))
        return mine[:both], theirs[:both]

    def judged(self, sender: str, other: str, *, network: bool = False) -> Judgement:
        """Compare two senders session by session."""
        criteria = self.network_criteria if network else self.viewer_criteria
        prefer = "stalls" if network else self.population.base.prefer  # this keeps the order of the criteria
        both = {name: self.pair(sender, other, name) for name in self.metric_names}
        first, second = ({name: pair[side] for name, pair in both.items()} for side in (0, 1))
        return judge(first, second, criteria, prefer)

    def over_units(self, values: np.ndarray, among: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Means and weights of the units, from one value for each of the first sessions; `among` selects sessions."""
        weighted = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
        units = _over_paths(self.keys, values, among).agg(weighted, pl.col("weight").sum())
        return units["value"].to_numpy(), units["weight"].to_numpy()

    def doubt(self, values: np.ndarray, among: np.ndarray | None = None) -> float:
        """Mean variance of a viewer's value over the draws of their path; 0 if paths are known."""
        if f"group.{VIEWER}" not in self.paths.columns:
            return 0.0
        of_units = _over_paths(self.keys, values, among).agg(pl.col("value").var(), pl.col("weight").sum()).drop_nulls()
        total = float(of_units["weight"].sum())
        return float((of_units["value"] * of_units["weight"]).sum()) / total if total > 0 else 0.0

    def path_share(self, values: np.ndarray) -> float | None:
        """The share of an interval's variance that is due to unknown paths; None if the paths are known, or nothing varies."""
        doubt = self.doubt(values)
        means, weights = self.over_units(values)
        own = np.cov(means, aweights=weights, ddof=0) if len(means) > 1 else 0.0
        return doubt / float(own + doubt) if doubt > 0 else None

    def share(self, flags: np.ndarray, among: np.ndarray | None = None) -> Estimate:
        """The share of viewers for whom the flag is set."""
        if self.most is not None and among is None:
            return self._scores(flags.astype(float)).share()
        return share_interval(*self.over_units(flags.astype(float), among), self.doubt(flags.astype(float), among))

    def net(self, scores: np.ndarray, among: np.ndarray | None = None) -> Estimate:
        """Share of viewers helped minus share harmed."""
        if self.most is not None and among is None:
            return self._scores(scores.astype(float)).estimate()
        return net_interval(*self.over_units(scores.astype(float), among), self.doubt(scores.astype(float), among))

    def _scores(self, scores: np.ndarray) -> Scores:
        """The scores that a race bets on."""
        own = self.population
        values, weights = self.over_units(scores)
        of = int(own.max_units) if own.is_complete else None
        each = scores.reshape(-1, own.sessions)
        within = (each if own.sessions > 1 else scores[None, :]).var(axis=1, ddof=1) / own.sessions
        return Scores(values, weights / own.heaviest, of, np.broadcast_to(within, values.shape))

    @cached_property
    def _p_corrected(self) -> dict[tuple[str, str, bool], float]:
        """Holm's correction over all pairs of senders and both levels: it holds whichever sender turns out best."""
        pairs = list(itertools.combinations(self.senders, 2))
        family = [(a, b, level) for a, b in pairs for level in ((False, True) if self.network_criteria else (False,))]
        p_values = [self.net(self.judged(a, b, network=level).score).p or 0.0 for a, b, level in family]
        return dict(zip(family, stats.holm(p_values), strict=True))

    def _relation(self, sender: str, other: str, *, network: bool) -> Relation:
        scores = self.judged(sender, other, network=network).score.astype(float)
        if self.most is not None:
            return self._scores(scores).relation(self._wanted(network=network))
        key = (sender, other, network)
        p = self._p_corrected.get(key, self._p_corrected.get((other, sender, network), 1.0))
        return relation(*self.over_units(scores), p, self.doubt(scores), len(self.senders))

    def _wanted(self, *, network: bool) -> float:
        return raced.wanted(len(self.population.base.senders), network=network)

    def _standing(self, sender: str, other: str) -> tuple[Relation, str | None]:
        """The relation of two senders, and whether the viewers decide it or, if they are served alike, the network's cost."""
        found = self._relation(sender, other, network=False)
        if found != "alike" or not self.network_criteria:
            return found, "viewers" if found in ("better", "worse") else None
        found = self._relation(sender, other, network=True)
        return found, "network" if found in ("better", "worse") else None

    @cached_property
    def beaten(self) -> frozenset[str]:
        """Senders that are proven worse than another."""
        pairs = itertools.combinations(self.senders, 2)
        worse = {"better": 1, "worse": 0}
        return frozenset(pair[worse[found]] for pair in pairs if (found := self._standing(*pair)[0]) in worse)

    def versus(self, sender: str, other: str) -> Versus:
        judgement = self.judged(sender, other)
        network = self.net(self.judged(sender, other, network=True).score)
        net = self.net(judgement.score)
        relation, decided_by = self._standing(sender, other)
        return Versus(
            sender=sender,
            other=other,
            helped=self.share(judgement.score > 0),
            harmed=self.share(judgement.score < 0),
            net=net,
            network=network,
            relation=relation,
            decided_by=decided_by,
            helped_by=judgement.reasons(1),
            harmed_by=judgement.reasons(-1),
            stalls=self._stalls(sender, other),
            retransmission_ratio=self._ratio(sender, other, "retransmitted_packets"),
            neighbours=self._neighbours(sender, other),
            more_paths=self._more_paths(sender, other) if relation == "open" else None,
        )

    def _stalls(self, sender: str, other: str) -> dict[str, float]:
        if "stall_time_s" not in self.metric_names:
            return {}
        mine, theirs = (np.nan_to_num(v) > _STALLED_S for v in self.pair(sender, other, "stall_time_s"))
        flags = {"with_sender": mine, "with_other": theirs, "relieved": theirs & ~mine, "new": mine & ~theirs}
        return {name: self.share(flag).value for name, flag in flags.items()}

    def _neighbours(self, sender: str, other: str) -> dict[str, float]:
        found = {
            "goodput_ratio": self._ratio(sender, other, "neighbours_goodput_mbps"),
            "retransmission_ratio": self._ratio(sender, other, "neighbours_retransmitted_packets"),
        }
        if (name := "neighbours_stall_time_s") in self.metric_names:
            for key, own in zip(
                ("stall_s_with_sender", "stall_s_with_other"), self.pair(sender, other, name), strict=True
            ):
                found[key] = self._mean(np.nan_to_num(own))
        return {key: value for key, value in found.items() if value is not None}

    def _ratio(self, sender: str, other: str, name: str) -> float | None:
        if name not in self.metric_names:
            return None
        mine, theirs = (self._mean(np.nan_to_num(own)) for own in self.pair(sender, other, name))
        return mine / theirs if theirs > 0 else None

    def _mean(self, values: np.ndarray) -> float:
        means, weights = self.over_units(values)
        return float(np.average(means, weights=weights))

    def _more_paths(self, sender: str, other: str) -> int | None:
        """Estimated further paths, if further units have the scores of these; in a race from what bets win. None if there are no further
        units or the estimate is too large.
        """
        if self.units >= self.population.max_units:
            return None
        network = self._relation(sender, other, network=False) == "alike"
        scores = self.judged(sender, other, network=network).score.astype(float)
        if self.most is not None:
            return self._scores(scores).more(self._wanted(network=network))
        values, weights = self.over_units(scores)
        doubt, tests = self.doubt(scores), sum(p >= stats.SIGNIFICANCE for p in self._p_corrected.values())

        def is_settled(units: int) -> bool:
            each = np.arange(units) * len(values) // units
            p = net_interval(values[each], weights[each], doubt).p or 0.0
            return relation(values[each], weights[each], tests * p, doubt, len(self.senders)) != "open"

        return more_units(len(values), is_settled)

    @cached_property
    def ranking(self) -> list[str]:
        if len(self.senders) < 2:
            return list(self.senders)
        viewer, network = self._borda(network=False), self._borda(network=True)
        behind = self.beaten if self.most is not None else ()
        return sorted(self.senders, key=lambda s: (s in behind, -round(viewer[s] / ALIKE), -network[s], -viewer[s]))

    def _borda(self, *, network: bool) -> dict[str, float]:
        total = dict.fromkeys(self.senders, 0.0)
        if network and not self.network_criteria:
            return total
        for a, b in itertools.combinations(self.senders, 2):
            net = self.net(self.judged(a, b, network=network).score).value
            total[a] += net
            total[b] -= net
        return {sender: value / (len(self.senders) - 1) for sender, value in total.items()}

    @property
    def best(self) -> str:
        """The sender that serves this population best."""
        return self.ranking[0]

    @property
    def contender(self) -> str:
        """The sender that is compared with the baseline group by group: the best, or the next one if the best is the baseline."""
        return next(sender for sender in (*self.ranking, self.best) if sender != self.baseline or len(self.senders) < 2)

    @cached_property
    def against_best(self) -> dict[str, Versus]:
        """The best sender against each other one."""
        return {other: self.versus(self.best, other) for other in self.ranking[1:]}

    @cached_property
    def against_baseline(self) -> dict[str, Versus]:
        """Each other sender against the baseline, in the order of the ranking."""
        return {s: self.versus(s, self.baseline) for s in self.ranking if s != self.baseline}

    @cached_property
    def effects(self) -> list[Effect]:
        """The effect of each choice on each sender's viewers, relative to the first choice; empty if only senders are compared."""
        choices = self.population.base.choices
        found = []
        for choice, name, baseline in pairs(choices, self.senders):
            versus = self.versus(name, baseline)
            helped, harmed = (f"{100 * share.value:.0f} %" for share in (versus.helped, versus.harmed))
            detail = f"{helped} of viewers served better, {harmed} worse"
            against = choices[baseline].value
            sentence = f"{name} against {baseline}: {detail}."
            found.append(Effect(choice.sender, choice.value, against, versus.relation, sentence, detail))
        return found

    @cached_property
    def trial(self) -> Trial | None:
        """How many viewers a real trial of the best sender against today's would need: for the criterion that decides between them, or, if
        none does, for a just noticeable difference in the first criterion.
        """
        both = (self.contender, self.baseline)
        if self.contender == self.baseline or not self.viewer_criteria:
            return None
        decided = self._deciding(*both)
        by = decided or next(one for one in self.viewer_criteria if one != "played_s")
        (one, own), (other, others) = (self._weighed(sender, by) for sender in both)
        if min(len(one), len(other)) < 2:
            return None
        less = 0.0
        if decided:
            mine, theirs = self.pair(*both, by)
            changes = mine - theirs
            less = doubt(*(column.tolist() for column in self.over_units(changes, ~np.isnan(changes))))
        middle, others_middle = np.average(one, weights=own), np.average(other, weights=others)
        apart = float(middle - others_middle if decided else metric(by).margin(middle, others_middle))
        count = viewers_per_arm(one, other, None if decided else apart, less=less, weights=(own, others))
        return None if count is None else Trial(*both, by, apart, decided is not None, count)

    def _deciding(self, sender: str, other: str) -> str | None:
        """What made the difference for most of those whom the better of the two serves better; None unless it is proven to be better for
        viewers, and on average there, too.
        """
        versus = self.versus(sender, other)
        is_better = versus.relation == "better"
        name = next(iter(versus.helped_by if is_better else versus.harmed_by), None)
        shown = None if name is None or versus.decided_by != "viewers" else self.difference(sender, other, name)
        if name is None or shown is None:
            return None
        return name if (shown.value > 0) == (is_better == (metric(name).better == "higher")) else None

    def _weighed(self, sender: str, name: str) -> tuple[list[float], list[float]]:
        """A sender's sessions with a value: their values and weights."""
        values = self.values(sender, name)
        there = ~np.isnan(values)
        return values[there].tolist(), self.keys["weight"].head(len(values)).to_numpy()[there].tolist()

    @property
    def is_decided(self) -> bool:
        """Whether no other sender can still be better than the best, and the paths are known well enough to say so; if each of several
        senders has choices, whether their effects are decided for each sender.
        """
        return self.left_open is None and self.is_settled

    @property
    def is_settled(self) -> bool:
        """Whether further paths would not change the answer."""
        if self.population.base.asks_for_whom:
            return all(effect.outcome != "open" for effect in self.effects)
        return not self.undecided

    @property
    def undecided(self) -> list[Versus]:
        """Comparisons with senders that may still be better than the best; senders that left a race have lost to another one."""
        behind = self.beaten if self.most is not None else ()
        return [v for other, v in self.against_best.items() if v.relation == "open" and other not in behind]

    @cached_property
    def known_from(self) -> dict[str, int]:
        """Number of users by the source of their paths (`known_from`), if the users' table has it."""
        return known_from.count(unit.known_from for unit in self.population.units)

    @property
    def left_open(self) -> str | None:
        """Why the logs behind the paths cannot decide; None if they can."""
        return known_from.left_open(self.known_from, len(self.population.units))

    @cached_property
    def headline(self) -> str:
        """The answer in a sentence that needs no statistics."""
        return headline.headline(self)

    @cached_property
    def fine_print(self) -> str:
        """The basis of the headline."""
        return headline.fine_print(self)

    def mean(self, sender: str, name: str) -> Estimate | None:
        values = self.values(sender, name)
        there = ~np.isnan(values)
        if not there.any():
            return None
        found = mean_interval(*self.over_units(values, there), self.doubt(values, there))
        # What is counted or timed has no mean below zero.
        return found if values[there].min() < 0 else replace(found, low=max(0.0, found.low))

    def difference(self, sender: str, other: str, name: str) -> Estimate | None:
        """Mean of sender minus other, over viewers with values for both."""
        mine, theirs = self.pair(sender, other, name)
        change = mine - theirs
        there = ~np.isnan(change)
        if not there.any():
            return None
        return mean_interval(*self.over_units(change, there), self.doubt(change, there), metric(name).least)

    def quantiles(self, sender: str, name: str, levels: np.ndarray = LEVELS) -> np.ndarray | None:
        """Quantiles over viewers with bands; see `intervals.quantile_band`. They count from below, also if more of the metric is better."""
        values = self.values(sender, name)
        there = ~np.isnan(values)
        if not there.any():
            return None
        keys = self.keys.head(len(values)).filter(pl.Series(there))
        return quantile_band(values[there], keys["weight"].to_numpy(), keys["unit"].to_numpy(), levels)

    @cached_property
    def variance(self) -> float | None:
        """For the best against the baseline: the share of the variance of single sessions' scores that lies between paths."""
        if self.best == self.baseline:
            return None
        scores = self.judged(self.best, self.baseline).score
        return between_share([scores[group] for group in _groups_of(self.keys["path"].head(len(scores)).to_numpy())])

    def group_columns(self) -> list[str]:
        """The columns by which viewers are grouped: the requested columns of the set, then the drawn quantities."""
        asked = [f"group.{name}" for name in self.population.group]
        drawn = [n for n in ("rate_mbps", "rtt_ms", "loss_percent") if n in self.paths.columns]
        return [*asked, *(n for n in drawn if self.paths[n].drop_nulls().n_unique() > 1)]

    def by_group(self, column: str, sender: str, other: str) -> list[tuple[str, int, Estimate, Estimate, Estimate]]:
        """For each group: name, number of units, and the estimates of helped, harmed and net of a sender against another."""
        labels = group_labels(self.paths, column)
        scores = self.judged(sender, other).score
        found = []
        for label in labels.drop_nulls("label").sort("order")["label"].unique(maintain_order=True):
            wanted = labels.filter(pl.col("label") == label)["path"]
            keys = self.keys.head(len(scores))
            among = keys["path"].is_in(wanted.implode()).to_numpy()
            number = int(keys.filter(pl.Series(among))["unit"].n_unique())
            estimates = (self.share(scores > 0, among), self.share(scores < 0, among), self.net(scores, among))
            found.append((label, number, *estimates))
        return found

    def worst_paths(self, sender: str, other: str, most: int = 10) -> pl.DataFrame:
        """The paths on which the sender harms the most viewers."""
        judgement = self.judged(sender, other)
        names = [n for n in ("mean_rate_kbps", "stall_time_s") if n in self.metric_names]
        extra = [pl.Series(n, np.subtract(*self.pair(sender, other, n))) for n in names]
        frame = (
            self.keys.select("path")
            .head(len(judgement.score))
            .with_columns(pl.Series("net", judgement.score.astype(float)), *extra)
        )
        means = frame.group_by("path").agg(pl.all().mean()).filter(pl.col("net") < 0)
        return (
            means.sort("net", "path")
            .head(most)
            .join(self.paths.drop("unit"), on="path", how="left", maintain_order="left")
        )

    @cached_property
    def warnings(self) -> list[str]:
        return headline.warnings(self)

    def dominated(self) -> list[str]:
        """Metrics for which a single unit makes up most of the difference between best and baseline."""
        if self.best == self.baseline:
            return []
        found = []
        for name in self.viewer_criteria:
            values = np.subtract(*self.pair(self.best, self.baseline, name))
            there = ~np.isnan(values)
            if there.any() and is_dominated(*self.over_units(values, there)):
                found.append(metric(name).label)
        return found

    @property
    def digest(self) -> str:
        """SHA-256 over all sessions; equal digests mean equal results."""
        lines = "\n".join(self.table.sort("path", "seed", "sender")["digest"].to_list())
        return hashlib.sha256(lines.encode()).hexdigest()

    @cached_property
    def manifest(self) -> PopulationManifest:
        own = self.population
        stated: PopulationManifest = {
            **manifest(own.base, DEFAULT, list(own.seeds(0))),
            "written": own.base.written,
            "population": dict(own.source),
            "paths": own.paths,
            "sessions": own.sessions,
            "seed": own.seed,
            "intervals_over": own.unit_word,
            "units_in_all": None if math.isinf(own.max_units) else own.max_units,
            "heaviest": own.heaviest,
        }
        if self.most is not None:
            stated["until_decided"] = self.most
        return stated

    def to_dict(self) -> Json:
        """The JSON form of `playpath population --json`."""
        return {
            "population": self.name,
            "paths": self.paths.height,
            "units": self.units,
            "sessions": self.population.sessions,
            "senders": [self._sender_dict(sender) for sender in self.ranking],
            "ranking": self.ranking,
            "baseline": self.baseline,
            "is_decided": self.is_decided,
            "known_from": self.known_from,
            "left_open": self.left_open,
            "headline": self.headline,
            "fine_print": self.fine_print,
            "against_baseline": [v.to_dict() for v in self.against_baseline.values()],
            "against_best": [
                {**v.to_dict(), "blocked_by": headline.blocked(self, v).strip()} for v in self.against_best.values()
            ],
            "effects": [effect.to_dict() for effect in self.effects],
            "trial": None if self.trial is None else self.trial.to_dict(),
            "groups": self._group_dicts(),
            "between_paths": self.variance,
            "stopping": None
            if self.most is None
            else {"rule": raced.RULE, "looks": list(self.looks), "most": self.most, "left": self.left},
            "failed_sessions": self.failed.height,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
            "manifest": self.manifest,
            "digest": self.digest,
        }

    def _sender_dict(self, sender: str) -> dict[str, object]:
        metrics = {}
        for name in self.metric_names:
            mean, bands = self.mean(sender, name), self.quantiles(sender, name)
            if mean is not None and bands is not None:
                named = {f"p{round(100 * level)}": float(value) for level, value in zip(LEVELS, bands[0], strict=True)}
                metrics[name] = {**mean.to_dict(), **named}
        return {"name": sender, "metrics": metrics}

    def _group_dicts(self) -> list[dict[str, object]]:
        return [
            {
                "column": column,
                "group": label,
                "units": units,
                "sender": sender,
                "helped": helped.to_dict(),
                "harmed": harmed.to_dict(),
                "net": net.to_dict(),
            }
            for column in self.group_columns()
            for sender in self.against_baseline
            for label, units, helped, harmed, net in self.by_group(column, sender, self.baseline)
        ]

    def to_polars(self) -> pl.DataFrame:
        return self.table

    def __repr__(self) -> str:
        return (
            f"<PopulationResult {self.name!r}: {self.paths.height} paths, {len(self.senders)} senders; {self.headline}>"
        )

    def _repr_html_(self) -> str:
        shares = ""
        if self.against_baseline and can_draw():
            from playpath.plots import figure
            from playpath.plots.population import helped_and_harmed
            from playpath.show.report.drawings import plain_svg

            drawn, ax = figure(5.2, 0.9 + 0.42 * len(self.against_baseline))
            helped_and_harmed(self, ax)
            shares = plain_svg(drawn)
        return f"<p><b>{escape(self.headline)}</b></p>{shares}<p>{escape(self.fine_print)}</p>"

    def save(self, folder: str | Path) -> None:
        """Write `population.json`, `sessions.parquet`, `paths.parquet`, `failed.parquet`."""
        target = Path(folder)
        for name, frame in (("sessions", self.table), ("paths", self.paths), ("failed", self.failed)):
            write_frame(target / f"{name}.parquet", frame)
        write_text(
            target / "population.json", json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        )

    @classmethod
    def load(cls, folder: str | Path) -> PopulationResult:
        from playpath.scenario import Scenario
        from playpath.scenario.choices import restored

        source = Path(folder)
        stored = json.loads((source / "population.json").read_text(encoding="utf-8"))
        manifest = stored["manifest"]
        base = restored(Scenario.stored(manifest["scenario"], manifest.get("written")), manifest)
        group = manifest["population"].get("population", {}).get("group", ())
        own = Population(
            name=stored["population"],
            base=base,
            draws={},
            units=(),
            paths=manifest["paths"],
            sessions=manifest["sessions"],
            seed=manifest["seed"],
            group=(group,) if isinstance(group, str) else tuple(group),
            baseline=stored["baseline"],
            source=manifest["population"],
            unit_word=manifest["intervals_over"],
            max_units=manifest.get("units_in_all") or math.inf,
            is_shuffled=manifest.get("until_decided") is not None,
            is_complete=bool(manifest["population"].get("population", {}).get("complete", False)),
            heaviest=manifest.get("heaviest", 1.0),
        )
        frames = [pl.read_parquet(source / f"{name}.parquet") for name in ("sessions", "paths", "failed")]
        looks = (stored.get("stopping") or {}).get("looks", [])
        return cls(own, frames[0], frames[1], frames[2], stored["interrupted"], looks, manifest.get("until_decided"))


def _groups_of(values: np.ndarray) -> Sequence[np.ndarray]:
    """Indices of equal values, for each value."""
    return [np.flatnonzero(values == value) for value in np.unique(values)]


def _over_paths(keys: pl.DataFrame, values: np.ndarray, among: np.ndarray | None) -> GroupBy:
    """Each path's mean and weight, grouped by unit."""
    frame = keys.head(len(values)).with_columns(pl.Series("value", values))
    if among is not None:
        frame = frame.filter(pl.Series(among))
    by_path = frame.group_by("path", "unit", maintain_order=True).agg(pl.col("value").mean(), pl.col("weight").first())
    return by_path.group_by("unit", maintain_order=True)

"""Compares both worlds: for each metric a difference with its interval and a verdict, and a verdict on the ranking.

The rule:

- Differences are kernel minus simulator. A seed gives both worlds the same random losses by packet number, so differences are paired
  by seed if the pairs vary less than the kernel's sessions do. Otherwise, from six seeds on, the kernel's mean is compared with the
  simulator's over `SIM_SEEDS` times as many seeds (`stats.difference_from_model`).
- There are three verdicts, as for senders. A metric is *alike* if the 95 % interval of the mean difference lies within the margin,
  the just noticeable difference (an equivalence test by interval inclusion; stricter than two one-sided tests at 5 %, which use the
  90 % interval). Otherwise it *differs* if the interval excludes zero: the worlds are not the same, noticeably or not. Otherwise it
  is *open*: the interval includes zero as well as noticeable differences. With one seed there is no interval: open.
- Margins are fixed in advance: 5 % of the simulator's mean for goodput and throughput, 10 % for the mean RTT, and for everything else
  the margin in `playpath.base.metrics`.
- Rankings: two senders are ordered in each world by the paired difference in one criterion, with Bonferroni's correction for the
  number of pairs. A pair is *alike* if both worlds find the same sender better, or both find them alike; *opposite* if the worlds
  prove different orders, or one proves an order and the other that there is none; *open* if it is open in a world. Rankings are
  alike if all pairs are, and differ if one is opposite.
- Without a video, groups of traffic take the senders' place, each with the mean of its flows, ordered by goodput; all flows
  together and the links are judged as well. Cross traffic next to a video has its own rows, which no verdict counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Literal

import polars as pl

from playpath.base.files import write_text
from playpath.base.metrics import metric
from playpath.base.tabular import Json
from playpath.judge import stats
from playpath.real import twin_traffic
from playpath.results.comparison import Comparison

Verdict = Literal["alike", "differ", "open"]
Order = Literal["alike", "opposite", "open"]

SHARES = {
    "goodput_mbps": 0.05,
    "throughput_mbps": 0.05,
    "total_goodput_mbps": 0.05,
    "utilisation": 0.05,
    "mean_rtt_ms": 0.10,
}
"""Margins as a share of the simulator's mean."""
SIM_SEEDS = 10
"""Seeds that the simulator plays for each of the kernel's; its noise then widens an interval by at most a twentieth."""
SHOWN = (
    "stall_time_s",
    "stall_count",
    "discarded_pictures",
    "mean_rate_kbps",
    "startup_delay_s",
    "goodput_mbps",
    "mean_rtt_ms",
    "retransmitted_packets",
    "rto_count",
    "mean_queue_packets",
)
"""The metrics that are judged, as far as a scenario has them."""


@dataclass(frozen=True)
class MetricTwin:
    """One metric of one sender in both worlds."""

    sender: str
    metric: str
    """Without a video, `sender` is a group of traffic, `all flows`, or `path NAME`."""
    sim: stats.Summary | None
    kernel: stats.Summary | None
    """`sim` and `kernel`: means and intervals in each world; None without a value."""
    mean: float | None
    """Kernel minus simulator."""
    ci95: tuple[float, float] | None
    """Student's t interval of `mean`; None for fewer than two kernel seeds."""
    margin: float
    """The largest difference that counts as alike."""
    verdict: Verdict

    def to_dict(self) -> dict[str, object]:
        worlds = {
            name: None if found is None else found.to_dict()
            for name, found in (("sim", self.sim), ("kernel", self.kernel))
        }
        ci95 = None if self.ci95 is None else list(self.ci95)
        return {**self.__dict__, **worlds, "unit": metric(self.metric).unit, "ci95": ci95}


@dataclass(frozen=True)
class PairOrder:
    """Two senders in both worlds: the better one by a criterion ("" if alike, None if open), and whether the worlds agree."""

    first: str
    second: str
    sim: str | None
    kernel: str | None
    order: Order


def judge(mean_interval: tuple[float, float] | None, margin: float) -> Verdict:
    """The verdict on a difference with this interval.

    >>> judge((-1.0, 2.0), 3.0), judge((2.0, 4.0), 3.0), judge((-1.0, 4.0), 3.0), judge(None, 3.0)
    ('alike', 'differ', 'open', 'open')
    """
    if mean_interval is None:
        return "open"
    low, high = mean_interval
    if -margin <= low and high <= margin:
        return "alike"
    return "differ" if low > 0.0 or high < 0.0 else "open"


def margin_of(name: str, sim_mean: float, kernel_mean: float) -> float:
    """The largest difference of a metric between the worlds that counts as alike."""
    if name in SHARES:
        return SHARES[name] * abs(sim_mean)
    return metric(name).margin(sim_mean, kernel_mean)


@dataclass(frozen=True)
class Twin:
    sim: Comparison
    kernel: Comparison
    """`sim` and `kernel`: the same senders in each world; the simulator has the kernel's seeds, and more."""
    left_out: Mapping[str, str]
    """Senders that cannot run in the kernel world → the reason."""
    interrupted: bool = False
    """Whether Ctrl-C came before all kernel sessions were done."""

    def __repr__(self) -> str:
        return f"<Twin {self.sim.scenario.name}: {self.sentence}>"

    @property
    def judges_traffic(self) -> bool:
        """Whether there is no video, so that groups of traffic are compared instead of senders."""
        return not self.sim.scenario.has_video

    @property
    def senders(self) -> list[str]:
        """Labels of the senders (without a video: of the groups of traffic), in the order of the scenario."""
        return twin_traffic.group_names(self.sim) if self.judges_traffic else self.sim.senders

    @property
    def seeds(self) -> list[int]:
        """The seeds that both worlds have played, which are the kernel's."""
        return self.kernel.seeds

    @cached_property
    def _judged(self) -> tuple[Comparison, Comparison]:
        """The comparisons that are judged, for simulator and kernel."""
        if self.judges_traffic:
            return twin_traffic.of_traffic(self.sim), twin_traffic.of_traffic(self.kernel)
        return self.sim, self.kernel

    @cached_property
    def _ranked(self) -> tuple[Comparison, Comparison]:
        """The comparisons that are ranked: only the seeds that both worlds have played."""
        sim, kernel = self._judged
        return replace(sim, table=sim.table.filter(pl.col("seed").is_in(self.seeds)), seeds=self.seeds), kernel

    @property
    def criterion(self) -> str:
        """The criterion of the rankings: stall time, or goodput without a video."""
        return "stall_time_s" if self.sim.scenario.has_video else "goodput_mbps"

    @cached_property
    def metrics(self) -> list[MetricTwin]:
        """Every shown metric of every sender."""
        return _metrics(*self._judged, twin_traffic.SHOWN if self.judges_traffic else SHOWN)

    @cached_property
    def cross_traffic(self) -> list[MetricTwin]:
        """Every metric of each group of traffic next to each sender; without a video `metrics` has these rows."""
        if self.judges_traffic or not twin_traffic.group_names(self.sim):
            return []
        worlds = twin_traffic.with_cross_traffic(self.sim), twin_traffic.with_cross_traffic(self.kernel)
        return _metrics(*worlds, twin_traffic.FLOW_METRICS)

    def of(self, name: str) -> list[MetricTwin]:
        """The rows of a metric, for all senders."""
        return [m for m in self.metrics if m.metric == name]

    @cached_property
    def pairs(self) -> list[PairOrder]:
        """Every pair of senders, ordered by the criterion."""
        return [self._pair(first, second) for first, second in combinations(self.senders, 2)]

    def _pair(self, first: str, second: str) -> PairOrder:
        sim, kernel = (_better(world, first, second, self.criterion) for world in self._ranked)
        if sim is None or kernel is None:
            return PairOrder(first, second, sim, kernel, "open")
        return PairOrder(first, second, sim, kernel, "alike" if sim == kernel else "opposite")

    def counted(self) -> dict[Order, int]:
        """Number of pairs that are alike, opposite and open."""
        orders: tuple[Order, ...] = ("alike", "opposite", "open")
        return {order: sum(pair.order == order for pair in self.pairs) for order in orders}

    @property
    def ranking_verdict(self) -> Verdict:
        """Whether the worlds rank the senders alike."""
        counts = self.counted()
        if counts["opposite"]:
            return "differ"
        return "open" if counts["open"] or not self.pairs else "alike"

    @property
    def sentence(self) -> str:
        """The verdicts in a sentence or two."""
        counts = {v: sum(m.verdict == v for m in self.metrics) for v in ("alike", "differ", "open")}
        return (
            f"{self._ranking_sentence}Figures: {counts['alike']} are alike, {counts['differ']} differ, {counts['open']} are open "
            f"after {len(self.seeds)} seed{'s' if len(self.seeds) != 1 else ''}."
        )

    @property
    def _ranking_sentence(self) -> str:
        nobody = "There is no video, so nothing is ranked by stalls. " if self.judges_traffic else ""
        if not self.pairs:
            return nobody
        pairs = self.counted()
        question, rows = ("Who gets more goodput", "groups of traffic") if self.judges_traffic else (
            f"Ranking by {metric(self.criterion).label}", "senders"
        )  # fmt: skip
        return (
            f"{nobody}{question}: {self.ranking_verdict} ({pairs['alike']} of {len(self.pairs)} pairs of "
            f"{rows} alike, {pairs['opposite']} opposite, {pairs['open']} open). "
        )

    def ranking(self, world: Literal["sim", "kernel"]) -> list[str]:
        judged = self._judged[world == "kernel"]
        return [name for name in judged.ranking if name in self.senders]

    def to_dict(self) -> Json:
        """The JSON form of `playpath twin --json`."""
        return {
            "scenario": self.sim.scenario.name,
            "seeds": self.seeds,
            "sim_seeds": len(self.sim.seeds),
            "judged": "traffic" if self.judges_traffic else "senders",
            "senders": self.senders,
            "left_out": dict(self.left_out),
            "criterion": self.criterion,
            "ranking": {
                "verdict": self.ranking_verdict,
                "sim": self.ranking("sim"),
                "kernel": self.ranking("kernel"),
                "pairs": [pair.__dict__ for pair in self.pairs],
            },
            "metrics": [m.to_dict() for m in self.metrics],
            "cross_traffic": [m.to_dict() for m in self.cross_traffic],
            "sentence": self.sentence,
            "warnings": {"sim": self.sim.warnings, "kernel": self.kernel.warnings},
            "interrupted": self.interrupted,
            "sim": self.sim.to_dict(),
            "kernel": self.kernel.to_dict(),
        }

    def save(self, folder: str | Path) -> None:
        """Write `twin.json`, and each world's comparison in a folder of its own."""
        target = Path(folder)
        self.sim.save(target / "sim")
        self.kernel.save(target / "kernel")
        write_text(target / "twin.json", json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Twin:
        source = Path(folder)
        stored = json.loads((source / "twin.json").read_text(encoding="utf-8"))
        sim, kernel = Comparison.load(source / "sim"), Comparison.load(source / "kernel")
        return cls(sim, kernel, stored["left_out"], stored["interrupted"])


def _metrics(sim: Comparison, kernel: Comparison, names: Sequence[str]) -> list[MetricTwin]:
    """These metrics of every row that has a value in either world."""
    both = set(sim.metric_names) & set(kernel.metric_names)
    found = [_metric(sim, kernel, row, name) for name in names if name in both for row in sim.senders]
    return [m for m in found if m.sim is not None or m.kernel is not None]


def _metric(sim: Comparison, kernel: Comparison, sender: str, name: str) -> MetricTwin:
    a, b = sim.summary(sender, name), kernel.summary(sender, name)
    modelled = dict(zip(sim.seeds, sim.values(sender, name), strict=True))
    measured = dict(zip(kernel.seeds, kernel.values(sender, name), strict=True))
    common = [(value, modelled[seed]) for seed, value in measured.items()]
    pairs = [(k, s) for k, s in common if k is not None and s is not None]
    # A value that is missing in one world only is not agreement.
    is_missing_in_one = sum(k is None for k, _ in common) != sum(s is None for _, s in common)
    mean, interval = _difference(pairs, [value for seed, value in modelled.items() if seed not in measured])
    margin = 0.0 if a is None or b is None else margin_of(name, a.mean, b.mean)
    if a is None or b is None or is_missing_in_one:
        return MetricTwin(sender, name, a, b, mean, None, margin, "open")
    return MetricTwin(sender, name, a, b, mean, interval, margin, judge(interval, margin))


def _difference(
    pairs: Sequence[tuple[float, float]], others: Sequence[float | None]
) -> tuple[float | None, stats.Interval | None]:
    """Kernel minus simulator, from pairs with the same seeds and the simulator's values with other seeds."""
    measured, modelled = [k for k, _ in pairs], [s for _, s in pairs]
    known = [value for value in others if value is not None]
    if len(pairs) >= stats.MIN_FOR_INTERVAL and known and len(known) == len(others):
        return stats.difference_from_model(measured, modelled, known)
    found = stats.differences(measured, modelled).tolist()
    return stats.mean(found), stats.mean_interval(found)


def _better(world: Comparison, first: str, second: str, name: str) -> str | None:
    """The better of two senders by Student's interval of their difference; "" if they are alike, None if it is open."""
    pairs = zip(world.values(first, name), world.values(second, name), strict=True)
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if any(None in world.values(sender, name) for sender in (first, second)) and both:
        return None
    if not both:
        return ""
    found = stats.differences([a for a, _ in both], [b for _, b in both]).tolist()
    if judge(stats.mean_interval(found), world.ranker.margin(first, second, name)) == "alike":
        return ""
    pairs_in_all = len(world.senders) * (len(world.senders) - 1) / 2
    corrected = stats.mean_interval(found, 1 - stats.SIGNIFICANCE / pairs_in_all)
    if corrected is None or corrected[0] <= 0.0 <= corrected[1]:
        return None
    return first if (corrected[1] < 0) == (metric(name).better == "lower") else second

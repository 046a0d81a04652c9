"""Sequential comparison of two senders over the viewers of a population; valid at any number of looks.

For each link or user, in random order, the mean score of its sessions is known, from -1 to 1. Bets on the mean of these, weighted by
the number of viewers that each represents (`crates/verdict/src/betting.rs`), prove that one sender is better, or that the two are
alike. The error probability of 5 % is divided equally between all pairs of senders; of each part, viewers get the share `_VIEWERS`
and the network's cost the rest, and either side half of that. So all statements of a race hold together with 95 % confidence.

Links and users are a sample of a larger population, unless the population is `complete`: then each is drawn once, the answer is about
them alone, and the uncertainty from the few sessions of each (`Scores.doubt`) is added to the margin that must be proven.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from playpath import _engine
from playpath.judge.stats import SIGNIFICANCE
from playpath.population.intervals import Estimate
from playpath.population.versus import ALIKE, Relation, more_units

RULE = (
    "a quarter more paths at each look, until the best is decided or the most paths are reached; senders proven worse stop early; "
    "proven by bets, so that a whole race names a false winner in at most 5 % of cases, however often one looks"
)
_VIEWERS = 0.8


@dataclass(frozen=True)
class Scores:
    """The scores of two senders over units."""

    values: np.ndarray
    weights: np.ndarray
    """`values` and `weights`: one for each link or user, in the order of drawing; weights are relative to the heaviest of all."""
    of: int | None
    """Their total number, if the population is complete."""
    within: np.ndarray
    """The variance of each unit's mean score over the sessions that might have been played; used if the population is complete."""

    def won(self, net: float) -> tuple[float, float]:
        """Winnings of the bets against "helped minus harmed is at most `net`" and against "is at least `net`"."""
        return _engine.bets_won(self._outcomes, self.weights.tolist(), self.of, (1 + net) / 2)

    def doubt(self, wanted: float) -> float:
        """How far the true mean may lie from the mean that these sessions estimate, except with probability 1 / `wanted`."""
        if self.of is None:
            return 0.0
        number = len(self.values)
        pooled = (float(self.within.sum()) + 1.0) / (number + 1)  # not having seen any variation proves nothing
        effective = float(self.weights.sum()) ** 2 / float((self.weights**2).sum()) * self.of / number
        return _engine.student_quantile(number, 1 - 1 / wanted) * math.sqrt(pooled / effective)

    def relation(self, wanted: float) -> Relation:
        """The relation that is proven once bets have won `wanted`."""
        wanted = wanted if self.of is None else 2 * wanted  # the error is shared between the bets and the doubt
        doubt = self.doubt(wanted)
        if doubt < ALIKE and min(self.won(ALIKE - doubt)[1], self.won(doubt - ALIKE)[0]) >= wanted:
            return "alike"
        if self.won(doubt)[0] >= wanted:
            return "better"
        return "worse" if self.won(-doubt)[1] >= wanted else "open"

    def estimate(self) -> Estimate:
        """Helped minus harmed, with a 95 % interval from bets that holds at any number of links or users."""
        low, high = _engine.bets_interval(self._outcomes, self.weights.tolist(), self.of, SIGNIFICANCE)
        p = min(1.0, 2 / max(self.won(0.0)))
        return Estimate(self._mean, 2 * low - 1, 2 * high - 1, len(self.values), p)

    def share(self) -> Estimate:
        """The same for shares, from 0 to 1."""
        low, high = _engine.bets_interval(self.values.tolist(), self.weights.tolist(), self.of, SIGNIFICANCE)
        return Estimate(self._mean, low, high, len(self.values))

    def more(self, wanted: float) -> int | None:
        """Further units that would settle the comparison if they are like these."""

        def is_settled(units: int) -> bool:
            values, weights = np.resize(self.values, units), np.resize(self.weights, units)
            return replace(self, values=values, weights=weights, of=None).relation(wanted) != "open"

        return more_units(len(self.values), is_settled)

    @property
    def _mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    @property
    def _outcomes(self) -> list[float]:
        return [(1 + float(value)) / 2 for value in self.values]


def wanted(senders: int, *, network: bool) -> float:
    """How much bets must have won to prove something about a pair, with so many senders."""
    pairs = senders * (senders - 1) / 2
    return 2 * pairs / (SIGNIFICANCE * ((1 - _VIEWERS) if network else _VIEWERS))

"""What a race proves of two senders over the viewers of a population, however often one looks.

Of each link or user the mean of its sessions' scores is known, from -1 to 1, in an order that was drawn. Bets on the mean of these,
weighted by how many viewers each stands for (`crates/verdict/src/betting.rs`), prove that one sender is better, or that the two are alike.
All pairs of senders have an equal part of 5 %, viewers `_VIEWERS` of it and the network's cost the rest, either side half: then all that a
whole race says is true at once with 95 %.

Links and users are a sample of those there are, unless the population is `complete`: then each is drawn once, the answer is about them
alone, and what their few sessions leave open of each (`Scores.doubt`) is added to what must be proven.
"""

import math
from dataclasses import dataclass

import numpy as np

from playpath import _engine
from playpath.judge import stats
from playpath.population.intervals import Estimate
from playpath.population.versus import ALIKE, Relation

RULE = (
    "a quarter more paths at each look, until the best is decided or the most paths are reached; senders proven worse stop early; "
    "proven by bets, so that a whole race names a false winner in at most 5 % of cases, however often one looks"
)
_LEVEL = 0.05
_VIEWERS = 0.8


@dataclass(frozen=True)
class Scores:
    """What is known of two senders."""

    values: np.ndarray
    weights: np.ndarray
    """`values` and `weights`: of each link or user, in the order in which they were drawn; weights as a share of the heaviest of all."""
    of: int | None
    """How many there are in all, where they are complete."""
    within: np.ndarray
    """Where they are complete, the variance of each one's mean score over sessions that might have been played in their place."""

    def won(self, net: float) -> tuple[float, float]:
        """By bets against "helped minus harmed is at most this" and "at least"."""
        return _engine.bets_won(self._outcomes, self.weights.tolist(), self.of, (1 + net) / 2)

    def doubt(self, wanted: float) -> float:
        """How far the mean over all may lie from what these sessions would show of it, but for the probability 1 / `wanted`."""
        if self.of is None:
            return 0.0
        number = len(self.values)
        pooled = (float(self.within.sum()) + 1.0) / (number + 1)  # nothing seen to vary is no proof
        effective = float(self.weights.sum()) ** 2 / float((self.weights**2).sum()) * self.of / number
        return _engine.student_quantile(number, 1 - 1 / wanted) * math.sqrt(pooled / effective)

    def relation(self, wanted: float) -> Relation:
        """What is proven once bets have won so much."""
        wanted = wanted if self.of is None else 2 * wanted  # two ways to err
        doubt = self.doubt(wanted)
        if doubt < ALIKE and min(self.won(ALIKE - doubt)[1], self.won(doubt - ALIKE)[0]) >= wanted:
            return "alike"
        if self.won(doubt)[0] >= wanted:
            return "better"
        return "worse" if self.won(-doubt)[1] >= wanted else "open"

    def estimate(self) -> Estimate:
        """Helped minus harmed with what bets leave of it at 95 %, at any number of links or users."""
        low, high = _engine.bets_interval(self._outcomes, self.weights.tolist(), self.of, _LEVEL)
        p = min(1.0, 2 / max(self.won(0.0)))
        return Estimate(self._mean, 2 * low - 1, 2 * high - 1, len(self.values), p)

    def share(self) -> Estimate:
        """The same of shares, from 0 to 1."""
        low, high = _engine.bets_interval(self.values.tolist(), self.weights.tolist(), self.of, _LEVEL)
        return Estimate(self._mean, low, high, len(self.values))

    def more(self, wanted: float) -> int | None:
        """Further ones that would settle it if bets go on winning as they did."""
        alike = min(self.won(ALIKE)[1], self.won(-ALIKE)[0])
        growth = math.log(max(alike, *self.won(0.0)))
        needed = len(self.values) * math.log(wanted) / growth if growth > 0 else math.inf
        return max(1, math.ceil(needed - len(self.values))) if needed < stats.MOST_RUNS else None

    @property
    def _mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    @property
    def _outcomes(self) -> list[float]:
        return [(1 + float(value)) / 2 for value in self.values]


def wanted(senders: int, *, network: bool) -> float:
    """What bets must have won to prove something of a pair of so many senders."""
    pairs = senders * (senders - 1) / 2
    return 2 * pairs / (_LEVEL * ((1 - _VIEWERS) if network else _VIEWERS))

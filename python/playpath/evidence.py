"""What the runs so far prove about senders at one criterion, however often one looks.

Senders are compared by their differences within a seed. At a criterion with a margin (what nobody would notice) two are

- *apart* when one is proven to be noticeably better in more sessions than it is noticeably worse, and its mean is better by
  more than the margin;
- *alike* when one of these is proven: at least nine sessions in ten differ by no more than the margin; or the mean
  difference lies within the margin, from so many runs that what happens in one session of ten has been seen;
- *open* otherwise.

Both are tests of a sequential design whose levels depend on the number of runs alone, so that no history has to be kept:
runs fall into spans that double (8 to 15, 16 to 31, ...), the level of a span is half that of the one before, and all levels
together are below 5 %: 3.5 %, so that even a look at every run errs in less than 5 %. Advice and `--until-decided` look
once in a span (`ladder`).

The tests; "apart" must pass both of its:

- of a pair, the sign test on the sessions with a noticeable difference: exact, whatever the distributions;
- of a pair as one of all pairs, "equal senders are exchangeable within a seed": the self-normalised sum
  U = sum(r) / sqrt(sum(r²)) of the roots r of the differences, each with its sign (so that no single seed decides), against
  the largest U of any pair when each seed's values change hands at random (Westfall and Young 1993). Above
  `_MOST_PERMUTED` runs it is held against
  Bentkus and Dzindzalieta's bound `P(U >= u) <= 3.178 P(Z >= u)` (2015, "A tight Gaussian bound for weighted sums of
  Rademacher random variables"), times the number of pairs;
- of "alike", the exact binomial of the share of sessions that differ (Clopper and Pearson 1934), and Student's t.

docs/decisions/ranking.md has the simulations by which these were chosen; tests/python/test_false_winners.py repeats them.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from playpath import special
from playpath.errors import InputError
from playpath.stats import MOST_RUNS, p_more_often

FALSE_WINNERS = 0.05
"""The most that a whole use may err: any number of senders, criteria, and looks on the ladder."""
UNNOTICED_SHARE = 0.1
"""Two senders are alike where at most this share of the sessions differ noticeably."""
FEWEST_RUNS = 8
"""Below, nothing is decided: seven pairs of equal senders all point one way in 1 of 64 cases."""
STOPPING_RULE = (
    "twice as many seeds at each look, until the best is decided or the most seeds are reached; "
    "the level of a look depends on its number of seeds alone"
)

_APART = 0.7 * FALSE_WINNERS
_ALIKE = 0.4 * FALSE_WINNERS
"""Two senders that differ at a criterion can be taken for alike, or for apart the wrong way round: 2 % and half of 3.5 %."""
_FEWEST_ALIKE = 32
_MOST_PERMUTED = 24
_PERMUTATIONS = 4999
_TAIL = 3.178
_CLOSE = 1e-5


def apart_level(runs: int) -> float:
    """The level at which "apart" is tested with so many runs; 0 where there are too few.

    >>> [round(apart_level(n), 4) for n in (7, 8, 15, 16, 40)]
    [0.0, 0.0175, 0.0175, 0.0088, 0.0044]
    """
    return _level(_APART, runs, FEWEST_RUNS)


def alike_level(runs: int) -> float:
    """As `apart_level`, of "alike"."""
    return _level(_ALIKE, runs, _FEWEST_ALIKE)


def _level(total: float, runs: int, first: int) -> float:
    """Half of `total` in the first span, a quarter in the second, and so on."""
    passed = _span(runs) - _span(first)
    return 0.0 if passed < 0 else total * 0.5 ** (passed + 1)


def ladder(first: int, most: int | None, what: str = "seeds") -> list[int]:
    """Numbers of runs at which to look: twice as many each time, up to the bound, never two in a span.

    >>> ladder(10, 70), ladder(10, 50), ladder(4, 60), ladder(10, 13), ladder(5, None)
    ([10, 20, 40, 70], [10, 20, 50], [4, 8, 16, 60], [13], [5])

    Raises
    ------
    InputError
        The bound is not above the first number.
    """
    if most is None:
        return [first]
    if most <= first:
        raise InputError(f"--until-decided {most}: must be above the {first} {what} to begin with")
    steps = [first * 2**k for k in range(MOST_RUNS.bit_length()) if _span(first * 2**k) < _span(most)]
    return [*steps, most]


def _span(runs: int) -> int:
    """Which span of the levels: 0 below `FEWEST_RUNS`, then 1, 2, ..."""
    return (runs // FEWEST_RUNS).bit_length()


class Evidence:
    """All pairs of senders at one criterion.

    Parameters
    ----------
    values : array, senders × seeds
        Seeds in which a sender has no value are left out by the caller.
    """

    def __init__(self, values: np.ndarray) -> None:
        # Equal quantities differ in their last bits; that is no difference.
        self.values = values - values[:1]
        self._noise = 8 * np.finfo(float).eps * float(np.abs(values).max(initial=0.0))
        self.senders, self.runs = values.shape

    def differences(self, one: int, other: int) -> np.ndarray:
        """Of a pair, one a seed."""
        found = self.values[one] - self.values[other]
        return np.where(np.abs(found) <= self._noise, 0.0, found)

    def p_apart(self, one: int, other: int, margin: float) -> float:
        """Of "their means differ by no more than the margin", corrected for all pairs."""
        found = self.differences(one, other)
        mean = float(found.mean())
        more = int(np.count_nonzero(found * np.sign(mean) > margin))
        less = self.noticed(one, other, margin) - more
        if abs(mean) <= margin or more <= less:
            return 1.0
        return max(p_more_often(more, less), self._p_of_all(one, other))

    def noticed(self, one: int, other: int, margin: float) -> int:
        """Seeds in which the two differ by more than the margin."""
        return int(np.count_nonzero(np.abs(self.differences(one, other)) > margin))

    def are_alike(self, one: int, other: int, margin: float) -> bool:
        """Whether that is proven, for one sender against all others."""
        level = alike_level(self.runs) / max(1, self.senders - 1)
        if level == 0.0 or _runs_without(level) > self.runs:
            return False
        if special.bdtr(self.noticed(one, other, margin), self.runs, UNNOTICED_SHARE) <= level:
            return True
        found = self.differences(one, other)
        half = special.stdtrit(self.runs - 1, 1 - level) * float(found.std(ddof=1)) / math.sqrt(self.runs)
        return bool(abs(found.mean()) + half <= margin)

    def needs(self, one: int, other: int, margin: float, share: float) -> tuple[int, bool] | None:
        """Runs in all after which the pair would be settled if mean and spread stay as they are, and whether as apart.

        Never in the span of the runs that there are, so that who follows the advice looks once in a span; None above
        `MOST_RUNS`, and for fewer than two runs. `share` is this criterion's part of the level of "apart".
        """
        if self.runs < 2:
            return None
        found = self.differences(one, other)
        mean, sd = abs(float(found.mean())), float(found.std(ddof=1))
        noticed = self.noticed(one, other, margin) / self.runs
        more = float(np.mean(found * np.sign(found.mean()) > margin))
        reach = float(_self_normalised(found)) / math.sqrt(self.runs)
        start = FEWEST_RUNS << _span(self.runs)
        while start <= MOST_RUNS:
            level = apart_level(start) * share
            apart = max(self._runs_apart(reach, level), _runs_of_signs(more, noticed, level))
            apart = apart if mean > margin else math.inf
            alike = self._runs_alike(mean, sd, margin, noticed, alike_level(start))
            runs, is_apart = min((apart, True), (alike, False))
            if runs < 2 * start:
                return max(start, math.ceil(runs)), is_apart
            start *= 2
        return None

    def _runs_apart(self, reach: float, level: float) -> float:
        """`reach` is the statistic over the square root of the runs, which does not depend on them."""
        if reach == 0.0 or level == 0.0:
            return math.inf
        pairs = self.senders * (self.senders - 1) / 2
        return float(special.ndtri(level / (2 * _TAIL * pairs)) / reach) ** 2

    def _runs_alike(self, mean: float, sd: float, margin: float, noticed: float, level: float) -> float:
        if level == 0.0:
            return math.inf
        level /= max(1, self.senders - 1)
        reach = float(special.ndtri(level))
        found = [(reach * sd / (margin - mean)) ** 2] if mean < margin else []
        if noticed < UNNOTICED_SHARE:
            found.append((reach / (UNNOTICED_SHARE - noticed)) ** 2 * noticed * (1 - noticed))
        return float(max(_runs_without(level), min(found, default=math.inf)))

    def _p_of_all(self, one: int, other: int) -> float:
        statistic = float(_self_normalised(self.differences(one, other)))
        pairs = self.senders * (self.senders - 1) // 2
        if self.runs > _MOST_PERMUTED:
            return float(min(1.0, pairs * _tail(statistic)))
        reached = self._permuted.size - np.searchsorted(self._permuted, statistic * (1 - _CLOSE))
        return float(reached + 1) / (self._permuted.size + 1)

    @cached_property
    def _permuted(self) -> np.ndarray:
        """The largest statistic of any pair, sorted, when each seed's values change hands at random."""
        order = _orders(self.senders, self.runs)
        mixed = self.values.astype(np.float32)[order, np.arange(self.runs)[:, None]]
        largest = np.zeros(len(order), dtype=np.float32)
        for one, other in combinations(range(self.senders), 2):
            found = mixed[:, :, one] - mixed[:, :, other]
            np.maximum(largest, _self_normalised(np.where(np.abs(found) <= self._noise, 0.0, found)), out=largest)
        return np.sort(largest)


@lru_cache(maxsize=8)
def _orders(senders: int, runs: int) -> np.ndarray:
    """For each permutation and seed, whose value each sender gets. The same every time: a verdict has no chance in it."""
    random = np.random.default_rng(senders * 1000 + runs)
    return np.argsort(random.random((_PERMUTATIONS, runs, senders), dtype=np.float32), axis=2).astype(np.int8)


def _runs_of_signs(more: float, noticed: float, level: float) -> float:
    """Runs until a sign test decides: these shares of the sessions differ noticeably one way, and at all."""
    ahead = 2 * more - noticed
    if ahead <= 0 or level == 0.0:
        return math.inf
    one_way = 1 + math.log2(1 / level)
    return max(one_way / noticed, float(special.ndtri(level / 2)) ** 2 * noticed / ahead**2)


def _runs_without(level: float) -> float:
    """Runs in which something of more than `UNNOTICED_SHARE` stays unseen with at most this probability."""
    return math.log(level) / math.log(1 - UNNOTICED_SHARE)


def _self_normalised(differences: np.ndarray) -> np.ndarray:
    """|U| of the roots of differences, along the last axis; 0 where there are none."""
    size = np.abs(differences)
    total = np.sqrt(size.sum(axis=-1))
    signed = np.abs(np.copysign(np.sqrt(size), differences).sum(axis=-1))
    return np.asarray(signed / np.where(total > 0, total, 1.0))


def _tail(statistic: float) -> float:
    """Two-sided bound for a symmetric self-normalised sum."""
    return min(1.0, 2 * _TAIL * float(special.ndtr(-statistic)))

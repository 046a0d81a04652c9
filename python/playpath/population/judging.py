"""Which of two senders served a viewer better: session by session, as hierarchical pairwise comparisons.

The same viewer on the same path at the same moment, once with each sender. The criteria of the ranking are looked at in
their order; the first in which the two differ by more than anybody would notice (the metric's margin) decides; if none
does, the viewer is served alike. The mean of +1, 0, -1 over viewers is the *net benefit* (Buyse, Statistics in Medicine
29, 2010): helped minus harmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from playpath.base.metrics import metric

Sessions = Mapping[str, np.ndarray]
"""Metric name → one value a session; NaN where there is none."""


@dataclass(frozen=True)
class Judgement:
    """Two senders, session by session.

    Attributes
    ----------
    score : array
        +1 where the first served the viewer better than the second, -1 where worse, 0 alike.
    decided_by : array
        Number of the criterion that decided; -1 where the two are alike.
    criteria : tuple of str
    """

    score: np.ndarray
    decided_by: np.ndarray
    criteria: tuple[str, ...]

    def reasons(self, score: int) -> dict[str, float]:
        """Of the sessions with this score, the share that each criterion decided; the largest first."""
        decided = self.decided_by[self.score == score]
        if not len(decided):
            return {}
        counts = np.bincount(decided, minlength=len(self.criteria)) / len(decided)
        found = {name: float(share) for name, share in zip(self.criteria, counts, strict=True) if share > 0}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def judge(first: Sessions, second: Sessions, criteria: Sequence[str]) -> Judgement:
    """Compare two senders by these criteria, most important first. A missing value is worse than any other."""
    known = tuple(name for name in criteria if name in first and name in second)
    number = len(next(iter(first.values())))
    score = np.zeros(number, dtype=int)
    decided_by = np.full(number, -1)
    for index, name in enumerate(known):
        found = _compare(first[name], second[name], name)
        new = (score == 0) & (found != 0)
        score[new], decided_by[new] = found[new], index
    return Judgement(score, decided_by, known)


def _compare(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    entry = metric(name)
    sign = 1.0 if entry.better == "higher" else -1.0
    margin = np.maximum(entry.least, entry.least_share * np.fmax(np.abs(a), np.abs(b)))
    difference = sign * (a - b)
    score = np.where(np.abs(difference) > margin, np.sign(difference), 0)
    missing_a, missing_b = np.isnan(a), np.isnan(b)
    score = np.where(missing_a & ~missing_b, -1, np.where(missing_b & ~missing_a, 1, score))
    return np.asarray(np.where(missing_a & missing_b, 0, score), dtype=int)

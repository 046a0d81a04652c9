"""Which of two senders served a viewer better: session by session, as hierarchical pairwise comparisons.

The same viewer on the same path at the same moment, once with each sender, by the rule of the ranking
(`crates/verdict/src/sessions.rs`). Its criteria are looked at in their order; the first in which the two differ by more than
anybody would notice (the metric's margin) decides. Where pictures differ, what viewers weigh against each other comes first, and
decides where it is better at all weights of the range. If nothing decides, the viewer is served alike. The mean of +1, 0, -1 over
viewers is the *net benefit* (Buyse, Statistics in Medicine 29, 2010): helped minus harmed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from playpath import _engine

_WEIGHED = ("played_s", "switches", "switched_doublings")
"""What a weighing needs beside the criteria."""

Sessions = Mapping[str, np.ndarray]
"""Metric name → one value a session; NaN where there is none."""


@dataclass(frozen=True)
class Judgement:
    """Two senders, session by session."""

    score: np.ndarray
    """+1 where the first served the viewer better than the second, -1 where worse, 0 alike."""
    decided_by: np.ndarray
    """Number of the criterion that decided; -1 where the two are alike."""
    criteria: tuple[str, ...]

    def reasons(self, score: int) -> dict[str, float]:
        """Of the sessions with this score, the share that each criterion decided; the largest first."""
        decided = self.decided_by[self.score == score]
        if not len(decided):
            return {}
        counts = np.bincount(decided, minlength=len(self.criteria)) / len(decided)
        found = {name: float(share) for name, share in zip(self.criteria, counts, strict=True) if share > 0}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def judge(first: Sessions, second: Sessions, criteria: Sequence[str], prefer: str = "range") -> Judgement:
    """Compare two senders by these criteria, most important first, or with what `prefer` puts first. A missing value is worse than any
    other.
    """
    known = tuple(name for name in criteria if name in first and name in second)
    names = [name for name in (*known, *_WEIGHED, prefer) if name in first and name in second]
    columns = [{name: sessions[name].tolist() for name in names} for sessions in (first, second)]
    score, decided = _engine.served(columns[0], columns[1], list(known), prefer)
    all_names = (*known, *(name for name in dict.fromkeys(decided) if name is not None and name not in known))
    places = {name: number for number, name in enumerate(all_names)} | {None: -1}
    return Judgement(np.array(score, dtype=int), np.array([places[name] for name in decided], dtype=int), all_names)

"""Which of two senders served a viewer better: session by session, as hierarchical pairwise comparisons.

The same viewer on the same path at the same moment gets each sender once, and the rule of the ranking compares the two sessions
(`crates/verdict/src/sessions.rs`). Its criteria are taken in order; the first in which the two differ noticeably (by more than the
metric's margin) decides. If the pictures differ, the weighted sum of what viewers trade off (picture, stalls, waiting, switches)
comes first, and decides if it is better at all weights of the range. If nothing decides, the viewer is served alike. The mean of
+1, 0, -1 over viewers is the *net benefit* (Buyse, Statistics in Medicine 29, 2010): helped minus harmed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from playpath import _engine

_WEIGHED = ("played_s", "switches", "switched_doublings")
"""Metrics that the weighted sum needs in addition to the criteria."""

Sessions = Mapping[str, np.ndarray]
"""Metric name → one value for each session; NaN if missing."""


@dataclass(frozen=True)
class Judgement:
    """The comparison of two senders, session by session."""

    score: np.ndarray
    """+1 if the first served the viewer better than the second, -1 if worse, 0 if alike."""
    decided_by: np.ndarray
    """Index of the criterion that decided; -1 if the two are alike."""
    criteria: tuple[str, ...]

    def reasons(self, score: int) -> dict[str, float]:
        """The share of the sessions with this score that each criterion decided, the largest first."""
        decided = self.decided_by[self.score == score]
        if not len(decided):
            return {}
        counts = np.bincount(decided, minlength=len(self.criteria)) / len(decided)
        found = {name: float(share) for name, share in zip(self.criteria, counts, strict=True) if share > 0}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def judge(first: Sessions, second: Sessions, criteria: Sequence[str], prefer: str = "range") -> Judgement:
    """Compare two senders by these criteria, most important first, or with `prefer` first. A missing value is worse than any
    other.
    """
    known = tuple(name for name in criteria if name in first and name in second)
    names = [name for name in (*known, *_WEIGHED, prefer) if name in first and name in second]
    columns = [{name: sessions[name].tolist() for name in names} for sessions in (first, second)]
    score, decided = _engine.served(columns[0], columns[1], list(known), prefer)
    all_names = (*known, *(name for name in dict.fromkeys(decided) if name is not None and name not in known))
    places = {name: number for number, name in enumerate(all_names)} | {None: -1}
    return Judgement(np.array(score, dtype=int), np.array([places[name] for name in decided], dtype=int), all_names)

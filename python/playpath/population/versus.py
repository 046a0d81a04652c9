"""The comparison of two senders over a population's viewers: what the figures prove, and at which level."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from playpath.judge.stats import MAX_RUNS, SIGNIFICANCE
from playpath.population.intervals import Estimate, alike_interval

Relation = Literal["better", "worse", "alike", "open"]

ALIKE = 0.05
"""A net benefit up to this, either way, is too small to change a sender for."""


def more_units(units: int, is_settled: Callable[[int], bool]) -> int | None:
    """How many more units settle a comparison; None if it takes more than `MAX_RUNS` in all."""
    settled = bisect_left(range(MAX_RUNS), True, lo=units + 1, key=is_settled)
    return settled - units if settled < MAX_RUNS else None


def relation(scores: np.ndarray, weights: np.ndarray, p: float, doubt: float = 0.0, senders: int = 2) -> Relation:
    """The relation that the units' scores prove; `p` is that of "no difference", corrected for all pairs. "Alike" is told of one sender
    against each other, and all of that has to hold together.
    """
    alike = alike_interval(scores, weights, doubt, SIGNIFICANCE / max(1, senders - 1))
    if alike.low >= -ALIKE and alike.high <= ALIKE:
        return "alike"
    if p < SIGNIFICANCE:
        return "better" if weights @ scores > 0 else "worse"
    return "open"


@dataclass(frozen=True)
class Versus:
    """A sender compared with another, over the viewers."""

    sender: str
    other: str
    helped: Estimate
    harmed: Estimate
    """`helped` and `harmed`: shares of viewers that `sender` serves better and worse than `other`."""
    net: Estimate
    """Helped minus harmed."""
    network: Estimate
    """The same for the sessions' cost to the network."""
    relation: Relation
    """Relation of `sender` to `other`: decided by the viewers or, if they are served alike, by the network's cost."""
    decided_by: str | None
    helped_by: Mapping[str, float]
    harmed_by: Mapping[str, float]
    """`helped_by` and `harmed_by`: criterion → the share of cases in which it made the difference."""
    stalls: Mapping[str, float]
    """Shares of sessions that stall: `with_sender`, `with_other`, `relieved` (only with the other), `new` (only with the sender)."""
    retransmission_ratio: float | None
    """Ratio of the retransmitted packets of all sessions, sender to other."""
    neighbours: Mapping[str, float]
    """Effect on the cross traffic: the ratios, sender to other, `goodput_ratio` and `retransmission_ratio`, and its video sessions'
    mean stall times `stall_s_with_sender` and `stall_s_with_other`; empty without cross traffic."""
    more_paths: int | None
    """Further paths that would probably settle an open comparison."""

    def to_dict(self) -> dict[str, object]:
        found = {key: value.to_dict() if isinstance(value, Estimate) else value for key, value in self.__dict__.items()}
        return {key: dict(value) if isinstance(value, Mapping) else value for key, value in found.items()}

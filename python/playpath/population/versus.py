"""How two senders stand to one another over a population's viewers: what its figures prove, and at which level."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from playpath.population.intervals import Estimate, alike_interval

Relation = Literal["better", "worse", "alike", "open"]

ALIKE = 0.05
"""A net benefit within this, either way, is nobody's reason to change a sender."""
LEVEL = 0.05
"""At which a population is decided that is no race (`raced.py`)."""


def relation(scores: np.ndarray, weights: np.ndarray, p: float, doubt: float = 0.0) -> Relation:
    """What the scores of units prove; `p` is of no difference, corrected for all pairs."""
    alike = alike_interval(scores, weights, doubt, LEVEL)
    if alike.low >= -ALIKE and alike.high <= ALIKE:
        return "alike"
    if p < LEVEL:
        return "better" if weights @ scores > 0 else "worse"
    return "open"


@dataclass(frozen=True)
class Versus:
    """A sender held against another, over the viewers."""

    sender: str
    other: str
    helped: Estimate
    harmed: Estimate
    """`helped` and `harmed`: shares of viewers whom `sender` serves better, worse than `other`."""
    net: Estimate
    """Helped minus harmed."""
    network: Estimate
    """The same for what the sessions cost the network."""
    relation: Relation
    """Of `sender` to `other`: by the viewers, and where these are served alike, by the network's cost."""
    decided_by: str | None
    helped_by: Mapping[str, float]
    harmed_by: Mapping[str, float]
    """`helped_by` and `harmed_by`: which criterion made the difference, in which share of the cases."""
    stalls: Mapping[str, float]
    """Shares of sessions that stall: `with_sender`, `with_other`, `relieved` (only with the other), `new` (only with the sender)."""
    retransmission_ratio: float | None
    """Retransmitted packets of all sessions, sender to other."""
    neighbours: Mapping[str, float]
    """What the cross traffic gets, sender to other: `goodput_ratio`, `retransmission_ratio`, and its video sessions' mean stall
    times `stall_s_with_sender`, `stall_s_with_other`; empty without any."""
    more_paths: int | None
    """Further paths that would probably settle an open comparison."""

    def to_dict(self) -> dict[str, object]:
        found = {key: value.to_dict() if isinstance(value, Estimate) else value for key, value in self.__dict__.items()}
        return {key: dict(value) if isinstance(value, Mapping) else value for key, value in found.items()}

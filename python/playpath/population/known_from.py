"""The sources from which a population's paths are known, and the questions that these sources leave open.

A users' table has the column `known_from`, which `playpath population import` and `infer` write. A population of measured links or
of distributions has no such column, and nothing is said about it.
"""

from collections import Counter
from collections.abc import Iterable

COLUMN = "known_from"
RATES = "rates of a deployed sender"
TIMES = "transfer times"
LOSSES = "transfer times and retransmissions"

_FEW = 0.05
"""Users whose logs decide nothing are ignored up to this share."""


def count(words: Iterable[str]) -> dict[str, int]:
    """Number of users by the source of their path; those without one are left out."""
    return dict(Counter(word for word in words if word))


def left_open(known_from: dict[str, int], users: int) -> str | None:
    """Why the logs cannot decide between senders; None if they can."""
    if known_from.get(TIMES, 0) <= _FEW * users:
        return None
    return (
        "your logs do not decide this: without retransmissions a path that loses packets at random looks like a smaller link, and "
        "senders differ most there. Log TCP_INFO's retransmitted and sent bytes (bytes_retrans, bytes_sent) with each transfer, and "
        "min_rtt or the time of the first byte"
    )


def caveat(known_from: dict[str, int]) -> str:
    """A sentence to add to a headline if rates are observed throughputs rather than path capacities; otherwise empty."""
    if RATES not in known_from:
        return ""
    return (
        " The rates are a deployed sender's throughput, not the paths' capacity: another sender may get more, or less. "
        "`playpath population answer` infers the paths from logs of transfers."
    )

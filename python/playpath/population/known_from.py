"""What the paths of a population are known from, and what that leaves open.

A users' table says it for each user in the column `known_from`; `playpath population import` and `infer` write it. A population of
measured links or of distributions has none, and nothing is said about it.
"""

from collections import Counter
from collections.abc import Iterable

COLUMN = "known_from"
RATES = "rates of a deployed sender"
TIMES = "transfer times"
LOSSES = "transfer times and retransmissions"

_FEW = 0.05
"""Users from whose log nothing can be decided do not matter up to this share."""


def count(words: Iterable[str]) -> dict[str, int]:
    """Users by what their path is known from; those of whom nothing is said are left out."""
    return dict(Counter(word for word in words if word))


def left_open(known_from: dict[str, int], users: int) -> str | None:
    """Why logs do not decide between senders; None where they may."""
    if known_from.get(TIMES, 0) <= _FEW * users:
        return None
    return (
        "your logs do not decide this: without retransmissions a path that loses packets at random looks like a smaller link, and "
        "senders differ most there. Log TCP_INFO's retransmitted and sent bytes (bytes_retrans, bytes_sent) with each transfer, and "
        "min_rtt or the time of the first byte"
    )


def caveat(known_from: dict[str, int]) -> str:
    """What to add to a headline about rates that are no paths; empty where there are none."""
    if RATES not in known_from:
        return ""
    return (
        " Its rates are what a deployed sender got, not what the paths carry: another sender may get more, or less. "
        "`playpath population answer` infers the paths from logs of transfers."
    )

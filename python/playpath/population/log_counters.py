"""What was sent again in each transfer, where a log gives the connection's counter instead.

A counter grows from row to row, and begins anew with a new connection. Figures of transfers fall as often as they rise. Counters of
several connections that take turns do neither: a log that does not say whose each is cannot be read.
"""

import bisect
from collections.abc import Hashable, Sequence

_FEW = 4
"""So many steps without a fall are no counter yet."""
_ANEW = 0.5
"""What begins anew falls below this share of what it was."""
_RISES = 4
"""For each fall, of a counter that begins anew; else several take turns."""


def own(figures: Sequence[tuple[Hashable, float]]) -> list[float | None] | None:
    """What each row adds, in the order in which rows are written; none at all where counters are mixed.

    Args:
        figures: Each with its connection. A connection's first row adds nothing that is known: its counter may be older than the log.
    """
    before: dict[Hashable, float] = {}
    steps: list[tuple[float | None, float]] = []
    for connection, figure in figures:
        steps.append((before.get(connection), figure))
        before[connection] = figure
    known = [(last, figure) for last, figure in steps if last is not None]
    falls = [figure < _ANEW * last for last, figure in known if last > figure]
    alone = [figure for _, figure in figures]
    if not (_count(alone) if falls else len(known) >= _FEW):
        return list(alone)
    if not all(falls) or sum(last < figure for last, figure in known) < _RISES * len(falls):
        return None
    return [None if last is None else figure - last if last <= figure else figure for last, figure in steps]


def _count(figures: Sequence[float]) -> bool:
    """Whether a few counters explain many figures, as they do once in 3000 sessions whose figures are those of transfers: Poisson
    numbers, geometric ones and bursts were tried, in 10 to 60 transfers.
    """
    counted = [figure for figure in figures if figure > 0]
    latest: list[float] = []
    for figure in counted:
        counter = max(bisect.bisect_right(latest, figure) - 1, 0)
        rises = counter < len(latest) and latest[counter] <= figure
        latest[counter : counter + rises] = [figure]
    counters, different = len(latest), len(set(counted))
    return 2 * counters + 1 < different and 2 * (counters + 1) ** 2 + 4 < len(counted) + different

"""At which numbers of seeds a race is looked at, and the description of its rule (`crates/verdict/src/race.rs`)."""

from playpath.base.errors import InputError
from playpath.judge.stats import MAX_RUNS

MAX = 256
"""Seeds after which a race ends undecided by default."""
MAX_PACKETS = 100_000_000
"""Packets that a race started by default may cost: about half a minute of one core."""
RULE = (
    "until the best is decided or the most seeds are reached; senders proven worse stop early; proven by bets, so that a whole "
    "race names a false winner in at most 5 % of cases, however often one looks"
)
_MIN_STEP = 4
_MIN_RUNS = 8
"""With fewer runs nothing is decided: seven pairs of runs of equal senders all point the same way in 1 of 64 cases."""


def affordable(packets: int) -> int:
    """Seeds that a race started by default may play, when one seed hands so many packets to links.

    >>> affordable(2_000_000), affordable(10_000)
    (50, 256)
    """
    return min(MAX, MAX_PACKETS // max(1, packets))


def race_looks(first: int, until_decided: int | bool) -> list[int]:
    """Numbers of seeds at which to look: a quarter more each time, but at least four more, up to `until_decided`.

    >>> race_looks(10, 40), race_looks(30, 32), race_looks(10, True)[-3:]
    ([10, 14, 18, 22, 27, 33, 40], [30, 32], [188, 235, 256])
    """
    most = max(MAX, 2 * first) if until_decided is True else int(until_decided)
    if most <= first:
        raise InputError(f"until_decided {most}: must be above the {first} seeds to begin with")
    found = [first]
    while found[-1] < most:
        found.append(min(most, found[-1] + max(_MIN_STEP, found[-1] // 4)))
    return found


def doubling_looks(first: int, most: int | None) -> list[int]:
    """Numbers of seeds at which a sweep looks: twice as many each time, up to `most`, and never two looks in the same span.

    >>> doubling_looks(10, 70), doubling_looks(10, 50), doubling_looks(4, 60), doubling_looks(10, 13), doubling_looks(5, None)
    ([10, 20, 40, 70], [10, 20, 50], [4, 8, 16, 60], [13], [5])
    """
    if most is None:
        return [first]
    if most <= first:
        raise InputError(f"until_decided {most}: must be above the {first} seeds to begin with")
    steps = [first * 2**k for k in range(MAX_RUNS.bit_length()) if _span(first * 2**k) < _span(most)]
    return [*steps, most]


def _span(runs: int) -> int:
    """The span that a number of runs falls into: 0 below `_MIN_RUNS`, then 1, 2, ..."""
    return (runs // _MIN_RUNS).bit_length()

"""At which numbers of seeds a race is looked at, and the description of its rule (`crates/verdict/src/race.rs`)."""

from playpath.base.errors import InputError

MAX = 256
"""Seeds after which a race ends undecided by default."""
MAX_PACKETS = 100_000_000
"""Packets that a race started by default may cost: about half a minute of one core."""
RULE = (
    "until the best is decided or the most seeds are reached; senders proven worse stop early; proven by bets, so that a whole "
    "race names a false winner in at most 5 % of cases, however often one looks"
)
_MIN_STEP = 4


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

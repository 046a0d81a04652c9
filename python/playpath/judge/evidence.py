"""At which numbers of runs to look, and the description of the rule by which they decide (`crates/verdict/src/evidence.rs`)."""

from playpath.base.errors import InputError
from playpath.judge.stats import MAX_RUNS

FALSE_WINNERS = 0.05
"""Error probability of a whole comparison, over all its senders, criteria and looks on the ladder."""
UNNOTICED_SHARE = 0.1
"""Two senders are alike where at most this share of the sessions differ noticeably."""
MIN_RUNS = 8
"""With fewer runs nothing is decided: seven pairs of runs of equal senders all point the same way in 1 of 64 cases."""
STOPPING_RULE = (
    "twice as many seeds at each look, until the best is decided or the most seeds are reached; "
    "the level of a look depends on its number of seeds alone"
)


def ladder(first: int, most: int | None, what: str = "seeds") -> list[int]:
    """Numbers of runs at which to look: twice as many each time, up to `most`, and never two looks in the same span.

    >>> ladder(10, 70), ladder(10, 50), ladder(4, 60), ladder(10, 13), ladder(5, None)
    ([10, 20, 40, 70], [10, 20, 50], [4, 8, 16, 60], [13], [5])
    """
    if most is None:
        return [first]
    if most <= first:
        raise InputError(f"until_decided {most}: must be above the {first} {what} to begin with")
    steps = [first * 2**k for k in range(MAX_RUNS.bit_length()) if _span(first * 2**k) < _span(most)]
    return [*steps, most]


def _span(runs: int) -> int:
    """The span that a number of runs falls into: 0 below `MIN_RUNS`, then 1, 2, ..."""
    return (runs // MIN_RUNS).bit_length()

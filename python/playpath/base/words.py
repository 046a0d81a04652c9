"""Names in a sentence."""

from collections.abc import Sequence


def listing(names: Sequence[str], most: int = 6) -> str:
    """The names as a part of a sentence; of more than `most` only how many more there are.

    >>> listing(["bbr"]), listing(["bbr", "copa", "cubic"])
    ('bbr', 'bbr, copa and cubic')
    >>> listing(["bbr", "copa", "cubic", "vegas"], most=2)
    'bbr, copa and 2 more'
    """
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*names[:most], *more]
    return f"{', '.join(first)} and {last}" if first else last

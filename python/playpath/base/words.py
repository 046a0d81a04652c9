"""Names in a sentence."""

from collections.abc import Sequence


def listing(names: Sequence[str], most: int = 6) -> str:
    """The names as part of a sentence; beyond `most` names only the number of the others.

    >>> listing(["bbr"]), listing(["bbr", "copa", "cubic"])
    ('bbr', 'bbr, copa and cubic')
    >>> listing(["bbr", "copa", "cubic", "vegas"], most=2)
    'bbr, copa and 2 more'
    """
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*names[:most], *more]
    return f"{', '.join(first)} and {last}" if first else last

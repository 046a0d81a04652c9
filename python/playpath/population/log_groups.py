"""Columns by which sessions can be grouped: columns of a log that the users' table keeps, and a session's day and hour.

A name is looked up among the columns of a row, then in its request: URL parameters and CMCD keys. `day` and `hour` need no column:
they are read from the row's time, in the time zone in which it is written.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import MAXYEAR, UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from playpath.base.errors import InputError, unknown_name
from playpath.population.sets import COLUMNS, WITHOUT_UNIT

UNKNOWN = "unknown"
"""The value if no row of a session has one."""
_OWN = ("name", "user", "weight", "samples", *COLUMNS, *WITHOUT_UNIT)
"""Columns that a users' table already has, or that would be mistaken for a quantity there."""
_PAIR = re.compile(r'([A-Za-z@][\w.-]*)=(?:"([^"]*)"|([^,;&\s"]*))')
_OF_TIME = ("day", "hour")
_TIMES = ("time_iso8601", "time_local", "timestamp", "datetime", "date_time", "reqtimesec", "msec", "ts", "time")
_FIRST_YEAR = 1970
"""Times in this year or before, or in the last representable year, cannot be converted to seconds on every system."""
_PER_SECOND = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0))
"""(least value, units per second): the unit of a numeric time since 1970, by its size."""


@lru_cache(maxsize=1000)  # rows of a log have the same names
def normal(name: str) -> str:
    """`Download (ms)` → `download_ms`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


class GroupColumns:
    """Takes the kept columns from rows, and remembers which columns exist.

    Args:
        text: `"country, Device Type, day"`.
    """

    def __init__(self, text: str = "") -> None:
        self.names = [normal(name) for name in text.split(",") if name.strip()]
        self._there: set[str] = set()
        for name in self.names:
            if not name or name in _OWN:
                raise InputError(
                    f"--keep: `{name}` cannot be a column to group by: users' tables use this name themselves"
                )
            if self.names.count(name) > 1:
                raise InputError(f"--keep: `{name}` is named twice")

    def of(self, columns: Mapping[str, Any], asked: Iterable[str] = ()) -> dict[str, str]:
        """The kept columns that a row has.

        Args:
            columns: The row's values by normalised column name.
            asked: URLs, and headers with CMCD.
        """
        if not self.names:
            return {}
        known = {**_query(asked), **_flat(columns)}
        if not known.keys() >= set(self.names) and (when := _moment(known)) is not None:
            known = {"day": f"{when:%Y-%m-%d}", "hour": f"{when:%H}", **known}
        self._there |= known.keys()
        values = ((name, _value(known.get(name))) for name in self.names)
        return {name: value for name, value in values if value}

    def check(self) -> None:
        """Refuse names that no row had."""
        for name in self.names:
            if name not in self._there:
                raise unknown_name("column to keep", name, sorted(self._there | set(_OF_TIME)))


def usual(values: Iterable[str]) -> str:
    """The most frequent value of a session; of equally frequent ones the first."""
    counted = Counter(values).most_common(1)
    return counted[0][0] if counted else UNKNOWN


def _value(value: Any) -> str:
    text = "" if value is None else str(value).strip()
    return "" if text == "-" else text


def _flat(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested columns: `{"geo": {"country": "de"}}` has the column `geo_country`."""
    inner = (
        (f"{name}_{normal(str(key))}", one)
        for name, value in columns.items()
        if isinstance(value, dict)
        for key, one in value.items()
    )
    return {**dict(inner), **{name: value for name, value in columns.items() if not isinstance(value, dict | list)}}


def _query(asked: Iterable[str]) -> dict[str, str]:
    pairs = (pair for text in asked for pair in _PAIR.findall(unquote(text).replace("CMCD=", ",")))
    return {normal(key): quoted or bare for key, quoted, bare in pairs}


def _moment(known: Mapping[str, Any]) -> datetime | None:
    """The time at which a row was written."""
    if known.get("date") and known.get("time"):
        return moment(f"{known['date']} {known['time']}")
    return next((when for name in (*_TIMES, "date") if (when := moment(known.get(name))) is not None), None)


def moment(value: Any) -> datetime | None:
    """A time as logs write it: a number since 1970 in any unit, ISO 8601 (in UTC where it has no offset), nginx's local time."""
    if value is None:
        return None
    text = str(value).strip(" []")
    try:
        number = float(text)
    except ValueError:
        return _written(text)
    return next(
        (datetime.fromtimestamp(number / per, UTC) for least, per in _PER_SECOND if least <= number < 1e20), None
    )


def _written(text: str) -> datetime | None:
    for read in (datetime.fromisoformat, lambda text: datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")):
        try:
            found = read(text)
        except ValueError:
            continue
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found if _FIRST_YEAR < found.year < MAXYEAR else None
    return None

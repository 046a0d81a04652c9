"""Quantities as people type them: a number, a space, a unit. The engine interprets the units."""

import re
from collections.abc import Mapping
from typing import Any

from playpath.base.errors import InputError

_QUANTITY = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*")


def parse(value: Any, where: str) -> tuple[float, str]:
    """Split a quantity into its number and its unit.

    >>> parse("50 ms", "rtt"), parse(0.5, "share")
    ((50.0, 'ms'), (0.5, ''))
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        raise InputError(f"{where}: '{value}' is not a number with a unit")
    return float(found[1]), found[2]


MBPS = {"bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1.0, "Gbit/s": 1e3}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6}


def measure(value: Any, units: Mapping[str, float]) -> float | None:
    """Convert a typed quantity to the unit whose factor is 1; None if it is no number or has none of these units.

    >>> measure("500 kbit/s", MBPS), measure("1 bdp", BYTES), measure("full", SECONDS)
    (0.5, None, None)
    """
    try:
        number, unit = parse(value, "value")
    except InputError:
        return None
    return number * units[unit] if unit in units else None


def quantity(number: float, unit: str) -> Any:
    """A value to four significant digits with its unit, in a form that can be typed in again.

    >>> quantity(12.3456, "ms"), quantity(5.0, "")
    ('12.35 ms', 5)
    """
    short = float(f"{number:.4g}")
    text = f"{short:.10f}".rstrip("0").rstrip(".")
    return f"{text} {unit}" if unit else (int(short) if short.is_integer() else short)

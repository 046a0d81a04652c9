"""Quantities of a resolved scenario ("10 Mbit/s", "50 ms") as numbers. The engine has checked them; this only reads."""

from __future__ import annotations

import re

from playpath.testbed.errors import TestbedError

_UNITS = {
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0,
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip
_QUANTITY = re.compile(r"^\s*([0-9.eE+-]+)\s*([A-Za-z/]+)\s*$")


def number(text: str) -> float:
    """Seconds, bits per second or bytes.

    >>> number("50 ms"), number("10 Mbit/s")
    (0.05, 10000000.0)
    """
    match = _QUANTITY.match(text)
    if match is None or match[2] not in _UNITS:
        raise TestbedError(f"cannot read the quantity '{text}'")
    return float(match[1]) * _UNITS[match[2]]

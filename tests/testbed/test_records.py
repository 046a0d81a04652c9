"""Small parts of the kernel world that need no kernel."""

from __future__ import annotations

import pytest

from playpath.testbed.errors import TestbedError
from playpath.testbed.quantities import number


def test_quantities() -> None:
    assert number("50 ms") == 0.05
    assert number("10 Mbit/s") == 1e7
    assert number("2 min") == 120
    with pytest.raises(TestbedError, match="cannot read the quantity '3 parsecs'"):
        number("3 parsecs")

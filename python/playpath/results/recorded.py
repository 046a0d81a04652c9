"""Types only, in `recorded.pyi`."""

from playpath.base.typed import at_run_time

__getattr__ = at_run_time

"""Types only, in `measured.pyi`."""

from playpath.base.typed import at_run_time

__getattr__ = at_run_time

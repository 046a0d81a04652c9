"""`python -m playpath`, and the command `playpath`."""

import gc
import os
import resource
import signal
import sys

_MIN_ADDRESS_SPACE = 1_500_000_000
"""Bytes that numpy, scipy, polars and their threads map on two cores; 1.3 GB is too little."""


def main() -> None:
    """Run the command line. Ctrl-C ends it cleanly even while it is still being imported."""
    try:
        # No command multiplies large matrices: OpenBLAS's threads would only cost 32 MB of buffers each.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.disable()  # imported modules stay in memory; the command that is called enables it again
        _check_address_space()
        from playpath import cli

        cli.main()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(130)


def _check_address_space() -> None:
    """With too little address space OpenBLAS retries forever while it is loaded, and other libraries abort."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < _MIN_ADDRESS_SPACE:
        sys.stderr.write(
            f"error: this shell allows {allowed / 1e9:.1f} GB of address space; playpath needs "
            f"{_MIN_ADDRESS_SPACE / 1e9:.1f} GB; `ulimit -v unlimited` removes the limit\n"
        )
        sys.exit(1)


if __name__ == "__main__":
    main()

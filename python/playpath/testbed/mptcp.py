"""Kernel MPTCP over all paths of a test bed: addresses announced, limits set, and the number of subflows verified.

The kernel's own scheduler is used; this kernel offers no other (see `schedulers`). No policy routing is needed, because
every path is a point-to-point network of its own.
"""

from __future__ import annotations

import time
from pathlib import Path

from playpath.testbed import namespaces
from playpath.testbed.bed import Testbed
from playpath.testbed.errors import MissingToolError, TestbedError
from playpath.testbed.sockdiag import Diag

PROTOCOL = 262
"""IPPROTO_MPTCP, for `socket.socket`."""
_LIMIT = "8"


def schedulers() -> list[str]:
    """Packet schedulers that this kernel has; empty without MPTCP."""
    path = Path("/proc/sys/net/mptcp/available_schedulers")
    return path.read_text().split() if path.exists() else []


def announce_paths(bed: Testbed) -> None:
    """Let a connection over the first path grow a subflow on every other one: the server announces its addresses."""
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        raise MissingToolError("this kernel has no MPTCP (CONFIG_MPTCP)")
    for namespace in (bed.server, bed.client):
        namespaces.write_sysctls(namespace, {"net.mptcp.enabled": "1"})
        namespaces.run_ip("-n", namespace, "mptcp", "limits", "set", "subflows", _LIMIT, "add_addr_accepted", _LIMIT)
    for end in bed.ends[1:]:
        address = (end.server_address, "dev", end.server_device)
        namespaces.run_ip("-n", bed.server, "mptcp", "endpoint", "add", *address, "signal")


def wait_for_subflows(bed: Testbed, port: int, patience: float = 5.0) -> int:
    """Wait until the server has a subflow on every path at `port`.

    Raises
    ------
    TestbedError
        With the subflows that there are, by path.
    """
    diag = Diag(bed.server)
    deadline = time.monotonic() + patience
    try:
        while True:
            there = {found.local[0] for found in diag.sockets() if found.local[1] == port}
            if len(there) >= len(bed.ends):
                return len(there)
            if time.monotonic() > deadline:
                missing = [end.name for end in bed.ends if end.server_address not in there]
                raise TestbedError(
                    f"{len(there)} of {len(bed.ends)} subflows after {patience:g} s; none on: {', '.join(missing)}"
                )
            time.sleep(0.05)
    finally:
        diag.close()

"""Kernel MPTCP over all paths of a test bed: announces addresses and sets limits.

The kernel's own scheduler is used; this kernel has no other (see `schedulers`). No policy routing is needed, because every path is
a separate point-to-point network.
"""

from pathlib import Path

from playpath.real.testbed import namespaces
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.errors import MissingToolError

DEFAULT = "default"
"""The kernel's own scheduler."""
_LIMIT = "8"
_BTF = Path("/sys/kernel/btf/vmlinux")


def schedulers() -> list[str]:
    """This kernel's packet schedulers; empty without MPTCP."""
    path = Path("/proc/sys/net/mptcp/available_schedulers")
    return path.read_text().split() if path.exists() else []


def scheduler_hook() -> str:
    """Whether a custom scheduler could be registered here: only then the kernel's BTF describes the wrapper type of the hook."""
    if _BTF.exists() and b"bpf_struct_ops_mptcp_sched_ops" in _BTF.read_bytes():
        return "it has the hook for schedulers in eBPF, mptcp_sched_ops, but none of ours is written for it"
    return "it has no hook for schedulers in eBPF, mptcp_sched_ops"


def counters(namespace: str) -> dict[str, int]:
    """MPTCP's own counters of a namespace, `MPTcpExt` of /proc/net/netstat."""

    def read() -> dict[str, int]:
        lines = [line.split() for line in Path("/proc/thread-self/net/netstat").read_text().splitlines()]
        found = [line for line in lines if line[0] == "MPTcpExt:"]
        return dict(zip(found[0][1:], map(int, found[1][1:]), strict=True)) if len(found) == 2 else {}

    return namespaces.call_inside(namespace, read)


def announce_paths(bed: Testbed) -> None:
    """Let a connection over the first path get a subflow on every other one: the server announces its addresses."""
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        raise MissingToolError("this kernel has no MPTCP (CONFIG_MPTCP)")
    for namespace in (bed.server, bed.client):
        accept_paths(namespace)
    for end in bed.ends[1:]:
        address = (end.server_address, "dev", end.server_device)
        namespaces.run_ip("-n", bed.server, "mptcp", "endpoint", "add", *address, "signal")


def accept_paths(namespace: str) -> None:
    """Let connections of a namespace use MPTCP and join the addresses that their peers announce."""
    namespaces.write_sysctls(namespace, {"net.mptcp.enabled": "1"})
    namespaces.run_ip("-n", namespace, "mptcp", "limits", "set", "subflows", _LIMIT, "add_addr_accepted", _LIMIT)

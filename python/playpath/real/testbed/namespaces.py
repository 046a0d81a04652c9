"""Network namespaces of a run, and running code and commands inside them.

A run is called `pp-PID-N`; everything it creates carries that name, so that whatever a killed run left behind can be found and
distinguished from everything else. Nothing here touches a namespace, device or process with another name.
"""

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from playpath.real.testbed.errors import MissingToolError, TestbedError

PREFIX = "pp"
NETNS_FOLDER = Path("/run/netns")

_SYSCTLS = Path("/proc/sys")
_CLONE_NEWNS = 0x00020000
_CLONE_NEWNET = 0x40000000
# <linux/mount.h>
_MS_REMOUNT = 1 << 5
_MS_BIND = 1 << 12
_MS_REC = 1 << 14
_MS_PRIVATE = 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)

T = TypeVar("T")


def run_ip(*arguments: str) -> str:
    """Run `ip` and return what it prints. Raises TestbedError with its message."""
    try:
        done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        raise MissingToolError("`ip` is missing; install iproute2 (bpf/setup.sh)") from None
    if done.returncode != 0:
        raise TestbedError(f"ip {' '.join(arguments)}: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout


def create(name: str) -> None:
    """Create a namespace with loopback up and IPv6 off (router solicitations would count as packets)."""
    if (NETNS_FOLDER / name).exists():
        raise TestbedError(
            f"network namespace {name} exists already; `playpath testbed clean` removes what a killed run left behind"
        )
    try:
        run_ip("netns", "add", name)
    except TestbedError as error:
        if "not permitted" not in str(error):
            raise
        raise MissingToolError(
            f"no permission to create network namespaces (`playpath doctor` says more): {error}"
        ) from None
    run_ip("-n", name, "link", "set", "lo", "up")
    write_sysctls(name, {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})


def delete(name: str) -> None:
    """Delete a namespace and its devices, if it exists."""
    _if_there(name, "netns", "del", name)


def write_sysctls(name: str, settings: dict[str, str]) -> None:
    """Write sysctls of a namespace, with names such as `net.ipv4.tcp_rmem`."""

    def write() -> None:
        for key, value in settings.items():
            path = _SYSCTLS / key.replace(".", "/")
            try:
                if not os.access(path, os.W_OK):
                    _make_sysctls_writable()
                path.write_text(value)
            except OSError as error:
                raise TestbedError(f"cannot set {key}={value} in {name}: {error.strerror}") from None

    call_inside(name, write)


def _make_sysctls_writable() -> None:
    """Mount /proc again for this thread only (needs CAP_SYS_ADMIN): in a container /proc/sys is read-only."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for target, flags in ((b"/", _MS_REC | _MS_PRIVATE), (os.fsencode(_SYSCTLS), _MS_REMOUNT | _MS_BIND)):
        if _libc.mount(None, target, None, ctypes.c_ulong(flags), None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def read_sysctls(name: str, keys: Sequence[str]) -> dict[str, str]:
    """Read sysctls of a namespace; those that this kernel does not have are left out."""

    def read() -> dict[str, str]:
        found = {}
        for key in keys:
            path = _SYSCTLS / key.replace(".", "/")
            if path.exists():
                found[key] = " ".join(path.read_text().split())
        return found

    return call_inside(name, read)


def call_inside(name: str, function: Callable[[], T]) -> T:
    """Call a function in a new thread inside the namespace. Sockets that it creates stay in that namespace."""
    result: list[T] = []
    failure: list[BaseException] = []

    def enter_and_call() -> None:
        try:
            descriptor = os.open(NETNS_FOLDER / name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
                    raise TestbedError(f"cannot enter namespace {name}: {os.strerror(ctypes.get_errno())}")
            finally:
                os.close(descriptor)
            result.append(function())
        except BaseException as error:  # re-raised in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=enter_and_call, name=f"in-{name}")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def inside(name: str, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` in the namespace. (`ip netns exec` would hide cgroup and bpf mounts.)"""
    return ["nsenter", f"--net={NETNS_FOLDER / name}", "--", *command]


def processes_in(name: str) -> list[int]:
    return [int(word) for word in _if_there(name, "netns", "pids", name).split()]


def _if_there(name: str, *arguments: str) -> str:
    """`run_ip` for a namespace that may be gone or disappear in the meantime: two runs may clean up after the same dead one."""
    path = NETNS_FOLDER / name
    if not path.exists():
        return ""
    try:
        return run_ip(*arguments)
    except TestbedError:
        if path.exists():
            raise
        return ""

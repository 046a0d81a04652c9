"""Finds out what this machine can run, what is missing, and how to get it. It is quick and never fails."""

import ctypes
import os
import platform
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from playpath.base.parallel import default_jobs

_BTF = Path("/sys/kernel/btf/vmlinux")
_TUN = Path("/dev/net/tun")
_STATUS = Path("/proc/self/status")
_MOUNTS = Path("/proc/self/mounts")
_MPTCP = Path("/proc/sys/net/mptcp/enabled")
_CLONE_NEWNET = 0x40000000
_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    area: str
    """What it is needed for."""
    name: str
    is_there: bool
    detail: str
    """What was found."""
    remedy: str
    """How to get it, in one line; empty if it is there."""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class _Probe:
    area: str
    name: str
    look: Callable[[], str | None]
    """What was found; None if it is missing."""
    remedy: str

    def check(self) -> Check:
        try:
            found = self.look()
        except Exception as error:  # a check that fails must not end the whole report
            found, reason = None, f"could not be checked: {error}"
        else:
            reason = "not found"
        there = found is not None
        return Check(self.area, self.name, there, found if found is not None else reason, "" if there else self.remedy)


SIM, EMULATION, EBPF, MPTCP, APPS = "sim", "kernel: link emulation", "kernel: eBPF", "kernel: MPTCP", "kernel: programs"


def examine() -> list[Check]:
    return [probe.check() for probe in _probes()]


def can_run(checks: list[Check]) -> dict[str, bool]:
    areas = dict.fromkeys(check.area for check in checks)
    return {area: all(c.is_there for c in checks if c.area == area) for area in areas}


def _probes() -> list[_Probe]:
    from playpath.real.testbed.programs import remedy

    return [
        _Probe(SIM, "engine", _engine_version, "run `make setup` or `pip install .`"),
        _Probe(SIM, "cores", lambda: f"{default_jobs()} usable", ""),
        _Probe(EMULATION, "Linux", _linux, "the kernel world needs Linux 5.6 or newer; `sim` runs anywhere"),
        _Probe(EMULATION, "root", _root, "run the kernel world as root, for example with sudo"),
        _Probe(EMULATION, "network namespaces", _namespaces, "use a kernel with CONFIG_NET_NS"),
        _Probe(
            EMULATION,
            "right to create namespaces",
            _may_make_namespaces,
            "run as root, for example with sudo; a container needs CAP_SYS_ADMIN",
        ),
        _Probe(EMULATION, "ip", _program("ip"), "apt install iproute2"),
        _Probe(EMULATION, "playpath-emulator", _built("playpath-emulator"), remedy("playpath-emulator")),
        _Probe(EMULATION, "playpath-client", _built("playpath-client"), remedy("playpath-client")),
        _Probe(EMULATION, "playpath-serve", _built("playpath-serve"), remedy("playpath-serve")),
        _Probe(EMULATION, "/dev/net/tun", _tun, "modprobe tun; in a container: start it with --device /dev/net/tun"),
        _Probe(EBPF, "BTF", _btf, "use a kernel with CONFIG_DEBUG_INFO_BTF (Debian's and Ubuntu's have it)"),
        _Probe(EBPF, "right to load", _may_load, "run as root, for example with sudo; a container needs CAP_SYS_ADMIN"),
        _Probe(EBPF, "struct_ops for TCP", _struct_ops, "use Linux 6.10 or newer with CONFIG_BPF_JIT and BTF"),
        _Probe(EBPF, "bpf file system", _bpf_file_system, "mount /proc"),
        _Probe(EBPF, "clang", _to_build_bpf(_program("clang")), "bpf/setup.sh, or apt install clang"),
        _Probe(
            EBPF,
            "libelf headers",
            _to_build_bpf(_file("/usr/include/libelf.h")),
            "bpf/setup.sh, or apt install libelf-dev zlib1g-dev",
        ),
        _Probe(EBPF, "playpath-bpf", _built("playpath-bpf"), remedy("playpath-bpf")),
        _Probe(EBPF, "kernel's own controls", _controls, "mount /proc"),
        _Probe(MPTCP, "root", _root, "run the kernel world as root, for example with sudo"),
        _Probe(MPTCP, "MPTCP", _mptcp, "sysctl net.mptcp.enabled=1; needs a kernel with CONFIG_MPTCP"),
        _Probe(APPS, "nginx", _program("nginx"), "apt install nginx-light"),
        _Probe(APPS, "ffmpeg", _program("ffmpeg"), "apt install ffmpeg"),
        _Probe(APPS, "ffprobe", _program("ffprobe"), "apt install ffmpeg"),
        _Probe(
            APPS, "clip", _clip, "set PLAYPATH_CLIP=FILE, or let the first run with a real player fetch it with pip"
        ),
        _Probe(APPS, "vlc", _program("vlc"), "apt install vlc-bin vlc-plugin-base"),
        _Probe(APPS, "chromium", _program("chromium", "chromium-browser", "google-chrome"), "apt install chromium"),
        _Probe(
            APPS,
            "dash.js",
            _script("dashjs"),
            "apt install npm, which fetches it at the first run; or PLAYPATH_DASHJS=FILE",
        ),
        _Probe(
            APPS,
            "hls.js",
            _script("hlsjs"),
            "apt install npm, which fetches it at the first run; or PLAYPATH_HLSJS=FILE",
        ),
        _Probe(
            APPS,
            "Shaka",
            _script("shaka"),
            "apt install npm, which fetches it at the first run; or PLAYPATH_SHAKA=FILE",
        ),
        _Probe(APPS, "curl", _program("curl"), "apt install curl"),
        _Probe(APPS, "ngtcp2", _program("gtlsclient"), "apt install ngtcp2-client"),
        _Probe(APPS, "iperf3", _program("iperf3"), "apt install iperf3"),
        _Probe(APPS, "mptcpize", _program("mptcpize"), "apt install mptcpize"),
    ]


def _engine_version() -> str | None:
    from playpath.base import engine

    return engine.version()


def _linux() -> str | None:
    if platform.system() != "Linux":
        return None
    major, minor = (int(part) for part in platform.release().split(".")[:2])
    return platform.release() if (major, minor) >= (5, 6) else None


def _root() -> str | None:
    return "yes" if os.geteuid() == 0 else None


def _namespaces() -> str | None:
    return "yes" if Path("/proc/self/ns/net").exists() else None


def _may_make_namespaces() -> str | None:
    """Create a network namespace in a thread; it disappears with the thread."""
    if platform.system() != "Linux":
        return None
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(unshare(_CLONE_NEWNET)))
    thread.start()
    thread.join()
    return "yes" if answers == [0] else None


def _program(*names: str) -> Callable[[], str | None]:
    return lambda: next((found for name in names if (found := shutil.which(name))), None)


def _clip() -> str | None:
    """The clip that real players play, if it is already there."""
    from playpath.real.testbed import media

    own = os.environ.get("PLAYPATH_CLIP")
    stored = Path(own) if own else media.cache_folder() / "clip" / "bigbuckbunny.mp4"
    return str(stored) if stored.is_file() else None


def _script(name: str) -> Callable[[], str | None]:
    """A player's script, or the program that fetches it."""

    def look() -> str | None:
        from playpath.real.testbed.players import PLAYERS

        stored = PLAYERS[name].library.stored  # type: ignore[attr-defined]
        npm = shutil.which("npm")
        return str(stored) if stored.is_file() else f"{npm} fetches it" if npm else None

    return look


def _file(path: str) -> Callable[[], str | None]:
    return lambda: path if Path(path).exists() else None


def _built(name: str) -> Callable[[], str | None]:
    """The path of one of the kernel world's own programs."""

    def look() -> str | None:
        from playpath.real.testbed.errors import MissingToolError
        from playpath.real.testbed.programs import find

        try:
            return find(name)
        except MissingToolError:
            return None

    return look


def _to_build_bpf(look: Callable[[], str | None]) -> Callable[[], str | None]:
    """Needed only to build `playpath-bpf`: its BPF objects are compiled in and adapt to the running kernel."""
    return lambda: look() or ("not needed: playpath-bpf is built" if _built("playpath-bpf")() else None)


def _tun() -> str | None:
    if not _TUN.exists():
        return None
    os.close(os.open(_TUN, os.O_RDWR))
    return "can be opened"


def _btf() -> str | None:
    return str(_BTF) if _BTF.exists() else None


def _may_load() -> str | None:
    """CAP_SYS_ADMIN, which brings CAP_BPF and CAP_PERFMON, and CAP_NET_ADMIN."""
    if not _STATUS.exists():
        return None
    status = _STATUS.read_text()
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    return "yes" if all(effective >> bit & 1 for bit in (12, 21)) else None


def _struct_ops() -> str | None:
    # The kernel describes the wrapper type only when a program may register a congestion control.
    if _BTF.exists() and b"bpf_struct_ops_tcp_congestion_ops" in _BTF.read_bytes():
        return "tcp_congestion_ops can be registered"
    return None


def _bpf_file_system() -> str | None:
    """Only needed for a control that is to outlive its loader; runs do not need it."""
    if not _MOUNTS.exists():
        return None
    if any(line.split()[2] == "bpf" for line in _MOUNTS.read_text().splitlines()):
        return "mounted"
    return "not mounted; only `playpath cc load` without --hold needs it: mount -t bpf bpf /sys/fs/bpf"


def _controls() -> str | None:
    if not _CONTROLS.exists():
        return None
    # Names with a suffix belong to runs under way.
    return " ".join(name for name in _CONTROLS.read_text().split() if "." not in name)


def _mptcp() -> str | None:
    if not _MPTCP.exists() or _MPTCP.read_text().strip() != "1":
        return None
    from playpath.real.testbed import mptcp

    return f"enabled; schedulers: {', '.join(mptcp.schedulers())} ({mptcp.scheduler_hook()})"

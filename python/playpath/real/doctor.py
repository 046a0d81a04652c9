"""Finds out what this machine can run, what is missing, and how to get it. It is quick and never fails."""

import ctypes
import os
import platform
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
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
    area: str
    """What it is needed for."""
    name: str
    is_there: bool
    detail: str
    remedy: str
    """How to get it, in one line; empty if it is there."""


SIM, EMULATION, EBPF, MPTCP, APPS = "sim", "kernel: link emulation", "kernel: eBPF", "kernel: MPTCP", "kernel: programs"
_Look = Callable[[], str | None]
"""Looks for one thing: what was found, None if it is missing."""


def examine() -> list[Check]:
    return [_check(area, *probe) for area, probes in _probes().items() for probe in probes]


def can_run(checks: list[Check]) -> dict[str, bool]:
    areas = dict.fromkeys(check.area for check in checks)
    return {area: all(c.is_there for c in checks if c.area == area) for area in areas}


def _check(area: str, name: str, look: _Look, remedy: str) -> Check:
    try:
        found, missing = look(), "not found"
    except Exception as error:  # a check that fails must not end the whole report
        found, missing = None, f"could not be checked: {error}"
    return Check(area, name, False, missing, remedy) if found is None else Check(area, name, True, found, "")


def _probes() -> dict[str, list[tuple[str, _Look, str]]]:
    """Area → what it needs: its name, how to look for it, and the remedy."""
    from playpath.real.testbed.programs import remedy

    def own(name: str) -> tuple[str, _Look, str]:
        return name, _built(name), remedy(name)

    def program(name: str, package: str = "", *others: str) -> tuple[str, _Look, str]:
        return name, _program(name, *others), f"apt install {package or name}"

    def script(title: str, name: str) -> tuple[str, _Look, str]:
        return (
            title,
            _script(name),
            f"apt install npm, which fetches it at the first run; or PLAYPATH_{name.upper()}=FILE",
        )

    sudo = "run as root, for example with sudo; a container needs CAP_SYS_ADMIN"
    root = ("root", _root, "run the kernel world as root, for example with sudo")
    clip = "set PLAYPATH_CLIP=FILE, or let the first run with a real player fetch it with pip"
    return {
        SIM: [
            ("engine", _engine_version, "run `make setup` or `pip install .`"),
            ("cores", lambda: f"{default_jobs()} usable", ""),
        ],
        EMULATION: [
            ("Linux", _linux, "the kernel world needs Linux 5.6 or newer; `sim` runs anywhere"),
            root,
            (
                "network namespaces",
                lambda: "yes" if _exists("/proc/self/ns/net") else None,
                "use a kernel with CONFIG_NET_NS",
            ),
            ("right to create namespaces", _may_make_namespaces, sudo),
            program("ip", "iproute2"),
            own("playpath-emulator"),
            own("playpath-client"),
            own("playpath-serve"),
            ("/dev/net/tun", _tun, "modprobe tun; in a container: start it with --device /dev/net/tun"),
        ],
        EBPF: [
            ("BTF", lambda: _exists(_BTF), "use a kernel with CONFIG_DEBUG_INFO_BTF (Debian's and Ubuntu's have it)"),
            ("right to load", _may_load, sudo),
            ("struct_ops for TCP", _struct_ops, "use Linux 6.10 or newer with CONFIG_BPF_JIT and BTF"),
            ("bpf file system", _bpf_file_system, "mount /proc"),
            ("clang", _to_build_bpf(_program("clang")), "bpf/setup.sh, or apt install clang"),
            (
                "libelf headers",
                _to_build_bpf(lambda: _exists("/usr/include/libelf.h")),
                "bpf/setup.sh, or apt install libelf-dev zlib1g-dev",
            ),
            own("playpath-bpf"),
            ("kernel's own controls", _controls, "mount /proc"),
        ],
        MPTCP: [root, ("MPTCP", _mptcp, "sysctl net.mptcp.enabled=1; needs a kernel with CONFIG_MPTCP")],
        APPS: [
            program("nginx", "nginx-light"),
            program("ffmpeg"),
            program("ffprobe", "ffmpeg"),
            ("clip", _clip, clip),
            program("vlc", "vlc-bin vlc-plugin-base"),
            program("chromium", "", "chromium-browser", "google-chrome"),
            script("dash.js", "dashjs"),
            script("hls.js", "hlsjs"),
            script("Shaka", "shaka"),
            program("curl"),
            ("ngtcp2", _program("gtlsclient"), "apt install ngtcp2-client"),
            program("iperf3"),
            program("mptcpize"),
        ],
    }


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


def _program(*names: str) -> _Look:
    return lambda: next((found for name in names if (found := shutil.which(name))), None)


def _clip() -> str | None:
    """The clip that real players play, if it is already there."""
    from playpath.real.testbed import media

    own = os.environ.get("PLAYPATH_CLIP")
    stored = Path(own) if own else media.cache_folder() / "clip" / "bigbuckbunny.mp4"
    return str(stored) if stored.is_file() else None


def _script(name: str) -> _Look:
    """A player's script, or the program that fetches it."""

    def look() -> str | None:
        from playpath.real.testbed.players import PLAYERS

        stored = PLAYERS[name].library.stored  # type: ignore[attr-defined]
        npm = shutil.which("npm")
        return str(stored) if stored.is_file() else f"{npm} fetches it" if npm else None

    return look


def _exists(path: str | Path) -> str | None:
    return str(path) if Path(path).exists() else None


def _built(name: str) -> _Look:
    """The path of one of the kernel world's own programs."""

    def look() -> str | None:
        from playpath.real.testbed.errors import MissingToolError
        from playpath.real.testbed.programs import find

        try:
            return find(name)
        except MissingToolError:
            return None

    return look


def _to_build_bpf(look: _Look) -> _Look:
    """Needed only to build `playpath-bpf`: its BPF objects are compiled in and adapt to the running kernel."""
    return lambda: look() or ("not needed: playpath-bpf is built" if _built("playpath-bpf")() else None)


def _tun() -> str | None:
    if not _TUN.exists():
        return None
    os.close(os.open(_TUN, os.O_RDWR))
    return "can be opened"


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

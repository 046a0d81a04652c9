"""The worlds in which sessions are played, by name, with their properties. A new world is a class and an entry here."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from playpath.base.errors import unknown_name


@dataclass(frozen=True)
class Entry:
    home: str
    """Module and class, a `playpath.run.worlds.World`."""
    is_real: bool = True
    """It runs in real time, with real players and as root, and repeating a session gives different figures. Otherwise a session
    is the same bit for bit whenever it is played."""
    has_own_endpoint: bool = False
    """In a real world: packets are sent by the simulator's transport, not the kernel's."""
    transports: tuple[str, ...] | None = ("tcp",)
    """The transports that its senders may use; None for all."""

    @property
    def kind(self) -> Any:
        module, name = self.home.split(":")
        return getattr(import_module(module), name)


DEFAULT = "sim"
WORLDS = {
    "sim": Entry("playpath.run.worlds:SimWorld", is_real=False, transports=None),
    "wire": Entry("playpath.run.worlds:WireWorld", has_own_endpoint=True, transports=("tcp", "quic")),
    "kernel": Entry("playpath.run.worlds:KernelWorld"),
}
REAL = sorted(name for name, entry in WORLDS.items() if entry.is_real)
EXACT = [name for name, entry in WORLDS.items() if not entry.is_real]


def named(world: str) -> Entry:
    """The entry of a world; `world` may include a player, as in `kernel:vlc`. InputError for an unknown name."""
    if (base := str(world).partition(":")[0]) not in WORLDS:
        raise unknown_name("world", str(world), WORLDS)
    return WORLDS[base]


def is_exact(world: str) -> bool:
    """Whether a session is the same bit for bit whenever it is played; `world` may include a player, as in `kernel:vlc`."""
    return world in EXACT


def that_have(transport: str) -> list[str]:
    """The worlds whose senders can use a transport."""
    return [name for name, entry in WORLDS.items() if entry.transports is None or transport in entry.transports]

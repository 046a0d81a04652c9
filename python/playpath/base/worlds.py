"""The worlds in which sessions are played: all that others ask of one by its name. A new one is a class and an entry here."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from playpath.base.errors import unknown_name


@dataclass(frozen=True)
class Entry:
    home: str
    """Module and class, a `playpath.run.worlds.World`."""
    is_real: bool = True
    """It plays on the clock, with real players and as root, and another run of the same gives other figures. Else a session is
    the same bit for bit whenever it is played."""
    has_own_endpoint: bool = False
    """In a real world: the simulator's transport serves, not the kernel's."""
    transports: tuple[str, ...] | None = ("tcp",)
    """Of its senders; None: all."""

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
    """What is said of a world; `world` may name a player, `kernel:vlc`. InputError: there is none of this name."""
    if (base := world.partition(":")[0]) not in WORLDS:
        raise unknown_name("world", world, WORLDS)
    return WORLDS[base]


def is_exact(world: str) -> bool:
    """Whether a session of a world is the same bit for bit whenever it is played; `world` may name a player, `kernel:vlc`."""
    return world in EXACT


def that_have(transport: str) -> list[str]:
    """The worlds whose senders may speak a transport."""
    return [name for name, entry in WORLDS.items() if entry.transports is None or transport in entry.transports]

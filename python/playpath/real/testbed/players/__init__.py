"""Players of the kernel world: one file each, one interface, one record schema. A new player is a file and a line here."""

from playpath.base.errors import unknown_name
from playpath.real.testbed.players.curl import Curl
from playpath.real.testbed.players.dashjs import DashJs
from playpath.real.testbed.players.hlsjs import HlsJs
from playpath.real.testbed.players.iperf3 import Iperf3
from playpath.real.testbed.players.ngtcp2 import Ngtcp2
from playpath.real.testbed.players.own import Own
from playpath.real.testbed.players.scene import Played, Player, Scene
from playpath.real.testbed.players.shaka import Shaka
from playpath.real.testbed.players.vlc import Vlc

__all__ = ["DEFAULT", "PLAYERS", "Played", "Player", "Scene", "player"]

DEFAULT = Own.name
PLAYERS: dict[str, type[Player]] = {one.name: one for one in (Own, Vlc, DashJs, HlsJs, Shaka, Curl, Ngtcp2, Iperf3)}


def player(name: str) -> Player:
    if name not in PLAYERS:
        raise unknown_name("player of the kernel world", name, PLAYERS)
    return PLAYERS[name]()

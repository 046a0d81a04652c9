"""Worlds are entries of one registry (docs/recipes/add-a-world.md)."""

import pytest
from conftest import playpath_command

import playpath
from playpath.base import manifest, worlds
from playpath.base.errors import InputError
from playpath.run.worlds import SimWorld

SCENARIO = """name = "short"
video = { rate = "1 Mbit/s", duration = "4 s" }
path = [{ rate = "9 Mbit/s", rtt = "20 ms" }]
sender = [{ cc = "cubic" }, { cc = "newreno" }]
run = { seeds = 2 }"""


class Mirror(SimWorld):
    """The simulator under another name."""

    name = "mirror"


def test_a_world_is_a_class_and_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = playpath.Scenario.from_toml(SCENARIO)
    with pytest.raises(InputError, match='unknown world "mirror"'):
        playpath.compare(scenario, world="mirror")
    entry = worlds.Entry(f"{__name__}:Mirror", is_real=False, transports=None)
    monkeypatch.setitem(worlds.WORLDS, "mirror", entry)
    here, there = (playpath.compare(scenario, world=world) for world in ("sim", "mirror"))
    assert there.world == "mirror"
    assert there.table.equals(here.table)


def test_what_commands_and_errors_say_of_worlds_follows_the_registry() -> None:
    assert set(worlds.REAL) | set(worlds.EXACT) == worlds.WORLDS.keys()
    assert worlds.that_have("quic") == ["sim", "wire"]
    assert "bit for bit" in manifest.again("sim")
    assert "Real time" in manifest.again("kernel:vlc")
    assert f"{', '.join(worlds.WORLDS)};" in playpath_command("compare", "--help").out

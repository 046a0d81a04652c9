"""The classes of worlds, which run sessions; `playpath.base.worlds` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.words import listing
from playpath.base.worlds import EXACT, REAL, named, that_have
from playpath.results import bands
from playpath.results.record import Session, switch_series
from playpath.scenario import Scenario, own_code

Trace = bool | Literal["outline"]
"""The time series that a session keeps besides its record: all, none, or those that `bands.outline` reads."""


@dataclass(frozen=True)
class Files:
    """Files that a session of the kernel world writes besides its record; None for those not wanted."""

    logs: Path | None = None
    """Folder for the output of server and player."""
    pcap: Path | None = None
    """File for the packets at the server's ends of the paths."""
    p1203: Path | None = None
    """File for the session as input for ITU-T P.1203 tools."""


class World(Protocol):
    """Runs sessions; all worlds give records of the same form."""

    name: str
    is_parallel: bool
    """Whether sessions may run in parallel without affecting each other's results."""

    def keeping(self, logs: Path) -> World:
        """This world with a folder for the output of its next session's programs; unchanged if it has no programs."""

    def prepare(self, scenario: Scenario, at_once: int) -> None:
        """Before the first session, make sure that so many sessions can run at a time on this machine at present."""

    def session(
        self, scenario: Scenario, sender: str, seed: int, *, trace: Trace, watch: engine.Watch | None = None
    ) -> Session:
        """Run one session. `watch` is called with its progress, except in real-time worlds."""


class SimWorld:
    """Virtual time: deterministic, needs nothing but the package."""

    name = "sim"
    is_parallel = True

    def keeping(self, logs: Path) -> World:
        """Unchanged: everything is in the record."""
        return self

    def prepare(self, scenario: Scenario, at_once: int) -> None:
        """Nothing to do: virtual time does not depend on the machine's speed."""

    def session(
        self,
        scenario: Scenario,
        sender: str,
        seed: int,
        *,
        trace: Trace,
        watch: engine.Watch | None = None,
        controller: Callable[[], Any] | None = None,
        rule: Callable[[], Any] | None = None,
    ) -> Session:
        """Run one session in the engine, which releases the interpreter lock."""
        scenario = scenario.playing(sender)
        record, series = engine.run(
            scenario.text,
            sender,
            seed,
            trace=bool(trace),
            packets=trace is True,
            controller=controller,
            rule=rule,
            watch=watch,
            series=bands.SERIES if trace == "outline" else None,
            every_s=bands.EVERY_S if trace == "outline" else None,
        )
        cc = cc_name(scenario, sender) if controller is None else "prototype"
        series = {**series, **switch_series(record.get("path_switches", {}))}
        return session_of(self, scenario, sender, seed, record, cc=cc, series=series)


class KernelWorld:
    """Real Linux TCP on this machine: one session at a time, each as long as its video. Needs root.

    `player` is one of `playpath.real.testbed.players`; the world is then called, for example, `kernel:vlc`. `files` are written by its
    sessions. `tolerance` is the 99th percentile of the link's lateness above which a session is repeated; by default a limit derived
    for each path.
    """

    base = "kernel"
    is_parallel = False

    def __init__(self, player: str = "own", files: Files | None = None, tolerance: str | None = None) -> None:
        self.player = player
        self.files = files or Files()
        self.tolerance = tolerance
        self.name = self.base if player == "own" else f"{self.base}:{player}"

    def keeping(self, logs: Path) -> World:
        """This world with `logs` as the folder for the output of server and player."""
        return type(self)(self.player, replace(self.files, logs=logs), self.tolerance)

    def refuse(self, scenario: Scenario) -> None:
        """Refuse what only the simulator supports: cross traffic always uses the kernel's TCP, and addresses do not change."""
        _refuse_own_code(scenario)
        for path in [*scenario.resolved["path"], *scenario.resolved["link"]]:
            refuses = {"too_big": "refused" in (path.get("too_big"), path["up"].get("too_big"))}
            if key := next((key for key in ("rebinding", "backup", "too_big") if {**path, **refuses}.get(key)), None):
                raise InputError(f"'{path['name']}': `{key}` {_only(EXACT)}")
        for entry in scenario.resolved["sender"]:
            # A resolved sender has the second only if it differs from its default.
            if key := next((key for key in ("handover", "handover_after") if entry.get(key, "none") != "none"), None):
                raise InputError(f"'{entry['name']}': `{key}` {_only(EXACT)}")
            if self.base not in (there := that_have(name := transport_of(entry))):
                raise InputError(f"'{entry['name']}': `transport` = \"{name}\" {_only(there)}")
        for entry in scenario.resolved["traffic"]:
            if (name := transport_of(entry)) != "tcp":
                raise InputError(f"traffic '{entry['name']}': `transport` = \"{name}\" {_only(EXACT)}")

    def prepare(self, scenario: Scenario, at_once: int) -> None:
        """Try the scenario's links for some seconds, so that a machine that is too busy is detected before minutes are lost."""
        from playpath.real.testbed.calibration import check_machine

        self.refuse(scenario)
        check_machine(scenario.resolved, at_once=at_once, tolerance=self.tolerance)

    def session(
        self, scenario: Scenario, sender: str, seed: int, *, trace: Trace, watch: engine.Watch | None = None
    ) -> Session:
        """Run one session in its own namespaces."""
        scenario = scenario.playing(sender)
        self.refuse(scenario)
        _refuse_own_rule(scenario, sender)
        from playpath.real.testbed.runner import run_kernel

        record = run_kernel(
            scenario.resolved,
            scenario.sender(sender),
            seed,
            trace=bool(trace),
            player=self.player,
            logs=self.files.logs,
            pcap=self.files.pcap,
            p1203=self.files.p1203,
            tolerance=self.tolerance,
            world=self.base,
        )
        series = {name: {k: np.asarray(v) for k, v in of.items()} for name, of in record["series"].items()}
        return session_of(self, scenario, sender, seed, record, cc=cc_name(scenario, sender), series=series)


def session_of(
    world: World,
    scenario: Scenario,
    sender: str,
    seed: int,
    record: engine.Record,
    *,
    cc: str,
    series: dict[str, engine.Columns],
) -> Session:
    """A session from its world's record."""
    of_session: dict[str, Any] = {key: value for key, value in record.items() if key in Session.__dataclass_fields__}
    about = {"scenario": scenario.name, "world": world.name, "sender": sender, "cc": cc, "seed": seed}
    return Session(**{**of_session, **about, "series": series})


class WireWorld(KernelWorld):
    """The kernel world with the simulator's TCP, MPTCP and QUIC on the server (docs/manual/wire.md). Needs root.

    `sim` and `wire` differ only in link and client, `wire` and `kernel` only in the sender's stack.
    """

    base = "wire"


def cc_name(scenario: Scenario, sender: str) -> str:
    if sender not in scenario.senders:
        return ""
    return str(scenario.sender(sender)["cc"]["name"])


def _refuse_own_code(scenario: Scenario) -> None:
    if found := own_code(scenario.resolved):
        raise InputError(f"'{found[0]}' is your own code: it {_only(EXACT)}")


def transport_of(sender: Mapping[str, Any]) -> str:
    """The transport of a resolved sender or traffic group; without a `transport` table it is TCP."""
    return sender.get("transport", {}).get("name", "tcp")


def _refuse_own_rule(scenario: Scenario, sender: str) -> None:
    """Refuse ABR rules of single senders: in these worlds one player plays all senders."""
    if scenario.sender(sender).get("abr"):
        raise InputError(f"sender '{sender}': `abr` of a sender {_only(EXACT)}; set player.abr")


def _only(there: list[str]) -> str:
    """The end of an error's sentence: the worlds in which something is possible."""
    quoted = [f"'{name}'" for name in there]
    return f"plays in the world{'s' if len(quoted) > 1 else ''} {listing(quoted)} only"


def world(name: str, *, files: Files | None = None, tolerance: str | None = None) -> World:
    """The world called `name`, or `kernel:PLAYER` for another player.

    `files` are written by its sessions. `tolerance` is how late the link may be, in real-time worlds.
    """
    found = named(name)
    _, colon, player = name.partition(":")
    if found.is_real:
        from playpath.real.testbed.players import DEFAULT
        from playpath.real.testbed.players import player as find

        return found.kind(find(player or DEFAULT).name, files, tolerance)
    if colon:
        raise InputError(
            f"world '{name}': only the worlds {' and '.join(REAL)} have real players, for example kernel:{player}"
        )
    if tolerance is not None:
        raise InputError(f"--tolerance {tolerance}: links in the world '{name}' are never late")
    return found.kind()

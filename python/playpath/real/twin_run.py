"""Runs a scenario in both worlds for `playpath twin`. Kernel sessions take as long as their videos, so each is stored when it ends."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from playpath.base.errors import InputError, Interrupted, unknown_name
from playpath.base.parallel import run_all
from playpath.base.progress import Progress, Pulse
from playpath.base.worlds import REAL, WORLDS
from playpath.judge.stats import MIN_FOR_INTERVAL
from playpath.real.twin import SIM_SEEDS, Twin
from playpath.results.comparison import Comparison
from playpath.results.gather import gather, whole_seeds
from playpath.results.record import Session
from playpath.run import worlds
from playpath.run.compare import compare
from playpath.run.session_store import finished_session, play_and_keep, session_folder
from playpath.run.worlds import World
from playpath.scenario import Scenario, load

ReasonsOf = Callable[[Scenario], Mapping[str, str]]


def twin(
    scenario: Any,
    *,
    cc: Sequence[str | Mapping[str, Any]] | None = None,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    store: str | Path | None = None,
    parallel: int = 1,
    tolerance: str | None = None,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[int], None] = lambda running: None,
    kernel: World | None = None,
    left_out: ReasonsOf | None = None,
    world: str = "kernel",
) -> Twin:
    """Run every sender and seed in the simulator and in a real-time world, and compare the two.

    From six seeds on the simulator plays ten times as many.

    Args:
        scenario, cc, seeds, set, jobs: As `playpath.compare`.
        store: Folder that keeps finished kernel sessions; a later call reuses them, also with more seeds and senders.
        parallel: Kernel sessions at a time, each in its own namespaces. More than one needs idle cores; a session whose
            link was late is repeated, and it is an error if it stays late.
        tolerance: 99th percentile of the emulated link's lateness above which a kernel session is repeated, at most
            three times; by default a limit derived for each path.
        progress: Called with kernel sessions done and kernel sessions in all.
        on_interrupt: Called at Ctrl-C with the number of sessions under way, which are finished first; 0 if they run
            one at a time.
        kernel, left_out: The other world, and a function that finds the senders it lacks; for tests.
        world: The other world: "kernel", or "wire", where the simulator's own transport serves, so that only link and
            client differ; with a real player as `wire:dashjs`.

    Raises:
        InputError: The scenario is wrong, or this machine cannot run the kernel world (exit status 2).
        RunError: A session failed, or Ctrl-C came before the first seed was finished.
    """
    loaded = load(scenario, cc=cc, seeds=seeds, set=set)
    if not loaded.senders:
        raise InputError(f"scenario '{loaded.name}': no [[sender]] to compare; add one or give `cc`")
    if kernel is None:
        found = real_world(world, tolerance)
        left_out = left_out or (_nothing if WORLDS[found.base].has_own_endpoint else unsupported)
        kernel = found
    reasons = dict((left_out or unsupported)(loaded))
    reasons |= _without_task(loaded, reasons)
    names = [name for name in loaded.senders if name not in reasons]
    if not names:
        raise InputError(f"no sender of '{loaded.name}' runs in the {kernel.name} world: {'; '.join(reasons.values())}")
    tasks = [(seed, name) for seed in loaded.seeds for name in names]
    kept = {task: _kept(loaded, task[1], task[0], kernel, store) for task in tasks}
    if None in kept.values():  # a busy machine does not matter if nothing is left to play
        kernel.prepare(loaded, parallel)
    progress(0, len(tasks))
    counted = Pulse(progress, len(tasks)).count

    def play(task: tuple[int, str]) -> Session:
        return kept[task] or _play(loaded, task[1], task[0], kernel, store)

    if parallel > 1:
        outcome = run_all(play, tasks, parallel, on_done=counted, on_interrupt=on_interrupt)
        sessions, interrupted = [s for s in outcome.results if s is not None], outcome.interrupted
    else:
        sessions, interrupted = _one_by_one(play, tasks, counted, on_interrupt)
    whole = whole_seeds(sessions, names)
    if not whole:
        raise Interrupted("stopped before the first seed was finished for every sender; finished sessions are kept")
    measured = gather(loaded, kernel.name, whole, interrupted=interrupted)
    return Twin(_simulated(loaded, names, measured.seeds, jobs, kernel), measured, reasons, interrupted)


def real_world(name: str, tolerance: str | None) -> worlds.KernelWorld:
    """The real-time world called `name`. Raises InputError if this machine cannot run it."""
    base = name.partition(":")[0]
    if base not in REAL:
        raise unknown_name("real-time world", base, REAL)
    check_kernel(base)
    found = worlds.world(name, tolerance=tolerance)
    assert isinstance(found, worlds.KernelWorld)
    return found


def _nothing(scenario: Scenario) -> dict[str, str]:
    """No sender is left out: the project's own endpoint supports all of them."""
    return {}


def check_kernel(world: str = "kernel") -> None:
    """Raise InputError, with the remedy, if this machine cannot run the world."""
    from playpath.real.testbed import controls, emulator, wire
    from playpath.real.testbed.errors import MissingToolError
    from playpath.real.testbed.players import own

    if os.geteuid() != 0:
        raise InputError(
            f"the {world} world needs root; run it with sudo (`playpath doctor` says what else is missing)"
        )
    if not Path("/dev/net/tun").exists():
        raise InputError(f"the {world} world needs /dev/net/tun (modprobe tun); see `playpath doctor`")
    try:
        server = wire.program if WORLDS[world].has_own_endpoint else controls.loader
        for program in (emulator.program, server, own.program):
            program()
    except MissingToolError as error:
        raise InputError(f"the {world} world cannot run here: {error}") from None


def unsupported(scenario: Scenario) -> dict[str, str]:
    """Senders that cannot run in the kernel world → the reason."""
    from playpath.real.testbed import controls
    from playpath.real.testbed.errors import TestbedError
    from playpath.real.testbed.runner import translate

    reasons = {}
    for name in scenario.senders:
        try:
            missing = controls.why_missing(translate(scenario.sender(name)).cc)
        except TestbedError as error:
            missing = str(error)
        if missing is not None:
            reasons[name] = missing
    return reasons


def _without_task(scenario: Scenario, missing: Mapping[str, str]) -> dict[str, str]:
    """Senders to leave out without a video, since groups of traffic are then compared with a single sender, whose control some use."""
    here = [] if scenario.has_video else [name for name in scenario.senders if name not in missing]
    why = "without a video, groups of traffic are compared, with a single sender"
    return {name: f"{name}: {why} ({here[0]}); choose another with --cc" for name in here[1:]}


def _one_by_one(
    play: Callable[[tuple[int, str]], Session],
    tasks: Sequence[tuple[int, str]],
    counted: Callable[[tuple[int, str]], None],
    on_interrupt: Callable[[int], None],
) -> tuple[list[Session], bool]:
    """Play in the calling thread, where Ctrl-C tears the test bed down at once."""
    sessions: list[Session] = []
    try:
        for task in tasks:
            sessions.append(play(task))
            counted(task)
    except KeyboardInterrupt:
        on_interrupt(0)
        return sessions, True
    return sessions, False


def _kept(scenario: Scenario, name: str, seed: int, world: World, store: str | Path | None) -> Session | None:
    return None if store is None else finished_session(session_folder(store, scenario, name, seed), world.name)


def _play(scenario: Scenario, name: str, seed: int, world: World, store: str | Path | None) -> Session:
    """Run a session, and keep it if there is a store."""
    if store is None:
        return world.session(scenario, name, seed, trace=False)
    return play_and_keep(scenario, name, seed, world, session_folder(store, scenario, name, seed), trace=False)


def _simulated(
    scenario: Scenario, names: Sequence[str], seeds: Sequence[int], jobs: int | None, world: World
) -> Comparison:
    """The same senders in the simulator, with these seeds; from six seeds on, with `SIM_SEEDS` times as many."""
    more = SIM_SEEDS if len(seeds) >= MIN_FOR_INTERVAL else 1
    played: dict[str, Comparison] = {}
    parts = []
    for name in names:
        settings = _settings_of_the_host(scenario, name, world)
        key = json.dumps(settings, sort_keys=True)
        if key not in played:
            loaded = load(_with_traffic(scenario, settings), seeds=more * len(scenario.seeds))
            played[key] = compare(loaded, jobs=jobs, until_decided=False)
        parts.append((name, played[key]))
    first = parts[0][1]
    kept = [seed for seed in first.seeds if seed in seeds or seed not in scenario.seeds]

    def rows(frame_of: Callable[[Comparison], pl.DataFrame]) -> pl.DataFrame:
        mine = [(frame_of(result), name) for name, result in parts]
        return pl.concat(
            [f if f.is_empty() else f.filter((pl.col("sender") == n) & pl.col("seed").is_in(kept)) for f, n in mine]
        )

    table, flows, links = rows(lambda r: r.table), rows(lambda r: r.flows), rows(lambda r: r.links)
    return replace(first, scenario=scenario, table=table, flows=flows, links=links, seeds=kept)


_OF_THE_HOST = ("sack", "timestamps", "ecn", "notsent_lowat", "receive_buffer", "mss")
"""Settings of TCP, beside window validation, that a Linux host has once for all flows; of `mss` the smallest."""


def _settings_of_the_host(scenario: Scenario, name: str, world: World) -> dict[str, Any]:
    """What cross traffic has of the host beside this sender: the sender's settings if Linux's TCP sends, else nothing."""
    if WORLDS[world.name.partition(":")[0]].has_own_endpoint:
        return {}
    sender: Mapping[str, Any] = scenario.sender(name)
    validation = "rfc2861" if sender.get("validation", "rfc2861") == "rfc2861" else "none"
    return {"validation": validation, **{key: sender.get(key) for key in _OF_THE_HOST}}


def _with_traffic(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """The scenario with these settings for all cross traffic over TCP; None: there is no such setting."""
    groups: Sequence[Mapping[str, Any]] = scenario.resolved.get("traffic") or []
    hosted = [_hosted(group, settings) if "validation" in group else group for group in groups]
    return scenario if hosted == groups else load({**scenario.resolved, "traffic": hosted})


def _hosted(group: Mapping[str, Any], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = {**group, **settings, "mss": min(group["mss"], settings.get("mss") or group["mss"])}
    return {key: value for key, value in asked.items() if settings.get(key, "") is not None}

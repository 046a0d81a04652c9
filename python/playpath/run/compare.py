"""Compare senders with the same seeds for each, newly played or resumed; `playpath.results.comparison` holds the result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, SupportsIndex, Unpack

from playpath.base import engine
from playpath.base.errors import InputError, Interrupted, RunError, unknown_name
from playpath.base.parallel import Outcome, check_jobs, run_all
from playpath.base.progress import Progress, Pulse
from playpath.base.worlds import DEFAULT
from playpath.judge.race import affordable, race_looks
from playpath.real.testbed.errors import MissingToolError
from playpath.results import bands
from playpath.results.comparison import Comparison, Failure
from playpath.results.gather import gather, whole_seeds
from playpath.results.packets import trimmed
from playpath.results.record import Session
from playpath.run import worlds
from playpath.run.session_store import finished_session, play_and_keep, session_folder
from playpath.run.worlds import Files, Trace, World
from playpath.scenario import LAST_SEED, Choices, Scenario, check_choices, load

_MAX_REASONS = 3
"""Number of failures that a one-line error names."""


def compare(
    scenario: Any,
    *,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    until_decided: int | bool | None = None,
    jobs: int | None = None,
    world: str = DEFAULT,
    timelines: bool = False,
    store: str | Path | None = None,
    resume: bool = False,
    tolerance: str | None = None,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[int], None] = lambda running: None,
    on_stopped: Callable[[], None] = lambda: None,
    meanwhile: Callable[[Comparison], None] = lambda result: None,
    **choices: Unpack[Choices],
) -> Comparison:
    """Play the scenario's video once for each sender and seed, and rank the senders.

    Args:
        scenario, seeds, set, choices: See `playpath.load`: `cc`, `scheduler`, `abr`, `controllers`, `abrs` and `vary` choose
            the senders.
        until_decided: Add seeds, up to this many (True: 256), until the best sender is decided. A sender that is proven
            worse than another stops early. However often this is checked, a false winner is named in at most 5 % of
            uses. This is the default in the simulator if neither the scenario nor `seeds` gives a number: then up to as
            many seeds as cost 100 million packets, judged by the first seed, so that the limit is the same everywhere.
            False: never.
        jobs: Number of threads; all cores by default. Results do not depend on it. In the kernel world, number of test
            beds at a time: 1 by default; more of them share the cores, and a run whose link was late is repeated.
        world: `"sim"`, or another world that is installed.
        timelines: Also trace one session for each sender: that of the seed whose total stall time is the median.
        store: In the kernel world, a folder that keeps every session as it ends: record, time series, and the output of
            its programs; for a failed one `logs/failed.json` gives the reason.
        resume: Take finished sessions from `store`; those that failed or are missing are played.
        tolerance: In the kernel world, how late the emulated link may be (99th percentile); by default a limit derived
            for each path. Whether this machine can keep it is tested before the first session.
        progress: Called with sessions done, parts of long ones included, and sessions in all.
        on_interrupt: Called at Ctrl-C with the number of sessions under way; they are finished first.
        on_stopped: Called when those have ended without a second Ctrl-C.
        meanwhile: Called with the result without its timelines while these are being played, if they have to be.

    Raises:
        InputError: The scenario is wrong, or has no sender.
        RunError: A session of the simulator failed, or no seed was finished by all senders that finished any; or Ctrl-C
            came before the first seed was finished.
    """
    check_choices(choices, compare)
    loaded = load(scenario, seeds=seeds, set=set, **choices)
    place = worlds.world(world, tolerance=tolerance)
    if place.is_parallel and (store is not None or resume):
        raise InputError(f"world '{world}' keeps no sessions: playing them again gives the same")
    if not loaded.senders:
        raise InputError(f"scenario '{loaded.name}': no [[sender]] to compare; add one or give `cc`")
    # Real-time sessions run one at a time unless `jobs` is given.
    threads = check_jobs(jobs) if place.is_parallel or jobs is not None else 1
    if not resume:  # when resuming, the links were tested at the start
        place.prepare(loaded, threads)
    if until_decided is None and place.is_parallel and len(loaded.senders) > 1 and not loaded.names_seeds:
        until_decided = _affordable(loaded, place, threads)
    looks = race_looks(len(loaded.seeds), until_decided) if until_decided else [len(loaded.seeds)]
    if until_decided:  # records must not depend on when the race ends
        loaded = load(loaded, seeds=looks[-1])
    played = _Played()
    for look, (begun, runs) in enumerate(pairwise([0, *looks])):
        racing = [sender for sender in loaded.senders if sender not in played.last]
        tasks = [(seed, sender) for seed in loaded.seeds[begun:runs] for sender in racing]
        pulse = Pulse(progress, len(tasks))
        player = _Player(loaded, place, pulse, played.outlines, trace=timelines, store=store, resume=resume)
        outcome = run_all(
            player.play,
            tasks,
            threads,
            on_done=pulse.count,
            on_wait=pulse.report_running,
            on_interrupt=on_interrupt,
            on_stopped=on_stopped,
        )
        result = played.gather(loaded, place.name, outcome)
        if until_decided:
            result = replace(result, looks=looks[: look + 1], most=looks[-1])
        is_through = runs == looks[-1] or (until_decided and result.is_settled)
        if outcome.interrupt_seen and not (is_through or outcome.interrupted):
            result = replace(result, interrupted=True, looks=looks[: look + 2])  # before the next look
        if outcome.interrupt_seen or is_through:
            break
        played.let_go(result, loaded.seeds[runs - 1])
    if not timelines or (result.interrupted and place.is_parallel):
        return result
    found = sorted(key for key in played.outlines if key[1] in result.seeds and key[0] in result.senders)
    around = cache(lambda: bands.bands({key: played.outlines[key] for key in found}))

    def at_once(untraced: Comparison) -> None:
        meanwhile(untraced)
        around()

    played_again = _timelines(result, place, threads, played.sessions, at_once)
    return result.with_timelines(played_again, around())


def _affordable(scenario: Scenario, place: World, threads: int) -> int | None:
    """Number of seeds at which a race started by default ends; None if no more can be afforded than are played anyway."""

    def packets(sender: str) -> int:
        session = place.session(scenario, sender, scenario.seeds[0], trace=False)
        return sum(link["offered_packets"] for link in session.links)

    measured = run_all(packets, scenario.senders, threads)
    if measured.interrupt_seen:
        raise Interrupted("stopped before the first seed was finished for every sender; nothing to show")
    most = affordable(sum(found or 0 for found in measured.results))
    return most if most > len(scenario.seeds) else None


@dataclass
class _Played:
    """The sessions played so far, and the last seed of the senders that have left a race."""

    sessions: list[Session] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    outlines: dict[tuple[str, int], bands.Outline] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)

    def gather(self, scenario: Scenario, world: str, outcome: Outcome[Session | Failure]) -> Comparison:
        """Add the new sessions and return a comparison of all."""
        self.sessions += [s for s in outcome.results if isinstance(s, Session)]
        self.failures += [f for f in outcome.results if isinstance(f, Failure)]
        return _gather_whole(scenario, world, self.sessions, self.failures, self.last, interrupted=outcome.interrupted)

    def let_go(self, result: Comparison, seed: int) -> None:
        """Let senders that are proven worse than another leave the race. If the effects of choices are asked for, all play on."""
        if not result.scenario.asks_for_whom:
            leaving = [sender for sender, place in result.decision.places.items() if place[0] > 1]
            self.last = dict.fromkeys(leaving, seed) | self.last


class _Player:
    """Plays a sender with a seed. In a real-time world a failed session is a result and does not stop the others."""

    def __init__(
        self,
        scenario: Scenario,
        place: World,
        pulse: Pulse,
        outlines: dict[tuple[str, int], bands.Outline],
        *,
        trace: bool,
        store: str | Path | None,
        resume: bool,
    ) -> None:
        self._scenario, self._place, self._trace, self._resume = scenario, place, trace, resume
        self._outlines = outlines
        self._pulse = pulse
        self._store = store

    def play(self, task: tuple[int, str]) -> Session | Failure:
        seed, sender = task
        try:
            return self._outlined(self._session(sender, seed))
        except RunError as error:
            # A missing tool would fail every session.
            if self._place.is_parallel or isinstance(error, MissingToolError):
                raise
            return Failure(sender, seed, str(error))

    def _outlined(self, session: Session) -> Session:
        """Keep what the bands need; the series are dropped if sessions are cheap to run again."""
        if session.series:
            self._outlines[session.sender, session.seed] = bands.outline(session)
        return replace(session, series={}, window_events={}) if self._place.is_parallel else session

    def _session(self, sender: str, seed: int) -> Session:
        if self._store is None:
            is_kept = not self._place.is_parallel or seed < self._scenario.seeds[0] + bands.MAX_SEEDS
            # Single packets are kept only for the session that is shown: see `_timelines`.
            trace: Trace = "outline" if self._trace and is_kept else False
            with self._pulse.watching() as watch:
                return self._place.session(self._scenario, sender, seed, trace=trace, watch=watch)
        folder = session_folder(self._store, self._scenario, sender, seed)
        found = finished_session(folder, self._place.name) if self._resume else None
        return found or play_and_keep(self._scenario, sender, seed, self._place, folder, trace=self._trace)


def _gather_whole(
    scenario: Scenario,
    world: str,
    sessions: list[Session],
    failures: list[Failure],
    last: Mapping[str, int],
    *,
    interrupted: bool,
) -> Comparison:
    """A comparison over the seeds finished by all senders that finished any; in a race, up to each sender's last seed."""
    failed = {failure.sender for failure in failures}
    finished = {session.sender for session in sessions}
    whole = whole_seeds(sessions, [s for s in scenario.senders if s in finished or s not in failed], last)
    if whole:
        return replace(gather(scenario, world, whole, interrupted=interrupted), failures=failures)
    if interrupted:
        raise Interrupted("stopped before the first seed was finished for every sender; nothing to show")
    reasons = "; ".join(dict.fromkeys(f"{f.sender}, seed {f.seed}: {f.reason}" for f in failures[:_MAX_REASONS]))
    more = f"; and {len(failures) - _MAX_REASONS} more" if len(failures) > _MAX_REASONS else ""
    what = "every session failed" if not sessions else "no seed was finished by every sender"
    raise RunError(f"{what}: {reasons}{more}")


def run(
    scenario: Any,
    *,
    sender: str | None = None,
    seed: int = 1,
    trace: bool = False,
    cc: Sequence[str | Mapping[str, Any]] | None = None,
    scheduler: Sequence[str | Mapping[str, Any]] | None = None,
    set: Mapping[str, Any] | None = None,
    world: str = DEFAULT,
    controller: Callable[[], Any] | None = None,
    abr: Callable[[], Any] | None = None,
    files: Files | None = None,
    tolerance: str | None = None,
    watch: engine.Watch | None = None,
) -> Session:
    """Run one session.

    Args:
        scenario: See `playpath.load`, which also explains `cc`, `scheduler` and `set`.
        sender: Its label; may be omitted if the scenario has only one, or none (traffic alone).
        seed: At least 0.
        trace: Keep the time series and the packets: `flow.…`, `link.…`, `player`, and those in
            `playpath.results.packets`.
        controller: Factory of a congestion control written in Python, called for each connection of the sender, instead
            of its own control: slow, for prototypes. See docs/recipes/prototype-in-python.md.
        abr: Factory of an ABR rule written in Python, instead of that of the scenario's DASH player; the rule is called
            once per segment. See docs/recipes/abr-rule-in-python.md.
        files: In the kernel world, files to write besides the record.
        tolerance: As for `compare`.
        watch: In the simulator, called from time to time with the seconds played and the seconds expected.
    """
    loaded = load(scenario, cc=cc, scheduler=scheduler, set=set)
    if not isinstance(seed, SupportsIndex) or not 0 <= seed <= LAST_SEED:
        raise InputError(f"--seed {seed!r}: must be a whole number from 0 to {LAST_SEED}")
    name = pick_sender(loaded, sender)
    if controller is None and abr is None:
        place = worlds.world(world, files=files, tolerance=tolerance)
        place.prepare(loaded, 1)
        return place.session(loaded, name, seed, trace=trace, watch=watch)
    if world != worlds.SimWorld.name:
        raise InputError(f"world '{world}': a controller or rule written in Python runs in the world 'sim' only")
    return worlds.SimWorld().session(loaded, name, seed, trace=trace, watch=watch, controller=controller, rule=abr)


def pick_sender(scenario: Scenario, sender: str | None) -> str:
    """The requested label, or the only one; empty for traffic alone. Where only one transport is there, it may be left out."""
    names = scenario.senders
    if sender is None and len(names) <= 1:
        return names[0] if names else ""
    if sender is None:
        raise InputError(f"scenario '{scenario.name}' has several senders; give --sender, one of: {', '.join(names)}")
    if sender in names:
        return sender
    meant = [name for name in names if name.startswith(f"{sender}/")]
    if len(meant) != 1:
        raise unknown_name("sender", sender, names)
    return meant[0]


def _timelines(
    result: Comparison,
    place: World,
    threads: int,
    sessions: Sequence[Session],
    meanwhile: Callable[[Comparison], None],
) -> dict[str, Session]:
    """The traced session of each sender for the typical seed; it is run once more if sessions are cheap."""
    seed, _ = result.typical_seed
    if place.is_parallel:
        outcome = run_all(
            lambda s: trimmed(place.session(result.scenario, s, seed, trace=True)),
            result.senders,
            threads,
            meanwhile=lambda: meanwhile(result),
        )
        sessions = [session for session in outcome.results if session is not None]
    return {s.sender: s for s in sessions if s.seed == seed and s.series and s.sender in result.senders}

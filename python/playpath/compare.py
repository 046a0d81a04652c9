"""Compare senders: the same seeds for each, paired statistics, a ranking and a verdict."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from playpath import bands, engine, stats, worlds
from playpath.errors import InputError, Interrupted, RunError, unknown_name
from playpath.evidence import STOPPING_RULE, ladder
from playpath.files import write_frame, write_text
from playpath.lateness import Lateness, lateness
from playpath.manifest import Manifest, manifest
from playpath.metrics import BULK_CRITERIA, VIDEO_CRITERIA, format_value, metric
from playpath.packets import trimmed
from playpath.parallel import check_jobs, run_all
from playpath.progress import Progress, Pulse
from playpath.ranking import Decision, Difference, Ranker, identical_replicas
from playpath.record import Session, file_names
from playpath.scenario import LAST_SEED, Scenario, load
from playpath.session_store import finished_session, play_and_keep, session_folder
from playpath.tabular import Json, Row, Tabular
from playpath.testbed.errors import MissingToolError
from playpath.verdict import headline, verdict
from playpath.worlds import Files, Trace, World, cc_name


@dataclass(frozen=True)
class Failure:
    """A session that failed in a world of real time, where that is no reason to stop the others.

    Attributes
    ----------
    sender : str
    seed : int
    reason : str
        One line.
    """

    sender: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Comparison(Tabular):
    """The result of `compare`.

    Attributes
    ----------
    scenario : Scenario
    world : str
    seeds : list of int
        The seeds that every sender finished.
    table : polars.DataFrame
        A row for each session: `sender`, `cc`, `seed`, `digest`, then a column for each metric, unit in its name.
    flows, links : polars.DataFrame
        A row for each flow or link of each session.
    notes : list of str
        Warnings, those of all sessions gathered.
    timelines : dict of str to Session
        One traced session for each sender, all of one seed; empty unless asked for.
    bands : polars.DataFrame
        Where the middle 80 % of the seeds lie, second by second: `sender`, `column`, `time_s`, `low`, `high`; with timelines.
    interrupted : bool
        Ctrl-C came before all seeds were done.
    failures : list of Failure
        Sessions that failed. Their seeds are left out for everybody, so that pairs stay pairs; a sender without any finished
        session is left out of the ranking.
    looks : list of int
        Numbers of seeds at which `until_decided` looked whether the best is decided; empty without it.
    """

    scenario: Scenario
    world: str
    seeds: list[int]
    table: pl.DataFrame
    flows: pl.DataFrame
    links: pl.DataFrame
    notes: list[str]
    timelines: Mapping[str, Session] = field(default_factory=dict, repr=False)
    bands: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=bands.SCHEMA), repr=False)
    interrupted: bool = False
    failures: Sequence[Failure] = ()
    looks: Sequence[int] = ()

    def __repr__(self) -> str:
        return f"<Comparison {self.scenario.name}, {self.world}: {self.headline}>"

    @property
    def unranked(self) -> list[str]:
        """Senders none of whose sessions counts, because they failed."""
        return list(dict.fromkeys(f.sender for f in self.failures if f.sender not in self.senders))

    @property
    def failed_rows(self) -> list[tuple[str, str, str]]:
        """What failed, for tables: sender, seeds, reason; a row for each reason."""
        seeds: dict[tuple[str, str], list[int]] = {}
        for failure in self.failures:
            seeds.setdefault((failure.sender, failure.reason), []).append(failure.seed)
        return [(sender, ", ".join(map(str, found)), reason) for (sender, reason), found in seeds.items()]

    @property
    def senders(self) -> list[str]:
        """Labels, in the order of the scenario."""
        return self.table["sender"].unique(maintain_order=True).to_list()

    @property
    def metric_names(self) -> list[str]:
        """Metrics that at least one sender has."""
        return [name for name in self.table.columns if name not in _KEYS]

    def values(self, sender: str, name: str) -> list[float | None]:
        """A metric of a sender, one value a seed, in the order of `seeds`."""
        return self._columns[sender][name]

    @cached_property
    def _columns(self) -> dict[str, dict[str, list[float | None]]]:
        groups = self.table.sort("seed").partition_by("sender", as_dict=True, maintain_order=True)
        return {str(key[0]): group.select(self.metric_names).to_dict(as_series=False) for key, group in groups.items()}

    def summary(self, sender: str, name: str) -> stats.Summary | None:
        """Mean, interval and range of a metric; None when no seed has a value."""
        return stats.summarise([v for v in self.values(sender, name) if v is not None])

    @cached_property
    def ranker(self) -> Ranker:
        """All pairwise comparisons."""
        criteria = VIDEO_CRITERIA if self.scenario.has_video else BULK_CRITERIA
        return Ranker(self._columns, criteria, is_random=not identical_replicas(self._columns))

    @property
    def shown_criteria(self) -> list[str]:
        """The criteria worth a column: those that this kind of player has, without the video's rate where it is fixed."""
        seen = {name: {v for s in self.senders for v in self.values(s, name)} for name in self.ranker.criteria}
        return [
            name for name, found in seen.items() if found != {None} and (name != "mean_rate_kbps" or len(found) > 1)
        ]

    @cached_property
    def decision(self) -> Decision:
        """Who is best and how sure that is."""
        return self.ranker.decide()

    @property
    def ranking(self) -> list[str]:
        """Labels, best first."""
        return self.decision.ranking

    @cached_property
    def differences(self) -> list[Difference]:
        """Every other sender against the best, in every metric."""
        best, *others = self.ranking
        found = [self.ranker.difference(other, best, name) for other in others for name in self.metric_names]
        return [d for d in found if d is not None]

    @cached_property
    def headline(self) -> str:
        """The answer in one line."""
        return headline(self.ranker, self.decision)

    @cached_property
    def verdict(self) -> str:
        """The answer in a few sentences, with what it rests on."""
        return verdict(self.ranker, self.decision)

    @cached_property
    def lateness(self) -> Lateness | None:
        """What the lateness of emulated links adds to the RTT, and whether the verdict survives it; None in the simulator."""
        return lateness(self.links, self._columns, self.ranker, self.decision)

    @cached_property
    def warnings(self) -> list[str]:
        """What a careful reader should know before trusting the figures."""
        extra = []
        if not self.ranker.is_random:
            extra.append(
                "every seed gave the same result: nothing in this scenario is random, so more seeds tell nothing more"
            )
        if self._replays_one_moment:
            extra.append(
                "every session begins at the same moment of the same trace: at another moment, or on another link, the answer may "
                'turn; give the path `start = "random"`, or several traces (playpath population)'
            )
        if self.interrupted:
            extra.append(f"interrupted: only {len(self.seeds)} of {len(self.scenario.seeds)} seeds were finished")
        if self.failures:
            extra.append(self._failure_warning())
        if self.lateness is not None:
            extra.append(self.lateness.warning)
        return [*extra, *self.notes]

    @property
    def _replays_one_moment(self) -> bool:
        paths = self.scenario.resolved.get("path") or []
        return any("trace" in path and path.get("start") != "random" for path in paths)

    def _failure_warning(self) -> str:
        without = f"; not ranked: {', '.join(self.unranked)}" if self.unranked else ""
        count, seeds = len(self.failures), ", ".join(map(str, self.seeds))
        return f"{count} session{'s' if count > 1 else ''} failed; the ranking is over the seeds {seeds}{without}"

    @property
    def digest(self) -> str:
        """Of all records; equal digests mean equal results."""
        lines = "\n".join(self.table["digest"].to_list())
        return hashlib.sha256(lines.encode()).hexdigest()

    @cached_property
    def manifest(self) -> Manifest:
        """What the result depends on."""
        return manifest(self.scenario, self.world, self.seeds)

    @cached_property
    def typical_seed(self) -> tuple[int, str | None]:
        """The seed to show, and the criterion that chose it.

        Its total over the senders is the (lower) median of the first criterion that differs between seeds; the lowest
        seed of equals.
        """
        for name in self.ranker.criteria:
            totals = sorted((self._total(i, name), seed) for i, seed in enumerate(self.seeds))
            if totals[0][0] != totals[-1][0]:
                return totals[(len(totals) - 1) // 2][1], name
        return self.seeds[0], None

    def _total(self, index: int, name: str) -> float:
        values = [self.values(sender, name)[index] for sender in self.senders]
        return sum(v for v in values if v is not None)

    def to_dict(self) -> Json:
        """The JSON form of `playpath compare --json`."""
        return {
            "scenario": self.scenario.name,
            "world": self.world,
            "seeds": len(self.seeds),
            "senders": [self._sender_dict(name) for name in self.senders],
            "ranking": self.ranking,
            "differences": [d.to_dict() for d in self.differences],
            "decision": self.decision.to_dict(),
            "stopping": {"rule": STOPPING_RULE, "looks": list(self.looks)} if self.looks else None,
            "headline": self.headline,
            "verdict": self.verdict,
            "lateness": None if self.lateness is None else self.lateness.to_dict(),
            "failed": [dict(failure.__dict__) for failure in self.failures],
            "warnings": self.warnings,
            "manifest": self.manifest,
            "digest": self.digest,
        }

    def to_json(self) -> str:
        """The JSON form as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_polars(self) -> pl.DataFrame:
        """A row for each session, a column for each metric."""
        return self.table

    def _repr_html_(self) -> str:
        names = self.ranker.criteria
        head = "".join(f"<th>{escape(metric(n).axis)}</th>" for n in names)
        rows = "".join(f"<tr><th>{escape(s)}</th>{self._html_cells(s, names)}</tr>" for s in self.ranking)
        table = f"<table><tr><th>sender</th>{head}</tr>{rows}</table>"
        said = f"<p><b>{escape(self.headline)}</b></p><p>{escape(self.verdict)}</p>"
        return f"{said}{table}{self._figure()}"

    def _figure(self) -> str:
        """The first criterion, drawn; nothing where no sender has a value."""
        from playpath.plots import figure, metric_dots
        from playpath.report.html import plain_svg

        if not self.shown_criteria:
            return ""
        drawn, ax = figure(5.2, 0.9 + 0.42 * len(self.senders))
        metric_dots(self, self.shown_criteria[0], ax)
        return plain_svg(drawn)

    def _html_cells(self, sender: str, names: Sequence[str]) -> str:
        return "".join(f"<td>{escape(format_summary(self.summary(sender, name)))}</td>" for name in names)

    def _sender_dict(self, sender: str) -> dict[str, object]:
        summaries = {name: self.summary(sender, name) for name in self.metric_names}
        # A figure that this kind of player does not have is named all the same, with n = 0.
        absent = {"mean": None, "median": None, "ci95": None, "min": None, "max": None, "n": 0}
        metrics = {name: absent if summary is None else summary.to_dict() for name, summary in summaries.items()}
        return {"name": sender, "cc": cc_name(self.scenario, sender), "metrics": metrics}

    def save(self, folder: str | Path) -> None:
        """Write `comparison.json`, `sessions.parquet`, `flows.parquet`, `links.parquet` and the timelines."""
        target = Path(folder)
        for name, frame in (("sessions", self.table), ("flows", self.flows), ("links", self.links)):
            write_frame(target / f"{name}.parquet", frame)
        timelines = file_names(self.timelines)
        for sender, file in timelines.items():
            self.timelines[sender].save(target / "timelines" / file)
        for record in target.glob("timelines/*/record.json"):
            if record.parent.name not in timelines.values():  # of a sender or a run that is no part of this
                shutil.rmtree(record.parent)
        stored = {**self.to_dict(), "notes": self.notes, "interrupted": self.interrupted}
        write_frame(target / "bands.parquet", self.bands)
        write_text(target / "comparison.json", json.dumps(stored, ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Read what `save` wrote."""
        source = Path(folder)
        stored = json.loads((source / "comparison.json").read_text(encoding="utf-8"))
        resolved = stored["manifest"]["scenario"]
        found = [Session.load(path.parent) for path in sorted(source.glob("timelines/*/record.json"))]
        return cls(
            scenario=Scenario(resolved, json.dumps(resolved, ensure_ascii=False)),
            world=stored["world"],
            seeds=stored["manifest"]["seeds"],
            table=pl.read_parquet(source / "sessions.parquet"),
            flows=pl.read_parquet(source / "flows.parquet"),
            links=pl.read_parquet(source / "links.parquet"),
            notes=stored["notes"],
            timelines={session.sender: session for session in found},
            bands=_stored_bands(source / "bands.parquet"),
            interrupted=stored["interrupted"],
            failures=[Failure(**entry) for entry in stored.get("failed", [])],
            looks=(stored.get("stopping") or {}).get("looks", []),
        )


def _stored_bands(path: Path) -> pl.DataFrame:
    """No rows in results from before there were bands, of each series."""
    found = pl.read_parquet(path) if path.is_file() else None
    return pl.DataFrame(schema=bands.SCHEMA) if found is None or "series" not in found.columns else found


_KEYS = ("sender", "cc", "seed", "digest")
_MOST_TOLD = 3
"""Failures that a one-line error names."""


def format_summary(summary: stats.Summary | None) -> str:
    """The mean, and in brackets the interval of the median, for people.

    >>> format_summary(stats.summarise([0.0] * 9 + [60.0])), format_summary(stats.summarise([1.0, 2.0]))
    ('6 (median 0)', '1.5')
    """
    if summary is None:
        return "–"
    middle = format_value(summary.mean)
    if summary.ci95 is None or summary.minimum == summary.maximum:
        return middle
    low, high = (format_value(end) for end in summary.ci95)
    if low == high:
        return middle if low == middle else f"{middle} (median {low})"
    return f"{middle} ({low} to {high})"


def compare(
    scenario: Any,
    *,
    cc: Sequence[str | Mapping[str, Any]] | None = None,
    scheduler: Sequence[str | Mapping[str, Any]] | None = None,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    abr: Sequence[str | None] | None = None,
    controllers: Mapping[str, Any] | None = None,
    abrs: Mapping[str, Any] | None = None,
    until_decided: int | None = None,
    jobs: int | None = None,
    world: str = "sim",
    timelines: bool = False,
    store: str | Path | None = None,
    resume: bool = False,
    tolerance: str | None = None,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[int], None] = lambda running: None,
    on_stopped: Callable[[], None] = lambda: None,
) -> Comparison:
    """Play the scenario's video once for each sender and seed, and rank the senders.

    Parameters
    ----------
    scenario : Scenario, mapping, str or path
        See `playpath.load`, which also explains `cc`, `scheduler`, `seeds`, `set`, `abr`, `controllers` and `abrs`.
    until_decided : int, optional
        Add seeds, up to this many, until the best sender is decided.
    jobs : int, optional
        Threads; all cores by default. Results do not depend on it. In the kernel world, test beds at once: 1 by default;
        more share the cores, and a run whose link was late is repeated.
    world : str
        `"sim"`, or another world that is installed.
    timelines : bool
        Also trace one session for each sender: that of the seed whose total stall time is the median.
    store : path, optional
        In the kernel world, a folder that keeps every session as it ends: record, time series, and what its programs wrote; of a
        failed one `logs/failed.json` says why.
    resume : bool
        Take finished sessions from `store`; those that failed or are missing are played.
    tolerance : str, optional
        In the kernel world, how late the emulated link may be (99th percentile); by default what each path bears. Whether this
        machine holds that is tried before the first session.
    progress : callable
        Called with sessions done, parts of long ones included, and sessions in all.
    on_interrupt : callable
        Called at Ctrl-C with the number of sessions under way; they are finished first.
    on_stopped : callable
        Called when those have ended, and no second Ctrl-C has come.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        The scenario is wrong, or has no sender.
    RunError
        A session of the simulator failed, or no seed was finished by every sender that finished any; or Ctrl-C came before the
        first seed was finished.
    """
    loaded = load(
        scenario,
        cc=cc,
        scheduler=scheduler,
        seeds=seeds,
        set=set,
        abr=abr,
        controllers=controllers,
        abrs=abrs,
    )
    place = worlds.world(world, tolerance=tolerance)
    if place.is_parallel and (store is not None or resume):
        raise InputError(f"world '{world}' keeps no sessions: it computes them again, the same")
    if not loaded.senders:
        raise InputError(f"scenario '{loaded.name}': no [[sender]] to compare; add one or give --cc")
    # Where sessions share the machine's clock, several at once only if it is asked for.
    threads = check_jobs(jobs) if place.is_parallel or jobs is not None else 1
    if not resume:  # what is missing was tried when it began
        place.prepare(loaded, threads)
    sessions: list[Session] = []
    failures: list[Failure] = []
    outlines: dict[tuple[str, int], bands.Outline] = {}
    played, steps = 0, ladder(len(loaded.seeds), until_decided)
    for look, runs in enumerate(steps):
        loaded = loaded if runs == len(loaded.seeds) else load(loaded, seeds=runs)
        tasks = [(seed, sender) for seed in loaded.seeds[played:] for sender in loaded.senders]
        pulse = Pulse(progress, len(tasks))
        player = _Player(loaded, place, pulse, outlines, trace=timelines, store=store, resume=resume)
        outcome = run_all(
            player.play,
            tasks,
            threads,
            on_done=pulse.count,
            on_wait=pulse.tell,
            on_interrupt=on_interrupt,
            on_stopped=on_stopped,
        )
        sessions += [s for s in outcome.results if isinstance(s, Session)]
        failures += [f for f in outcome.results if isinstance(f, Failure)]
        played = runs
        result = _gather_whole(loaded, place.name, sessions, failures, interrupted=outcome.interrupted)
        if until_decided is not None:
            result = replace(result, looks=steps[: look + 1])
        if outcome.interrupted or (until_decided is not None and result.decision.is_decided):
            break
    if not timelines or (result.interrupted and place.is_parallel):
        return result
    ordered = {key: outlines[key] for key in sorted(outlines) if key[1] in result.seeds and key[0] in result.senders}
    return replace(_with_timelines(result, place, threads, sessions), bands=bands.bands(ordered))


class _Player:
    """Plays a sender with a seed. In a world of real time a session that fails is a result, no reason to stop."""

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
            # What the machine lacks, every session lacks.
            if self._place.is_parallel or isinstance(error, MissingToolError):
                raise
            return Failure(sender, seed, str(error))

    def _outlined(self, session: Session) -> Session:
        """Keeps what the bands need; where sessions cost little to run again, their series go."""
        if session.series:
            self._outlines[session.sender, session.seed] = bands.outline(session)
        return replace(session, series={}, window_events={}) if self._place.is_parallel else session

    def _session(self, sender: str, seed: int) -> Session:
        if self._store is None:
            is_kept = not self._place.is_parallel or seed < self._scenario.seeds[0] + bands.MOST_SEEDS
            # Single packets are kept of the session that is shown alone: see `_with_timelines`.
            trace: Trace = "series" if self._trace and is_kept else False
            with self._pulse.watching() as watch:
                return self._place.session(self._scenario, sender, seed, trace=trace, watch=watch)
        folder = session_folder(self._store, self._scenario, sender, seed)
        found = finished_session(folder, self._place.name) if self._resume else None
        return found or play_and_keep(self._scenario, sender, seed, self._place, folder, trace=self._trace)


def _gather_whole(
    scenario: Scenario, world: str, sessions: list[Session], failures: list[Failure], *, interrupted: bool
) -> Comparison:
    """A comparison over the seeds that were finished by every sender that finished any."""
    failed = {failure.sender for failure in failures}
    finished = {session.sender for session in sessions}
    whole = whole_seeds(sessions, len([s for s in scenario.senders if s in finished or s not in failed]))
    if whole:
        return replace(gather(scenario, world, whole, interrupted=interrupted), failures=failures)
    if interrupted:
        raise Interrupted("stopped before the first seed was finished for every sender; nothing to show")
    told = "; ".join(dict.fromkeys(f"{f.sender}, seed {f.seed}: {f.reason}" for f in failures[:_MOST_TOLD]))
    more = f"; and {len(failures) - _MOST_TOLD} more" if len(failures) > _MOST_TOLD else ""
    what = "every session failed" if not sessions else "no seed was finished by every sender"
    raise RunError(f"{what}: {told}{more}")


def run(
    scenario: Any,
    *,
    sender: str | None = None,
    seed: int = 1,
    trace: bool = False,
    cc: Sequence[str | Mapping[str, Any]] | None = None,
    scheduler: Sequence[str | Mapping[str, Any]] | None = None,
    set: Mapping[str, Any] | None = None,
    world: str = "sim",
    controller: Callable[[], Any] | None = None,
    abr: Callable[[], Any] | None = None,
    files: Files | None = None,
    tolerance: str | None = None,
    watch: engine.Watch | None = None,
) -> Session:
    """Run one session.

    Parameters
    ----------
    scenario
        See `playpath.load`, which also explains `cc`, `scheduler` and `set`.
    sender : str, optional
        Its label; may be left out when the scenario has only one, or none (traffic alone).
    seed : int
        At least 0.
    trace : bool
        Keep the time series and the packets: `flow.…`, `link.…`, `player`, and `playpath.packets`.
    controller : callable, optional
        Makes a congestion control written in Python for each connection of the sender, in place of its own: slow, for
        prototypes. See docs/recipes/prototype-in-python.md.
    abr : callable, optional
        Makes an ABR rule written in Python, in place of that of the scenario's DASH player; asked once per segment. See
        docs/recipes/abr-rule-in-python.md.
    files : Files, optional
        In the kernel world, what the session leaves besides its record.
    tolerance : str, optional
        As for `compare`.
    watch : callable, optional
        In the simulator, called now and then with the seconds played and those that are expected.
    """
    loaded = load(scenario, cc=cc, scheduler=scheduler, set=set)
    if not 0 <= seed <= LAST_SEED:
        raise InputError(f"--seed {seed}: must be from 0 to {LAST_SEED}")
    name = pick_sender(loaded, sender)
    if controller is None and abr is None:
        place = worlds.world(world, files=files, tolerance=tolerance)
        place.prepare(loaded, 1)
        return place.session(loaded, name, seed, trace=trace, watch=watch)
    if world != worlds.SimWorld.name:
        raise InputError(f"world '{world}': a controller or rule written in Python runs in the world 'sim' only")
    return worlds.SimWorld().session(loaded, name, seed, trace=trace, watch=watch, controller=controller, rule=abr)


def pick_sender(scenario: Scenario, sender: str | None) -> str:
    """The label asked for, or the only one; empty for traffic alone.

    Raises
    ------
    InputError
        There is none of that name, or several and none was named.
    """
    names = scenario.senders
    if sender is None and len(names) <= 1:
        return names[0] if names else ""
    if sender is None:
        raise InputError(f"scenario '{scenario.name}' has several senders; give --sender, one of: {', '.join(names)}")
    if sender not in names:
        raise unknown_name("sender", sender, names)
    return sender


def whole_seeds(sessions: list[Session], senders: int) -> list[Session]:
    """Sessions of the seeds that every sender finished."""
    counts: dict[int, int] = {}
    for session in sessions:
        counts[session.seed] = counts.get(session.seed, 0) + 1
    return [s for s in sessions if counts[s.seed] == senders]


def gather(scenario: Scenario, world: str, sessions: list[Session], *, interrupted: bool) -> Comparison:
    """A comparison of finished sessions; every sender has the same seeds."""
    names = list(dict.fromkeys(name for session in sessions for name in session.metrics))
    rows = [
        {"sender": s.sender, "cc": s.cc, "seed": s.seed, "digest": s.digest}
        | {name: s.metrics.get(name) for name in names}
        for s in sessions
    ]
    schema = {"sender": pl.String, "cc": pl.String, "seed": pl.Int64, "digest": pl.String}
    return Comparison(
        scenario=scenario,
        world=world,
        seeds=sorted({s.seed for s in sessions}),
        table=pl.DataFrame(rows, schema=schema | dict.fromkeys(names, pl.Float64)),
        flows=_long(sessions, "flows"),
        links=_long(sessions, "links"),
        notes=_notes(sessions, has_video=scenario.has_video),
        interrupted=interrupted,
    )


def _long(sessions: list[Session], part: str) -> pl.DataFrame:
    """A row for each flow or link of each session; nested values become columns `dropped_packets.queue`."""
    rows = [{"sender": s.sender, "seed": s.seed} | _flat(entry) for s in sessions for entry in getattr(s, part)]
    return pl.DataFrame(rows, infer_schema_length=None)


def _flat(entry: Mapping[str, Any], prefix: str = "") -> Row:
    flat: Row = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            flat[prefix + key] = value
    return flat


def _notes(sessions: list[Session], *, has_video: bool) -> list[str]:
    """Warnings of all sessions: each once, with who said it (senders carry nothing without a video) and in how many runs."""
    runs: dict[str, int] = {}
    found: dict[tuple[str, str], int] = {}
    for session in sessions:
        runs[session.sender] = runs.get(session.sender, 0) + 1
        for text in dict.fromkeys(session.warnings):
            found[(session.sender, text)] = found.get((session.sender, text), 0) + 1
    is_told = has_video or len(runs) > 1
    return [
        f"{f'{sender}: ' if is_told else ''}{text} ({count} of {runs[sender]} runs)"
        for (sender, text), count in found.items()
    ]


def _with_timelines(result: Comparison, place: World, threads: int, sessions: Sequence[Session]) -> Comparison:
    """With the traced session of the typical seed of each sender: run once more where that costs little."""
    seed, _ = result.typical_seed
    if place.is_parallel:
        outcome = run_all(
            lambda s: trimmed(place.session(result.scenario, s, seed, trace=True)), result.senders, threads
        )
        sessions = [session for session in outcome.results if session is not None]
    found = {s.sender: s for s in sessions if s.seed == seed and s.series and s.sender in result.senders}
    return replace(result, timelines=found)

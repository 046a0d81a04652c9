"""`playpath population infer`: the path behind each session of a log, as draws, in a folder that is a population.

The engine plays the deployed sender at every rate that a session's path may have had, and finds which courses of the rate over time
explain the times in the log (`crates/infer`). Sessions are inferred as they are read, a few at a time, and written when they end.
"""

import csv
import json
import statistics
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.files import check_writable, replaced, text_cell, write_text
from playpath.base.parallel import check_jobs
from playpath.base.progress import Progress
from playpath.base.signals import exit_on_signals
from playpath.population import known_from
from playpath.population.answer_cache import AnswerCache
from playpath.population.log_groups import GroupColumns
from playpath.population.log_lines import Reading
from playpath.population.log_names import Names
from playpath.population.log_plausibility import ImplausibleValues
from playpath.population.log_rows import MIN_BYTES, fields_of
from playpath.population.sets import VIEWER
from playpath.population.transfers import Faults, Session, check_files, check_kind, sessions
from playpath.show.report.inferred_page import Shown, inferred_page

CAPACITY = ("session", "t_s", "rate_mbps_mean", "rate_mbps_p05", "rate_mbps_p50", "rate_mbps_p95")
SESSIONS = (
    "session",
    "transfers",
    "duration_s",
    "rate_mbps",
    "rtt_ms_p05",
    "rtt_ms_p50",
    "rtt_ms_p95",
    "retransmitted_percent",
    "loss_percent_mean",
    "loss_probability",
    "neighbour_probability",
    "sender",
    "sender_probability",
    "unexplained_percent",
    "noise_ms",
    "noise_percent",
    "rate_p95_over_p05",
    "replay_held_percent",
    "replay_time_ratio_p05",
    "replay_time_ratio",
    "replay_time_ratio_p95",
)
RIVALS = ("session", "rival", "likelier_by", "rate_mbps", "loss_probability", "neighbour_probability")
"""Columns for a sender tried as an alternative to the named one: log likelihood ratio in its favour, and the path inferred with it."""
_MIN = 3
"""Least number of transfers in a session; fewer say nothing about how the rate changed."""
_MISFIT = 0.1
"""A session's fit is doubted if no rate explains more than this share of its transfers."""
_SHOWN = 6
"""Number of sessions whose log is drawn with the inferred path in the report."""
_CHECKED = 8
"""Number of sessions in which rivals are also tried if the deployed sender is named."""
_RIVALS = {"bbr": ("cubic", "newreno"), "bbr3": ("cubic", "newreno")}
_USUAL_RIVALS = ("bbr", "bbr3")
"""The rivals: senders for which confusion with the named one would matter most. For a loss-based sender these are the senders that
losses do not slow down, and the other way round. BBR has both as rivals because a NewReno named as BBR need not look like CUBIC: in
three of three mobile logs CUBIC explained it no better than BBR, and NewReno far better.
"""
_RIVAL_DRAWS = 20
"""Draws of a session's path with the rival: enough to tell whether it implies a different path."""
_OPEN = (0.1, 0.9)
"""An interpretation whose probability is between these is open."""
_TRAFFIC = "traffic.0.start"
_START, _NEVER = "0 s", "100000 s"
"""When a neighbour's transfer begins: at once, or never."""
CANDIDATES = ("cubic", "newreno", "bbr", "bbr3")


def rivals_of(sender: str) -> list[str]:
    """The senders, over the same transport, that are tried as alternatives to a named one."""
    control, slash, transport = sender.partition("/")
    return [name + slash + transport for name in _RIVALS.get(control, _USUAL_RIVALS)]


@dataclass(frozen=True)
class Assumptions:
    senders: tuple[str, ...] = CANDIDATES
    """The deployed congestion control, or the candidates for it; over QUIC `cubic/quic`."""
    initial_window: float = 10.0
    """Packets."""
    restarts_after_idle: bool = True
    step_s: float = 5.0
    """Length of the steps of `capacity.csv`."""
    draws: int = 100
    kept: int = 4
    """`draws` and `kept`: the number of draws of a session's path, and how many of them become traces."""
    seed: int = 1

    def question(self, session: Session) -> dict[str, Any]:
        """The question to the engine about a session."""
        return {
            "transfers": session.transfers,
            "senders": list(self.senders),
            "initial_window": self.initial_window,
            "restarts_after_idle": self.restarts_after_idle,
            "step_s": self.step_s,
            "draws": self.draws,
            "kept": self.kept,
            "seed": self.seed,
            "retransmitted": session.retransmitted,
        }


@dataclass
class Inferred:
    """The result of an inference, which is written to `folder`."""

    folder: Path
    sessions: int = 0
    steps: int = 0
    notes: list[str] = field(default_factory=list)
    """What was left out, and what is doubtful."""


@dataclass
class _Tally:
    """Counts over all sessions."""

    senders: dict[str, float] = field(default_factory=dict)
    rtts_ms: list[float] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    first_trace: str = ""
    retransmitted: int = 0
    short: int = 0
    attempted: int = 0
    readings: Counter[str] = field(default_factory=Counter)
    shared: int = 0
    implausible: ImplausibleValues = field(default_factory=ImplausibleValues)
    shown: list[Shown] = field(default_factory=list)


def infer(
    files: Sequence[Path],
    folder: Path,
    assumptions: Assumptions,
    *,
    kind: str = "auto",
    log_format: str = "",
    fields: str = "",
    keep_names: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Inferred:
    """Infer the paths behind some logs and write them into a folder."""
    check_kind(kind)
    check_files(files)
    check_writable(folder)
    how = Reading(log_format, fields_of(fields), GroupColumns())
    faults = Faults()
    names = Names.of_run(keep_names)
    tally = _Tally()
    done = Inferred(folder)
    cache = AnswerCache(folder / "answers.part")
    for name, _ in _tables():
        for half in folder.glob(f".{name}.????????.part"):  # of a run that was killed
            half.unlink()
    with ExitStack() as stack:
        stack.enter_context(exit_on_signals())
        stack.enter_context(cache)
        tables = [stack.enter_context(_table(folder / name, head)) for name, head in _tables()]
        stream = sessions(files, kind, how, names, faults)
        for session, answer in _answers(stream, assumptions, check_jobs(jobs), tally, cache):
            _write(session, answer, assumptions, folder, tables, tally)
            done.sessions += 1
            done.steps += len(answer["steps"])
            if progress is not None:
                progress(done.sessions, 0)
        if not done.sessions:  # nothing is written, so the tables of an earlier inference are kept
            raise InputError(f"no session has {_MIN} transfers or more; nothing can be inferred")
    if not tally.shared:
        _drop_column(folder / "users.csv", _TRAFFIC)
    write_text(folder / "population.toml", _population(tally, assumptions, folder))
    done.notes = [*faults.notes(), *_notes(tally, done, assumptions)]
    write_text(folder / "report.html", inferred_page(_title(folder), tally.shown, done.sessions, done.notes))
    return done


def _tables() -> Iterator[tuple[str, Sequence[str]]]:
    yield "capacity.csv", CAPACITY
    yield "sessions.csv", SESSIONS
    drawn = ("trace", "rtt_ms", "loss_percent", "path.0.queue", _TRAFFIC, known_from.COLUMN)
    yield "users.csv", ("name", VIEWER, *drawn)
    yield "rivals.csv", RIVALS


@contextmanager
def _table(path: Path, head: Sequence[str]) -> Iterator[Any]:
    """The writer of a CSV that is written row by row to a temporary file, which replaces the target at the end."""
    with replaced(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        yield writer


def _answers(
    stream: Iterable[Session], assumptions: Assumptions, jobs: int, tally: _Tally, cache: AnswerCache
) -> Iterator[tuple[Session, dict[str, Any]]]:
    """The engine's answers in the order of the sessions, a few of which are inferred at a time."""
    waiting: deque[tuple[Session, Future[dict[str, Any]]]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        for session in stream:
            if len(session.transfers) < _MIN:
                tally.short += 1
                continue
            is_checked = len(assumptions.senders) == 1 and tally.attempted < _CHECKED
            tally.attempted += 1
            waiting.append((_named(session, tally), pool.submit(_ask, session, assumptions, is_checked, cache)))
            while len(waiting) > 2 * jobs:
                own, answer = waiting.popleft()
                yield own, answer.result()
        while waiting:
            own, answer = waiting.popleft()
            yield own, answer.result()


def _named(session: Session, tally: _Tally) -> Session:
    """Give sessions with the same name, which belong to one viewer, distinct names."""
    session.viewer = session.name
    name, number = session.name, 2
    while session.name in tally.names:
        session.name, number = f"{name}-{number}", number + 1
    tally.names.add(session.name)
    return session


def _ask(session: Session, assumptions: Assumptions, is_checked: bool, cache: AnswerCache) -> dict[str, Any]:
    question = assumptions.question(session)
    key = json.dumps([question, is_checked])
    known = cache.get(key)
    if known is not None:
        return known
    found = engine.infer(question)
    if is_checked:
        found["rivals"] = []
        for rival in rivals_of(assumptions.senders[0]):
            other = engine.infer({**question, "senders": [rival], "draws": _RIVAL_DRAWS, "kept": 1, "replayed": 0})
            found["rivals"].append((rival, other["evidence"][0] - found["evidence"][0], *_path(other)))
    cache.add(key, found)
    return found


def _write(
    session: Session,
    answer: dict[str, Any],
    assumptions: Assumptions,
    folder: Path,
    tables: Sequence[Any],
    tally: _Tally,
) -> None:
    capacity, table, users, rivals = tables
    name = text_cell(session.name)  # names from logs are untrusted
    for index, step in enumerate(answer["steps"]):
        capacity.writerow([name, _digits(index * assumptions.step_s), *(_digits(rate / 1e6) for rate in step)])
    rtts = sorted(1e3 * rtt for rtt in answer["rtt_s"])
    probability = answer["probability"]
    tally.senders[answer["sender"]] = tally.senders.get(answer["sender"], 0.0) + 1
    tally.rtts_ms.append(statistics.median(rtts))
    tally.implausible.add(session.name, rate_mbps=_logged_mbps(session), rtt_ms=tally.rtts_ms[-1])
    if answer["unexplained"] > _MISFIT:
        tally.doubted.append(session.name)
    tally.retransmitted += session.retransmitted is not None
    if len(tally.shown) < _SHOWN:
        got = [(one["at_s"] + one["took_s"] / 2, 8 * one["bytes"] / one["took_s"]) for one in session.transfers]
        tally.shown.append(Shown(session.name, assumptions.step_s, answer["steps"], got))
    again = "" if session.retransmitted is None else _digits(100 * session.retransmitted)
    mean_mbps, noisy, shared = _path(answer)
    if session.retransmitted is not None:
        tally.readings[_word(noisy, "noise") if session.retransmitted else "nothing"] += 1
    tally.readings[_word(shared, "neighbour")] += 1
    table.writerow(
        [
            name,
            len(session.transfers),
            _digits(answer["lasts_s"]),
            _digits(mean_mbps),
            *(_digits(rtts[int(share * (len(rtts) - 1))]) for share in (0.05, 0.5, 0.95)),
            again,
            _digits(100 * sum(one["loss"] * one["probability"] for one in answer["readings"])),
            _digits(noisy),
            _digits(shared),
            answer["sender"],
            _digits(probability),
            _digits(100 * answer["unexplained"]),
            _digits(1e3 * answer["noise"][0]),
            _digits(100 * answer["noise"][1]),
            _digits(statistics.median(step[3] / step[1] for step in answer["steps"])),
            _digits(100 * answer["replay"]["held"]),
            *(_digits(ratio) for ratio in answer["replay"]["ratio"]),
        ]
    )
    rivals.writerows([name, rival, *map(_digits, rest)] for rival, *rest in answer.get("rivals", ()))
    for index, draw in enumerate(answer["draws"], 1):
        file = folder / "draws" / f"{session.name}.{index}.csv"
        write_text(file, _trace(draw, answer["lasts_s"]))
        trace = str(file.relative_to(folder))
        tally.first_trace = tally.first_trace or trace
        known = known_from.TIMES if session.retransmitted is None else known_from.LOSSES
        own = [_digits(1e3 * draw["rtt_s"]), _digits(100 * draw["loss"]), f"{draw['queue']} packets"]
        tally.shared += draw["has_neighbour"]
        start = _START if draw["has_neighbour"] else _NEVER
        users.writerow([f"{name} draw {index}", text_cell(session.viewer), trace, *own, start, known])


def _path(answer: Mapping[str, Any]) -> tuple[float, float, float]:
    """What matters about a path: mean rate in Mbit/s, probability of random loss, probability of a neighbour."""
    steps = answer["steps"]
    noisy, shared = (
        sum(one["probability"] for one in answer["readings"] if one[what]) for what in ("loss", "has_neighbour")
    )
    return 1e-6 * sum(step[0] for step in steps) / len(steps), noisy, shared


def _word(probability: float, what: str) -> str:
    """The note's word for a reading, by its probability."""
    return what if probability >= _OPEN[1] else f"{what} open" if probability > _OPEN[0] else f"no {what}"


def _drop_column(file: Path, name: str) -> None:
    """Rewrite a table without a column, row by row."""
    with replaced(file) as place, file.open(newline="") as old, place.open("w", encoding="utf-8", newline="") as new:
        rows, writer = csv.reader(old), csv.writer(new, lineterminator="\n")
        head = next(rows)
        at = head.index(name)
        writer.writerows([*row[:at], *row[at + 1 :]] for row in (head, *rows))


def _logged_mbps(session: Session) -> float | None:
    """Median throughput of the session's transfers in the log; small transfers, whose throughput says little, are left out."""
    rates = [8e-6 * one["bytes"] / one["took_s"] for one in session.transfers if one["bytes"] >= MIN_BYTES]
    return statistics.median(rates) if rates else None


def _trace(draw: dict[str, Any], lasts_s: float) -> str:
    """A draw as a trace: seconds from the first request, Mbit/s from then on."""
    rows = ["time_s,rate_mbps"]
    previous = -1.0
    for at, rate in zip(draw["from_s"], draw["bps"], strict=True):
        if at > previous:
            rows.append(f"{at:.3f},{rate / 1e6:.5g}")
            previous = round(at, 3)
    if lasts_s > previous:
        rows.append(f"{lasts_s:.3f},{draw['bps'][-1] / 1e6:.5g}")
    return "\n".join(rows) + "\n"


def _digits(value: float) -> str:
    return f"{value:.5g}"


_NEIGHBOUR = f"""# An endless competing transfer, for the users whose first bytes show that they share their link.
[[traffic]]
kind = "bulk"
cc = "cubic"
start = "{_NEVER}"

"""


def _title(folder: Path) -> str:
    """The folder's name; for the folder `paths` that `answer` makes, the name of its parent."""
    own = folder.resolve()
    return own.parent.name if own.name == "paths" else own.name


def _population(tally: _Tally, assumptions: Assumptions, folder: Path) -> str:
    """The TOML of a population of the draws, which can be run as it is."""
    sender = max(tally.senders, key=lambda name: tally.senders[name])
    control, _, transport = sender.partition("/")
    over = f'\ntransport = "{transport}"' if transport else ""
    others = [name for name in ("cubic", "bbr3") if name != control]
    traffic = _NEIGHBOUR if tally.shared else ""
    blocks = "\n".join(f'[[sender]]\ncc = "{name}"{over}' for name in (control, *others))
    return f"""# Written by `playpath population infer`. Each row of users.csv is a draw of a viewer's path from the posterior of the log.
# The rows of one viewer count as one: an interval covers both the differences between viewers and what the log leaves open, and the
# answer says which share is which. A log says little about the queue: users.csv has draws from the prior. No log shows the film and
# the player: these are assumptions for you to change.
name = {json.dumps(f"paths of {_title(folder)}")}
description = "Paths inferred from logs, as draws"

[video]
source = "bigbuckbunny"
duration = "120 s"

[player]
kind = "dash"
abr = "dynamic"
ladder = "300 kbit/s, 750 kbit/s, 1500 kbit/s, 3 Mbit/s, 5 Mbit/s, 8 Mbit/s"
segment = "4 s"

[[path]]
name = "link"
trace = {json.dumps(tally.first_trace)}
rtt = "{statistics.median(tally.rtts_ms):.4g} ms"
queue = "100 packets"
start = "0 s"

{traffic}{blocks}

[population]
users = "users.csv"
sessions = 1
baseline = "{sender}"
"""


def _notes(tally: _Tally, done: Inferred, assumptions: Assumptions) -> Iterator[str]:
    if tally.short:
        yield f"{tally.short} sessions have fewer than {_MIN} transfers and are left out"
    if len(tally.doubted) > 0:
        share = f"{len(tally.doubted)} of {done.sessions}"
        some = ", ".join(tally.doubted[:3])
        yield (
            f"in {share} sessions more than {_MISFIT:.0%} of the times fit no rate of the path with {' or '.join(assumptions.senders)} "
            f"({some}): another sender, an application limit or pauses of the server; do not rely on them"
        )
    yield from tally.implausible.notes()
    without = done.sessions - tally.retransmitted
    if without:
        yield (
            f"{without} of {done.sessions} sessions have no figures of retransmissions (bytes_retrans and bytes_sent): there a path that "
            "loses packets at random looks like a smaller link, and the answer says that these logs do not decide"
        )
    if len(assumptions.senders) > 1:
        found = ", ".join(f"{name} {count:.0f}" for name, count in sorted(tally.senders.items()))
        yield f"the deployed sender was inferred among {len(assumptions.senders)}; the likeliest, by number of sessions: {found}"
    counts = tally.readings
    if tally.retransmitted:
        yield (
            f"retransmissions, in {tally.retransmitted} sessions: {counts['noise']} from random loss, {counts['no noise']} from a queue's "
            f"overflow, {counts['noise open']} undecided, {counts['nothing']} without any (prior: 30 % of paths have random loss)"
        )
    if counts["neighbour"] or counts["neighbour open"]:
        yield (
            f"late first bytes: {counts['neighbour']} sessions share their queue with a neighbour's transfer, "
            f"{counts['neighbour open']} may do so (prior, if they are late: 20 %)"
        )
    yield (
        "a log says little about the queue: unless losses say more, users.csv has draws from the prior (15, 45, 130 or 400 packets "
        "with 12, 28, 38 and 22 %)"
    )

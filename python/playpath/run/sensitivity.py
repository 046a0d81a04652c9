"""Finds the settings of the path to which an answer is most sensitive, by repeating the comparison at small variations of each.

Rate, RTT and the rates of a trace are varied by a fifth down and up; random loss, queue, and the frequency and length of loss bursts
are halved and doubled: one at a time, with the first seeds of the comparison, so that each variation is paired with it. A path without
loss gets `_SOME_LOSS`. All senders play, because another one may come out ahead.

Whether a change is more than chance is tested: if a setting changed nothing, each seed's two sessions, with it and without, could change
places. The difference's change is held against the largest of any pair of senders when they do (Westfall and Young 1993), because the
pair was chosen by the same sessions; then all variations are corrected for by Holm's method.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from playpath.base.errors import InputError
from playpath.base.progress import Progress
from playpath.base.quantity import parse, quantity
from playpath.base.worlds import DEFAULT, is_exact
from playpath.judge.stats import holm
from playpath.results.comparison import Comparison
from playpath.results.sensitivity import Sensitivity, Shift
from playpath.run.compare import compare
from playpath.scenario import Scenario, at, load, place
from playpath.scenario.traces import convert

MAX_SEEDS = 10
_FIFTH = (0.8, 1.25)
_TWICE = (0.5, 2.0)
_SOME_LOSS = "0.1 %"
_ROUNDING = 1e-9
_SETTINGS = (
    ("rate", "rate", _FIFTH),
    ("share of the trace's rates", "trace", _FIFTH),
    ("RTT", "rtt", _FIFTH),
    ("loss", "loss", _TWICE),
    ("time between bursts of loss", "loss.every", _TWICE),
    ("length of bursts of loss", "loss.duration", _TWICE),
    ("chance that a burst of loss begins", "loss.p", _TWICE),
    ("chance that a burst of loss ends", "loss.r", _TWICE),
    ("queue", "queue.limit", _TWICE),
)


def sensitivity(
    result: Comparison,
    *,
    jobs: int | None = None,
    progress: Progress = lambda done, total: None,
    on_interrupt: Callable[[int], None] = lambda running: None,
) -> Sensitivity:
    """Play variations of a comparison and say which settings of its path the answer depends on.

    Args:
        result: A comparison of at least two senders in the simulator. The cost is two sessions for each setting of each
            path, sender and seed, with at most `MAX_SEEDS` seeds: for one path about eight comparisons of that size.
        jobs, progress, on_interrupt: As for `compare`.

    Raises:
        InputError: The comparison has only one sender or one seed, or is not of the simulator; or its path has no setting
            that can be varied.
    """
    check(result.scenario, result.world)
    seeds = min(len(result.seeds), MAX_SEEDS)
    asked = list(variations(result.scenario))
    best, rival, name = _pair(result)
    margin = result.ranker.margin(rival, best, name)
    before = _difference(result, best, rival, name, seeds)
    shifts = []
    for number, (setting, key, was, now) in enumerate(asked):
        given = {"content": scaled(at(result.scenario.resolved, key)["content"], float(now))} if _is_trace(key) else now
        varied = load(result.scenario, set={key: given}, seeds=seeds)
        part = _Part(progress, number, len(asked))
        found = compare(varied, jobs=jobs, progress=part, on_interrupt=on_interrupt)
        if found.interrupted:
            break
        after = _difference(found, best, rival, name, seeds)
        moved = abs(after - before) / max(margin, 1e-12)
        outcome, leader = _outcome(found, best), found.ranking[0]
        pair, by = ((rival, best), name) if outcome == "stays" else ((leader, best), found.decision.deciding[best])
        p = chance(_matrix(result, by, seeds), _matrix(found, by, seeds), *map(result.senders.index, pair))
        if not (result.ranker.is_random or found.ranker.is_random):
            p = float(moved == 0 and outcome == "stays")
        shifts.append(Shift(setting, key, str(was), str(now), leader, outcome, after, moved, p))
    corrected = [replace(shift, p=p) for shift, p in zip(shifts, holm([s.p for s in shifts]), strict=True)]
    return Sensitivity(best, rival, name, before, seeds, len(asked) * seeds * len(result.senders), corrected)


def chance(before: np.ndarray, after: np.ndarray, one: int, other: int) -> float:
    """The exact p value of "nothing is changed" for a pair of senders, which may have been chosen by the same values.

    Args:
        before, after: Without and with the variation: a row for each sender, a column for each of at most `MAX_SEEDS` seeds.
    """
    changes = after - before
    pairs = list(itertools.combinations(range(len(changes)), 2))
    found = np.nan_to_num(np.array([changes[a] - changes[b] for a, b in pairs]))
    sizes = np.sqrt((found**2).sum(axis=1))
    found /= np.where(sizes > 0, sizes, 1.0)[:, None]
    swaps = np.array(list(itertools.product((1.0, -1.0), repeat=found.shape[1])))
    own = abs(found[pairs.index((min(one, other), max(one, other)))].sum())
    return float(np.mean(np.abs(swaps @ found.T).max(axis=1) >= own - _ROUNDING))


def _matrix(result: Comparison, name: str, seeds: int) -> np.ndarray:
    """A metric's values by sender and seed, NaN where one is missing; a sender that left a race has fewer."""
    columns = (result.values(sender, name)[:seeds] for sender in result.senders)
    return np.array([[*column, *[None] * (seeds - len(column))] for column in columns], dtype=float)


def check(scenario: Scenario, world: str) -> int:
    """Check, before anything is played, that the answer can be varied; return the number of variations."""
    if not is_exact(world):
        raise InputError(f"sensitivity: is measured only in the world '{DEFAULT}', not in '{world}'")
    if len(scenario.seeds) < 2:
        raise InputError("sensitivity: needs two seeds or more")
    if len(scenario.senders) < 2:
        raise InputError("sensitivity: needs two senders or choices to compare")
    if not (asked := list(variations(scenario))):
        raise InputError(
            "sensitivity: nothing about the path can be varied: it has no rate, trace, RTT, loss or queue of its own"
        )
    return len(asked)


def variations(scenario: Scenario) -> Iterator[tuple[str, str, Any, Any]]:
    """(display name, key, value, varied value) for each variation; settings that are compared themselves are left out."""
    compared = {place(key) for choice in scenario.choices.values() for key in choice.settings}
    paths = scenario.resolved.get("path") or []
    for number, path in enumerate(paths):
        of = f" of path {path['name']}" if len(paths) > 1 else ""
        for called, ending, factors in _SETTINGS:
            key = f"path.{number}.{ending}"
            # If a queue's kind is compared, its limit is part of the choice.
            if any(place(key) == other or place(key).startswith(f"{other}.") for other in compared):
                continue
            was = at(scenario.resolved, key)
            if _is_trace(key):
                yield from ((f"{called}{of}", key, "1", f"{factor:g}") for factor in factors if was is not None)
                continue
            for factor in factors:
                now = _varied(was, factor)
                if now is not None and _is_allowed(scenario, key, now):
                    yield f"{called}{of}", key, was, now


def _is_trace(key: str) -> bool:
    return key.endswith(".trace")


def scaled(content: str, factor: float) -> str:
    r"""A trace of the same length with `factor` times the delivery opportunities, spread evenly.

    >>> scaled("1\n2\n3\n4\n5", 0.6).split(), scaled("1\n2", 2).split()
    (['2', '4', '5'], ['1', '1', '2', '2'])
    """
    times = convert(content, "mahimahi").split()
    counts = [
        math.floor((at + 1) * factor + _ROUNDING) - math.floor(at * factor + _ROUNDING) for at in range(len(times))
    ]
    counts[-1] = max(counts[-1], 1)
    return "\n".join(time for time, count in zip(times, counts, strict=True) for _ in range(count))


def _varied(was: Any, factor: float) -> Any:
    """A quantity times a factor; None if it is not a quantity."""
    if not isinstance(was, str):
        return None
    number, unit = parse(was, "path")
    if number == 0 and unit == "%":
        return _SOME_LOSS if factor > 1 else None
    return quantity(number * factor, unit) if number > 0 and math.isfinite(number) else None


def _is_allowed(scenario: Scenario, key: str, now: Any) -> bool:
    try:
        load(scenario, set={key: now})
    except InputError:
        return False
    return True


def _pair(result: Comparison) -> tuple[str, str, str]:
    """The best sender, the first that is not alike with it, and the criterion that decides between them."""
    decision = result.decision
    best = decision.ranking[0]
    rival = next((name for name in decision.ranking[1:] if name not in decision.tied), decision.ranking[1])
    return best, rival, decision.deciding.get(rival, result.ranker.criteria[0])


def _difference(result: Comparison, best: str, rival: str, name: str, seeds: int) -> float:
    """Mean of rival minus best over the first seeds; zero if there are no values."""
    both = zip(result.values(rival, name)[:seeds], result.values(best, name)[:seeds], strict=False)
    found = [a - b for a, b in both if a is not None and b is not None]
    return math.fsum(found) / len(found) if found else 0.0


def _outcome(result: Comparison, best: str) -> Any:
    decision = result.decision
    leader = decision.ranking[0]
    if best == leader or best in (*decision.tied, *decision.unnoticed):
        return "stays"
    if best in decision.beaten:
        return "beaten"
    name = decision.deciding[best]
    ahead = abs(_difference(result, leader, best, name, len(result.seeds)))
    return "passed" if ahead > result.ranker.margin(best, leader, name) else "stays"


class _Part:
    """The progress of one variation as part of the whole."""

    def __init__(self, progress: Progress, number: int, parts: int) -> None:
        self._progress, self._number, self._parts = progress, number, parts

    def __call__(self, done: float, total: int) -> None:
        self._progress(self._number * total + done, self._parts * total)

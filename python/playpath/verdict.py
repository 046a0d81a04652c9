"""The verdict in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from playpath.metrics import format_value, metric
from playpath.ranking import Decision, Difference, Ranker


def verdict(ranker: Ranker, decision: Decision) -> str:
    """What the comparison says, in words a viewer's engineer would use."""
    best = decision.ranking[0]
    told = _describe(ranker, best)
    if len(decision.ranking) == 1:
        return f"{best}{told}; there is nothing to compare it with."
    if ranker.seeds < 2:
        return f"Undecided: one run has no interval. In it {best} did best{told and ':'}{told}. Run more seeds."
    if decision.open:
        return _undecided(ranker, decision, best, told)
    if not decision.beaten:
        everyone = _join(decision.ranking)
        return f"No difference that counts: {everyone} are alike in {_criteria(ranker)}."
    together = [best, *decision.tied]
    does = "does best" if len(together) == 1 else "do best and are alike"
    return f"{_join(together)} {does}{told and ':'}{told}. {_nearest(ranker, decision, best)}"


def _undecided(ranker: Ranker, decision: Decision, best: str, told: str) -> str:
    other = decision.open[0]
    found = ranker.difference(other, best, decision.deciding[other])
    names = _join([best, *decision.tied, *decision.open])
    why = f" ({_difference(found)})" if found is not None else ""
    runs = (
        f"About {decision.more_runs} more runs would probably decide."
        if decision.more_runs is not None
        else "More runs are unlikely to decide soon."
    )
    behind = f" {_join(decision.beaten)} {_verb(decision.beaten)} behind." if decision.beaten else ""
    return f"Undecided after {ranker.seeds} runs between {names}{why}. {best} leads{told and ':'}{told}.{behind} {runs}"


def _nearest(ranker: Ranker, decision: Decision, best: str) -> str:
    other = decision.beaten[0]
    found = ranker.difference(other, best, decision.deciding[other])
    if found is None:
        return f"The next is {other}, some of whose sessions have no {metric(decision.deciding[other]).label}."
    return f"The next is {other}: {_difference(found)}."


def _difference(found: Difference) -> str:
    entry = metric(found.metric)
    unit = f" {entry.unit}" if entry.unit else ""
    more = "more" if found.mean >= 0 else "less"
    if found.ci95 is None:
        return f"{format_value(abs(found.mean))}{unit} {more} {entry.label}"
    low, high = sorted(abs(x) for x in found.ci95) if found.ci95[0] * found.ci95[1] > 0 else found.ci95
    return (
        f"{format_value(abs(found.mean))}{unit} {more} {entry.label} than {found.best}, "
        f"95 % interval {format_value(low)} to {format_value(high)}"
    )


def _describe(ranker: Ranker, sender: str) -> str:
    """What a viewer asks first, for example ' stall time 2.1 s, discarded pictures 14 a session on average'."""
    parts = []
    for name in [name for name in ranker.criteria if name != "played_s"][:2]:
        mean = ranker.mean(sender, name)
        if mean is not None:
            entry = metric(name)
            unit = f" {entry.unit}" if entry.unit else ""
            parts.append(f"{entry.label} {format_value(mean)}{unit}")
    return f" {', '.join(parts)} a session on average" if parts else ""


def _criteria(ranker: Ranker) -> str:
    return _join([metric(name).label for name in ranker.criteria])


def _verb(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

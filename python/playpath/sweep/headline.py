"""The sentences of a sweep's answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from playpath.base.words import listing
from playpath.results.effects import WORDS

if TYPE_CHECKING:
    from playpath.sweep.result import SweepResult


def headline(result: SweepResult) -> str:
    """Which sender wins most often, and at how many points it is decided; or, if senders have choices, the effects of these."""
    if not result.is_comparison:
        return f"{result.alone}."
    if result.decisions.is_empty():
        return "No point has a result."
    if result.base.asks_for_whom:
        return _for_whom(result)
    decided, total = int(result.decisions["is_decided"].sum()), result.decisions.height
    return f"{_leader(result)} Decided at {decided} of {_points(total)}."


def counts(result: SweepResult) -> dict[str, tuple[int, int, int]]:
    """Sender → number of points that it wins noticeably for the viewer, that it wins otherwise, and where it only leads."""
    found: dict[str, tuple[int, int, int]] = {}
    for row in result.decisions.iter_rows(named=True):
        for sender in row["winners"]:
            felt, unfelt, open_ = found.get(sender, (0, 0, 0))
            is_felt = row["is_decided"] and row["level"] == "viewer"
            is_unfelt = row["is_decided"] and not is_felt
            found[sender] = (felt + is_felt, unfelt + is_unfelt, open_ + (not row["is_decided"]))
    return found


def _leader(result: SweepResult) -> str:
    found = counts(result)
    best, (felt, unfelt, _) = max(found.items(), key=lambda item: item[1])
    if felt:
        return f"{best} has the most proven wins that the viewer notices: at {_points(felt)}."
    if unfelt:
        return f"No win that a viewer notices is proven; {best} costs the network least, or is alike with the one that does, at {unfelt}."
    leaders = [sender for sender, (*_, open_) in found.items() if open_ == found[best][2]]
    if len(leaders) > 1:
        return f"{listing(leaders)} lead equally often; no win is proven anywhere."
    return f"{best} leads most often, but no win is proven anywhere."


def _for_whom(result: SweepResult) -> str:
    """For each sender, the number of points at which each value is better than the first, worse, alike or open."""
    found: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for effects in result.effects.values():
        for e in effects:
            found.setdefault((e.value, e.against), {}).setdefault(e.sender, Counter())[e.outcome] += 1
    total = _points(len(result.effects))
    sentences = []
    for (value, against), by_sender in found.items():
        parts = []
        for sender, outcomes in by_sender.items():
            seen = [f"{word} at {outcomes[outcome]}" for outcome, word in WORDS.items() if outcomes[outcome]]
            parts.append(f"for {sender} {listing(seen)}")
        sentences.append(f"{value} instead of {against}, at {total}: {'; '.join(parts)}.")
    return " ".join(sentences)


def _points(count: int) -> str:
    return f"{count} point{'' if count == 1 else 's'}"

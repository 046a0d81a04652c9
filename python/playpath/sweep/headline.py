"""The sentences of a sweep's answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from playpath.base.frames import pl
from playpath.base.words import listing
from playpath.judge.stats import SIGNIFICANCE
from playpath.results.effects import WORDS

if TYPE_CHECKING:
    from playpath.sweep.result import SweepResult


_NAMED = 3
"""Winners that the headline names; the others it counts."""


def headline(result: SweepResult) -> str:
    """Which senders win how often, and at how many points it is decided; or, if senders have choices, the effects of these."""
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
    felt = sorted(((wins, sender) for sender, (wins, *_) in found.items() if wins), key=lambda win: -win[0])
    if felt:
        told = listing([f"{sender} at {_points(wins)}" for wins, sender in felt], _NAMED)
        return f"Proven wins that the viewer notices: {told}.{_by_chance(result)}"
    if most := max(unfelt for _, unfelt, _ in found.values()):
        best = [sender for sender, (_, unfelt, _) in found.items() if unfelt == most]
        least = "costs the network least, or is" if len(best) == 1 else "cost the network least, or are"
        return (
            f"No win that a viewer notices is proven; {listing(best)} {least} alike with the one that does, at {most}."
        )
    most = max(leads for *_, leads in found.values())
    best = [sender for sender, (*_, leads) in found.items() if leads == most]
    if len(best) > 1:
        return f"{listing(best)} lead equally often; no win is proven anywhere."
    return f"{best[0]} leads most often, but no win is proven anywhere."


def _by_chance(result: SweepResult) -> str:
    """If chance alone may give as many wins: each point may err, and a sweep has many."""
    points = result.decisions.filter("is_random")
    won = points.filter(pl.col("is_decided") & (pl.col("level") == "viewer")).height
    false = int(SIGNIFICANCE * points.height)
    if not 0 < won <= false:
        return ""
    return (
        f" So few may be chance: a point names a false winner in at most {100 * SIGNIFICANCE:.0f} % of uses, which is up to {false} of "
        f"{_points(points.height)}."
    )


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

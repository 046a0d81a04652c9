"""The sentences of a sweep's answer."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from playpath._engine import apart_level
from playpath.base.frames import pl
from playpath.base.words import listing
from playpath.judge.stats import CONFIDENCE, SIGNIFICANCE, holm
from playpath.results.effects import WORDS

if TYPE_CHECKING:
    from playpath.sweep.result import SweepResult


_NAMED = 3
"""Winners that the headline names; the others it counts."""
_ROUNDING = 1e-9


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
    """Whose wins may all be chance: each point may err, and a sweep has many.

    A sender's are not if they are more than chance gives, if nothing is random at one of them, or if one stays proven among all points
    (Holm).
    """
    points = result.decisions.filter("is_random")
    most = chance_gives(points.height)
    proven = holm([1.0 if p is None else p for p in points["p"]])
    is_sure = [p <= apart_level(seeds) for p, seeds in zip(proven, points["seeds"], strict=True)]
    certain = pl.concat(
        [points.filter(pl.Series(is_sure, dtype=pl.Boolean)), result.decisions.filter(~pl.col("is_random"))]
    )
    felt = certain.filter(pl.col("is_decided") & pl.col("level").eq_missing("viewer"))
    never = {sender for winners in felt["winners"] for sender in winners}
    wins = {sender: won for sender, (won, *_) in counts(result).items() if won}
    doubtful = [sender for sender, won in wins.items() if won <= most and sender not in never]
    if not doubtful:
        return ""
    which = "So few" if len(doubtful) == len(wins) else f"Those of {listing(doubtful, _NAMED)}"
    return (
        f" {which} may be chance, which gives equal senders up to {most} wins at {_points(points.height)}, and more in one of twenty such "
        "sweeps."
    )


def chance_gives(points: int) -> int:
    """Wins of equal senders that no more than one of twenty sweeps exceeds, if each point names a false winner in one of twenty uses.

    >>> [chance_gives(points) for points in (1, 2, 8, 20, 60)]
    [0, 1, 2, 3, 6]
    """
    wins, share = -1, 0.0
    while share < CONFIDENCE - _ROUNDING:
        wins += 1
        ways = math.lgamma(points + 1) - math.lgamma(wins + 1) - math.lgamma(points - wins + 1)
        share += math.exp(ways + wins * math.log(SIGNIFICANCE) + (points - wins) * math.log(CONFIDENCE))
    return wins


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
    most = chance_gives(result.decisions.filter("is_random").height)
    proven = [outcomes[outcome] for by in found.values() for outcomes in by.values() for outcome in ("better", "worse")]
    if any(0 < count <= most for count in proven):
        sentences.append(f"Better or worse at up to {most} may be chance.")
    return " ".join(sentences)


def _points(count: int) -> str:
    return f"{count} point{'' if count == 1 else 's'}"

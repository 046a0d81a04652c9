"""The effect of a choice on each sender, if a comparison varies more than senders: better, worse, alike or open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from playpath import _engine
from playpath.judge.ranking import Ranker

if TYPE_CHECKING:
    from playpath.scenario.choices import Choice

Outcome = Literal["better", "worse", "alike", "depends", "open"]
WORDS: Mapping[str, str] = dict(_engine.outcome_words())


@dataclass(frozen=True)
class Effect:
    """The effect of a value relative to the first one, for one sender."""

    sender: str
    value: str
    against: str
    outcome: Outcome
    """"alike": a noticeable difference is ruled out; "depends": proven better for some viewers and worse for others; "open": not
    proven either way."""
    sentence: str
    """The comparison in one line."""
    detail: str = ""
    """Both values, if it is better or worse: `stall time 0.3 s, not 0.45 s`."""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def pairs(choices: Mapping[str, Choice], there: Sequence[str]) -> list[tuple[Choice, str, str]]:
    """Each choice with its own name and that of its sender's first value, among the names in `there`."""
    first: dict[str, str] = {}
    found = []
    for name, choice in choices.items():
        if name in there and first.setdefault(choice.sender, name) != name:
            found.append((choice, name, first[choice.sender]))
    return found


def effects(choices: Mapping[str, Choice], judge: Ranker) -> list[Effect]:
    """Each value against the first, sender by sender, judged on all of them together. Names that were not played are left out."""
    return [Effect(**found) for found in judge.effects([(name, of.sender, of.value) for name, of in choices.items()])]


def sentence(found: Sequence[Effect]) -> str:
    """For which senders each value is better: "fq_codel instead of droptail: better for cubic (stall time 1 s, not 3 s)"."""
    return _engine.for_whom(json.dumps([effect.to_dict() for effect in found]))

"""What a choice does for each sender, where a comparison varies more than senders: helped, harmed, alike or open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from playpath.base.words import listing
from playpath.judge.ranking import Ranker, Values

if TYPE_CHECKING:
    from playpath.scenario.choices import Choice

Outcome = Literal["better", "worse", "alike", "open"]
_WORDS: Mapping[Outcome, str] = {
    "better": "better",
    "worse": "worse",
    "alike": "no noticeable difference",
    "open": "open",
}


@dataclass(frozen=True)
class Effect:
    """A value against the first one, for one sender, paired by seed.

    Attributes
    ----------
    sender, value, against : str
    outcome : {"better", "worse", "alike", "open"}
        "alike": no difference that a viewer would notice is left; "open": not proven either way.
    told : str
        The judge's headline for the two.
    """

    sender: str
    value: str
    against: str
    outcome: Outcome
    told: str

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return asdict(self)


def effects(values: Values, choices: Mapping[str, Choice], judge: Ranker) -> list[Effect]:
    """Each value against the first, sender by sender, by the rule of the ranker of all. Names without values are left out."""
    by_sender: dict[str, dict[str, str]] = {}
    for name, choice in choices.items():
        if name in values:
            by_sender.setdefault(choice.sender, {})[choice.value] = name
    found = []
    for sender, names in by_sender.items():
        (first, baseline), *others = names.items()
        for value, name in others:
            two = judge.among({first: values[baseline], value: values[name]})
            found.append(Effect(sender, value, first, _outcome(two, value), two.headline))
    return found


def _outcome(ranker: Ranker, value: str) -> Outcome:
    decision = ranker.decide()
    if decision.open:
        return "open"
    if decision.tied:
        return "alike"
    return "better" if decision.ranking[0] == value else "worse"


def sentence(found: Sequence[Effect]) -> str:
    """For whom each value is better and for whom not: "against droptail: fq_codel is better for cubic, worse for bbr"."""
    told = []
    for value in dict.fromkeys(effect.value for effect in found):
        of = [effect for effect in found if effect.value == value]
        parts = []
        for outcome, word in _WORDS.items():
            senders = [effect.sender for effect in of if effect.outcome == outcome]
            if senders:
                parts.append(f"{word} for {listing(senders)}")
        told.append(f"{value}: {'; '.join(parts)}")
    return f"Against {found[0].against}. {'. '.join(told)}." if found else ""

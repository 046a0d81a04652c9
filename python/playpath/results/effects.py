"""What a choice does for each sender, where a comparison varies more than senders: helped, harmed, alike or open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from playpath.base.metrics import format_value, metric
from playpath.base.words import listing
from playpath.judge.ranking import Decision, Ranker

if TYPE_CHECKING:
    from playpath.scenario.choices import Choice

Outcome = Literal["better", "worse", "alike", "depends", "open"]
WORDS: Mapping[Outcome, str] = {
    "better": "better",
    "worse": "worse",
    "alike": "no noticeable difference",
    "depends": "better or worse, as the viewer weighs stalls against the picture,",
    "open": "undecided",
}


@dataclass(frozen=True)
class Effect:
    """A value against the first one, for one sender.

    Attributes
    ----------
    sender, value, against : str
    outcome : {"better", "worse", "alike", "depends", "open"}
        "alike": no difference that a viewer would notice is left; "depends": better for some viewers and worse for others, both
        proven; "open": not proven either way.
    told : str
        The two in one line.
    detail : str
        Both values, where it is better or worse: `stall time 0.3 s, not 0.45 s`.
    """

    sender: str
    value: str
    against: str
    outcome: Outcome
    told: str
    detail: str = ""

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return asdict(self)


def pairs(choices: Mapping[str, Choice], there: Sequence[str]) -> list[tuple[Choice, str, str]]:
    """Each choice with its own name and that of the first value of its sender, of those names that are `there`."""
    first: dict[str, str] = {}
    found = []
    for name, choice in choices.items():
        if name in there and first.setdefault(choice.sender, name) != name:
            found.append((choice, name, first[choice.sender]))
    return found


def effects(choices: Mapping[str, Choice], judge: Ranker) -> list[Effect]:
    """Each value against the first, sender by sender, by the evidence on all. Names that were not played are left out."""
    found = []
    for choice, name, baseline in pairs(choices, judge.senders):
        decision, told = judge.versus(name, baseline)
        outcome = _outcome(decision, name)
        detail = _detail(judge, decision, name, baseline) if outcome in ("better", "worse") else ""
        found.append(Effect(choice.sender, choice.value, choices[baseline].value, outcome, told, detail))
    return found


def _outcome(decision: Decision, name: str) -> Outcome:
    if decision.open:
        return "depends" if decision.is_decided else "open"
    if decision.tied:
        return "alike"
    return "better" if decision.ranking[0] == name else "worse"


def _detail(judge: Ranker, decision: Decision, name: str, baseline: str) -> str:
    """The means of both at the criterion that decides."""
    deciding = metric(next(iter(decision.deciding.values())))
    one, other = (f"{format_value(judge.mean(of, deciding.name))} {deciding.unit}".strip() for of in (name, baseline))
    return f"{deciding.label} {one}, not {other}"


def sentence(found: Sequence[Effect]) -> str:
    """For whom each value is better and for whom not: "fq_codel instead of droptail: better for cubic (stall time 1 s, not 3 s)"."""
    told = []
    for value in dict.fromkeys(effect.value for effect in found):
        of = [effect for effect in found if effect.value == value]
        parts = []
        for outcome, word in WORDS.items():
            senders = [e.sender + (f" ({e.detail})" if e.detail else "") for e in of if e.outcome == outcome]
            if senders:
                parts.append(f"{word} for {listing(senders)}")
        told.append(f"{value} instead of {of[0].against}: {'; '.join(parts)}.")
    return " ".join(told)

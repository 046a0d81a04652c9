"""Any choice as the treatment: a scenario played with each combination of values that its keys may take.

A varied scenario is a `Scenario` whose senders are the compared choices: each name stands for one sender in one variant of the
scenario. Who plays a session asks `Scenario.playing` for that variant, so a plain sender is the special case.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from playpath import _engine
from playpath.base import engine
from playpath.base.errors import InputError
from playpath.scenario import Scenario, load, parse_value, place, split_outside
from playpath.scenario.resolved import Document


@dataclass(frozen=True)
class Choice:
    """What one compared name stands for."""

    sender: str
    """Its sender in the scenario without choices."""
    value: str
    """The combination of values, as it is called."""
    settings: Mapping[str, Any]
    """Key → value."""


def varied(plain: Scenario, vary: Mapping[str, Any], folder: str) -> Scenario:
    """`plain` with every combination of the values of `vary` (key → values) as a choice for each of its senders; files that
    values name start from `folder`.
    """
    axes = {key: _values(key, given) for key, given in vary.items()}
    _check_keys(plain, axes)
    found: list[tuple[Choice, Scenario]] = []
    combined = engine.combinations(plain.resolved, axes)
    loaded = [(one["value"], one["settings"], _loaded(plain, one["settings"], folder)) for one in combined]
    for value, settings, variant in loaded:
        if not variant.senders:
            raise InputError(f"scenario '{plain.name}': no [[sender]] to compare; add one or give `cc`")
        found += [(Choice(sender, value, settings), variant) for sender in variant.senders]
    names = _engine.choice_names([(value, variant.senders) for value, _, variant in loaded])
    variants: dict[str, Scenario] = {}
    choices: dict[str, Choice] = {}
    for name, (choice, variant) in zip(names, found, strict=True):
        variants[name] = _renamed(variant, choice.sender, name)
        choices[name] = choice
    senders = [variants[name].resolved["sender"][0] for name in variants]
    resolved = cast("Document", {**plain.resolved, "sender": senders})
    text = json.dumps(resolved, ensure_ascii=False)
    return replace(plain, resolved=resolved, text=text, variants=variants, choices=choices)


def restored(plain: Scenario, manifest: Mapping[str, Any]) -> Scenario:
    """A stored scenario with the choices that its manifest tells of."""
    choices = {name: Choice(**choice) for name, choice in manifest.get("choices", {}).items()}
    variants = {name: Scenario.stored(of, None) for name, of in manifest.get("variants", {}).items()}
    return replace(plain, choices=choices, variants=variants)


def _check_keys(plain: Scenario, axes: Mapping[str, Sequence[Any]]) -> None:
    """Refuse what is compared and set at once."""
    given = plain.origin.overrides.get("set", {}) if plain.origin else {}
    for key in axes:
        if (other := next((name for name in given if place(name) == place(key)), None)) is not None:
            raise InputError(
                f'vary["{key}"]: `{other}` has one value as well (a setting, an axis or a draw); give one of them'
            )


def _values(key: str, given: Any) -> list[Any]:
    values: Any = [parse_value(text) for text in split_outside(given)] if isinstance(given, str) else given
    if isinstance(given, str) and len(values) == 1 and isinstance(values[0], list):
        values = values[0]  # one list in brackets: values that have commas themselves
    if isinstance(values, Mapping) or not isinstance(values, Sequence):
        raise InputError(f'vary["{key}"]: must be a list of values')
    return list(values)


def _loaded(plain: Scenario, settings: Mapping[str, Any], folder: str) -> Scenario:
    try:
        return load(plain, set=settings, folder=folder)
    except InputError as error:
        raise InputError(str(error).replace("set[", "vary[", 1)) from None


def _renamed(variant: Scenario, sender: str, name: str) -> Scenario:
    """The variant with this sender alone, under the choice's name."""
    entry = {**variant.sender(sender), "name": name}
    resolved = cast("Document", {**variant.resolved, "sender": [entry]})
    return replace(variant, resolved=resolved, text=json.dumps(resolved, ensure_ascii=False))

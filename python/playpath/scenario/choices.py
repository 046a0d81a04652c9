"""Comparison of arbitrary choices: a scenario is played with each combination of values of its varied keys.

A varied scenario is a `Scenario` whose senders are the compared choices: each name stands for one sender in one variant of the
scenario. Code that plays a session gets that variant from `Scenario.playing`; a plain sender is the special case.
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
    """The meaning of one compared name."""

    sender: str
    """Its sender in the scenario without choices."""
    value: str
    """Display name of the combination of values."""
    settings: Mapping[str, Any]
    """Key → value."""


def varied(plain: Scenario, vary: Mapping[str, Any], folder: str) -> Scenario:
    """`plain` with every combination of the values of `vary` (key → values) as a choice for each of its senders; file names in
    values are relative to `folder`.
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
    """A stored scenario with the choices in its manifest."""
    choices = {name: Choice(**choice) for name, choice in manifest.get("choices", {}).items()}
    variants = {name: Scenario.stored(of, None) for name, of in manifest.get("variants", {}).items()}
    return replace(plain, choices=choices, variants=variants)


def _check_keys(plain: Scenario, axes: Mapping[str, Sequence[Any]]) -> None:
    """Refuse keys that are both compared and set."""
    given = plain.origin.overrides.get("set", {}) if plain.origin else {}
    for key in axes:
        if (other := next((name for name in given if place(name) == place(key)), None)) is not None:
            raise InputError(
                f'vary["{key}"]: `{other}` also has a fixed value (a setting, an axis or a draw); give only one of them'
            )


def _values(key: str, given: Any) -> list[Any]:
    values: Any = [parse_value(text) for text in split_outside(given)] if isinstance(given, str) else given
    if isinstance(given, str) and len(values) == 1 and isinstance(values[0], list):
        values = values[0]  # a single list in brackets, whose values may contain commas
    if isinstance(values, Mapping) or not isinstance(values, Sequence):
        raise InputError(f'vary["{key}"]: must be a list of values')
    return list(values)


def _loaded(plain: Scenario, settings: Mapping[str, Any], folder: str) -> Scenario:
    try:
        return load(plain, set=settings, folder=folder)
    except InputError as error:
        text = str(error)
        is_of_choice = any(text.startswith(f'set["{key}') for key in settings)  # or of what is set beside it
        raise InputError(text.replace("set[", "vary[", 1) if is_of_choice else text) from None


def _renamed(variant: Scenario, sender: str, name: str) -> Scenario:
    """The variant with only this sender, under the choice's name."""
    entry = {**variant.sender(sender), "name": name}
    resolved = cast("Document", {**variant.resolved, "sender": [entry]})
    return replace(variant, resolved=resolved, text=json.dumps(resolved, ensure_ascii=False))

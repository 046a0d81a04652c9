"""Any choice as the treatment: a scenario played with each combination of values that its keys may take.

A varied scenario is a `Scenario` whose senders are the compared choices: each name stands for one sender in one variant of the
scenario. Who plays a session asks `Scenario.playing` for that variant, so a plain sender is the special case.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.scenario import Scenario, at, load, parse_value, place, split_outside
from playpath.scenario.resolved import Document

_OF_ALL = ("name", "description", "run.seeds", "run.first_seed", "verdict", "choice", "population")
"""Settings of a comparison, which no variant has for itself."""
MOST = 120
"""Compared at once: pairs grow with the square, and nobody reads more rows."""


@dataclass(frozen=True)
class Choice:
    """What one compared name stands for.

    Attributes
    ----------
    sender : str
        Its sender in the scenario without choices.
    value : str
        The combination of values, as it is called.
    settings : mapping
        Key → value.
    """

    sender: str
    value: str
    settings: Mapping[str, Any]


def varied(plain: Scenario, vary: Mapping[str, Any], folder: str) -> Scenario:
    """`plain` with every combination of the values of `vary` (key → values) as a choice for each of its senders; files that
    values name start from `folder`.

    Raises
    ------
    InputError
        A key or value that the scenario refuses, fewer than two values, one that stands twice, too many combinations.
    """
    axes = {key: _values(key, given) for key, given in vary.items()}
    _check_keys(plain, axes)
    count = max(len(plain.senders), 1)
    count *= math.prod(map(len, axes.values()))
    if count > MOST:
        raise InputError(f"vary: {count} combinations of choices and senders; allowed: up to {MOST} at once")
    found: list[tuple[Choice, Scenario]] = []
    for values in itertools.product(*axes.values()):
        given = dict(zip(axes, values, strict=True))
        called = " + ".join(_label(key, value) for key, value in given.items())
        settings = {key: _limited(plain, key, value) for key, value in given.items()} | _secured(plain, axes, given)
        variant = _loaded(plain, settings, folder)
        if not variant.senders:
            raise InputError(f"scenario '{plain.name}': no [[sender]] to compare; add one or give `cc`")
        found += [(Choice(sender, called, settings), variant) for sender in variant.senders]
    # Senders whose own names tell the choices apart, as `cubic` and `cubic/quic`, keep them.
    tell = len({choice.sender for choice, _ in found}) == len(found)
    variants: dict[str, Scenario] = {}
    choices: dict[str, Choice] = {}
    for choice, variant in found:
        long = choice.value if len(variant.senders) == 1 else f"{choice.sender} · {choice.value}"
        name = choice.sender if tell else long
        variants[name] = _renamed(variant, choice.sender, name)
        choices[name] = choice
    senders = [variants[name].resolved["sender"][0] for name in variants]
    resolved = cast(Document, {**plain.resolved, "sender": senders})
    text = json.dumps(resolved, ensure_ascii=False)
    return replace(plain, resolved=resolved, text=text, variants=variants, choices=choices)


def restored(plain: Scenario, manifest: Mapping[str, Any]) -> Scenario:
    """A stored scenario with the choices that its manifest tells of."""
    choices = {name: Choice(**choice) for name, choice in manifest.get("choices", {}).items()}
    variants = {name: Scenario.stored(of, None) for name, of in manifest.get("variants", {}).items()}
    return replace(plain, choices=choices, variants=variants)


def _check_keys(plain: Scenario, axes: Mapping[str, Sequence[Any]]) -> None:
    """Refuse what is compared and set at once, and what all sessions of a comparison share."""
    given = plain.origin.overrides.get("set", {}) if plain.origin else {}
    for key in axes:
        if any(key == name or key.startswith(f"{name}.") for name in _OF_ALL):
            raise InputError(f'vary["{key}"]: is one for all that is compared; vary what a session depends on')
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
    if len(values) < 2:
        raise InputError(
            f'vary["{key}"]: give two values or more, separated by commas; one alone goes into set["{key}"]'
        )
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(f'vary["{key}"]: {_label(key, value)} stands twice')
    return list(values)


def _label(key: str, value: Any) -> str:
    """What a value is called: `fq_codel`, `buffer 2 s`, `pie(limit=50 kB)`."""
    if isinstance(value, Mapping):
        named = next((name for name in ("kind", "name") if name in value), None)
        others = ", ".join(f"{k}={v}" for k, v in value.items() if k != named)
        return (str(value[named]) if named else "") + (f"({others})" if others else "")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    # A number, or a switch, says nothing by itself.
    return (
        text
        if re.match(r"(?!(true|false|null|none|on|off)$)[^\W\d]", text, re.IGNORECASE)
        else f"{key.rpartition('.')[2]} {text}"
    )


def _limited(plain: Scenario, key: str, value: Any) -> Any:
    """A queue that is named by its kind alone keeps the limit of the one in its place: then the kind is what is compared."""
    if key.rpartition(".")[2] != "queue" or value not in [entry["name"] for entry in engine.registry("queue")]:
        return value
    places = [f"path.{n}.queue" for n in range(len(plain.resolved["path"]))] if key == "path.queue" else [key]
    limits = [(at(plain.resolved, place) or {}).get("limit") for place in places]
    return {"kind": value, "limit": limits[0]} if limits[0] and limits == limits[:1] * len(limits) else value


def _secured(plain: Scenario, axes: Mapping[str, Sequence[Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """TCP that is compared with QUIC, which is never without TLS, has TLS 1.3, too, unless the scenario says what it has."""
    key = "sender.transport"
    if given.get(key) != "tcp" or not any("quic" in (value, at_name(value)) for value in axes[key]):
        return {}
    said = any(sender.get("tls", "none") != "none" for sender in plain.resolved["sender"])
    return {} if said or "sender.tls" in axes else {"sender.tls": "full"}


def at_name(value: Any) -> Any:
    """The name in a table that names a component."""
    return value.get("name") if isinstance(value, Mapping) else None


def _loaded(plain: Scenario, settings: Mapping[str, Any], folder: str) -> Scenario:
    try:
        return load(plain, set=settings, folder=folder)
    except InputError as error:
        raise InputError(str(error).replace("set[", "vary[", 1)) from None


def _renamed(variant: Scenario, sender: str, name: str) -> Scenario:
    """The variant with this sender alone, under the choice's name."""
    entry = {**variant.sender(sender), "name": name}
    resolved = cast(Document, {**variant.resolved, "sender": [entry]})
    return replace(variant, resolved=resolved, text=json.dumps(resolved, ensure_ascii=False))

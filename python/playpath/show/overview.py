"""A scenario on one page: its settings as written, and every default that was filled in, marked as such.

How the two are distinguished: settings of the document are printed as typed; a default is a value of the resolved scenario that no
setting of the document fills and that has an effect (in CCP's mode `paper` its guards have none). A text in place of a table fills
the key with the same value (`queue = "1 bdp"` its limit), otherwise the first one (`jitter = "0.05 ms"` its amplitude, which is
resolved as 50 us).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playpath.base import engine
from playpath.base.metrics import format_value
from playpath.scenario import Scenario

_ORDER = ("video", "player", "viewer", "origin", "path", "link", "sender", "traffic", "run")
_RACED = "until decided (10 for other commands and worlds)"
"""Default of `run.seeds`; the resolved scenario has a number."""
_LONGEST = 60
"""Longest value, in characters, that is shown; a trace's content is longer."""


@dataclass(frozen=True)
class Block:
    """A part of a scenario."""

    title: str
    """For example `player` or `path wifi`."""
    given: Mapping[str, str]
    defaults: Mapping[str, str]
    """`given` and `defaults`: dotted setting → value."""


def understood(scenario: Scenario, film: engine.FilmFigures | None) -> list[str]:
    """Figures from files: the film, its rungs, and the mean rate of each path with a trace."""
    found = [] if film is None or not _is_of_a_file(scenario) else [_film(film)]
    figures = zip(scenario.resolved["path"], engine.path_figures(scenario.text), strict=True)
    traced = ((path, known["rate_mbps"]) for path, known in figures if path.get("trace"))
    return found + [
        f"path {path['name']}: a trace of {format_value(rate)} Mbit/s on average" for path, rate in traced if rate
    ]


def _is_of_a_file(scenario: Scenario) -> bool:
    video = scenario.resolved.get("video") or {}
    return bool(video.get("source") or video.get("manifest"))


def _film(film: engine.FilmFigures) -> str:
    length = f"film: {format_value(film['duration_s'])} s"
    if "segments" not in film:
        return f"{length} of {format_value(film['rate_mbps'])} Mbit/s on average, {format_value(film['fps'])} pictures a second"
    rungs = ", ".join(f"{kbps:.0f}" for kbps in film["rungs_kbps"])
    audio = ", ".join(f"{kbps:.0f}" for kbps in film["audio_kbps"])
    also = f"; separate audio of {audio} kbit/s" if audio else ""
    return f"{length} in {film['segments']} segments, {len(film['rungs_kbps'])} rungs of {rungs} kbit/s{also}"


def blocks(raw: Mapping[str, Any], resolved: Mapping[str, Any]) -> list[Block]:
    """The parts of a scenario, in the order of a reader's questions; defaults common to all senders, paths, … appear once.

    Args:
        raw: The document as read.
        resolved: The same with every default written out; see `playpath.Scenario`.
    """
    made: list[Block] = []
    for name in _ORDER:
        full = resolved.get(name)
        if isinstance(full, Mapping):
            made.append(_block(name, raw.get(name, {}), full))
        elif full:
            made += _shared(f"every {name}", _repeated(name, raw.get(name, []), full))
    return made


def _repeated(name: str, raw: Sequence[Any], resolved: Sequence[Mapping[str, Any]]) -> list[Block]:
    entries = raw if isinstance(raw, list) else [raw]
    written = [*entries, *({} for _ in resolved[len(entries) :])]
    return [_block(f"{name} {full['name']}", part, full) for part, full in zip(written, resolved, strict=True)]


def _block(title: str, raw: Mapping[str, Any], resolved: Mapping[str, Any]) -> Block:
    given = dict(_leaves(raw))
    full = dict(_leaves(resolved))
    filled = {place for key, value in given.items() for place in _filled(key, value, full)}
    idle = set(_idle(resolved))
    defaults = {key: _shown(value) for key, value in full.items() if key not in filled | idle and key != "name"}
    if title == "run" and "seeds" in defaults:
        defaults["seeds"] = _RACED
    return Block(
        title,
        {key: _shown(value) for key, value in given.items() if key != "name"},
        {key: value for key, value in defaults.items() if len(value) <= _LONGEST},
    )


def _idle(resolved: Mapping[str, Any]) -> Iterator[str]:
    """Parameters of the congestion control that have no effect given the other ones."""
    cc = resolved.get("cc")
    if not isinstance(cc, Mapping):
        return
    for component in engine.registry("cc"):
        if component["name"] == cc.get("name"):
            for parameter in component["params"]:
                if any(cc.get(other) == word for other, word in parameter["idle_with"]):
                    yield f"cc.{parameter['name']}"


def _filled(key: str, value: Any, full: Mapping[str, Any]) -> list[str]:
    """The keys of the resolved scenario that a value of the document fills."""
    exact = [place for place in full if place == key or key.startswith(f"{place}.")]
    below = [place for place in full if place.startswith(f"{key}.")]
    named = [place for place in below if str(full[place]) == str(value)]
    return exact or named or below[:1]


def _leaves(value: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(inner, f"{at}{key}.")
        elif inner not in ([], {}):
            yield f"{at}{key}", inner


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shared(title: str, found: list[Block]) -> list[Block]:
    """Move defaults that several blocks share into a separate block."""
    if len(found) < 2:
        return found
    first, *others = found
    common = {k: v for k, v in first.defaults.items() if all(other.defaults.get(k) == v for other in others)}
    own = [Block(b.title, b.given, {k: v for k, v in b.defaults.items() if k not in common}) for b in found]
    return [Block(title, {}, common), *own]

"""Warnings about valid scenarios that are probably not what the user meant; they are given before a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from playpath.base import engine
from playpath.base.errors import InputError
from playpath.base.metrics import format_value
from playpath.base.quantity import BYTES, MBPS, SECONDS, measure
from playpath.scenario import Scenario

if TYPE_CHECKING:
    from playpath.population.sets import Unit
    from playpath.population.spec import Population
    from playpath.sweep.design import Design

_PACKETS = {"B": 1 / 1500, "kB": 1 / 1.5, "MB": 1000 / 1.5, "packets": 1.0}
"""Unit → number of packets of 1500 bytes on the wire."""
_MAX_POINTS = 200
"""Number of a sweep's points that are checked, at some milliseconds each."""
_FIGURES = re.compile(r"\d+(\.\d+)?(e[-+]\d+)?")
_PACKET_BITS = 12_000


def doubts(scenario: Scenario) -> list[str]:
    """Warnings: no sender named, a video faster than its paths, a buffer longer than its video, a queue of less than two packets,
    flows that may be synchronised by a drop-tail queue.

    A queue in bdp or time is checked by the engine.
    """
    video, player = scenario.resolved.get("video") or {}, scenario.resolved.get("player") or {}
    found = [_queue(path) for path in scenario.resolved.get("path") or []]
    found += _phases(scenario)
    found.append(_sender(scenario))
    ladder = "" if "manifest" in video else str(player.get("ladder") or "")
    # An adaptive player can fall back to its lowest rate.
    rate = measure(ladder.split(",")[0] or video.get("rate"), MBPS)
    if rate is not None:
        found.append(_rate(scenario, rate))
        found.append(_buffer(player.get("buffer"), video.get("duration"), rate))
    return [text for text in found if text]


def inert(scenario: Scenario) -> list[str]:
    """A warning for a comparison of a single sender that no flow uses."""
    groups = scenario.resolved.get("traffic") or []
    if scenario.has_video or len(scenario.senders) > 1 or not all("cc" in group for group in groups):
        return []
    return [
        f'there is no [video] and every [[traffic]] has its own `cc`: the row "{scenario.senders[0]}" is for all flows together; '
        "`playpath run` shows each flow, and traffic without `cc` uses that of the sender"
    ]


def doubts_of_design(design: Design) -> list[str]:
    """The warnings for a sweep's points, each with the first point and the number of points that it applies to; points that cannot run
    report their own errors.
    """
    from playpath.sweep.design import at_point  # imports all of sweeps, which a comparison does not need

    step = -(-design.size // _MAX_POINTS)
    looked = list(islice(design.points(), 0, None, step))
    found: dict[str, tuple[Mapping[str, Any], str, int]] = {}
    for point in looked:
        try:
            texts = doubts(at_point(design.base, point))
        except InputError:
            continue
        for text in texts:
            kind = _FIGURES.sub("", text)
            first, example, count = found.get(kind, (point, text, 0))
            found[kind] = (first, example, count + 1)
    among = f"{len(looked)} points" if step == 1 else f"{len(looked)} checked points, of {design.size}"
    where = [(", ".join(f"{key} = {value}" for key, value in first.items()), *rest) for first, *rest in found.values()]
    lines = [f"{text} (at {count} of {among}; first where {first})" for first, text, count in where]
    return [text for text in (_sender(design.base), *lines) if text]


def doubts_of_population(population: Population) -> list[str]:
    """The doubts of its first path, users who do not differ, and traces so short that the join of end and beginning, which nobody
    measured, is in most sessions.
    """
    found = [f"{text} (at the first path)" for text in doubts(population.base)]
    return [text for text in (*found, _alike(population), _seam(population)) if text]


def _alike(population: Population) -> str:
    from playpath.population.sets import COLUMNS

    table = population.source.get("population", {}).get("users", "")
    if not table or any(unit.settings for unit in population.units):
        return ""
    return f"{table}: no column is a setting of the scenario ({', '.join(COLUMNS)}, or a dotted key): it gives no user a path"


def _seam(population: Population) -> str:
    video, run = population.base.resolved.get("video") or {}, population.base.resolved.get("run") or {}
    lengths = [measure(duration, SECONDS) for duration in (video.get("duration"), run.get("duration"))]
    length = min((length for length in lengths if length is not None), default=0.0)
    weights = sum(unit.weight for unit in population.units)
    crossing = sum(unit.weight * min(length / unit.lap_s, 1.0) for unit in population.units if _starts_anywhere(unit))
    if not weights or crossing < weights / 2:
        return ""
    return (
        f"{100 * crossing / weights:.0f} % of sessions of {length:g} s pass from the end of their trace to its beginning, a transition "
        'that was never measured: play shorter sessions, or each trace from its beginning (`start = "0 s"` in the path)'
    )


def _starts_anywhere(unit: Unit) -> bool:
    return any(value == "random" for key, value in unit.settings.items() if key.endswith(".start"))


def _sender(scenario: Scenario) -> str:
    if not scenario.has_video or scenario.names_sender:
        return ""
    return f"the scenario names no sender: {', '.join(scenario.senders)} is used; name others with [[sender]] or --cc"


def _rate(scenario: Scenario, rate: float) -> str:
    paths = engine.path_figures(scenario.text)
    rates = [path["rate_mbps"] for path in paths if path["rate_mbps"] is not None]
    if not rates or len(rates) < len(paths) or rate <= sum(rates):
        return ""
    whose = "the path carries" if len(rates) == 1 else f"all {len(rates)} paths carry together"
    return f"the video's {format_value(rate)} Mbit/s are more than {whose} ({format_value(sum(rates))} Mbit/s): every sender stalls"


def _buffer(buffer: Any, duration: Any, rate: float) -> str:
    held, length = measure(buffer, SECONDS), measure(duration, SECONDS)
    size = measure(buffer, BYTES)
    if size is not None:
        held = size * 8e-6 / rate
    if held is None or length is None or held <= length:
        return ""
    return f"the player's buffer of {buffer} is longer than the video of {duration}: all of it is loaded before it plays, or it never fills"


def _queue(path: Any) -> str:
    queue = path.get("queue")
    size = measure(queue.get("limit"), _PACKETS) if isinstance(queue, dict) else None
    if size is None or size >= 2:
        return ""
    return f"path {path['name']}: the queue of {queue['limit']} holds less than two packets: if two arrive together, one is lost"


def _phases(scenario: Scenario) -> list[str]:
    """Warnings about phase effects (Floyd and Jacobson, 1992): with fixed delays it may always be the same flow that meets a full queue."""
    others = [group for group in scenario.resolved.get("traffic") or [] if group.get("kind") in ("bulk", "video")]
    flows = scenario.has_video + sum(group["count"] for group in others)
    if flows < 2 or not any("rtt" not in group or isinstance(group["rtt"], str) for group in others):
        return []
    return [text for path in scenario.resolved.get("path") or [] if (text := _phase(path))]


def _phase(path: Any) -> str:
    queue, rate = path.get("queue"), measure(path.get("rate"), MBPS)
    kind = queue.get("kind", "droptail") if isinstance(queue, dict) else "droptail"
    if kind != "droptail" or path.get("jitter") or path.get("reordering") or not rate:
        return ""
    half = _PACKET_BITS / rate / 2e3
    return (
        f"path {path['name']}: flows share a drop-tail queue and all delays are fixed, so fractions of a packet time can decide which "
        f'loses (phase effects); jitter = "{format_value(half)} ms", half a packet time, makes it random for each seed'
    )

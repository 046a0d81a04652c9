"""Distributions from which a quantity of a path or a viewer is drawn, in place of a fixed value.

In a scenario a distribution is written in place of a value:

    rtt = { lognormal = { median = "60 ms", sigma = 0.5 }, min = "5 ms", max = "800 ms" }
    rtt = { normal = { mean = "60 ms", sd = "10 ms" }, min = "20 ms" }
    rate = { log_uniform = ["1 Mbit/s", "50 Mbit/s"] }
    rtt = { uniform = ["20 ms", "200 ms"] }
    loss = { choice = ["0 %", "0.5 %", "2 %"], weights = [6, 3, 1] }

Each draw is the inverse of the distribution function at a uniform number, so the value of a quantity of a path depends
only on the population's seed, the path's number and the quantity's name. `min` and `max` truncate the distribution
(they do not move its tails onto the bounds).
"""

import bisect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from playpath.base.errors import InputError, unknown_name
from playpath.base.quantity import parse, quantity

KINDS = ("lognormal", "normal", "uniform", "log_uniform", "choice")
_EXTRAS = {"choice": ("weights",)}
_BOUNDS = ("min", "max")


@dataclass(frozen=True)
class Distribution:
    """A distribution to draw a quantity from."""

    kind: str
    """One of `KINDS`."""
    at: Callable[[float], Any]
    """The value, as written in a scenario, of the distribution function's inverse at a number in (0, 1)."""
    text: str
    """A description for people."""


def is_distribution(value: Any) -> bool:
    """Whether a value in a scenario is a distribution."""
    return isinstance(value, Mapping) and any(kind in value for kind in KINDS)


def read(value: Mapping[str, Any], where: str) -> Distribution:
    kind = next(kind for kind in KINDS if kind in value)
    allowed = (kind, *_EXTRAS.get(kind, _BOUNDS))
    for key in value:
        if key not in allowed:
            raise unknown_name(f"key in `{where}`", key, allowed)
    if kind == "choice":
        return _choice(value, where)
    return _continuous(kind, value, where)


def _choice(value: Mapping[str, Any], where: str) -> Distribution:
    options = _list(value["choice"], f"{where}.choice")
    weights = value.get("weights", [1] * len(options))
    check_weights(weights, len(options), f"{where}.weights")
    sums = list(itertools.accumulate(weights))

    def at(share: float) -> Any:
        return options[min(bisect.bisect_right(sums, share * sums[-1]), len(options) - 1)]

    return Distribution("choice", at, f"one of {', '.join(map(str, options))}")


def check_weights(weights: Any, number: int, where: str) -> None:
    """Refuse weights unless they are `number` numbers above zero."""
    if not isinstance(weights, Sequence) or isinstance(weights, str) or len(weights) != number:
        raise InputError(f"`{where}`: must be a list of {number} numbers, one for each choice")
    for weight in weights:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise InputError(f"`{where}`: {weight} is not a weight; weights are numbers above 0")


def _continuous(kind: str, value: Mapping[str, Any], where: str) -> Distribution:
    inner = value[kind]
    scale, back = (_log, math.exp) if kind in ("lognormal", "log_uniform") else (float, float)
    if kind in ("uniform", "log_uniform"):
        low, high, unit = _ends(inner, f"{where}.{kind}", positive=kind == "log_uniform")
        quantile, share = _uniform(scale(low), scale(high))
        text = f"{kind.replace('_', '-')} from {low:g} to {high:g} {unit}".strip()
    else:
        centre, spread, unit, text = _normal(kind, inner, f"{where}.{kind}")
        quantile, share = NormalDist(scale(centre), spread).inv_cdf, NormalDist(scale(centre), spread).cdf
    lowest, highest = (_bound(value, key, unit, where) for key in _BOUNDS)
    if lowest is not None and highest is not None and lowest >= highest:
        raise InputError(f"`{where}`: `min` must be below `max`")
    first = 0.0 if lowest is None else share(scale(lowest))
    last = 1.0 if highest is None else share(scale(highest))
    if last - first < 1e-9:
        raise InputError(f"`{where}`: nothing of the distribution lies between `min` and `max`")
    bounds = "".join(f", {key} {value[key]}" for key in _BOUNDS if key in value)

    def at(uniform: float) -> Any:
        return quantity(back(quantile(first + uniform * (last - first))), unit)

    return Distribution(kind, at, text + bounds)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _uniform(low: float, high: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """The quantile function and the distribution function."""
    return lambda p: low + p * (high - low), lambda x: min(1.0, max(0.0, (x - low) / (high - low)))


def _normal(kind: str, inner: Any, where: str) -> tuple[float, float, str, str]:
    """Mean (or median) and standard deviation (or sigma), the unit, and a description."""
    names = ("median", "sigma") if kind == "lognormal" else ("mean", "sd")
    if not isinstance(inner, Mapping):
        raise InputError(f"`{where}`: write {{ {names[0]} = …, {names[1]} = … }}")
    for key in inner:
        if key not in names:
            raise unknown_name(f"key in `{where}`", key, names)
    for key in names:
        if key not in inner:
            raise InputError(f"`{where}`: `{key}` is missing")
    centre, unit = parse(inner[names[0]], f"`{where}.{names[0]}`")
    spread, other = parse(inner[names[1]], f"`{where}.{names[1]}`")
    if kind == "lognormal" and other:
        raise InputError(f"`{where}.sigma`: is the standard deviation of the logarithm, a number without a unit")
    if kind == "normal" and other != unit:
        raise InputError(f"`{where}.sd`: is in '{other}', the mean in '{unit}'; use one unit")
    if spread <= 0 or (kind == "lognormal" and centre <= 0):
        raise InputError(f"`{where}`: `{names[0]}` and `{names[1]}` must be above 0")
    if kind == "lognormal":
        return centre, spread, unit, f"log-normal, median {centre:g} {unit}".strip() + f", sigma {spread:g}"
    return centre, spread, unit, f"normal, mean {centre:g}, standard deviation {spread:g} {unit}".strip()


def _ends(inner: Any, where: str, *, positive: bool) -> tuple[float, float, str]:
    if not isinstance(inner, Sequence) or isinstance(inner, str) or len(inner) != 2:
        raise InputError(f"`{where}`: write [LOWEST, HIGHEST]")
    (low, unit), (high, other) = (parse(end, f"`{where}`") for end in inner)
    if unit != other:
        raise InputError(f"`{where}`: its ends are in '{unit}' and '{other}'; use one unit")
    if low >= high:
        raise InputError(f"`{where}`: {inner[0]} is not below {inner[1]}")
    if positive and low <= 0:
        raise InputError(f"`{where}`: {inner[0]} must be above 0")
    return low, high, unit


def _bound(value: Mapping[str, Any], key: str, unit: str, where: str) -> float | None:
    if key not in value:
        return None
    number, found = parse(value[key], f"`{where}.{key}`")
    if found != unit:
        raise InputError(f"`{where}.{key}`: is in '{found}', the distribution in '{unit}'; use one unit")
    return number


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise InputError(f"`{where}`: must be a list with at least one value")
    return value

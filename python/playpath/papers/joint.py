"""All unstated parameters together: the share of their plausible space in which a claim reproduces, what decides it, the best set.

The points are a scrambled Sobol sequence over the unit cube, one axis a parameter (`Unstated.at`), always the same points
for the same number. At each point the claims' cases run with media of reduced length. The point that reproduces most then
runs in full, and so do the sets that the study knows from other searches (`Study.known`); the best of these stands beside
the study's base point, and is run once more with each of its values taken back to the base. That such a set exists says
that the paper's setting allows its claims. It does not say that the authors had it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from playpath.base.errors import InputError
from playpath.papers.claims import ClaimResult, Verdict, evaluate, is_judged
from playpath.papers.runner import Options, Ran, StudyResult, run_cases, without_guards
from playpath.papers.study import Claim, Settings, Study, Unstated
from playpath.population.intervals import share_interval

POINT = "point"
JOINT_SHARE = 0.25
"""Of the media's length at each point: the most points for the time."""
_LEVELS = 3
_LEAST_EFFECT = 0.04
_LEAST_POINTS = 8
_GOOD = ("reproduced", "rests on our guard")


@dataclass(frozen=True)
class Effect:
    """What one parameter, or two together, explain of where a claim reproduces.

    Attributes
    ----------
    parameters : tuple of Unstated
    explained : float
        Share of the variance between points, corrected for the number of levels (omega squared); of two, beyond the sum of
        each alone.
    shares : tuple
        For a single parameter: (level, share of points that reproduce) in the order of its range.
    """

    parameters: tuple[Unstated, ...]
    explained: float
    shares: tuple[tuple[str, float], ...] = ()

    @property
    def name(self) -> str:
        """The parameters' names."""
        return " with ".join(u.name for u in self.parameters)


@dataclass(frozen=True)
class Joint:
    """A study over the joint space of what its paper leaves unstated.

    Attributes
    ----------
    positions : numpy.ndarray
        (points, parameters), from 0 to 1.
    points : list of dict
        The settings at each.
    verdicts : list of dict
        Claim id → verdict, at each.
    best : StudyResult
        The set that reproduces most, in full length.
    undone : dict
        Knob → claims that reproduce with the best set and no longer with this value taken back to the study's, both at the
        length and with the seeds of the points if all of them hold there, else in full length.
    """

    result: StudyResult
    positions: np.ndarray
    points: Sequence[Settings]
    verdicts: Sequence[Mapping[str, Verdict]]
    seeds: int
    share: float
    interrupted: bool = False
    best: StudyResult | None = None
    undone: Mapping[str, Sequence[str]] | None = None

    @property
    def study(self) -> Study:
        """The study."""
        return self.result.study

    def reproduces(self, claim: str) -> np.ndarray:
        """(points,): whether the claim reproduces there, vacuously not counted."""
        return np.array([found[claim] in _GOOD for found in self.verdicts])

    def share_of(self, claim: str) -> tuple[float, float, float]:
        """Share of the space in which a claim reproduces, with the 95 % interval for the number of points."""
        values = self.reproduces(claim).astype(float)
        found = share_interval(values, np.ones(len(values)))
        return found.value, found.low, found.high

    @cached_property
    def effects(self) -> dict[str, list[Effect]]:
        """Claim id → what its verdict depends on, the strongest first."""
        return {claim.id: _effects(self, claim.id) for claim in self.study.claims}

    @property
    def best_point(self) -> int:
        """The point with the most claims reproduced; of equal ones that with the fewest refuted, then the nearest to the base."""
        base = np.array([_position(u) for u in self.study.swept])
        distance = np.abs(self.positions - base).sum(axis=1)

        return max(
            range(len(self.points)), key=lambda i: (_merit(list(self.verdicts[i].values())), -float(distance[i]))
        )

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "points": len(self.points),
            "seeds": self.seeds,
            "media_share": self.share,
            "claims": {
                claim.id: {
                    "base": next(c.verdict for c in self.result.claims if c.claim.id == claim.id),
                    "share": list(self.share_of(claim.id)),
                    "vacuous_share": self._vacuous(claim.id),
                    "best": None
                    if self.best is None
                    else next(c.verdict for c in self.best.claims if c.claim.id == claim.id),
                    "depends_on": [
                        {"on": effect.name, "explained": effect.explained, "shares": [list(s) for s in effect.shares]}
                        for effect in self.effects[claim.id]
                    ],
                }
                for claim in self.study.claims
            },
            "best": None
            if self.best is None
            else {"settings": dict(self.best.settings), "undone": {k: list(v) for k, v in (self.undone or {}).items()}},
            "space": [
                {"settings": dict(point), "verdicts": dict(found)}
                for point, found in zip(self.points, self.verdicts, strict=True)
            ],
        }

    def _vacuous(self, claim: str) -> float:
        return sum(found[claim] == "reproduced vacuously" for found in self.verdicts) / len(self.verdicts)


def run_joint(result: StudyResult, count: int, options: Options) -> Joint:
    """Run `count` points of the joint space, then the best of them in full; what the store has is not run again."""
    study = result.study
    if count < _LEAST_POINTS:
        raise InputError(f"--joint must be at least {_LEAST_POINTS} points, got {count}")
    if not study.swept or study.vary is None:
        raise InputError(f"{study.name} leaves nothing unstated that could be varied")
    positions = _design(len(study.swept), count)
    points = [{u.knob: u.at(float(p)) for u, p in zip(study.swept, row, strict=True)} for row in positions]
    seeds = min(result.seeds, options.seeds_of(study.sensitivity_seeds))
    share = JOINT_SHARE * options.share
    cases = [
        replace(case, labels={**case.labels, POINT: number})
        for number, point in enumerate(points)
        for case in study.vary(share, point)
        if is_judged(study.claims, case)
    ]
    ran = run_cases(study, cases, seeds, options)
    if ran.interrupted:
        return Joint(result, positions, points, [], seeds, share, interrupted=True)
    tables = ran.table.partition_by(POINT, as_dict=True, include_key=False)
    verdicts = [_verdicts(study, tables[(number,)]) for number in range(count)]
    return _with_best(Joint(result, positions, points, verdicts, seeds, share), options)


def _with_best(found: Joint, options: Options) -> Joint:
    study = found.study
    base = {parameter.knob: parameter.chosen for parameter in study.swept}
    tried = []
    for settings in (found.points[found.best_point], *study.known):
        full = _in_full(found, {**base, **settings}, options)
        if full is None:
            return replace(found, interrupted=True)
        tried.append(replace(found.result, ran=full[0], claims=full[1], settings={**base, **settings}))
    best = max(tried, key=_merit_of)
    undone = _undone(found, best, options)
    return replace(found, interrupted=True) if undone is None else replace(found, best=best, undone=undone)


def _undone(found: Joint, best: StudyResult, options: Options) -> dict[str, list[str]] | None:
    """What each value holds up: at the points' length if all that the set reproduces holds there, too, else in full."""
    study = found.study
    good = [claim.claim for claim in best.claims if claim.verdict in _GOOD]
    short = _judged(study, good, best.settings, found.share, found.seeds, options)
    if short is None:
        return None
    holds = all(claim.verdict in _GOOD for claim in short[1])
    share, seeds = (found.share, found.seeds) if holds else (options.share, found.result.seeds)
    undone: dict[str, list[str]] = {}
    for parameter in study.swept:
        settings = {**best.settings, parameter.knob: parameter.chosen}
        back = _judged(study, good, settings, share, seeds, options)
        if back is None:
            return None
        undone[parameter.knob] = [claim.claim.id for claim in back[1] if claim.verdict not in _GOOD]
    return undone


def _in_full(found: Joint, settings: Settings, options: Options) -> tuple[Ran, list[ClaimResult]] | None:
    """A set's cases and verdicts, those that rest on our guards told; None if interrupted."""
    study, seeds = found.study, found.result.seeds
    full = _judged(study, study.claims, settings, options.share, seeds, options)
    if full is None or all(settings[knob] == value for knob, value in study.guards.items()):
        return full
    bare = _judged(study, study.claims, {**settings, **study.guards}, options.share, seeds, options)
    return None if bare is None else (full[0], without_guards(full[1], bare[1]))


def _merit_of(result: StudyResult) -> tuple[int, int]:
    return _merit([claim.verdict for claim in result.claims])


def _merit(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    """More claims reproduced are better, then fewer refuted."""
    return sum(v in _GOOD for v in verdicts), -verdicts.count("not reproduced")


def _judged(
    study: Study, claims: Sequence[Claim], settings: Settings, share: float, seeds: int, options: Options
) -> tuple[Ran, list[ClaimResult]] | None:
    """These claims with these settings, from the cases that they look at; None if interrupted."""
    assert study.vary is not None
    cases = [case for case in study.vary(share, settings) if is_judged(claims, case)]
    ran = run_cases(study, cases, seeds, options)
    return None if ran.interrupted else (ran, [evaluate(claim, ran.table) for claim in claims])


def _design(parameters: int, points: int) -> np.ndarray:
    """The first points of a scrambled Sobol sequence: evenly filled whatever their number."""
    from scipy.stats import qmc  # a second of processor time that only the joint space is worth

    sobol = qmc.Sobol(parameters, scramble=True, rng=1)
    return np.asarray(sobol.random(2 ** math.ceil(math.log2(points)))[:points])


def _position(parameter: Unstated) -> float:
    """Where the study's own value lies along the range."""
    return list(parameter.values).index(parameter.chosen) / max(1, len(parameter.values) - 1)


def _verdicts(study: Study, table: pl.DataFrame) -> dict[str, Verdict]:
    return {claim.id: evaluate(claim, table).verdict for claim in study.claims}


def _effects(found: Joint, claim: str) -> list[Effect]:
    """Main effects, then the strongest interaction; those below a few per cent are the design's own noise."""
    y = found.reproduces(claim).astype(float)
    if y.min() == y.max():
        return []
    levels = [_levels(u, found.positions[:, i]) for i, u in enumerate(found.study.swept)]
    mains = [_explained(y, level) for level in levels]
    effects = [Effect((u,), mains[i], _shares(u, levels[i], found.points, y)) for i, u in enumerate(found.study.swept)]
    pairs = [
        Effect(
            (found.study.swept[i], found.study.swept[j]),
            _explained(y, levels[i] * 100 + levels[j]) - mains[i] - mains[j],
        )
        for i, j in combinations(range(len(levels)), 2)
    ]
    strong = [e for e in sorted(effects, key=_weakness) if e.explained >= _LEAST_EFFECT]
    return strong + [e for e in sorted(pairs, key=_weakness)[:1] if e.explained >= 2 * _LEAST_EFFECT]


def _weakness(effect: Effect) -> float:
    return -effect.explained


def _levels(parameter: Unstated, positions: np.ndarray) -> np.ndarray:
    """Each choice is a level; numbers are cut into thirds of their range."""
    count = min(_LEVELS, len(parameter.values)) if parameter.is_number else len(parameter.values)
    found: np.ndarray = np.minimum((positions * count).astype(int), count - 1)
    return found


def _shares(
    parameter: Unstated, levels: np.ndarray, points: Sequence[Settings], y: np.ndarray
) -> tuple[tuple[str, float], ...]:
    found = []
    for level in np.unique(levels):
        values = [points[i][parameter.knob] for i in np.flatnonzero(levels == level).tolist()]
        low, high = min(values), max(values)
        found.append((f"{low}" if low == high else f"{low:g} to {high:g}", float(y[levels == level].mean())))
    return tuple(found)


def _explained(y: np.ndarray, levels: np.ndarray) -> float:
    """Omega squared of a one-way analysis of variance: the share of the variance that the levels explain, without bias."""
    groups = [y[levels == level] for level in np.unique(levels)]
    total = float(((y - y.mean()) ** 2).sum())
    within = float(sum(((g - g.mean()) ** 2).sum() for g in groups))
    free = len(y) - len(groups)
    if free <= 0:
        return 0.0
    noise = within / free
    return max(0.0, (total - within - (len(groups) - 1) * noise) / (total + noise))


def sentences(found: Joint) -> list[str]:
    """A line for each claim: where it reproduces, and on what that depends."""
    lines = []
    for claim in found.study.claims:
        share, low, high = found.share_of(claim.id)
        text = f"{claim.id}: reproduces in {share:.0%} of the space ({low:.0%} to {high:.0%})"
        effects = found.effects[claim.id]
        lines.append(text + (f"; depends on {', '.join(describe(e) for e in effects[:2])}" if effects else ""))
    if found.best is not None:
        good = [c.claim.id for c in found.best.claims if c.verdict in _GOOD]
        values = ", ".join(f"{knob} {value}" for knob, value in found.best.settings.items())
        lines.append(f"a set exists that reproduces {len(good)} of {len(found.study.claims)}: {values}")
    return lines


def describe(effect: Effect) -> str:
    """An effect in words: "loss (12 % at 0.01 to 0.05, 80 % at 0.3 to 1)"."""
    if not effect.shares:
        return f"{effect.name} together"
    ends = (effect.shares[0], effect.shares[-1]) if len(effect.shares) > 2 else effect.shares
    unit = effect.parameters[0].unit
    return f"{effect.name} ({', '.join(f'{share:.0%} at {level} {unit}'.rstrip() for level, share in ends)})"

"""All unstated parameters together: the share of their plausible space in which a claim reproduces, and where; the best set.

Three quarters of the points fill the space (`space.filled`), and shares are counted over these; the others lie where a
claim's verdict changes (`space.between`) and sharpen its region (`regions.find`). At each point the claims' cases run at the
length of `--quick`, so that anybody can repeat one: `playpath reproduce STUDY --quick --set …`. For each claim one set inside and
one outside its region is found. The candidates for the best set are the point that reproduces most claims and the sets known from
other searches (`Study.known`); the best of them runs in full and is compared with the study's base point, and again with each of
its values set back to the base's. Sets that run at both lengths show how far the short one can be trusted (`Joint.agreement`).
If such a set exists, the paper's setting allows its claims; it does not follow that the authors used it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from playpath.base.errors import InputError
from playpath.base.files import write_text
from playpath.papers import regions, space
from playpath.papers.claims import HOLDS, ClaimResult, Verdict, evaluate, is_judged
from playpath.papers.effects import Effect, effects_of
from playpath.papers.regions import Region
from playpath.papers.runner import (
    QUICK_SEEDS,
    QUICK_SHARE,
    Options,
    Ran,
    StudyResult,
    holding,
    run_cases,
    without_guards,
)
from playpath.papers.study import Claim, Settings, Study, Unstated
from playpath.population.intervals import share_interval

POINT = "point"
_MIN_POINTS = 8
_ALIKE = frozenset({"undecided", "nothing to test"})


@dataclass(frozen=True)
class Joint:
    """A study over the joint space of what its paper leaves unstated."""

    result: StudyResult
    positions: np.ndarray
    """(points, parameters), from 0 to 1."""
    points: Sequence[Settings]
    verdicts: Sequence[Mapping[str, Verdict]]
    seeds: int
    share: float
    missed: Sequence[Mapping[str, float]] = ()
    """`verdicts` and `missed`: for each point, claim id → verdict, and claim id → share of its checks that fail."""
    filling: int = 0
    """This many points, the first ones, fill the space; the others lie where a claim's verdict changes."""
    interrupted: bool = False
    best: StudyResult | None = None
    """The set that reproduces most claims, run at full length."""
    undone: Mapping[str, Sequence[str]] | None = None
    """Knob → claims that reproduce with the best set but not with this value set back to the study's, at the points' length;
    claims that reproduce only at full length are not included."""
    examples: Mapping[str, tuple[Settings | None, Settings | None]] = field(default_factory=dict)
    """Claim id → a set inside its region with which it holds, and one outside with which it does not; None if none was found."""
    agreement: tuple[int, int, int] = (0, 0, 0)
    """Number of verdicts, over sets that ran at both lengths, that are the same, decided at one length only, opposite."""
    machine_s: float = 0.0
    """Processor time of all runs so far."""

    @property
    def study(self) -> Study:
        return self.result.study

    def reproduces(self, claim: str) -> np.ndarray:
        """(points,): whether the claim reproduces there."""
        return np.array([found[claim] in HOLDS for found in self.verdicts])

    def share_of(self, claim: str) -> tuple[float, float, float]:
        """Share of the space in which a claim reproduces, with the 95 % interval for the number of points that fill it."""
        values = self.reproduces(claim)[: self.filling or None].astype(float)
        found = share_interval(values, np.ones(len(values)))
        return found.value, found.low, found.high

    def share_with(self, claim: str, verdict: Verdict) -> float:
        """Share of the space with this verdict."""
        found = self.verdicts[: self.filling or None]
        return sum(verdicts[claim] == verdict for verdicts in found) / len(found)

    @cached_property
    def regions(self) -> dict[str, Region]:
        """Claim id → where it holds."""
        swept = self.study.swept
        return {c.id: regions.find(self.points, self.reproduces(c.id), swept) for c in self.study.claims}

    @cached_property
    def effects(self) -> dict[str, list[Effect]]:
        """Claim id → what its verdict depends on, the strongest first."""
        return {
            claim.id: effects_of(self.study.swept, self.positions, self.points, self.reproduces(claim.id))
            for claim in self.study.claims
        }

    @property
    def best_point(self) -> int:
        """The point with the most claims reproduced; among equal ones the one with the fewest refuted, then the nearest to the base."""
        base = np.array([_position(u) for u in self.study.swept])
        distance = np.abs(self.positions - base).sum(axis=1)

        return max(
            range(len(self.points)), key=lambda i: (_merit(list(self.verdicts[i].values())), -float(distance[i]))
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "points": len(self.points),
            "filling": self.filling,
            "machine_s": round(self.machine_s),
            "agreement": dict(zip(("alike", "in one length only", "opposite"), self.agreement, strict=True)),
            "seeds": self.seeds,
            "media_share": self.share,
            "claims": {
                claim.id: {
                    "base": next(c.verdict for c in self.result.claims if c.claim.id == claim.id),
                    "share": list(self.share_of(claim.id)),
                    "untested_share": self.share_with(claim.id, "nothing to test"),
                    "open_share": self.share_with(claim.id, "undecided"),
                    "count_only_share": self.share_with(claim.id, "reproduced by count only"),
                    "region": self.regions[claim.id].says,
                    "inside": list(self.regions[claim.id].inside),
                    "outside": list(self.regions[claim.id].outside),
                    "examples": [None if s is None else dict(s) for s in self.examples.get(claim.id, (None, None))],
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


def run_joint(result: StudyResult, count: int, options: Options) -> Joint:
    """Run `count` points of the joint space, then the best of them in full; cells in the store are not run again."""
    study = result.study
    if count < _MIN_POINTS:
        raise InputError(f"--joint must be at least {_MIN_POINTS} points, got {count}")
    if not study.swept:
        raise InputError(f"{study.name}: the paper leaves nothing unstated that could be varied")
    filling = count - count // 4
    share = min(options.share, QUICK_SHARE)
    found = Joint(result, np.zeros((0, len(study.swept))), [], [], min(result.seeds, QUICK_SEEDS), share)
    with _timed(options.folder / "joint-time.txt"):
        found = _played(found, space.filled(len(study.swept), filling), options)
        if not found.interrupted:
            missed = {c.id: np.array([point[c.id] for point in found.missed]) for c in study.claims}
            found = _played(found, space.between(found.positions, missed, count - filling), options)
        for step in (_with_best, _with_examples):
            found = found if found.interrupted else step(replace(found, filling=filling), options)
    return replace(found, machine_s=float((options.folder / "joint-time.txt").read_text()))


@contextmanager
def _timed(path: Path) -> Iterator[None]:
    """Add this process's time to the file, which may hold the time of interrupted runs."""
    begin = time.process_time()
    before = float(path.read_text()) if path.exists() else 0.0
    try:
        yield
    finally:
        write_text(path, f"{before + time.process_time() - begin:.1f}\n")


def _played(found: Joint, positions: np.ndarray, options: Options) -> Joint:
    """Add these points, played and judged."""
    if not len(positions):
        return found
    swept = found.study.swept
    points = [{u.knob: u.at(float(p)) for u, p in zip(swept, row, strict=True)} for row in positions]
    judged = _at_points(found, points, [found.study.claims] * len(points), options)
    if judged is None:
        return replace(found, interrupted=True)
    return replace(
        found,
        positions=np.concatenate([found.positions, positions]),
        points=[*found.points, *points],
        verdicts=[*found.verdicts, *({c.claim.id: c.verdict for c in claims} for claims in judged)],
        missed=[*found.missed, *({c.claim.id: c.missed for c in claims} for claims in judged)],
    )


def _at_points(
    found: Joint, points: Sequence[Settings], claims: Sequence[Sequence[Claim]], options: Options
) -> list[list[ClaimResult]] | None:
    """Judge at each of these points its claims, at the points' length; None if interrupted."""
    study = found.study
    cases = [
        replace(case, labels={**case.labels, POINT: number})
        for number, (point, its) in enumerate(zip(points, claims, strict=True))
        for case in study.cases(found.share, **point)
        if is_judged(its, case)
    ]
    if not cases:
        return [[] for _ in points]
    ran = run_cases(study, cases, found.seeds, options)
    if ran.interrupted:
        return None
    tables = ran.table.partition_by(POINT, as_dict=True, include_key=False)
    return [[evaluate(claim, tables[(number,)]) for claim in its] for number, its in enumerate(claims)]


def _with_examples(found: Joint, options: Options) -> Joint:
    """Find for each claim a set with which it holds and one with which it does not, as near to the base as possible."""
    tried = [(claim, settings) for claim in found.study.claims for settings in _candidates(found, claim.id)]
    points = [{**_base(found.study), **settings} for _, settings in tried]
    judged = _at_points(found, points, [[claim] for claim, _ in tried], options)
    if judged is None:
        return replace(found, interrupted=True)
    signs: dict[str, dict[bool, Settings]] = {claim.id: {} for claim in found.study.claims}
    for (claim, settings), (result,) in zip(tried, judged, strict=True):
        if result.verdict in HOLDS or result.verdict == "not reproduced":
            signs[claim.id].setdefault(result.verdict in HOLDS, settings)
    return replace(found, examples={name: (has.get(True), has.get(False)) for name, has in signs.items()})


def _candidates(found: Joint, claim: str) -> list[Settings]:
    """Sets to try, the nearest to the base first: the base, the base moved into the region, the base with one value outside it,
    points where the claim holds or not.
    """
    region, holds = found.regions[claim], found.reproduces(claim)
    inside = {c.parameter.knob: _usual(found, c.parameter, holds) for c in region.conditions}
    outside = [{knob: _usual(found, c.parameter, ~holds)} for c, knob in zip(region.conditions, inside, strict=True)]
    base = np.array([_position(u) for u in found.study.swept])
    order = np.argsort(np.abs(found.positions - base).sum(axis=1), kind="stable")
    points = [next((found.points[i] for i in order.tolist() if holds[i] == sign), None) for sign in (True, False)]
    return [{}, *([inside] if inside else []), *outside, *(point for point in points if point is not None)]


def _usual(found: Joint, parameter: Unstated, where: np.ndarray) -> float | str:
    """The median of a number over these points, or the most frequent choice."""
    values = [found.points[i][parameter.knob] for i in np.flatnonzero(where).tolist()]
    if parameter.is_number:
        median = float(f"{np.median(values):.2g}")
        return round(median) if all(isinstance(v, int) for v in parameter.values) else median
    return max(parameter.values, key=values.count)


def _base(study: Study) -> dict[str, float | str]:
    return {parameter.knob: parameter.chosen for parameter in study.swept}


def _with_best(found: Joint, options: Options) -> Joint:
    """Run in full whichever of the best point and the known sets reproduces most claims at the points' length."""
    study, base = found.study, _base(found.study)
    sets = [{**base, **settings} for settings in ({}, found.points[found.best_point], *study.known)]
    short = _at_points(found, sets, [study.claims] * len(sets), options)
    if short is None:
        return replace(found, interrupted=True)
    chosen = max(range(1, len(sets)), key=lambda i: _merit([claim.verdict for claim in short[i]]))
    full = _in_full(found, sets[chosen], options)
    if full is None:
        return replace(found, interrupted=True)
    best = replace(found.result, ran=full[0], claims=full[1], settings=sets[chosen])
    undone = _undone(found, best, options)
    pairs = [
        (one.deciding.verdict, other.deciding.verdict)
        for long, judged in ((found.result.claims, short[0]), (best.claims, short[chosen]))
        for one, other in zip(long, judged, strict=True)
    ]
    if undone is None:
        return replace(found, interrupted=True)
    return replace(found, best=best, undone=undone, agreement=_agreement(pairs))


def _agreement(pairs: Sequence[tuple[Verdict, Verdict]]) -> tuple[int, int, int]:
    """How many pairs of verdicts are the same, how many are decided in one only, how many are opposite."""
    same = sum(one == other for one, other in pairs)
    half = sum(one != other and bool({one, other} & _ALIKE) for one, other in pairs)
    return same, half, len(pairs) - same - half


def _undone(found: Joint, best: StudyResult, options: Options) -> dict[str, list[str]] | None:
    """Which claims each value is needed for, among those that the set also reproduces at the points' length."""
    study = found.study
    good = [claim.claim for claim in best.claims if claim.verdict in HOLDS]
    back = [{**best.settings, parameter.knob: parameter.chosen} for parameter in study.swept]
    judged = _at_points(found, [best.settings, *back], [good] * (1 + len(back)), options)
    if judged is None:
        return None
    there = {claim.claim.id for claim in judged[0] if claim.verdict in HOLDS}
    return {
        parameter.knob: [c.claim.id for c in claims if c.claim.id in there and c.verdict not in HOLDS]
        for parameter, claims in zip(study.swept, judged[1:], strict=True)
    }


def _in_full(found: Joint, settings: Settings, options: Options) -> tuple[Ran, list[ClaimResult]] | None:
    """A set's cases and verdicts, those that rest on our guards marked; None if interrupted."""
    study, seeds = found.study, found.result.seeds
    full = _judged(study, study.claims, settings, options.share, seeds, options)
    held = [] if full is None else holding(full[1])
    if full is None or not held or all(settings[knob] == value for knob, value in study.guards.items()):
        return full
    bare = _judged(study, held, {**settings, **study.guards}, options.share, seeds, options)
    return None if bare is None else (full[0], without_guards(full[1], bare[1]))


def _merit(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    """Sort key: more claims reproduced is better, then fewer refuted."""
    return sum(v in HOLDS for v in verdicts), -verdicts.count("not reproduced")


def _judged(
    study: Study, claims: Sequence[Claim], settings: Settings, share: float, seeds: int, options: Options
) -> tuple[Ran, list[ClaimResult]] | None:
    """Judge these claims with these settings, playing only the cases that they need; None if interrupted."""
    cases = [case for case in study.cases(share, **settings) if is_judged(claims, case)]
    ran = run_cases(study, cases, seeds, options)
    return None if ran.interrupted else (ran, [evaluate(claim, ran.table) for claim in claims])


def _position(parameter: Unstated) -> float:
    """The position, from 0 to 1, of the study's own value along the range."""
    return list(parameter.values).index(parameter.chosen) / max(1, len(parameter.values) - 1)


def sentences(found: Joint) -> list[str]:
    """One line for each claim: where it reproduces, and what that depends on."""
    lines = []
    for claim in found.study.claims:
        share, low, high = found.share_of(claim.id)
        region = found.regions[claim.id]
        where = f"; {region.says}: {inside(region)}" if region.conditions else ""
        lines.append(f"{claim.id}: reproduces in {share:.0%} of the space ({low:.0%} to {high:.0%}){where}")
    if found.best is not None:
        good = [c.claim.id for c in found.best.claims if c.verdict in HOLDS]
        values = ", ".join(f"{knob} {value}" for knob, value in found.best.settings.items())
        lines.append(f"a set exists that reproduces {len(good)} of {len(found.study.claims)}: {values}")
    return lines


def inside(region: Region) -> str:
    """How often a claim holds in its region and elsewhere."""
    return f"{region.inside[0]} of {region.inside[1]} points, elsewhere {region.outside[0]} of {region.outside[1]}"

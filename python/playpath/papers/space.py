"""Which points of the joint space are played: some that fill it evenly, then some between neighbours with different verdicts.

A position has one axis for each parameter, from 0 to 1 along its range (`Unstated.at`). Both choices are deterministic, so that an
interrupted run can resume.
"""

import math
from collections.abc import Mapping

import numpy as np

from playpath.base.optional import scipy

_BEST = 8
"""For a claim that holds at no point, this many points that miss least are taken instead, and the space between them is searched."""


def filled(parameters: int, points: int) -> np.ndarray:
    """The first points of a scrambled Sobol sequence, which fill the space evenly whatever their number."""
    sobol = scipy("stats", "--joint").qmc.Sobol(parameters, scramble=True, rng=1)
    return np.asarray(sobol.random(2 ** math.ceil(math.log2(points)))[:points])


def between(positions: np.ndarray, missed: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """Points halfway between one where a claim holds and one where it does not: nearest pairs first, taking the claims in turn.

    Args:
        positions: (points, parameters).
        missed: Claim → (points,) share of its checks that fail. For a claim that holds nowhere, the points that miss
            least are paired.
    """
    queues = [pairs for values in missed.values() if (pairs := _pairs(positions, values))]
    found: list[np.ndarray] = []
    taken: set[tuple[int, int]] = set()
    for turn in range(max(map(len, queues), default=0)):
        for pairs in queues:
            if turn < len(pairs) and pairs[turn] not in taken and len(found) < count:
                taken.add(pairs[turn])
                found.append(positions[list(pairs[turn])].mean(axis=0))
    return np.array(found).reshape(len(found), positions.shape[1])


def _pairs(positions: np.ndarray, missed: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of points with different verdicts, the nearest first; the first index is the smaller one."""
    holds = np.flatnonzero(missed == 0)
    fails = np.flatnonzero(missed > 0)
    if not len(fails):
        return []
    if not len(holds):
        holds = fails = np.argsort(missed, kind="stable")[:_BEST]
    pairs = [(min(a, b), max(a, b)) for a in holds.tolist() for b in fails.tolist() if a != b]
    return sorted(
        dict.fromkeys(pairs), key=lambda pair: (float(np.abs(np.subtract(*positions[list(pair)])).sum()), pair)
    )

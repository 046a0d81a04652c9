"""Races over viewers whose truth is known: how often one is called better that is not, and how many sessions that takes.

    python tests/python/population_races.py --races 2000        the table of docs/decisions/race.md (ten minutes of one core)

Each sender has a quality on each path: what the path does to all of them, what tells senders apart, and noise of its own. Two are told
apart on a path where they differ by more than one. Links stand for unequally many viewers, a few for ten or twenty times as many as
others; and on those that are heavy what tells senders apart is larger, or turned round.
"""

import argparse
import itertools

import numpy as np

from playpath.judge.race import race_looks
from playpath.population.raced import Scores, wanted
from playpath.population.versus import ALIKE

MAX = 320
KINDS = ("equal", "nearly equal", "far")
_TRUE = 20_000


class Viewers:
    """Senders of which the truth is known, and links drawn one after the other."""

    def __init__(self, kind, random):
        self.count = int(random.integers(4, 15))
        self.gaps = {
            "equal": np.zeros(self.count),
            "nearly equal": random.uniform(0, 0.3, self.count),
            "far": np.concatenate([[0.0], random.uniform(0.5, 4, self.count - 1)]),
        }[kind]
        random.shuffle(self.gaps)
        self.noise = random.uniform(0.3, 2.0, self.count)
        self.spread = random.uniform(0.0, 1.5)
        self.turn = random.uniform(-0.5, 2.0)

    def draw(self, number, random):
        """Qualities, a row for each sender, and weights as a share of the heaviest."""
        weights = np.minimum(1.0, 0.05 * np.exp(self.spread * random.normal(0, 1, number)))
        factor = 1 + (self.turn - 1) * weights
        noise = random.normal(0, 1, (self.count, number)) * self.noise[:, None]
        return -self.gaps[:, None] * factor + noise, weights

    def nets(self, random):
        """The true net benefit of each sender over each other."""
        quality, weights = self.draw(_TRUE, random)
        return {
            pair: np.average(score(quality, *pair), weights=weights)
            for pair in itertools.combinations(range(self.count), 2)
        }


def score(quality, one, other):
    """Better, alike or worse on each path."""
    difference = quality[one] - quality[other]
    return np.sign(difference) * (np.abs(difference) > 1)


def play(viewers, random, most=MAX):
    """A race: what is claimed of each pair, the sessions of each sender, and whether it was decided."""
    quality, weights = viewers.draw(most, random)
    needed = wanted(viewers.count, network=False)
    ends, claims = {}, {}
    for paths in race_looks(20, most):
        for one, other in itertools.combinations(range(viewers.count), 2):
            played = min(ends.get(one, paths), ends.get(other, paths))
            if paths in (played, 20):
                values = score(quality[:, :played], one, other)
                found = Scores(values, weights[:played], None, np.zeros(played)).relation(needed)
                claims[one, other] = found if claims.get((one, other), "open") == "open" else claims[one, other]
        beaten = {pair[claim == "better"] for pair, claim in claims.items() if claim in ("better", "worse")}
        ends |= dict.fromkeys(beaten - ends.keys(), paths)
        racing = [sender for sender in range(viewers.count) if sender not in ends]
        if all(claims[pair] != "open" for pair in itertools.combinations(racing, 2)):
            break
    return claims, [ends.get(sender, paths) for sender in range(viewers.count)], paths


def is_wrong(claims, nets, slack=0.0):
    """One is called better that is not, or two alike that are not; `slack` for what is not known of the truth."""
    signs = {"better": 1, "worse": -1}
    return any(
        (claim in signs and signs[claim] * nets[pair] <= -slack)
        or (claim == "alike" and abs(nets[pair]) > ALIKE + slack)
        for pair, claim in claims.items()
    )


def wrong_share(kind, races, seed):
    """Share of races that claim what is not so, and the mean part of the sessions that all senders would have played."""
    random = np.random.default_rng(seed)
    wrong, played = 0, []
    for _ in range(races):
        viewers = Viewers(kind, random)
        claims, own, paths = play(viewers, random)
        if kind == "equal":  # by symmetry zero, whatever the noises
            nets, slack = dict.fromkeys(claims, 0.0), 0.0
        else:
            nets, slack = viewers.nets(random), 0.02  # three standard errors of the truth's own sample
        wrong += is_wrong(claims, nets, slack)
        played.append(sum(own) / (paths * len(own)))
    return wrong / races, float(np.mean(played))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--races", type=int, default=2000)
    races = parser.parse_args().races
    for number, kind in enumerate(KINDS):
        wrong, played = wrong_share(kind, races // 3, number)
        print(f"| {kind} | {races // 3} | {100 * wrong:.1f} % | {100 * played:.0f} % |", flush=True)

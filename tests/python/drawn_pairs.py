"""Two choices whose sessions are drawn: how often a claim about them is wrong, and how often nothing is claimed.

    python tests/python/drawn_pairs.py        the table of docs/decisions/ranking.md (a minute of one core)

200 pairs, 50 of each kind, by how many times what one notices (`STEPS`) the second is worse on average, in half of the pairs in how long it
stalls, in the others in how much of the picture it shows:

- *rate against stalls*: it stalls longer, and shows more of the picture;
- *ties*: in half of the sessions nothing differs, in the others stalls come in half seconds;
- *zeros*: nine sessions of ten do not stall; the tenth makes up the whole difference;
- *heavy tails*: stalls have a Pareto tail of index 1.5, whose variance is infinite.

What is true of a pair is known, criterion by criterion. An answer is wrong if it calls a choice better in a criterion in which it is
not, or two alike that differ by more than what one notices, or names as the best one that is better in nothing, or worse on average for a
viewer in the range of weights. It is open if it names no best, does not call them alike and tells no rate of exchange; and silent if it
claims nothing of any criterion either.
"""

import argparse

import numpy as np

from playpath.judge.ranking import Ranker

KINDS = ("rate against stalls", "ties", "zeros", "heavy tails")
STEPS = (0.0, 0.5, 2.0, 2.0, 4.0)
"""Two fifths of the pairs differ by twice what one notices."""
SIZES = (10, 30, 100)
NOTICED_S, NOTICED_SHARE = 0.1, 0.05
CRITERIA = ["played_s", "stall_time_s", "mean_rate_kbps", "startup_delay_s"]
FILM_S = 60.0


class Pair:
    """A kind of difference of a size."""

    def __init__(self, number):
        random = np.random.default_rng(number)
        self.kind, self.step = KINDS[number % len(KINDS)], STEPS[number // len(KINDS) % len(STEPS)]
        self.noise = random.uniform(0.3, 1.5)
        is_picture = number // len(KINDS) % 2 == 1
        self.picture = self.step * NOTICED_SHARE * is_picture
        self.more = 0.0 if is_picture else self.step * NOTICED_S
        if self.kind == "rate against stalls":  # as far apart, or the picture twice as far
            self.more, self.picture = self.step * NOTICED_S, -self.step * NOTICED_SHARE * (1 + is_picture)
        self.least = random.choice([0.0, 0.3])

    def draw(self, number, random):
        """So many sessions of both, on the same paths."""
        path = random.gamma(2.0, 1.0, number)
        more = self.more
        if self.kind == "rate against stalls":
            stalls = [self.least + 0.3 * random.gamma(1.0, self.noise, number) + extra for extra in (0.0, more)]
        elif self.kind == "ties":
            differs = random.random(number) < 0.5
            step = differs * (random.random(number) < min(1.0, 4 * more)) * max(0.5, 2 * more)
            both = 0.5 * random.integers(0, 3, number)
            stalls = [both, both + step]
        elif self.kind == "zeros":
            is_hit = random.random(number) < 0.1
            stalls = [is_hit * random.gamma(2.0, 0.1, number), is_hit * (random.gamma(2.0, 0.1, number) + 10 * more)]
        else:
            tails = [0.1 * self.noise * (random.pareto(1.5, number)) for _ in range(2)]
            stalls = [self.least + tails[0], self.least + tails[1] + more]
        rates = [1500 + 800 * path, (1500 + 800 * path) * (1 - self.picture)]
        rates = [rate * (1 + 0.02 * self.noise * random.normal(0, 1, number)) for rate in rates]
        start = [0.5 + 0.05 * random.random(number) for _ in range(2)]
        names = zip(("first", "second"), [np.full(number, FILM_S)] * 2, stalls, rates, start, strict=True)
        return {name: dict(zip(CRITERIA, map(np.ndarray.tolist, columns), strict=True)) for name, *columns in names}


def worst(pair, sign):
    """By how much the one with this sign is better, in seconds at half the rate, for the viewer for whom it is so least. Sessions show
    1500 + 800 * 2 kbit/s on average.
    """
    rate = 3100 * (1 - pair.picture / 2)
    weights = min(24_000 / rate, 15.35), max(48_000 / rate, 15.35)
    return min(sign * (weight * pair.more - FILM_S * np.log2(1 - pair.picture)) for weight in weights)


def judged(pair, values):
    """Whether an answer is wrong, open, silent."""
    decision = Ranker(values, CRITERIA).decide()
    best, other = decision.ranking
    sign = 1 if best == "first" else -1
    ahead = {"stall_time_s": sign * pair.more / NOTICED_S, "mean_rate_kbps": sign * pair.picture / NOTICED_SHARE}
    claims = {shown.metric: shown.judged for shown in decision.criteria[other]}
    wrong = any(
        (claims.get(name) == "worse" and units <= 0)
        or (claims.get(name) == "better" and units >= 0)
        or (claims.get(name) == "alike" and abs(units) > 1)
        for name, units in ahead.items()
    )
    wrong |= bool(decision.beaten) and (max(ahead.values()) <= 0 or worst(pair, sign) < 0)
    is_open = not decision.beaten and not decision.tied and not decision.depends
    return wrong, is_open, is_open and not {"better", "worse"} & set(claims.values())


def shares(numbers, samples, size, seed=1):
    """Of the answers to these pairs how many are wrong; and of those to pairs that differ by twice what one notices, how many are open, and
    how many silent.
    """
    random = np.random.default_rng(seed)
    pairs = [Pair(number) for number in numbers for _ in range(samples)]
    found = np.array([judged(pair, pair.draw(size, random)) for pair in pairs])
    twice = found[[pair.step == 2 for pair in pairs]]
    return found[:, 0].mean(), twice[:, 1].mean(), twice[:, 2].mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10)
    samples = parser.parse_args().samples
    for at, kind in enumerate((*KINDS, "all")):
        numbers = range(200) if kind == "all" else range(at, 200, len(KINDS))
        for size in SIZES:
            cells = " | ".join(f"{100 * share:.1f} %" for share in shares(numbers, samples, size))
            print(f"| {kind} | {size} | {cells} |", flush=True)

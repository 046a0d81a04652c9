"""Races of choices whose truth is known: how often a wrong one is named the best, and how many sessions that takes.

    python tests/python/races.py --races 2000        the tables of docs/decisions/race.md (ten minutes of one core)

Drawn are the stall times of choices that meet the same path in a session: what the path does to all of them, what tells them
apart, and noise of each one's own, all in units of what one notices. A choice is worse by `gap` units on average.
"""

import argparse

import numpy as np
from false_winners import SCENARIOS, look, real_senders

from playpath.base.metrics import VIDEO_CRITERIA
from playpath.judge.race import doubling_looks, race_looks
from playpath.judge.ranking import Ranker

NOTICED_S = 0.1
"""Of stall time, where it is below two seconds."""
CRITERIA = ["stall_time_s", "startup_delay_s"]


def play(gaps, noises, random, *, first=10, most=256, base=5.0):
    """A race; the decision at its end, and how many sessions each choice played."""
    count = len(gaps)
    path = base + random.gamma(2.0, 1.0, most)
    own = random.normal(0, 1, (count, most)) * np.asarray(noises)[:, None]
    stalls = np.maximum(0, path + np.asarray(gaps)[:, None] + own) * NOTICED_S
    names = [f"c{i}" for i in range(count)]
    played = dict.fromkeys(names, 0)
    racing = list(names)
    for runs in race_looks(first, most):
        played |= dict.fromkeys(racing, runs)
        values = {
            name: {"stall_time_s": stalls[i, : played[name]].tolist(), "startup_delay_s": [1.0] * played[name]}
            for i, name in enumerate(names)
        }
        decision = Ranker(values, CRITERIA, is_race=True).decide()
        if decision.is_decided:
            break
        racing = [name for name in racing if decision.places[name][0] == 1]
    return decision, played


def is_wrong(decision, gaps):
    """Who is beaten is no worse than the best; or one called alike with it is noticeably worse or better."""
    truth = {f"c{i}": gap for i, gap in enumerate(gaps)}
    best = truth[decision.ranking[0]]
    return any(truth[name] <= best for name in decision.beaten) or any(
        abs(truth[name] - best) > 1 for name in decision.tied
    )


def drawn(kind, random):
    """Gaps and noises of 4 to 14 choices, in random order."""
    count = int(random.integers(4, 15))
    gaps = {
        "equal": np.zeros(count),
        "nearly equal": random.uniform(0, 1, count),
        "far": np.concatenate([[0.0], random.uniform(2, 10, count - 1)]),
    }[kind]
    random.shuffle(gaps)
    return gaps, random.uniform(0.25, 3.0, count)


def wrong_share(kind, races, seed, most=96):
    """Share of races that name a wrong one."""
    random = np.random.default_rng(seed)
    wrong = 0
    for _ in range(races):
        gaps, noises = drawn(kind, random)
        decision, _ = play(gaps, noises, random, most=most)
        wrong += is_wrong(decision, gaps)
    return wrong / races


def power(count, noise, races, seed, most=60):
    """Where the best is ahead of all others by twice what one notices, and differences in a session vary by so many units: the shares
    of races that are decided by `most` sessions for each choice, and of the others that are told apart from the best by then.
    """
    random = np.random.default_rng(seed)
    decided = beaten = 0
    for _ in range(races):
        gaps = np.full(count, 2.0)
        gaps[random.integers(count)] = 0.0
        decision, _ = play(gaps, [noise / np.sqrt(2)] * count, random, most=most)
        decided += decision.is_decided
        beaten += len(decision.beaten) / (count - 1)
    return decided / races, beaten / races


def real(scenario, races, seed, most=256):
    """The senders of a shipped scenario, from stored sessions: in how many races the best is decided, in how many seeds, with which
    part of the sessions that all would have played; and in how many, and with how many seeds, by the tests whose looks double.
    """
    random = np.random.default_rng(seed)
    found = []
    for _ in range(races):
        values = real_senders(scenario, most, random)
        played = dict.fromkeys(values, 0)
        racing = list(values)
        for runs in race_looks(10, most):
            played |= dict.fromkeys(racing, runs)
            decision = Ranker(first_runs(values, played), VIDEO_CRITERIA, is_race=True).decide()
            if decision.is_decided:
                break
            racing = [name for name in racing if decision.places[name][0] == 1]
        for seeds in doubling_looks(10, most):
            if (tested := look(values, seeds)).is_decided:
                break
        spared = sum(played.values()) / (runs * len(played))
        found.append((decision.is_decided, runs, spared, tested.is_decided, seeds))
    return np.mean(found, axis=0)


def first_runs(values, played):
    """The first sessions of each sender."""
    return {
        sender: {name: [None if np.isnan(v) else v for v in column[: played[sender]].tolist()] for name, column in columns.items()}
        for sender, columns in values.items()
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--races", type=int, default=2000)
    races = parser.parse_args().races
    for number, kind in enumerate(("equal", "nearly equal", "far")):
        print(f"| {kind} | {100 * wrong_share(kind, races // 3, number):.2f} % wrong |")
    for count in (2, 4, 8, 14):
        shares = [power(count, noise, races // 20, 7) for noise in (0.5, 1, 2, 3, 4)]
        print(f"| {count} | " + " | ".join(f"{100 * whole:.0f} ({100 * each:.0f})" for whole, each in shares) + " |")
    for scenario in SCENARIOS:
        decided, seeds, spared, tested, tested_seeds = real(scenario, max(3, races // 200), 5)
        print(
            f"| {scenario} | {100 * decided:.0f} % | {seeds:.0f} | {100 * spared:.0f} % | {100 * tested:.0f} % | {tested_seeds:.0f} |"
        )

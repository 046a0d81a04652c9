"""How often the ranking is wrong, by simulation on the shipped scenarios' own sessions.

    python tests/python/false_winners.py --trials 2000        the tables of docs/decisions/ranking.md
    python tests/python/false_winners.py --sessions 800       plays the sessions anew (ten minutes of one core)

`data/sessions.parquet` holds sessions of every sender of the shipped scenarios, played once. Drawn from it are
- *equal senders*: every sender draws from the sessions of one. Whoever is beaten is a false loser;
- *the real senders*, seeds drawn with their sessions, so that pairs stay pairs. What is true is known from all sessions:
  a sender is beaten falsely if it is not noticeably worse more often at the criterion named, or differs already at one
  before (in more than one session of ten, and by more than the margin on average).
"""

import argparse
import math
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from playpath.base import engine
from playpath.base.metrics import VIDEO_CRITERIA, metric
from playpath.judge.race import doubling_looks
from playpath.judge.ranking import Ranker
from playpath.scenario import load

DATA = Path(__file__).parent / "data" / "sessions.parquet"
SCENARIOS = ("mobile", "satellite", "short-buffer", "adaptive", "streaming-server")
FALSE_WINNERS = 0.05
"""Error probability of a whole comparison, over all its senders, criteria and looks."""
UNNOTICED_SHARE = 0.1
"""As in `crates/verdict/src/evidence.rs`."""
MAX_RUNS = 200
"""At which somebody who follows the advice gives up."""


@cache
def sessions(scenario):
    """Sender → metric → one value a session, in the order of the seeds."""
    table = pl.read_parquet(DATA).filter(pl.col("scenario") == scenario).sort("seed")
    groups = table.partition_by("sender", as_dict=True, maintain_order=True)
    # A criterion that the stored sessions have no value of: their players are not live.
    names = [name for name in VIDEO_CRITERIA if name in table.columns and table[name].null_count() < table.height]
    return {str(key[0]): {name: group[name].to_numpy() for name in names} for key, group in groups.items()}


def equal_senders(columns, senders, most, random):
    """Equal senders that draw their sessions one by one."""
    size = len(next(iter(columns.values())))
    drawn = random.integers(0, size, (senders, most))
    return {f"s{i}": {name: values[drawn[i]] for name, values in columns.items()} for i in range(senders)}


def real_senders(scenario, most, random):
    """The senders of a scenario over seeds drawn."""
    found = sessions(scenario)
    drawn = random.integers(0, len(next(iter(next(iter(found.values())).values()))), most)
    return {sender: {name: values[drawn] for name, values in columns.items()} for sender, columns in found.items()}


def look(values, runs):
    """The decision on the first runs."""
    known = {
        sender: {name: [None if math.isnan(v) else v for v in column[:runs].tolist()] for name, column in columns.items()}
        for sender, columns in values.items()
    }  # fmt: skip
    return Ranker(known, VIDEO_CRITERIA).decide()


def looks(values, first, use):
    """The decisions that somebody sees: once, following the advice, until it is decided, or at every number of runs."""
    most = len(next(iter(next(iter(values.values())).values())))
    if use == "every run":
        yield from (look(values, runs) for runs in range(2, most + 1))
    elif use == "advice":
        runs = first
        while runs <= most:
            decision = look(values, runs)
            yield decision
            if decision.more_runs is None:
                return
            runs += decision.more_runs
    else:
        for runs in doubling_looks(first, most if use == "until decided" else None):
            decision = look(values, runs)
            yield decision
            if decision.is_decided:
                return


def false_losers(columns, senders, first, use, trials, random, most=MAX_RUNS):
    """Share of uses in which one of equal senders is beaten at some look."""
    wrong = 0
    for _ in range(trials):
        values = equal_senders(columns, senders, max(first, 2 if use == "once" else most), random)
        wrong += any(decision.beaten for decision in looks(values, first, use))
    return wrong / trials


def is_beaten_falsely(scenario, best, loser, criterion):
    """Whether "best beats loser at this criterion" is untrue of all sessions."""
    found = sessions(scenario)
    for name in found[best]:
        entry = metric(name)
        a, b = found[loser][name], found[best][name]
        margin = entry.margin(float(np.nanmean(a)), float(np.nanmean(b)))
        worse = (a - b) * (-1 if entry.better == "higher" else 1)
        more, less = np.mean(worse > margin), np.mean(worse < -margin)
        if name == criterion:
            return bool(more <= less)
        if name not in {"played_s"} and more + less > UNNOTICED_SHARE and abs(np.nanmean(worse)) > margin:
            return True
    raise ValueError(criterion)


def real_use(scenario, first, use, trials, random, most=MAX_RUNS):
    """Share of uses with a false loser, and the mean share of the other senders that are beaten in the end."""
    wrong, beaten = 0, 0.0
    for _ in range(trials):
        decision = None
        is_wrong = False
        for decision in looks(real_senders(scenario, max(first, 2 if use == "once" else most), random), first, use):
            best = decision.ranking[0]
            is_wrong |= any(is_beaten_falsely(scenario, best, s, decision.deciding[s]) for s in decision.beaten)
        wrong += is_wrong
        beaten += len(decision.beaten) / (len(decision.ranking) - 1)
    return wrong / trials, beaten / trials


def play(number):
    """Play the sessions and store them."""
    rows = []
    for name in SCENARIOS:
        scenario = load(Path(__file__).parents[2] / "scenarios" / f"{name}.toml")
        for seed in range(1, number + 1):
            for sender in scenario.senders:
                metrics = engine.run(scenario.text, sender, seed, trace=False)[0]["metrics"]
                rows.append(
                    {"scenario": name, "sender": sender, "seed": seed, **{n: metrics.get(n) for n in VIDEO_CRITERIA}}
                )
    table = pl.DataFrame(rows, infer_schema_length=None)
    store(table)


def store(table):
    """With the digits that count."""
    numbers = pl.col(n for n in VIDEO_CRITERIA if table[n].null_count() < table.height)
    kept = table.select(
        "scenario", "sender", pl.col("seed").cast(pl.UInt16), numbers.cast(pl.Float64).round(3).cast(pl.Float32)
    )
    kept.write_parquet(DATA, compression="zstd", compression_level=19)


def report(trials):
    """The tables, as Markdown."""
    random = np.random.default_rng(20261122)
    print("| equal senders, their sessions | senders | seeds | use | a false loser |\n|---|---:|---:|---|---:|")
    places = (("mobile", "cubic"), ("mobile", "newreno"), ("satellite", "compound"), ("short-buffer", "copa"))
    uses = ((2, 2, "once"), (2, 10, "once"), (6, 2, "once"), (6, 10, "once"), (13, 10, "once"), (2, 2, "advice"),
            (2, 10, "advice"), (6, 10, "advice"), (2, 10, "until decided"), (6, 10, "until decided"), (2, 2, "every run"))  # fmt: skip
    for place in places:
        for senders, first, use in uses:
            few = max(20, trials // (8 if use == "every run" else 4 if senders > 2 else 1))
            found = false_losers(sessions(place[0])[place[1]], senders, first, use, few, random)
            print(f"| {' '.join(place)} | {senders} | {first} | {use} | {100 * found:.1f} % of {few} |", flush=True)
    print("\n| real senders | seeds | use | a false loser | others beaten |\n|---|---:|---|---:|---:|")
    for scenario in SCENARIOS:
        for first, use in ((10, "once"), (40, "once"), (100, "once"), (10, "advice"), (10, "until decided")):
            few = max(20, trials // 10)
            wrong, beaten = real_use(scenario, first, use, few, random)
            print(f"| {scenario} | {first} | {use} | {100 * wrong:.1f} % of {few} | {100 * beaten:.0f} % |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--sessions", type=int)
    given = parser.parse_args()
    if given.sessions:
        play(given.sessions)
    else:
        report(given.trials)

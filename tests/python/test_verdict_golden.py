"""The cases by which crates/verdict is held to these statistics: `python tests/python/test_verdict_golden.py` writes them anew."""

import json
from pathlib import Path

import numpy as np

from playpath.metrics import BULK_CRITERIA, VIDEO_CRITERIA
from playpath.ranking import Ranker, identical_replicas
from playpath.stats import summarise
from playpath.verdict import headline, verdict

GOLDEN = Path(__file__).parents[2] / "crates/verdict/tests/golden.json"
KEYS = ("ranking", "ranks", "beaten", "tied", "open", "deciding", "more_runs", "more_runs_for_viewer")
FIELDS = ("sender", "best", "metric", "mean", "ci95", "p_adjusted", "n", "noticed", "relation")


def comparisons():
    """Label, whether a viewer watches, values: few and many senders and seeds, ties, missing values, nothing random."""
    random = np.random.default_rng(20260)
    for senders in (1, 2, 3, 6):
        for seeds in (1, 2, 5, 8, 10, 16, 24, 40, 80):
            for spread in (0.05, 1.0):
                names = [f"sender {i}" for i in range(senders)]
                values = {}
                for i, name in enumerate(names):
                    shared = random.normal(0, spread, seeds)
                    stalls = np.maximum(0, 2.0 * i * (seeds % 3) + shared + random.normal(0, spread, seeds))
                    values[name] = {
                        "played_s": [60.0] * seeds,
                        "stall_time_s": np.round(stalls, 6).tolist(),
                        "startup_delay_s": [0.3] * seeds,
                        "retransmitted_packets": np.round(random.gamma(2.0, 40.0 * (i + 1), seeds)).tolist(),
                        "mean_queue_packets": np.round(random.gamma(4.0, 2.0, seeds), 6).tolist(),
                    }
                yield f"{senders} senders, {seeds} seeds, spread {spread}", True, values
    bulk = {
        name: {"goodput_mbps": np.round(random.normal(10 + i, 0.4, 12), 6).tolist(), "mean_rtt_ms": [50.0 + i] * 12}
        for i, name in enumerate(("a", "b", "c"))
    }
    yield "bulk", False, bulk
    never = {
        "a": {"played_s": [60.0, 60.0], "startup_delay_s": [0.3, None]},
        "b": {"played_s": [60.0, 60.0], "startup_delay_s": [0.3, 0.3]},
    }
    yield "missing", True, {s: {m: c * 5 for m, c in columns.items()} for s, columns in never.items()}
    same = {"a": {"stall_time_s": [1.0] * 10}, "b": {"stall_time_s": [1.0] * 10}, "c": {"stall_time_s": [2.0] * 10}}
    yield "nothing random", True, same


def judged(label, has_video, values):
    """A case as the file has it."""
    ranker = Ranker(values, VIDEO_CRITERIA if has_video else BULK_CRITERIA, is_random=not identical_replicas(values))
    decision = ranker.decide()
    best = decision.ranking[0]
    found = {s: ranker.difference(s, best, name) for s, name in decision.deciding.items()}
    summaries = {
        sender: {
            name: None if (summary := summarise([v for v in column if v is not None])) is None else summary.to_dict()
            for name, column in columns.items()
        }
        for sender, columns in values.items()
    }
    return {
        "label": label,
        "has_video": has_video,
        "values": values,
        "headline": headline(ranker, decision),
        "verdict": verdict(ranker, decision),
        "decision": {key: decision.to_dict()[key] for key in KEYS},
        "senders": summaries,
        "differences": {s: {key: d.to_dict()[key] for key in FIELDS} for s, d in found.items() if d is not None},
    }


def close(found, wanted, at):
    """Equal but for the last digits of numbers."""
    if isinstance(wanted, dict):
        assert set(found) == set(wanted), at
        for key, value in wanted.items():
            close(found[key], value, f"{at}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), at
        for i, value in enumerate(wanted):
            close(found[i], value, f"{at}[{i}]")
    elif isinstance(wanted, float):
        assert found is not None, at
        assert abs(found - wanted) <= 1e-9 * max(1.0, abs(wanted)), at
    else:
        assert found == wanted, at


def test_the_cases_are_what_the_laboratory_says():
    cases = json.loads(GOLDEN.read_text())
    assert len(cases) >= 40
    for case in cases:
        said = json.loads(json.dumps(judged(case["label"], case["has_video"], case["values"])))
        close(said, case, case["label"])


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(judged(*case), ensure_ascii=False) for case in comparisons())
    GOLDEN.write_text(f"[\n{lines}\n]\n")

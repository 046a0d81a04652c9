"""Search for parameters of a congestion control: found on train scenarios, judged on held-out ones.

The optimiser is SciPy's differential evolution. It sees only the train scenarios with the train seeds. The score of a
parameter set is a sum over the ranking's criteria, each relative to its value with default parameters and with a tenth of the
weight of the one before; so it follows the ranking as far as a single number can. The answer is a paired comparison of
tuned and default parameters on scenarios that the optimiser has not seen.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import playpath
from playpath.base import engine
from playpath.base.errors import InputError, Interrupted
from playpath.base.files import write_text
from playpath.base.metrics import metric
from playpath.base.optional import scipy
from playpath.base.progress import Progress
from playpath.base.tabular import Json
from playpath.base.words import listing
from playpath.results.comparison import Comparison
from playpath.run.compare import compare
from playpath.run.own import reference_of
from playpath.scenario import Scenario, load, parse_choice

_PARAM = re.compile(r"(?P<cc>[\w./:-]+)\.(?P<name>\w+)=(?P<low>[-+.\de]+)\.\.(?P<high>[-+.\de]+)")
_WEIGHT = 0.1
_DIGITS = 4
"""Significant digits of a value that is tried."""
_MIN_VALUES = 10
"""Of so many digits a range must hold at least as many."""
ANY_CONTROL = "newreno"
"""Keys that are ignored when scenarios are compared: they only say which control is tuned."""
_POPULATION = 6
"""Population size per parameter; the budget determines the number of generations."""

_ROUNDING = 1e-12
_OBJECTIVE = 2
"""Counts up when scores change their meaning."""
_GUARD = "played_s"
_LOSS = "preference"
"""What viewers weigh against each other, as a metric of the ranking (`crates/verdict/src/preference.rs`)."""


@dataclass(frozen=True)
class Range:
    """A parameter and its search range.

    >>> Range.parse("ccplb.kp=1..3")
    Range(cc='ccplb', name='kp', low=1.0, high=3.0)
    """

    cc: str
    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        step = 10.0 ** (math.floor(math.log10(max(abs(self.low), abs(self.high), sys.float_info.min))) + 1 - _DIGITS)
        if self.high - self.low < _MIN_VALUES * step:
            raise InputError(
                f"--param '{self.cc}.{self.name}={self.low}..{self.high}': too narrow for values of {_DIGITS} digits; "
                f"allowed: ends at least {_MIN_VALUES * step:g} apart"
            )

    @classmethod
    def parse(cls, text: str) -> Range:
        """Read `CC.PARAMETER=LOW..HIGH`."""
        found = _PARAM.fullmatch(text.strip())
        try:
            low, high = (float(found[end]) for end in ("low", "high"))  # type: ignore[index]
        except (TypeError, ValueError):
            raise InputError(f"--param '{text}': expected CC.PARAMETER=LOW..HIGH, for example ccplb.kp=1..3") from None
        if not low < high:
            raise InputError(f"--param '{text}': {low:g} is not below {high:g}")
        assert found is not None
        return cls(found["cc"], found["name"], low, high)

    def rounded(self, value: float) -> float:
        """A value that is worth trying, within the range."""
        return min(max(float(f"{value:.{_DIGITS}g}"), self.low), self.high)

    def __str__(self) -> str:
        return f"{self.cc}.{self.name}={self.low:g}..{self.high:g}"


@dataclass(frozen=True)
class Tuning:
    cc: str
    parameters: dict[str, float]
    """The best values found, to four significant digits."""
    evaluations: int
    """Number of parameter sets tried."""
    train: list[Comparison]
    held_out: list[Comparison]
    """Comparisons of tuned and default parameters, one for each scenario; only `held_out` shows what the tuning is worth."""
    history: list[tuple[dict[str, float], float]]
    """Every parameter set tried, with its score (lower is better)."""
    default_score: float
    question: dict[str, list[str]] = field(default_factory=dict)
    """`params`: the parameters and their ranges; `scenarios`: SHA-256 of each train and held-out scenario with one seed."""

    def __repr__(self) -> str:
        return f"<Tuning {self.sender}: the best of {self.evaluations} parameter sets>"

    @property
    def sender(self) -> str:
        """The tuned control as an argument of `--cc`."""
        inside = ",".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.cc}({inside})"

    @property
    def caveat(self) -> str:
        """What is to be said if no set scores better than the defaults, or if it is proven worse or not proven better on what was held
        out; otherwise empty.
        """
        if min(score for _, score in self.history) >= self.default_score - _ROUNDING:
            return ", none of which scores better than the defaults"
        worse = [c.scenario.name for c in self.held_out if self.sender in c.decision.beaten]
        if worse:
            return f"; on what was held out it is proven worse than the defaults: {listing(worse)}"
        is_proven = all(c.ranking[0] == self.sender and c.decision.beaten for c in self.held_out)
        return "" if is_proven else "; on what was held out it is not proven better than the defaults"

    def to_dict(self) -> Json:
        return {
            "cc": self.cc,
            "parameters": self.parameters,
            "sender": self.sender,
            "evaluations": self.evaluations,
            **self.question,
            "train": [_brief(c) for c in self.train],
            "held_out": [_brief(c) for c in self.held_out],
            "default_score": self.default_score,
            "history": [{"parameters": p, "score": s} for p, s in self.history],
        }

    def save(self, folder: str | Path) -> None:
        """Write `tune.json`, the JSON form."""
        write_text(Path(folder) / "tune.json", json.dumps(self.to_dict(), indent=1) + "\n")


def _brief(comparison: Comparison) -> dict[str, object]:
    full = comparison.to_dict()
    keys = ("scenario", "seeds", "senders", "ranking", "verdict", "decision", "digest")
    return {key: full[key] for key in keys} | {"seed_list": comparison.seeds}


def tune(
    train: Sequence[Any],
    params: Sequence[str | Range],
    *,
    held_out: Sequence[Any] = (),
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    budget: int = 60,
    jobs: int | None = None,
    seed: int = 1,
    controllers: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Tuning:
    """Find parameters on the train scenarios and judge them on the held-out ones.

    Args:
        train: Scenarios, as `playpath.load` takes them; their senders are replaced.
        params: `"ccplb.kp=1..3"`; all of one congestion control.
        held_out: Scenarios that the optimiser must not see. Without them the train scenarios with other seeds are held
            out, which shows less: only that the tuning did not fit noise.
        seeds: Seeds for each scenario.
        set: Settings changed in all scenarios, as `playpath.load` takes them.
        budget: Maximum number of parameter sets to try.
        seed: Seed of the optimiser.
        controllers: Your own classes, by the names that `params` uses: `"mine.gain=1..3"` with `{"mine": Mine}`.
        store: A folder that keeps each score as it is found, so that the same search can resume.

    Raises:
        InputError: A parameter or range is wrong; nothing is run.
        Interrupted: Ctrl-C.
    """
    ranges = [p if isinstance(p, Range) else Range.parse(p) for p in params]
    cc = _one_control(ranges)
    if controllers and cc in controllers:
        cc = reference_of(cc, controllers[cc])
    if budget < 2:
        raise InputError(f"--budget {budget}: must be at least 2")
    seen = [load(source, cc=[cc], seeds=seeds, set=set) for source in train]
    others = [load(source, cc=[cc], seeds=seeds, set=set) for source in held_out]
    unseen = others or [_other_seeds(s) for s in seen]
    trained = {scenario.digest for scenario in seen}
    for scenario in unseen if held_out else []:
        if scenario.digest in trained:
            raise InputError(
                f"--held-out {scenario.name}: is also a train scenario; without --held-out, other seeds are used to judge"
            )
    for scenario in seen:
        for end in ("low", "high"):
            try:
                load(scenario, cc=[_choice(cc, {r.name: getattr(r, end) for r in ranges})])
            except InputError as error:
                raise InputError(f"--param {cc}: {str(error).removeprefix('cc: ')}") from None
    search = _Search(seen, cc, ranges, jobs, budget, progress, _Scores(store))
    best = search.run(seed)
    return Tuning(
        cc=cc,
        parameters=best,
        evaluations=len(search.history),
        train=[_judge(s, cc, best, jobs) for s in seen],
        held_out=[_judge(s, cc, best, jobs) for s in unseen],
        history=search.history,
        default_score=search.default_score,
        question=question(train, ranges, held_out=held_out, set=set),
    )


def question(
    train: Sequence[Any],
    params: Sequence[str | Range],
    *,
    held_out: Sequence[Any] = (),
    set: Mapping[str, Any] | None = None,
) -> dict[str, list[str]]:
    """The question of a search, which does not depend on the numbers of seeds and parameter sets: see `Tuning.question`."""
    scenarios = [load(source, cc=[ANY_CONTROL], seeds=1, set=set) for source in (*train, *held_out)]
    return {"params": [str(param) for param in params], "scenarios": [scenario.digest for scenario in scenarios]}


def scores_of_other_builds(folder: Path) -> int:
    """The number of files with scores, if all are of other builds of the engine."""
    names = [file.name for file in folder.glob("scores*.jsonl")]
    return 0 if _scores_name() in names else len(names)


def _scores_name() -> str:
    return f"scores.{engine.build()}.jsonl"


class _Scores:
    """Scores in a file of this build of the engine, one line each, by everything else that they depend on."""

    def __init__(self, folder: str | Path | None) -> None:
        self._file = Path(folder) / _scores_name() if folder else None
        self._known: dict[str, float] = {}
        if self._file and self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # incomplete last line of a killed run
                    self._known |= json.loads(line)

    def get(self, key: str) -> float | None:
        return self._known.get(key)

    def keep(self, key: str, score: float) -> None:
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({key: score}) + "\n")


class _Search:
    """The objective, its normalisation, and the parameter sets tried."""

    def __init__(
        self,
        scenarios: list[Scenario],
        cc: str,
        ranges: list[Range],
        jobs: int | None,
        budget: int,
        progress: Progress,
        scores: _Scores,
    ) -> None:
        self._scenarios, self._cc, self._ranges, self._jobs = scenarios, cc, ranges, jobs
        self._budget, self._progress, self._scores = budget, progress, scores
        self._optimize = scipy("optimize", "tune")
        self.history: list[tuple[dict[str, float], float]] = []
        self._default = [self._whole(s) for s in scenarios]
        self.default_score = float(np.mean([_relative_cost(default, default) for default in self._default]))

    def run(self, seed: int) -> dict[str, float]:
        bounds = [(r.low, r.high) for r in self._ranges]
        with suppress(_OutOfBudget):
            self._optimize.differential_evolution(
                self._score, bounds, rng=seed, popsize=_POPULATION, maxiter=1000, polish=False, init="halton", tol=1e-3
            )
        return min(self.history, key=lambda tried: tried[1])[0]

    def _score(self, point: np.ndarray) -> float:
        parameters = {r.name: r.rounded(x) for r, x in zip(self._ranges, point, strict=True)}
        for tried, score in self.history:
            if tried == parameters:
                return score
        if len(self.history) >= self._budget:
            raise _OutOfBudget
        score = self._evaluate(parameters)
        self.history.append((parameters, score))
        self._progress(len(self.history), self._budget)
        return score

    def _evaluate(self, parameters: Mapping[str, float]) -> float:
        tried = [load(scenario, cc=[_choice(self._cc, parameters)]) for scenario in self._scenarios]
        digests = [scenario.digest for scenario in (*self._scenarios, *tried)]
        key = hashlib.sha256(json.dumps([_OBJECTIVE, playpath.__version__, *digests]).encode()).hexdigest()[:32]
        score = self._scores.get(key)
        if score is None:
            costs = [_relative_cost(self._whole(s), default) for s, default in zip(tried, self._default, strict=True)]
            score = float(np.mean(costs))
            self._scores.keep(key, score)
        return score

    def _whole(self, scenario: Scenario) -> Comparison:
        return _whole(scenario, self._jobs, f"stopped after {len(self.history)} parameter sets")


class _OutOfBudget(Exception):
    pass


def _relative_cost(tried: Comparison, default: Comparison) -> float:
    """Sum over the criteria of value / default value, each with a tenth of the weight of the one before. How much of the film is shown
    counts only where it differs noticeably, as in the ranking: it only keeps a session that shows nothing from winning. What viewers
    weigh against each other comes before its parts.
    """
    shares = {
        name: _share(name, *(c.ranker.mean(c.senders[0], name) for c in (tried, default)))
        for name in default.ranker.criteria
    }
    first = [share for name, share in shares.items() if name == _GUARD]
    rest = [share for name, share in shares.items() if name != _GUARD]
    return sum(share * _WEIGHT**at for at, share in enumerate([*first, 1.0 + _weighed(tried, default), *rest]))


def _share(name: str, value: float | None, reference: float | None) -> float:
    """A value relative to the default's; below 1 it is better."""
    if value is None or reference is None:
        return 2.0 if value is None else 1.0
    margin = metric(name).margin(value, reference)
    if reference + margin <= 0 or (name == _GUARD and abs(value - reference) <= margin):
        return 1.0
    share = (value + margin) / (reference + margin)
    return share if metric(name).better != "higher" else 2.0 - share


def _weighed(tried: Comparison, default: Comparison) -> float:
    """How much more is lost of what viewers weigh, in steps of the picture; 0 where they show the same picture."""
    values = {name: c.ranker.values[c.senders[0]] for name, c in (("tried", tried), ("default", default))}
    pair = default.ranker.among(values)
    lost, by_default, played = (pair.mean(*of) for of in (("tried", _LOSS), ("default", _LOSS), ("default", _GUARD)))
    return 0.0 if lost is None or by_default is None or not played else (lost - by_default) / played


def _one_control(ranges: Sequence[Range]) -> str:
    names = sorted({r.cc for r in ranges})
    if len(names) != 1:
        raise InputError(f"--param: give parameters of one congestion control, got {', '.join(names) or 'none'}")
    return names[0]


def _choice(cc: str, parameters: Mapping[str, float]) -> str:
    return parse_choice({"name": cc, **{name: f"{value:g}" for name, value in parameters.items()}})


def _judge(scenario: Scenario, cc: str, parameters: Mapping[str, float], jobs: int | None) -> Comparison:
    judged = load(scenario, cc=[cc, _choice(cc, parameters)])
    return _whole(judged, jobs, "stopped while the best set was judged")


def _whole(scenario: Scenario, jobs: int | None, stopped: str) -> Comparison:
    """A comparison over all seeds: one over fewer would be taken for a better or worse set. A Ctrl-C during its last session, too, was
    meant for the search.
    """
    interrupts: list[int] = []
    comparison = compare(scenario, jobs=jobs, until_decided=False, on_interrupt=interrupts.append)
    if interrupts:
        raise Interrupted(stopped)
    return comparison


def _other_seeds(scenario: Scenario) -> Scenario:
    return load(scenario, set={"run.first_seed": scenario.seeds[-1] + 1})

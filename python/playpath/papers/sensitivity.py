"""What the claims depend on: each parameter that a paper leaves unstated, over its plausible range, and the claims' verdicts there.

One parameter varies at a time; the others stay as chosen. All trials of a value are paired with those of the chosen value,
and the chosen value is judged with as many trials as the others, so that verdicts in a row can be compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from playpath.papers.claims import Verdict, evaluate, is_judged
from playpath.papers.runner import Options, Ran, StudyResult, run_cases
from playpath.papers.study import Study, Unstated

PARAMETER, VALUE = "parameter", "value"


@dataclass(frozen=True)
class Sensitivity:
    """The swept parameters of a study."""

    study: Study
    ran: Ran
    verdicts: Mapping[tuple[str, Any], Mapping[str, Verdict]]
    """(knob, value) → claim id → verdict."""
    seeds: int
    """Trials of each case."""

    @property
    def interrupted(self) -> bool:
        return self.ran.interrupted

    @property
    def swept(self) -> list[Unstated]:
        """The parameters with a range, in the study's order."""
        return self.study.swept

    def of(self, parameter: Unstated, claim: str) -> list[Verdict]:
        """A claim's verdicts over a parameter's range."""
        return [self.verdicts[parameter.knob, value][claim] for value in parameter.values]

    def depends(self, parameter: Unstated, claim: str) -> bool:
        """Whether the verdict changes over the range."""
        return len(set(self.of(parameter, claim))) > 1

    def turns(self, parameter: Unstated, claim: str) -> bool:
        """Whether the claim is reproduced at one value and not reproduced at another."""
        return {"reproduced", "not reproduced"} <= set(self.of(parameter, claim))

    def to_dict(self) -> dict[str, object]:
        return {
            "seeds": self.seeds,
            "digest": self.ran.digest,
            "parameters": [
                {
                    "name": u.name,
                    "knob": u.knob,
                    "unit": u.unit,
                    "chosen": u.chosen,
                    "values": list(u.values),
                    "verdicts": {c.id: self.of(u, c.id) for c in self.study.claims},
                }
                for u in self.swept
            ],
        }


def run_sensitivity(result: StudyResult, options: Options) -> Sensitivity:
    """Sweep every parameter that has a range; cells that the study has already run are taken from the store."""
    study = result.study
    seeds = min(result.seeds, options.seeds_of(study.sensitivity_seeds))
    points = [(u.knob, value) for u in study.unstated if u.knob for value in u.values]
    cases = []
    for knob, value in points:
        varied = [case for case in study.cases(options.share, **{knob: value}) if is_judged(study.claims, case)]
        cases += [replace(c, labels={**c.labels, PARAMETER: knob, VALUE: f"{value}"}) for c in varied]
    ran = run_cases(study, cases, seeds, options)
    if ran.interrupted:
        return Sensitivity(study, ran, {}, seeds)
    verdicts = {point: _verdicts(study, ran, point) for point in points}
    return Sensitivity(study, ran, verdicts, seeds)


def _verdicts(study: Study, ran: Ran, point: tuple[str, Any]) -> dict[str, Verdict]:
    knob, value = point
    varied = ran.table.filter((pl.col(PARAMETER) == knob) & (pl.col(VALUE) == f"{value}")).drop(PARAMETER, VALUE)
    return {claim.id: evaluate(claim, varied).verdict for claim in study.claims}


def summary(found: Sensitivity) -> list[str]:
    """One sentence for each parameter: for which claims the verdict reverses, and for which it only becomes undecided."""
    sentences = []
    for u in found.swept:
        ids = [claim.id for claim in found.study.claims]
        turning = [i for i in ids if found.turns(u, i)]
        softer = [i for i in ids if found.depends(u, i) and i not in turning]
        parts = [f"reverses {', '.join(turning)}"] if turning else []
        parts += [f"decides or leaves open {', '.join(softer)}"] if softer else []
        sentences.append(f"{u.name}: {'; '.join(parts) or 'no claim depends on it'}")
    return sentences

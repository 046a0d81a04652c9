"""Refresh what docs/papers.md takes from runs: `make papers`, or `python docs/papers.py OUT` after `playpath reproduce`.

Between `<!-- STUDY PART -->` and `<!-- end -->` the page holds what this writes: `claims`, `today` and `unstated` of a
study, and `all overview`, which needs all studies. The figures that the page shows are copied from OUT/STUDY/figures. All
else is written by people.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from playpath.studies import NAMES, Study, evaluate, study
from playpath.studies.study import Unstated
from playpath.studies.today import HEAD, rank_scenes, table_rows

DOCS = Path(__file__).parent
PAGE = DOCS / "papers.md"
BLOCK = re.compile(r"(<!-- (\w+) (claims|today|unstated|overview) -->\n).*?(<!-- end -->)", re.DOTALL)
COMMIT = re.compile(r"engine of commit \w+")
FIGURE = re.compile(r"images/papers/((\w+)-[\w-]+\.png)")


def commit() -> str:
    """Of the working tree."""
    command = ["git", "-C", DOCS, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(out: Path) -> None:
    """Rewrite the blocks and copy the figures of every study that `out` has."""
    text = PAGE.read_text()
    found = {name for name in NAMES if (out / name / "claims.json").exists()}

    def block(match: re.Match[str]) -> str:
        name, part = match[2], match[3]
        if part == "overview":
            return match[1] + "\n".join(overview(out, match[0])) + "\n" + match[4]
        if name not in found:
            return match[0]
        return match[1] + "\n".join(PARTS[part](study(name), out / name)) + "\n" + match[4]

    text = BLOCK.sub(block, text)
    PAGE.write_text(COMMIT.sub(f"engine of commit {commit()}", text) if found == set(NAMES) else text)
    subprocess.run([sys.executable, "-m", "mdformat", PAGE], check=True)
    for figure, name in set(FIGURE.findall(text)):
        if (out / name / "figures" / figure).exists():
            shutil.copy(out / name / "figures" / figure, DOCS / "images" / "papers" / figure)


def overview(out: Path, before: str) -> list[str]:
    """A row for each claim: base verdict, share of the space, verdict of the best set; a study that `out` lacks keeps its rows."""
    head = ["claim", "at the base", "of the joint space", "at the best set"]
    lines = markdown(head, [])
    for name in NAMES:
        if not (out / name / "joint.json").exists():
            lines += [line for line in before.splitlines() if line.startswith(f"| {name}-")]
            continue
        base = json.loads((out / name / "claims.json").read_text())["claims"]
        joint = _joint(out / name)["claims"]
        rows = [[f"{c['id']}: {c['statement']}", c["verdict"], *_of_space(joint[c["id"]])] for c in base]
        lines += markdown(head, rows)[2:]
    return lines


def _of_space(found: dict[str, Any]) -> list[str]:
    share, low, high = found["share"]
    vacuous = f"; vacuously in {found['vacuous_share']:.0%}" if found["vacuous_share"] else ""
    return [f"{share:.0%} ({low:.0%} to {high:.0%}){vacuous}", found["best"]]


def claims(which: Study, folder: Path) -> list[str]:
    """The verdict of every claim, as the run has it (some rest on our guard), with its deciding figures."""
    judged = json.loads((folder / "claims.json").read_text())["claims"]
    table = pl.read_parquet(folder / "table.parquet")
    rows = []
    for claim, found in zip(which.claims, judged, strict=True):
        deciding = evaluate(claim, table).deciding
        decides = f"{deciding.check.says}: {deciding.figures()}"
        rows.append([f"{claim.id}: {claim.statement}", found["verdict"], decides])
    return markdown(["claim", "verdict", "deciding figures"], rows)


def today(which: Study, folder: Path) -> list[str]:
    """Who is best today, scene by scene."""
    if which.today is None:
        return []
    scenes = rank_scenes(which, pl.read_parquet(folder / "table.parquet"))
    return markdown(list(HEAD[:-1]), [row[:-1] for row in table_rows(scenes, which.today)])


def unstated(which: Study, folder: Path) -> list[str]:
    """Every unstated parameter: value, reason, range; and, of a run over the joint space, what hangs on it and the best set's value."""
    joint = _joint(folder) if (folder / "joint.json").exists() else None
    rows = []
    for u in which.unstated:
        values = ", ".join(str(v) for v in u.values) + (f" {u.unit}" if u.unit else "") if u.values else "–"
        rows.append([u.name, u.value, u.reason, values, *([] if joint is None else _in_the_space(u, joint))])
    more = [] if joint is None else ["claims that hang on it", "best set"]
    more += ["lost with the base's value"] if joint is not None and joint["best"]["undone"] else []
    return markdown(["parameter", "base", "reason", "range", *more], rows)


def _in_the_space(parameter: Unstated, joint: dict[str, Any]) -> list[str]:
    hang = [
        f"{claim.rpartition('-')[2]} ({effect['explained']:.0%})"
        for claim, found in joint["claims"].items()
        for effect in found["depends_on"]
        if effect["on"] == parameter.name
    ]
    best = joint["best"]
    there = f"{best['settings'][parameter.knob]} {parameter.unit}".strip() if parameter.knob else "–"
    lost = ", ".join(claim.rpartition("-")[2] for claim in best["undone"].get(parameter.knob, []))
    return [", ".join(hang) or "–", there, *([lost or "–"] if best["undone"] else [])]


def _joint(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "joint.json").read_text())
    return found


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


PARTS: dict[str, Callable[[Study, Path], list[str]]] = {"claims": claims, "today": today, "unstated": unstated}

if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/reproduce"))

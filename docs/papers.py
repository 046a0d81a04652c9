"""Refresh what docs/papers.md takes from runs: `make papers`, or `python docs/papers.py OUT` after `playpath reproduce`.

Between `<!-- STUDY PART -->` and `<!-- end -->` the page holds what this writes: `claims`, `today` and `sensitivity` of a
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

import polars as pl

from playpath.studies import NAMES, Study, evaluate, study
from playpath.studies.today import HEAD, rank_scenes, table_rows

DOCS = Path(__file__).parent
PAGE = DOCS / "papers.md"
BLOCK = re.compile(r"(<!-- (\w+) (claims|today|sensitivity|overview) -->\n).*?(<!-- end -->)", re.DOTALL)
VERDICTS = ("reproduced", "not reproduced", "undecided")
FIGURE = re.compile(r"images/papers/((\w+)-[\w-]+\.png)")


def main(out: Path) -> None:
    """Rewrite the blocks and copy the figures of every study that `out` has."""
    text = PAGE.read_text()
    found = {name for name in NAMES if (out / name / "claims.json").exists()}

    def block(match: re.Match[str]) -> str:
        name, part = match[2], match[3]
        if part == "overview":
            return match[1] + "\n".join(overview(out)) + "\n" + match[4] if found == set(NAMES) else match[0]
        is_swept = (out / name / "sensitivity.json").exists()
        if name not in found or (part == "sensitivity" and not is_swept):
            return match[0]
        return match[1] + "\n".join(PARTS[part](study(name), out / name)) + "\n" + match[4]

    PAGE.write_text(BLOCK.sub(block, text))
    subprocess.run([sys.executable, "-m", "mdformat", PAGE], check=True)
    for figure, name in set(FIGURE.findall(text)):
        if (out / name / "figures" / figure).exists():
            shutil.copy(out / name / "figures" / figure, DOCS / "images" / "papers" / figure)


def overview(out: Path) -> list[str]:
    """A row for each study: its claims by verdict, and the leader of each scene of today."""
    rows = []
    for name in NAMES:
        which, table = study(name), pl.read_parquet(out / name / "table.parquet")
        found = [(claim.id.rpartition("-")[2], evaluate(claim, table).verdict) for claim in which.claims]
        numbers = [", ".join(number for number, verdict in found if verdict == wanted) or "–" for wanted in VERDICTS]
        leads = "; ".join(f"{scene.name}: {scene.best}" for scene in rank_scenes(which, table))
        rows.append([f"{name}: {which.title}", *numbers, leads])
    return markdown(["study", *VERDICTS, "leads today"], rows)


def claims(which: Study, folder: Path) -> list[str]:
    """The verdict of every claim with its deciding figures."""
    table = pl.read_parquet(folder / "table.parquet")
    rows = []
    for claim in which.claims:
        result = evaluate(claim, table)
        decides = f"{result.deciding.check.says}: {result.deciding.figures()}"
        rows.append([f"{claim.id}: {claim.statement}", result.verdict, decides])
    return markdown(["claim", "verdict", "deciding figures"], rows)


def today(which: Study, folder: Path) -> list[str]:
    """Who is best today, scene by scene."""
    if which.today is None:
        return []
    scenes = rank_scenes(which, pl.read_parquet(folder / "table.parquet"))
    return markdown(list(HEAD[:-1]), [row[:-1] for row in table_rows(scenes, which.today)])


def sensitivity(which: Study, folder: Path) -> list[str]:
    """Every unstated parameter: value, reason, range, and the claims that depend on it."""
    path = folder / "sensitivity.json"
    swept = {p["name"]: p for p in json.loads(path.read_text())["parameters"]} if path.exists() else {}
    rows = []
    for u in which.unstated:
        verdicts = swept[u.name]["verdicts"] if u.name in swept else {}
        depends = {c: set(v) for c, v in verdicts.items() if len(set(v)) > 1}
        turns = [c for c, v in depends.items() if {"reproduced", "not reproduced"} <= v]
        rest = [c for c in depends if c not in turns]
        values = ", ".join(str(v) for v in u.values) + (f" {u.unit}" if u.unit else "") if u.values else "–"
        rows.append([u.name, u.value, u.reason, values, ", ".join(turns) or "–", ", ".join(rest) or "–"])
    return markdown(["parameter", "value", "reason", "swept over", "turns", "settles or unsettles"], rows)


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


PARTS: dict[str, Callable[[Study, Path], list[str]]] = {"claims": claims, "today": today, "sensitivity": sensitivity}

if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/reproduce"))

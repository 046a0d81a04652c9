"""Refresh what docs/papers.md takes from runs: `make papers`, or `python docs/papers.py OUT` after `playpath reproduce`.

Between `<!-- STUDY PART -->` and `<!-- end -->` the page holds what this writes: `claims`, `today` and `unstated` of a
study, `vegas ns2`, and `all overview`, which needs all studies. The figures that the page shows are copied from
OUT/STUDY/figures. What ns-2 itself does is data in tools/compare-ns. All else is written by people.
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

from playpath.papers import NAMES, Study, evaluate, study
from playpath.papers.claims import select
from playpath.papers.study import Labels, Unstated
from playpath.papers.today import HEAD, rank_scenes, table_rows

DOCS = Path(__file__).parent
PAGE = DOCS / "papers.md"
BLOCK = re.compile(r"(<!-- (\w+) (claims|today|unstated|ns2|overview) -->\n).*?(<!-- end -->)", re.DOTALL)
COMMIT = re.compile(r"engine of commit \w+")
NS2 = DOCS.parent / "tools/compare-ns/vegas_study.csv"
NS2_READINGS = {"each": "ns-2 itself", "delayed": "ns-2, delayed ACKs"}
FIGURE = re.compile(r"images/papers/((\w+)-[\w-]+\.png)")
CELLS: dict[str, Labels] = {
    "1:3, 50 ms": {"part": "background", "background": "1:3"},
    "4:10, 50 ms": {"part": "background", "background": "4:10"},
    "8:20, 50 ms": {"part": "background", "background": "8:20"},
    "4:10, 10 ms": {"part": "rtt", "rtt": 10},
    "4:10, 100 ms": {"part": "rtt", "rtt": 100},
    "4:10, 200 ms": {"part": "rtt", "rtt": 200},
    "4:10, RED": {"part": "queue", "queue": "RED"},
    "4:10, 0.125 % loss": {"part": "loss", "loss_percent": 0.125},
    "4:10, 1 % loss": {"part": "loss", "loss_percent": 1.0},
    "4:10, 8 % loss": {"part": "loss", "loss_percent": 8.0},
}


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
    """The verdict of every claim, as the run has it (some rest on our guard), with its deciding figures; for `vegas` also ns-2's own."""
    judged = json.loads((folder / "claims.json").read_text())["claims"]
    table = pl.read_parquet(folder / "table.parquet")
    in_ns2 = in_ns2_itself() if which.name == "vegas" else {}
    rows = []
    for claim, found in zip(which.claims, judged, strict=True):
        result = evaluate(claim, table)
        decides = f"{result.deciding.check.says}: {result.deciding.figures()}"
        also = [evaluate(claim, theirs).verdict for theirs in in_ns2.values()]
        rows.append([f"{claim.id}: {claim.statement}", found["verdict"], *also, decides])
    return markdown(["claim", "verdict", *in_ns2, "deciding figures"], rows)


def in_ns2_itself() -> dict[str, pl.DataFrame]:
    """The cells of the study `vegas` as ns-2 ran them, by how its receivers acknowledge."""
    parts = pl.read_csv(NS2).partition_by("acks", as_dict=True, maintain_order=True)
    return {NS2_READINGS[acks]: part for (acks,), part in parts.items()}


def ns2(_: Study, folder: Path) -> list[str]:
    """Throughput of the stream in ns-2 and here."""
    theirs, ours = in_ns2_itself()["ns-2 itself"], pl.read_parquet(folder / "table.parquet")
    rows = []
    for title, labels in CELLS.items():
        senders = [{**labels, "variant": name} for name in ("NewReno", "Vegas")]
        rows.append([title, *(_mbps(table, where) for where in senders for table in (theirs, ours))])
    return markdown(["cell", "ns-2, NewReno", "ours", "ns-2, Vegas", "ours"], rows)


def _mbps(table: pl.DataFrame, where: Labels) -> str:
    found = select(table, where)["stream_mbps"].to_list()
    return f"{sum(found) / len(found):.2f} ({min(found):.2f} to {max(found):.2f})"


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


PARTS: dict[str, Callable[[Study, Path], list[str]]] = {
    "claims": claims,
    "today": today,
    "unstated": unstated,
    "ns2": ns2,
}

if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/reproduce"))

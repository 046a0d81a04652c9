"""Refresh what docs/papers.md and its appendices take from runs: `make papers`, or `python docs/papers.py OUT`.

Between `<!-- STUDY PART -->` and `<!-- end -->` a page holds what this writes of OUT/STUDY, which `playpath reproduce` has
made: `overview` on docs/papers.md; `claims`, `regions`, `today`, `unstated` and `vegas ns2` in docs/appendix/papers-STUDY.md;
`regions` and `unstated` only of a run with `--joint`. The figures that the pages show are copied from OUT/STUDY/figures. What
ns-2 itself does is data in tools/compare-ns. All else is written by people.
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
from playpath.papers.claims import VERDICTS, select
from playpath.papers.modern_senders import HEAD, rank_scenes, table_rows
from playpath.papers.study import Claim, Labels, Unstated

DOCS = Path(__file__).parent
PAGES = [DOCS / "papers.md", *(DOCS / "appendix" / f"papers-{name}.md" for name in NAMES)]
BLOCK = re.compile(r"(<!-- (\w+) (overview|claims|regions|today|unstated|ns2) -->\n).*?(<!-- end -->)", re.DOTALL)
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
    "4:10, RED": {"part": "queue", "queue": "RED", "media_mbps": 1},
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
    found = {name for name in NAMES if (out / name / "claims.json").exists()}

    def block(match: re.Match[str]) -> str:
        lines = PARTS[match[3]](study(match[2]), out / match[2]) if match[2] in found else None
        return match[0] if lines is None else match[1] + "\n".join(lines) + "\n" + match[4]

    for page in PAGES:
        text = BLOCK.sub(block, page.read_text())
        page.write_text(COMMIT.sub(f"engine of commit {commit()}", text) if found == set(NAMES) else text)
        subprocess.run([sys.executable, "-m", "mdformat", page], check=True)
        for figure, name in set(FIGURE.findall(text)):
            if (out / name / "figures" / figure).exists():
                shutil.copy(out / name / "figures" / figure, DOCS / "images" / "papers" / figure)


def overview(_: Study, folder: Path) -> list[str]:
    """The numbers of the claims with each verdict at the base. Their wording and shares are in the appendix."""
    by_verdict: dict[str, list[str]] = {}
    for claim in _judged(folder):
        by_verdict.setdefault(claim["verdict"], []).append(claim["id"].rpartition("-")[2])
    rows = [[verdict, ", ".join(by_verdict[verdict])] for verdict in VERDICTS if verdict in by_verdict]
    return markdown(["verdict at the base", "claims"], rows)


def _judged(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "claims.json").read_text())["claims"]
    return found


def _of_space(found: dict[str, Any]) -> str:
    share, low, high = found["share"]
    parts = [f"{share:.0%} ({low:.0%} to {high:.0%})"]
    kinds = (("open_share", "open"), ("untested_share", "nothing to test"), ("count_only_share", "by count only"))
    parts += [f"{word} {found[key]:.0%}" for key, word in kinds if found[key]]
    return "; ".join(parts)


def _where(found: dict[str, Any], joint: dict[str, Any]) -> str:
    """Its region, or at how many points it holds where none stands out."""
    if found["inside"][1] != joint["points"]:
        return f"{found['region']} ({_counted(found)})"
    return f"no region stands out: {found['inside'][0] or 'none'} of {joint['points']} points"


def _counted(found: dict[str, Any]) -> str:
    return (
        f"{found['inside'][0]} of {found['inside'][1]} points, elsewhere {found['outside'][0]} of {found['outside'][1]}"
    )


def regions(which: Study, folder: Path) -> list[str] | None:
    """For each claim its share of the space, where it holds, its verdict at the best set, and a run inside its region and outside."""
    joint = _joint(folder)
    if joint is None:
        return None
    rows = []
    for claim, found in joint["claims"].items():
        runs = ["–" if own is None else _command(which, own) for own in found["examples"]]
        rows.append([claim, _of_space(found), _where(found, joint), found["best"] or "–", *runs])
    table = markdown(
        ["claim", "of the space", "where it holds", "at the best set", "a run with it", "a run without it"], rows
    )
    return [f"Points and runs of this table: commit {commit()}.", "", *table]


def _command(which: Study, settings: dict[str, Any]) -> str:
    """Without the values that are the base's."""
    base = {u.knob: u.chosen for u in which.swept}
    own = {knob: value for knob, value in settings.items() if value != base[knob]}
    sets = [f'--set {knob}="{v}"' if " " in str(v) else f"--set {knob}={v}" for knob, v in own.items()]
    return f"`{' '.join([f'playpath reproduce {which.name} --quick', *sets])}`"


def claims(which: Study, folder: Path) -> list[str]:
    """The verdict of every claim, as the run has it (some rest on our guard), with its deciding figures; for `vegas` also ns-2's own."""
    judged = _judged(folder)
    table = pl.read_parquet(folder / "table.parquet")
    in_ns2 = in_ns2_itself() if which.name == "vegas" else {}
    rows = []
    for claim, found in zip(which.claims, judged, strict=True):
        result = evaluate(claim, table)
        decides = f"{result.deciding.check.says}: {result.deciding.figures()}"
        also = [_verdict_in(claim, theirs) for theirs in in_ns2.values()]
        rows.append([f"{claim.id}: {claim.statement}", found["verdict"], *also, decides, found["seen"] or "–"])
    return markdown(["claim", "verdict", *in_ns2, "deciding figures", "the viewer sees"], rows)


def _verdict_in(claim: Claim, table: pl.DataFrame) -> str:
    """A dash where the table lacks a case that the claim looks at."""
    is_there = all(select(table, where).height for check in claim.checks for where in check.cases)
    return evaluate(claim, table).verdict if is_there else "–"


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


def today(which: Study, folder: Path) -> list[str] | None:
    """Who is best today, scene by scene."""
    if which.current_senders is None:
        return None
    scenes = rank_scenes(which, pl.read_parquet(folder / "table.parquet"))
    return markdown(list(HEAD[:-1]), [row[:-1] for row in table_rows(scenes, which.current_senders)])


def unstated(which: Study, folder: Path) -> list[str] | None:
    """Every unstated parameter: value, reason, range; and, of a run over the joint space, what hangs on it and the best set's value."""
    joint = _joint(folder)
    if joint is None:
        return None
    rows = []
    for u in which.unstated:
        values = f"{u.listed} {u.unit}".strip() or "–"
        rows.append([u.name, u.value, u.reason, values, u.source or "–", *_in_the_space(u, joint)])
    more = ["claims that hang on it", "best set"]
    more += ["lost with the base's value"] if joint["best"] and joint["best"]["undone"] else []
    return markdown(["parameter", "base", "reason", "range", "its bounds", *more], rows)


def _in_the_space(parameter: Unstated, joint: dict[str, Any]) -> list[str]:
    hang = [
        f"{claim.rpartition('-')[2]} ({effect['explained']:.0%})"
        for claim, found in joint["claims"].items()
        for effect in found["depends_on"]
        if effect["on"] == parameter.name
    ]
    best = joint["best"]
    if best is None:
        return [", ".join(hang) or "–", "–"]
    there = f"{best['settings'][parameter.knob]} {parameter.unit}".strip() if parameter.knob else "–"
    lost = ", ".join(claim.rpartition("-")[2] for claim in best["undone"].get(parameter.knob, []))
    return [", ".join(hang) or "–", there, *([lost or "–"] if best["undone"] else [])]


def _joint(folder: Path) -> dict[str, Any] | None:
    path = folder / "joint.json"
    return json.loads(path.read_text()) if path.exists() else None


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


PARTS: dict[str, Callable[[Study, Path], list[str] | None]] = {
    "overview": overview,
    "claims": claims,
    "regions": regions,
    "today": today,
    "unstated": unstated,
    "ns2": ns2,
}

if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/reproduce"))

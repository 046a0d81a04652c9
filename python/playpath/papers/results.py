"""Writes a study's results: tidy tables, verdicts, report, figures."""

import json
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from playpath.base.files import write_frame, write_text
from playpath.papers.figures import draw
from playpath.papers.grids import current_senders_grid, joint_grid
from playpath.papers.joint_space import Joint
from playpath.papers.page import study_page
from playpath.papers.runner import Ran, StudyResult


def save(result: StudyResult, folder: Path, joint: Joint | None = None) -> Path:
    """Write `table.parquet`, `table.csv`, `claims.json`, `report.html`, and `today.json` if today's senders were played.

    Returns the report's path. With `joint` also `joint.json`.
    """
    _save_table(result.ran, folder / "table")
    _save_json(result.to_dict(), folder / "claims.json")
    today = folder / "today.json"
    if result.is_whole:
        _save_json([scene.to_dict() for scene in result.scenes], today)
    else:
        today.unlink(missing_ok=True)  # left by an earlier run
    if joint is not None:
        _save_json(joint.to_dict(), folder / "joint.json")
    report = folder / "report.html"
    write_text(report, study_page(result, joint))
    return report


def save_figures(result: StudyResult, folder: Path, joint: Joint | None = None) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in _figures(result, joint):
        path = folder / f"{result.study.name}-{name}.png"
        figure.savefig(path, dpi=110, metadata={"Software": None})
        paths.append(path)
    return paths


def _figures(result: StudyResult, joint: Joint | None) -> Iterator[tuple[str, Figure]]:
    for spec in result.study.figures:
        yield spec.id, draw(result.ran, spec)
    if result.scenes and result.study.current_senders is not None:
        yield "today", current_senders_grid(result.scenes, result.study.current_senders)
    if joint is not None:
        yield "joint", joint_grid(joint)


def _save_table(ran: Ran, path: Path) -> None:
    write_frame(path.with_suffix(".parquet"), ran.table)
    write_text(path.with_suffix(".csv"), ran.table.write_csv())


def _save_json(value: object, path: Path) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

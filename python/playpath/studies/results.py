"""Writes a study's results: tidy table, verdicts, report, figures."""

from __future__ import annotations

import json
from pathlib import Path

from playpath.files import replaced, write_text
from playpath.studies.figures import draw
from playpath.studies.page import study_page
from playpath.studies.runner import StudyResult


def save(result: StudyResult, folder: Path) -> Path:
    """Write `table.parquet`, `table.csv`, `claims.json`, `report.html`; returns the report's path."""
    with replaced(folder / "table.parquet") as temporary:
        result.table.write_parquet(temporary)
    write_text(folder / "table.csv", result.table.write_csv())
    write_text(folder / "claims.json", json.dumps(result.to_dict(), indent=1, ensure_ascii=False) + "\n")
    report = folder / "report.html"
    write_text(report, study_page(result))
    return report


def save_figures(result: StudyResult, folder: Path) -> list[Path]:
    """Every figure as PNG; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for spec in result.study.figures:
        path = folder / f"{result.study.name}-{spec.id}.png"
        draw(result, spec).savefig(path, dpi=110, metadata={"Software": None})
        paths.append(path)
    return paths

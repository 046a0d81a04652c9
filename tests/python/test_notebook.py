"""The example notebook runs, and prints what it shows."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import nbformat
import notebook

pytestmark = pytest.mark.slow


def test_it_prints_what_it_shows():
    stored = nbformat.read(notebook.NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    again = notebook.executed()
    assert notebook.printed(again) == notebook.printed(stored)
    shown = [data for cell in again.cells for output in cell.get("outputs", []) for data in output.get("data", {})]
    assert shown.count("image/png") == 2
    assert "text/html" in shown

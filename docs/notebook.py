"""Run docs/example.ipynb and write its outputs into it: `make notebook`.

Needs nbclient and ipykernel (the extra `dev`). Of cells that print, the output is checked by tests/python/test_notebook.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "example.ipynb"


def executed() -> Any:
    """The notebook, run from the top in a kernel of its own; without the times at which its cells ran."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False).execute(cwd=str(NOTEBOOK.parent))
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def printed(notebook: Any) -> list[str]:
    """What each cell prints, without pictures and tables."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.text for output in outputs if output.output_type == "stream" and output.name == "stdout"]


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)

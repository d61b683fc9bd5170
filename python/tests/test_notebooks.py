"""The notebooks, run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


@pytest.mark.parametrize("name", ["your-trace", "custom-controller", "sweep-on-ray"])
def test_it_runs(name: str) -> None:
    notebook: Any = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells and not any(cell.outputs for cell in cells), "outputs are not committed"
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    figures = [
        output
        for cell in cells
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert len(figures) >= 2 or name == "sweep-on-ray" and figures, "it draws less than its text promises"


def test_all_notebooks_are_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {"your-trace", "custom-controller", "sweep-on-ray"}

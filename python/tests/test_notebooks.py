"""The notebooks, run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from brimful._ray import ATTEMPTS

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def kinds(cell: Any) -> list[list[str]]:
    """What a cell gives, by its kinds; without what goes to standard error."""
    outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return [sorted(output.get("data", {output["output_type"]: ""})) for output in outputs]


def executed(name: str) -> list[Any]:
    """The cells of a notebook, run."""
    for left in reversed(range(ATTEMPTS)):
        notebook: Any = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert cells
        committed = [kinds(cell) for cell in cells]
        client = NotebookClient(notebook, timeout=600, startup_timeout=600, resources={"metadata": {"path": str(FOLDER)}})
        try:
            client.execute()
            # a page that shows the notebook shows what it does: `scripts/notebooks` keeps it
            assert committed == [kinds(cell) for cell in cells], f"scripts/notebooks {name}"
            return cells
        except CellExecutionError as error:
            # Ray gives its processes 30 s to begin, which a busy machine can take
            if left == 0 or "timed out during startup" not in str(error):
                raise
    raise AssertionError("unreachable")


@pytest.mark.parametrize("name", ["your-trace", "custom-controller", "sweep-on-ray"])
def test_it_runs(name: str) -> None:
    cells = executed(name)
    figures = [
        output
        for cell in cells
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert len(figures) >= 2 or name == "sweep-on-ray" and figures, "it draws less than its text promises"


def test_all_notebooks_are_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {"your-trace", "custom-controller", "sweep-on-ray"}

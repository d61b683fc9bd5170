"""The examples of docs/python.md and docs/figures.md, and the one of the package's own page, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("page", ["docs/python.md", "docs/figures.md", "python/README.md"])
def test_the_examples_run(page: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    text = (root / page).read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        code = compile("\n" * line + block[1], page, "exec")
        exec(code, names)

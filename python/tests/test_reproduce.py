"""`reproduce`: the claims of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import brimful
from tests.conftest import Command


def test_the_claims_are_those_of_the_command_line(command: Command, tmp_path: Path) -> None:
    ended = command("reproduce", "rapid", "--quick", "--only", "fig7", "--repeats", "1", "--json")
    assert ended.returncode == 0, ended.stderr
    ours = brimful.reproduce("rapid", quick=True, only="fig7", repeats=1, out=tmp_path / "out")
    assert ours.summary == json.loads(ended.stdout)
    assert ours.claims.num_rows > 0
    verdicts = {"holds", "better", "does-not-hold", "undecided", "not-measured", None}
    for question in ("verdict_published", "verdict_ours"):
        answers = set(ours.claims[question].to_pylist())
        assert answers <= verdicts
        assert answers != {None}
    assert (tmp_path / "out" / "rapid.md").exists()
    assert ours.to_pandas().shape[0] == ours.claims.num_rows


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(brimful.ScenarioError, match="no such system; known: rapid"):
        brimful.reproduce("rapit")
    with pytest.raises(brimful.ScenarioError):
        brimful.reproduce("rapid", only="fig99")

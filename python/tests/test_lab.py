"""Runs in the lab: the same calls on this machine's kernel."""

from __future__ import annotations

import os
from typing import Any

import pytest

import brimful
from tests.conftest import BRIMFUL

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def short(wired: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A download that ends by itself, and the program beside this package."""
    monkeypatch.setenv("BRIMFUL", str(BRIMFUL))
    flow = {"bulk": {"app": {"kind": "bulk", "size": "500 kB"}}}
    return {**wired, "duration": "60 s", "repeats": 1, "flow": flow}


@needs_root
def test_a_run_in_the_lab_has_the_form_of_one_in_the_simulator(short: dict[str, Any]) -> None:
    lab = brimful.run(short, world="lab")
    sim = brimful.run(short)
    assert isinstance(lab, brimful.Result) and isinstance(sim, brimful.Result)
    assert lab.summary["world"] == "lab" and sim.summary["world"] == "sim"
    assert lab.summary["scenario"] == sim.summary["scenario"]
    assert set(sim.summary) <= set(lab.summary)
    assert lab.flows.schema == sim.flows.schema
    # every byte of the download has arrived, however long it took
    for result in (lab, sim):
        assert result.summary["flows"][0]["completion_s"]["mean"] is not None


@needs_root
def test_variants_run_in_the_lab(short: dict[str, Any]) -> None:
    comparison = brimful.compare(short, {"link.rate": ["20 Mbit/s", "40 Mbit/s"]}, world="lab", lab_scale=1)
    assert len(comparison.variants) == 2
    assert all(variant.summary["world"] == "lab" for variant in comparison.variants)


def test_what_the_lab_cannot_do_is_rejected_before_anything_runs(
    short: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(brimful.ScenarioError, match="expected 'sim' or 'lab'"):
        brimful.run(short, world="live")
    with pytest.raises(brimful.ScenarioError, match="<scenario>|rttt"):
        brimful.run({**short, "path": {"rttt": "20 ms"}}, world="lab")
    with pytest.raises(brimful.ScenarioError, match="takes no controllers"):
        brimful.run(short, world="lab", controllers={"fast": brimful.Controller})
    monkeypatch.setenv("BRIMFUL", "/bin/true")
    with pytest.raises(brimful.RunError, match="version"):
        brimful.run(short, world="lab")
    monkeypatch.delenv("BRIMFUL")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(brimful.RunError, match="needs the program brimful"):
        brimful.run(short, world="lab")

"""Figures of a folder of results: `brimful.figures.result`, and `brimful figure`, which runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brimful.figures import FigureError, result
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.conftest import BRIMFUL, HANG_LIMIT, Command, toml_file


@pytest.fixture
def folder(command: Command, wired: dict[str, Any], tmp_path: Path) -> Path:
    """A comparison of three buffers, written by the command."""
    toml_file(wired, tmp_path / "s.toml")
    vary = "link.buffer=20 kB,100 kB,1 MB"
    ended = command("compare", "s.toml", "--vary", vary, "--out", "results")
    assert ended.returncode == 0, ended.stderr
    return tmp_path / "results"


def panels(figure: Figure) -> list[Axes]:
    return list(figure.axes)


def test_labels_state_what_differs() -> None:
    assert result.differing(["pep=none, cc=bbr", "pep=default, cc=bbr"]) == ("pep", ["none", "default"])
    both = ["pep=none, cc=bbr", "pep=default, cc=cubic"]
    assert result.differing(both) == ("pep, cc", ["none, bbr", "default, cubic"])
    assert result.differing([""]) == ("", [""])
    assert result.differing(["a=1", "b=1"]) == ("", ["a=1", "b=1"])


def test_a_distribution_has_a_line_for_each_variant(folder: Path) -> None:
    figure = result.draw("cdf", result.Results.read(folder))
    (ax,) = panels(figure)
    assert [line.get_label() for line in ax.get_lines()] == ["20 kB", "100 kB", "1 MB"]
    for line in ax.get_lines():
        shares = np.asarray(line.get_ydata(), dtype=float).tolist()
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "link.buffer"
    assert figure.get_figwidth() == 7.0


def test_a_timeline_has_round_trips_above_rates(folder: Path) -> None:
    results = result.Results.read(folder)
    figure = result.draw("timeline", results, width="page")
    axes = panels(figure)
    assert len(axes) == 6
    assert [ax.get_title() for ax in axes[:3]] == ["link.buffer = 20 kB", "link.buffer = 100 kB", "link.buffer = 1 MB"]
    # 20 Mbit/s carry at most that in any step of the rate
    for ax in axes[3:]:
        (line,) = ax.get_lines()
        rates = np.asarray(line.get_ydata(), dtype=float).tolist()
        assert 0 < max(rates) <= 20.0
        assert max(rates) < ax.get_ylim()[1], "all of it is seen, whichever column has most"
    with pytest.raises(FigureError, match="no series of repeat 7; there are 2 repeats"):
        result.draw("timeline", results, repeat=7)


def test_labels_of_a_frontier_cover_nothing(folder: Path) -> None:
    figure = result.draw("frontier", result.Results.read(folder))
    (ax,) = panels(figure)
    assert [text.get_text() for text in ax.texts] == ["20 kB", "100 kB", "1 MB"]
    assert figure.get_figwidth() == 3.4
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


@pytest.mark.parametrize("kind", result.KINDS)
def test_the_command_draws_each_kind(folder: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / f"{kind}.pdf"
    arguments = ["figure", str(folder), "--kind", kind, "--flow", "bulk", "--out", str(out)]
    environment = {**os.environ, "BRIMFUL_PYTHON": sys.executable}
    ended = subprocess.run(
        [str(BRIMFUL), *arguments], capture_output=True, text=True, timeout=HANG_LIMIT, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    assert out.read_bytes().startswith(b"%PDF-")
    again = tmp_path / "again.pdf"
    assert result.main([str(folder), "--kind", kind, "--flow", "bulk", "--out", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()


def test_a_flow_that_is_not_there_is_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "figure.pdf"
    arguments = ["figure", str(folder), "--kind", "cdf", "--flow", "bulc", "--out", str(out)]
    environment = {**os.environ, "BRIMFUL_PYTHON": sys.executable}
    ended = subprocess.run(
        [str(BRIMFUL), *arguments], capture_output=True, text=True, timeout=HANG_LIMIT, env=environment
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr == "error: no flow 'bulc'; there are bulk\n"
    assert not out.exists()


def test_a_folder_without_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert result.main([str(tmp_path), "--kind", "cdf", "--out", str(tmp_path / "f.svg")]) == 2
    assert "flows.parquet: not found; expected a folder of results" in capsys.readouterr().err


STREET = Path(__file__).parents[2] / "scenarios/mobility/street.toml"


def test_a_timeline_is_marked_where_users_left_their_cells(command: Command, tmp_path: Path) -> None:
    settings = ["--set", "duration=14 s", "--set", "flow.walk.start=13 s", "--repeats", "1"]
    for name, vary in [("several", ["compare", str(STREET), "--vary", "forwarding=true,false"]), ("one", ["run", str(STREET)])]:
        ended = command(*vary, *settings, "--out", name)
        assert ended.returncode == 0, ended.stderr
        results = result.Results.read(tmp_path / name)
        axes = panels(result.draw("timeline", results, flows=["drive"]))
        assert len(axes) == 2 * len(results.variants)
        for ax in axes:
            upright = [line for line in ax.get_lines() if len(set(np.asarray(line.get_xdata()).tolist())) == 1]
            # one handover by then, of the car from the west to the middle
            (mark,) = [np.asarray(line.get_xdata())[0] for line in upright]
            assert 12 < mark < 13

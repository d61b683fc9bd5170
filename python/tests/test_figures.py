"""Figures: every form on tables of every kind, a real reproduction, and what cannot be drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from brimful import figures
from brimful.figures.data import estimate, t975
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import PathPatch, Rectangle
from tests.conftest import HANG_LIMIT

from tests.conftest import BRIMFUL

ROOT = Path(__file__).resolve().parents[2]

DELAYS: dict[str, list[Any]] = {
    "cc": ["cubic"] * 4 + ["bbr"] * 4,
    "rtt": ["1 ms", "1 ms", "10 ms", "10 ms"] * 2,
    "delay_ms": [40.0, 50.0, 60.0, 70.0, 10.0, 12.0, 14.0, 20.0],
    "utilisation": [0.99, 0.98, 0.97, 0.99, 0.95, 0.96, 0.97, 0.98],
}


def heights(ax: Axes) -> list[float]:
    return [bar.get_height() for bar in ax.patches if isinstance(bar, Rectangle)]


@pytest.mark.parametrize("table", [dict, pa.table, pd.DataFrame, pl.DataFrame])
def test_bars_are_means_with_intervals_of_any_table(table: Callable[[Any], Any]) -> None:
    ax = figures.bars(table(DELAYS), x="rtt", y="delay_ms", by="cc", ylabel="delay (ms)")
    assert heights(ax) == [45.0, 65.0, 11.0, 17.0]
    # t(0.975, 1) = 12.706, times the standard error of 40 and 50, which is 5
    ends = [segment[1][1] for segment in ax.collections[0].get_segments()]  # type: ignore[attr-defined]
    assert ends[0] == pytest.approx(45 + 12.706 * 5)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1 ms", "10 ms"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rtt", "delay (ms)")
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["cubic", "bbr"]
    # distinguished without colour
    assert len({bar.get_hatch() for bar in ax.patches}) == 2


def test_bars_that_have_their_intervals_are_taken_as_they_are() -> None:
    table = {"at": ["a", "b"], "mean": [1.0, None], "ci95": [0.5, 0.0]}
    ax = figures.bars(table, x="at", y="mean", error="ci95")
    assert heights(ax) == [1.0]
    with pytest.raises(figures.FigureError, match=r"2 rows for the bar at 'a': expected one"):
        figures.bars({"at": ["a", "a"], "mean": [1, 2], "ci95": [0, 0]}, x="at", y="mean", error="ci95")


def test_a_distribution_rises_from_none_to_all() -> None:
    ax = figures.cdf(DELAYS, value="delay_ms", by="cc", xlabel="delay (ms)")
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == ["cubic", "bbr"]
    x, y = np.asarray(lines[0].get_xdata()), np.asarray(lines[0].get_ydata())
    assert list(x) == [40, 40, 50, 60, 70]
    assert list(y) == [0, 0.25, 0.5, 0.75, 1]
    assert ax.get_ylim() == (0.0, 1.0)
    assert len({line.get_linestyle() for line in lines}) == 2
    given = figures.cdf({"v": [1, 2], "s": [0.4, 1.0]}, value="v", share="s")
    assert list(np.asarray(given.get_lines()[0].get_ydata())) == [0, 0.4, 1.0]
    with pytest.raises(figures.FigureError, match="between 0 and 1"):
        figures.cdf({"v": [1], "s": [40]}, value="v", share="s")


def test_whiskers_reach_over_the_range() -> None:
    table = {"ms": [20] * 101, "delay": [*range(100), 1000]}
    ax = figures.boxplot(table, x="ms", value="delay", ylabel="delay (ms)")
    reached = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
    assert max(y.max() for y in reached) == 1000
    assert min(y.min() for y in reached) == 0
    box = next(patch for patch in ax.patches if isinstance(patch, PathPatch))
    assert list(box.get_path().get_extents().intervaly) == [25, 75]
    with pytest.raises(figures.FigureError, match="do not rise"):
        figures.boxplot(
            {"at": ["a"], "p": [1], "q": [2], "r": [1], "s": [4], "t": [5]}, x="at", quartiles=["p", "q", "r", "s", "t"]
        )
    with pytest.raises(figures.FigureError, match="either value or quartiles"):
        figures.boxplot(table, x="ms")


def test_delay_against_utilisation_has_a_mark_for_each_row() -> None:
    ax = figures.against(DELAYS, by="cc", yscale="log", ylabel="mean delay (ms)")
    lines = ax.get_lines()
    assert [len(np.asarray(line.get_xdata())) for line in lines] == [4, 4]
    assert ax.get_yscale() == "log"
    assert len({line.get_marker() for line in lines}) == 2
    assert ax.get_xlabel() == "utilisation"


def test_paths_stand_one_upon_the_other() -> None:
    table = {"time_s": [0, 1, 2, 0, 1], "throughput_mbps": [10, 20, 30, 1, 2], "path": ["wifi"] * 3 + ["cell"] * 2}
    ax = figures.stacked(table)
    areas = [c for c in ax.collections if isinstance(c, PolyCollection)]
    tops = [float(area.get_paths()[0].get_extents().ymax) for area in areas]
    # the second path has no row at 2 s: it carries nothing there
    assert tops == [30, 30]
    assert list(np.asarray(ax.get_lines()[1].get_ydata())) == [11, 22, 30]
    assert ax.get_ylim()[0] == 0
    with pytest.raises(figures.FigureError, match="cannot be negative"):
        figures.stacked({"time_s": [0], "throughput_mbps": [-1], "path": ["a"]})


def test_a_plane_has_a_mark_for_each_point_and_rings_for_gaps() -> None:
    table = {"rtt": [0, 10, 0, 10, 5], "share": [0, 0, 10, 10, 5], "v": [1, 2, 3, 4, None]}
    ax = figures.contour(table, x="rtt", y="share", value="v", label="throughput (Mbit/s)")
    known, rings = ax.collections[-2:]
    assert (len(known.get_offsets()), len(rings.get_offsets())) == (4, 1)  # type: ignore[arg-type]
    figure = ax.get_figure(root=True)
    assert figure is not None
    assert [a.get_ylabel() for a in figure.axes] == ["share", "throughput (Mbit/s)"]
    # on a line there is nothing between points: only the marks
    line = figures.contour({"x": [1, 2, 3], "y": [1, 2, 3], "v": [1, 2, 3]}, x="x", y="y", value="v", bar=False)
    assert len(line.collections) == 2
    with pytest.raises(figures.FigureError, match="no number among 1 rows"):
        figures.contour({"x": [1], "y": [1], "v": [None]}, x="x", y="y", value="v")


def test_a_series_is_interrupted_where_there_is_no_number_and_rows_are_chosen() -> None:
    table = {"time_s": [0, 1, 2, 0], "value": [1.0, None, 3.0, 9.0], "metric": ["rtt_ms"] * 3 + ["cwnd_bytes"]}
    ax = figures.series(table, where={"metric": "rtt_ms"}, ylabel="RTT (ms)")
    values = np.asarray(ax.get_lines()[0].get_ydata(), dtype=float)
    assert values.size == 3 and np.isnan(values[1])
    with pytest.raises(figures.FigureError, match="no rows where"):
        figures.series(table, where={"metric": "rtt"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"time_s": [1]}, r"no column 'value'; there are time_s"),
        ({"time_s": [1, 2], "value": [1]}, "different lengths"),
        ({"time_s": [1], "value": ["fast"]}, r"column 'value', row 0: expected a number, not 'fast'"),
        ({"time_s": [1], "value": 3}, "expected a sequence, not int"),
        ({"time_s": [], "value": []}, "no rows"),
        ([1, 2, 3], "expected a table"),
    ],
)
def test_what_cannot_be_drawn_is_rejected(data: Any, message: str) -> None:
    with pytest.raises(figures.FigureError, match=message):
        figures.series(data)


def test_intervals_are_students() -> None:
    mean, half = estimate(np.array([10.0, 12.0]))
    assert (mean, half) == (11.0, pytest.approx(12.706))  # type: ignore[comparison-overlap]
    assert estimate(np.array([3.0])) == (3.0, 0.0)
    # tables have 2.021 and 1.984
    assert t975(40) == pytest.approx(2.021, abs=2e-3)
    assert t975(100) == pytest.approx(1.984, abs=1e-3)


@pytest.mark.parametrize("name", ["a.svg", "a.pdf", "a.png"])
def test_the_same_numbers_are_the_same_bytes(tmp_path: Path, name: str) -> None:
    def written(folder: str) -> bytes:
        (tmp_path / folder).mkdir()
        ax = figures.bars(DELAYS, x="rtt", y="delay_ms", by="cc")
        return figures.save(ax, tmp_path / folder / name).read_bytes()

    first = written("first")
    assert first == written("second")
    assert len(first) > 3000
    with pytest.raises(figures.FigureError, match=r"ends with \.svg, \.pdf or \.png"):
        figures.save(figures.cdf(DELAYS, value="delay_ms"), tmp_path / "a.gif")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A figure of lines, drawn by the command line with this interpreter."""
    folder = tmp_path_factory.mktemp("reproduced")
    only = ["--quick", "--only", "fig7", "--repeats", "1"]
    subprocess.run(
        [BRIMFUL, "reproduce", "rapid", *only, "--figures", "matplotlib", "--out", folder],
        check=True, capture_output=True, env={"BRIMFUL_PYTHON": sys.executable, "PATH": "/usr/bin:/bin"}, timeout=HANG_LIMIT,
    )  # fmt: skip
    return folder


def test_a_reproduction_is_drawn_in_full(reproduced: Path) -> None:
    drawn = {each.name: each.figure for each in map(figures.draw, figures.read(reproduced / "rapid.json"))}
    assert list(drawn) == ["fig7"]
    panels = drawn["fig7"].axes
    assert len(panels) == 6
    assert {ax.get_xlabel() for ax in panels} == {"time (s)"}
    assert all(len(ax.get_lines()) == 3 for ax in panels)
    same = [ax.get_ylim() for ax in panels if ax.get_ylabel() == panels[0].get_ylabel()]
    assert len(set(same)) == 1
    (legend,) = drawn["fig7"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["newreno", "vegas", "westwood"]
    svg = (reproduced / "rapid" / "fig7.svg").read_text(encoding="utf-8")
    assert svg.startswith("<?xml") and ">time (s)<" in svg
    assert "](rapid/fig7.svg)" in (reproduced / "rapid.md").read_text(encoding="utf-8")


def module(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "brimful.figures", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_LIMIT)


def test_every_shape_of_a_reproduction_is_drawn(tmp_path: Path) -> None:
    axis = {"label": "x", "scale": "linear"}
    traces = [{"name": "a", "points": [[0, 1], [1, 2], [2, None]]}, {"name": "b", "points": [[0, 3], [1, 1]]}]
    five = dict(zip(("least", "first", "median", "third", "most"), range(1, 6), strict=True))
    shapes: list[tuple[dict[str, str], str, Any]] = [
        (axis, "lines", traces),
        ({"label": "share", "scale": "share"}, "lines", [{"name": "a", "points": [[1, 0.5], [2, 1.0]]}]),
        (axis, "stack", traces),
        ({"label": "y", "scale": "logarithmic"}, "dots", traces),
        (axis, "groups", {"conditions": ["p"], "series": [["a", [{"mean": 1, "ci95": 0.1}]]]}),
        (axis, "boxes", {"conditions": ["p"], "series": [["a", [five]], ["b", [None]]]}),
        (axis, "field", {"points": [[0, 0, 1], [1, 0, 2], [0, 1, None]], "colours": {"label": "v", "least": 0, "most": 9}}),
        (axis, "lines", []),
    ]
    panels = [{"title": kind, "x": axis, "y": y, "shape": {"kind": kind, "of": of}} for y, kind, of in shapes]
    figure = {"name": "all", "title": "All", "columns": 3, "panels": panels}
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"system": "x", "figures": [figure]}))
    ran = module(path, "--out", tmp_path / "out", "--format", "png")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "out" / "all.png").stat().st_size > 10_000
    drawn = figures.draw(figure).figure
    # eight panels and the bar of colours
    assert len(drawn.axes) == 9


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "is not the JSON of a reproduction"),
        ('{"system": "rapid"}', "holds no figures"),
        ('{"system": "rapid", "figures": [{"name": "f"}]}', "figure f: is not as brimful writes it"),
        (
            '{"system": "r", "figures": [{"name": "f", "title": "", "columns": 1, "panels": [{"title": "", '
            '"x": {}, "y": {}, "shape": {"kind": "pie", "of": []}}]}]}',
            "kind 'pie'",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_and_nothing_written(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    ran = module(path, "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert words in ran.stderr and ran.stdout == ""
    assert not (tmp_path / "out").exists()


def test_a_figure_that_there_is_not_is_refused(reproduced: Path, tmp_path: Path) -> None:
    ran = module(reproduced / "rapid.json", "--out", tmp_path / "out", "--only", "fig99")
    assert ran.returncode == 2 and "no figure 'fig99'; there are" in ran.stderr
    assert "cannot be read" in module(tmp_path / "none.json", "--out", tmp_path / "out").stderr

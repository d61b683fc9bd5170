"""Numbers of knobs: quantities of one kind, whatever their units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import brimful
import pyarrow as pa
import pytest
from brimful._units import numbers, with_settings


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["100 kB", "1 MB"], ("B", [100e3, 1e6])),
        (["100 kB", "1500 kB"], ("kB", [100.0, 1500.0])),
        (["125 us", "0.5 ms", "2 min"], ("s", [125e-6, 0.5e-3, 120.0])),
        (["1.5Mbit/s", "1 Gbit/s"], ("bit/s", [1.5e6, 1e9])),
        (["1e3 B", "1_000 kB"], ("B", [1e3, 1e6])),
        (["1", "2.5"], ("", [1.0, 2.5])),
        (["-3.5 dB"], ("dB", [-3.5])),
        (["10 ms", "10 kB"], None),
        (["none", "1 MB"], None),
        (["cubic"], None),
        (["1", "1 ms"], None),
        ([""], None),
        ([], None),
    ],
)
def test_quantities_of_one_kind_have_numbers_in_one_unit(texts: list[str], expected: Any) -> None:
    assert numbers(texts) == expected


def test_settings_become_columns_of_text_and_of_numbers() -> None:
    table = pa.table({"variant": ["a", "b"], "cc": ["cubic", "bbr"]})
    settings: list[tuple[str, list[str | None]]] = [
        ("link.buffer", ["100 kB", "1 MB"]),
        ("link.loss", ["0", "0.01"]),
        ("cc", ["cubic", "bbr"]),
        ("link.rate", ["1 Mbit/s", None]),
    ]
    found = with_settings(table, settings, 1)
    names = ["variant", "link.buffer", "link.buffer [B]", "link.loss", "axis_cc", "link.rate", "cc"]
    assert found.column_names == names
    assert found.column("link.buffer [B]").to_pylist() == [1e5, 1e6]
    assert found.column("link.loss").to_pylist() == [0.0, 0.01]
    assert found.column("link.rate").to_pylist() == ["1 Mbit/s", None]


def test_an_axis_of_several_units_has_numbers(tmp_path: Path) -> None:
    scenario = {
        "name": "tiny",
        "path": {"rtt": "20 ms"},
        "link": {"rate": "20 Mbit/s"},
        "flow": {"bulk": {"app": {"kind": "bulk", "size": "50 kB"}}},
    }
    grid = {"link.buffer": ["100 kB", "1 MB"], "path.rtt": ["10 ms", "20 ms"]}
    swept = brimful.sweep(scenario, grid, out=tmp_path / "s", repeats=1, progress=False)
    frame = swept.to_pandas()
    assert sorted(set(frame["link.buffer [B]"])) == [1e5, 1e6]
    assert (frame["link.buffer [B]"] == frame["link.buffer"].map({"100 kB": 1e5, "1 MB": 1e6})).all()
    # of one unit it is in the dataset itself, and there once
    assert [name for name in frame.columns if name.startswith("path.rtt")] == ["path.rtt", "path.rtt [ms]"]

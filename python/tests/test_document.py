"""Dicts laid out as TOML: read by Python's own reader of TOML they are the same."""

from __future__ import annotations

import importlib
import math
import random
import sys
from pathlib import PurePath
from typing import Any

import pytest

import brimful
from brimful._document import document

# pytest depends on tomli where Python has no tomllib
tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def anything(draw: random.Random, depth: int) -> Any:
    """A plain value of any kind that a scenario may hold."""
    kind = draw.randrange(4 if depth == 0 else 6)
    if kind == 0:
        return "".join(draw.choice('ab"\\\n\t\x00\x7f é€\U0001f600.=[]{}#\'') for _ in range(6))
    if kind == 1:
        return draw.randrange(-(2**63), 2**63)
    if kind == 2:
        return draw.choice([0.5, 1e16, -1e-300, 5e-324, math.pi * 10 ** draw.randrange(-300, 300)])
    if kind == 3:
        return draw.random() < 0.5
    if kind == 4:
        return [anything(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {anything_key(draw): anything(draw, depth - 1) for _ in range(draw.randrange(4))}


def anything_key(draw: random.Random) -> str:
    return "".join(draw.choice('ab-_ ."\\\né') for _ in range(draw.randrange(5)))


def test_any_dict_is_read_back_as_it_was() -> None:
    for seed in range(500):
        draw = random.Random(seed)
        scenario = {anything_key(draw): anything(draw, 3) for _ in range(4)}
        assert tomllib.loads(document(scenario).text) == scenario, seed


def test_every_key_is_found_where_it_stands() -> None:
    made = document({"a": {"b c": [{"x": 1}, {"y": 2}]}, "d": 3})
    for place, key in zip(made.places, made.keys, strict=True):
        assert made.key_at(*place) == key
    assert {"a", "a.b c", "a.b c.1.y", "d"} <= set(made.keys)
    assert made.key_at(1, 1) == ""
    line = next(n for n, text in enumerate(made.lines, 1) if "y" in text)
    column = made.lines[line - 1].index("y") + 1
    assert made.with_keys(f"<scenario>:{line}:{column}: no") == "scenario[a.b c.1.y]: no"


def test_paths_are_texts_and_depth_is_bounded() -> None:
    assert document({"file": PurePath("a/b")}).lines[-1] == 'file = "a/b"'
    deep: dict[str, Any] = {}
    deep["x"] = deep
    with pytest.raises(brimful.ScenarioError, match="more than 32 dicts"):
        document(deep)
    with pytest.raises(brimful.ScenarioError, match="half of a surrogate"):
        document({"name": "\ud800"})

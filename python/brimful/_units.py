"""Quantities as numbers: what a knob or an axis was set to, as a column that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa

#: Units by what they measure; the first is that of a column whose values have several.
_MEASURES: tuple[dict[str, Fraction], ...] = tuple(
    {unit: Fraction(factor) for unit, factor in units.items()}
    for units in (
        {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12"},
        {"s": "1", "ns": "1e-9", "us": "1e-6", "ms": "1e-3", "min": "60", "h": "3600"},
        {"bit/s": "1", "kbit/s": "1e3", "Mbit/s": "1e6", "Gbit/s": "1e9", "Tbit/s": "1e12"},
        {"Hz": "1", "kHz": "1e3", "MHz": "1e6", "GHz": "1e9"},
        {"packets": "1", "packet": "1"},
        {"m": "1", "km": "1e3"},
        {"m/s": "1", "km/h": "5/18"},
        {"dB": "1"},
        {"dBm": "1"},
        {"": "1"},
    )
)


def numbers(texts: Sequence[str]) -> tuple[str, list[float]] | None:
    """The unit of some quantities, and their values in it; None if they are not of one kind.

    The unit is theirs where they have the same, else the plain one of what they measure: `"100 kB"` and
    `"1 MB"` are 100000 and 1000000 bytes.
    """
    split = [_split(text) for text in texts]
    if not split or any(each is None for each in split):
        return None
    quantities = [each for each in split if each is not None]
    units = {unit for _, unit in quantities}
    measure = next((m for m in _MEASURES if units <= m.keys()), None)
    if measure is None:
        return None
    unit = units.pop() if len(units) == 1 else next(iter(measure))
    return unit, [float(number * measure[own] / measure[unit]) for number, own in quantities]


def _split(text: str) -> tuple[Fraction, str] | None:
    """A number and its unit, which a space may part."""
    text = text.strip()
    unit = text.lstrip("+-.0123456789_")
    # an exponent is part of the number: 1e6 B
    if unit[:1] in ("e", "E") and unit[1:].lstrip("+-")[:1].isdigit():
        unit = unit[1:].lstrip("+-0123456789")
    number = text[: len(text) - len(unit)]
    try:
        return Fraction(number.replace("_", "").strip()), unit.strip()
    except (ValueError, ZeroDivisionError):
        return None


def with_settings(table: pa.Table, settings: Sequence[tuple[str, Sequence[str | None]]], at: int) -> pa.Table:
    """A table with a column for each setting from place `at` on, and one with its numbers where it has any.

    As in the dataset of a sweep, a setting whose name a column has (`cc`) becomes `axis_cc`, and the column of one
    whose values are all plain numbers holds numbers.
    """
    for name, texts in settings:
        own = f"axis_{name}" if name in table.column_names else name
        given = [text for text in texts if text is not None]
        found = numbers(given) if len(given) == len(texts) else None
        if found is not None and not found[0]:
            table = table.add_column(at, own, pa.array(found[1], pa.float64()))
            at += 1
            continue
        table = table.add_column(at, own, pa.array(texts, pa.string()))
        table, at = with_numbers(table, own, at + 1)
    return table


def with_numbers(table: pa.Table, name: str, at: int) -> tuple[pa.Table, int]:
    """A table with the numbers of a column of quantities at a place, if it has any; and the place behind."""
    column = table.column(name)
    distinct = column.unique().to_pylist() if pa.types.is_string(column.type) else []
    found = None if None in distinct else numbers(distinct)
    if found is None or not found[0]:
        return table, at
    unit, values = found
    of = dict(zip(distinct, values, strict=True))
    held = pa.array([of[text] for text in column.to_pylist()], pa.float64())
    return table.add_column(at, f"{name} [{unit}]", held), at + 1

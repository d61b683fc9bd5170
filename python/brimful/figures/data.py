"""Columns out of whatever holds a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class FigureError(ValueError):
    """What was given cannot be drawn; the message names the column, and what was expected."""


class _Arrow(Protocol):
    column_names: list[str]

    def column(self, name: str) -> Any: ...


#: What holds columns: a ``pyarrow.Table``, a pandas or polars frame, or a mapping.
Table = Any

#: Student's t at 97.5 % for 1 to 30 degrees of freedom.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL = 1.959964


def is_arrow(data: Table) -> TypeGuard[_Arrow]:
    """True of a ``pyarrow.Table``, without importing pyarrow."""
    return hasattr(data, "column_names") and hasattr(data, "column")


def names(data: Table) -> list[str]:
    """The names of a table's columns, in their order."""
    if is_arrow(data):
        return list(data.column_names)
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    if hasattr(data, "columns"):
        return [str(name) for name in data.columns]
    raise FigureError(
        f"expected a table (pyarrow, pandas, polars) or a mapping of columns, not {type(data).__name__}"
    )


def column(data: Table, name: str) -> Sequence[Any] | NDArray[Any]:
    """One column, as it is."""
    known = names(data)
    if name not in known:
        raise FigureError(f"no column {name!r}; there are {', '.join(known) or 'none'}")
    if is_arrow(data):
        return list(data.column(name).to_pylist())
    values = data[name]
    if hasattr(values, "to_list"):
        return list(values.to_list())
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return list(values)
    raise FigureError(f"column {name!r}: expected a sequence, not {type(values).__name__}")


def numbers(data: Table, name: str) -> Numbers:
    """A column of numbers; what is missing is not a number."""
    values = [math.nan if value is None else value for value in column(data, name)]
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise FigureError(f"column {name!r}, row {row}: expected a number, not {value!r}")
    return np.asarray(values, dtype=np.float64)


def labels(data: Table, name: str) -> list[str]:
    """A column as text."""
    return [_label(value) for value in column(data, name)]


def _label(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def chosen(data: Table, where: Mapping[str, object] | None, names: Iterable[str | None]) -> dict[str, Any]:
    """The columns of these names with the rows in which all of ``where`` are so, as lists."""
    columns = {name: column(data, name) for name in names if name is not None}
    if not columns:
        raise FigureError("no column is named")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FigureError(f"columns of different lengths: {lengths}")
    rows = range(next(iter(lengths.values())))
    for name, value in (where or {}).items():
        kept = column(data, name)
        rows = [row for row in rows if kept[row] == value]  # type: ignore[assignment]
    if not len(rows):
        condition = f" where {dict(where)}" if where else ""
        raise FigureError(f"no rows{condition}: nothing to draw")
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def groups(data: Table, by: str | None) -> dict[str, NDArray[np.intp]]:
    """The rows of each name in a column, in the order in which the names first occur."""
    if by is None:
        rows = len(column(data, names(data)[0]))
        return {"": np.arange(rows, dtype=np.intp)}
    found: dict[str, list[int]] = {}
    for row, name in enumerate(labels(data, by)):
        found.setdefault(name, []).append(row)
    return {name: np.asarray(rows, dtype=np.intp) for name, rows in found.items()}


def distinct(values: Iterable[str]) -> list[str]:
    """Each value once, in the order in which they first occur."""
    return list(dict.fromkeys(values))


def estimate(values: Numbers) -> tuple[float, float]:
    """Mean of independent values, and half the width of its 95 % confidence interval (Student's t).

    The interval of a single value is zero: there is none to estimate.
    """
    values = values[np.isfinite(values)]
    if values.size == 0:
        return math.nan, 0.0
    mean = float(values.mean())
    if values.size == 1:
        return mean, 0.0
    return mean, t975(values.size - 1) * float(values.std(ddof=1)) / math.sqrt(values.size)


def t975(freedom: int) -> float:
    """Student's t at 97.5 %: from the table up to 30, beyond it by Fisher's expansion."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    return _NORMAL + (_NORMAL**3 + _NORMAL) / (4 * freedom)

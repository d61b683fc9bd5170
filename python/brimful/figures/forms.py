"""The forms of figures, each one function. :mod:`brimful.figures` describes what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.tri import Triangulation

from . import data as columns
from .data import FigureError, Numbers, Table
from .style import FIELD, INK, Looks, axes, styled

#: How much of the room of a condition its bars or boxes take together.
_GROUP = 0.76
#: Least, first quartile, median, third quartile, greatest.
QUARTILES = ("least", "first", "median", "third", "most")

Where = Mapping[str, object] | None
Scale = Literal["linear", "log"]


def bars(
    data: Table,
    *,
    x: str,
    y: str,
    by: str | None = None,
    error: str | None = None,
    where: Where = None,
    scale: Scale = "linear",
    xlabel: str | None = None,
    ylabel: str | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Means side by side for each condition of column ``x``, a bar for each name in ``by``.

    With ``error`` (half the width of an interval) each row is one bar; without it, the rows of one
    condition and name are independent values, of which mean and 95 % confidence interval are drawn.
    On a logarithmic scale, on which no bar can stand, they are dots.
    """
    rows = columns.chosen(data, where, [x, y, by, error])
    conditions = columns.distinct(columns.labels(rows, x))
    at = np.asarray([conditions.index(label) for label in columns.labels(rows, x)])
    values = columns.numbers(rows, y)
    given = columns.numbers(rows, error) if error is not None else None
    with styled():
        ax = axes(ax)
        looks, groups = _looks(rows, by, names)
        width = _GROUP / max(len(groups), 1)
        for place, (name, members) in enumerate(groups.items()):
            means, halves = _estimates(values, given, at, members, len(conditions), name, conditions)
            shown = np.isfinite(means) & ((means > 0) | (scale == "linear"))
            middles = (np.arange(len(conditions)) + (place + 0.5) * width - _GROUP / 2)[shown]
            whiskers = _whiskers(means[shown], halves[shown], scale)
            label = name or None
            if scale == "log":
                ax.errorbar(
                    middles, means[shown], yerr=whiskers, fmt=looks.marker(name), markersize=5,
                    color=looks.colour(name), ecolor=INK, elinewidth=0.9, capsize=2, label=label,
                )  # fmt: skip
            else:
                ax.bar(
                    middles, means[shown], width * 0.92, yerr=whiskers, capsize=2, label=label,
                    color=looks.colour(name), hatch=looks.hatch(name), edgecolor=INK, linewidth=0.5,
                    error_kw={"elinewidth": 0.9, "ecolor": INK},
                )  # fmt: skip
        if scale == "log":
            ax.set_yscale("log")
        _conditions(ax, conditions)
        _finish(ax, xlabel or x, ylabel or y, by is not None)
    return ax


def _estimates(
    values: Numbers,
    given: Numbers | None,
    at: Any,
    members: Any,
    conditions: int,
    name: str,
    called: list[str],
) -> tuple[Numbers, Numbers]:
    means, halves = np.full(conditions, np.nan), np.zeros(conditions)
    for condition in range(conditions):
        mine = members[at[members] == condition]
        if given is None:
            means[condition], halves[condition] = columns.estimate(values[mine])
        elif mine.size > 1:
            whose = repr(name) if name else "the bar"
            raise FigureError(f"{mine.size} rows for {whose} at {called[condition]!r}: expected one")
        elif mine.size == 1:
            means[condition], halves[condition] = values[mine[0]], given[mine[0]]
    return means, np.nan_to_num(halves)


def _whiskers(means: Numbers, halves: Numbers, scale: Scale) -> Numbers:
    below = np.minimum(halves, means * 0.999) if scale == "log" else halves
    whiskers: Numbers = np.vstack([below, halves])
    return whiskers


def cdf(
    data: Table,
    *,
    value: str,
    by: str | None = None,
    share: str | None = None,
    where: Where = None,
    scale: Scale = "linear",
    xlabel: str | None = None,
    ylabel: str = "share at most that",
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How much of all samples in ``value`` lies at or below a value, for each name in ``by``.

    Without ``share`` each row is a sample; with it, each row is a point of a distribution function.
    """
    rows = columns.chosen(data, where, [value, by, share])
    samples = columns.numbers(rows, value)
    shares = columns.numbers(rows, share) if share is not None else None
    if shares is not None and ((shares < 0) | (shares > 1)).any():
        raise FigureError(f"column {share!r}: shares lie between 0 and 1")
    with styled():
        ax = axes(ax)
        looks, groups = _looks(rows, by, names)
        for name, members in groups.items():
            if shares is None:
                held = np.sort(samples[members][np.isfinite(samples[members])])
                reached = np.arange(1, held.size + 1) / max(held.size, 1)
            else:
                held, reached = samples[members], shares[members]
            held, reached = np.concatenate([held[:1], held]), np.concatenate([[0.0], reached])[: held.size + 1]
            ax.plot(held, reached, drawstyle="steps-post", **_line(looks, name))
        if scale == "log":
            ax.set_xscale("log")
        ax.set_ylim(0, 1)
        _finish(ax, xlabel or value, ylabel, by is not None)
    return ax


def boxplot(
    data: Table,
    *,
    x: str,
    value: str | None = None,
    by: str | None = None,
    quartiles: Sequence[str] | None = None,
    where: Where = None,
    scale: Scale = "linear",
    xlabel: str | None = None,
    ylabel: str | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Boxes from the first to the third quartile with the median, and whiskers over the range.

    Without ``quartiles`` each row is a sample in ``value``; with them, the names of five columns
    (:data:`QUARTILES`), each row is a box. No sample is left out as an outlier.
    """
    if (value is None) == (quartiles is None):
        raise FigureError("a boxplot takes either value or quartiles")
    if quartiles is not None and len(quartiles) != len(QUARTILES):
        raise FigureError(f"quartiles: expected five columns ({', '.join(QUARTILES)}), not {len(quartiles)}")
    rows = columns.chosen(data, where, [x, value, by, *(quartiles or ())])
    conditions = columns.distinct(columns.labels(rows, x))
    at = np.asarray([conditions.index(label) for label in columns.labels(rows, x)])
    table = np.column_stack([columns.numbers(rows, name) for name in (quartiles or (str(value),))])
    with styled():
        ax = axes(ax)
        looks, groups = _looks(rows, by, names)
        if scale == "log":
            ax.set_yscale("log")
        width = _GROUP / max(len(groups), 1)
        for place, (name, members) in enumerate(groups.items()):
            for condition in range(len(conditions)):
                mine = table[members[at[members] == condition]]
                five = _five(mine, quartiles is not None)
                if five is None:
                    continue
                low, first, median, third, high = five
                if scale == "log" and first <= 0:
                    raise FigureError(f"{name!r}: a quartile of {first} has no place on a logarithmic scale")
                stats = {"whislo": low, "q1": first, "med": median, "q3": third, "whishi": high}
                drawn = ax.bxp(
                    [stats], positions=[condition + (place + 0.5) * width - _GROUP / 2], widths=width * 0.8,
                    showfliers=False, patch_artist=True, manage_ticks=False,
                    boxprops={"facecolor": looks.colour(name), "edgecolor": INK, "hatch": looks.hatch(name)},
                    medianprops={"color": INK, "linewidth": 1.6},
                    whiskerprops={"color": INK}, capprops={"color": INK},
                )  # fmt: skip
                drawn["boxes"][0].set_label(name if name and condition == 0 else "_box")
        _conditions(ax, conditions)
        _finish(ax, xlabel or x, ylabel or value or "value", by is not None)
    return ax


def _five(rows: Numbers, is_given: bool) -> tuple[float, ...] | None:
    rows = rows[np.isfinite(rows).all(axis=1)]
    if rows.size == 0:
        return None
    if not is_given:
        return tuple(float(v) for v in np.quantile(rows[:, 0], [0, 0.25, 0.5, 0.75, 1]))
    if len(rows) > 1:
        raise FigureError(f"{len(rows)} rows of quartiles for one box: expected one")
    five = tuple(float(v) for v in rows[0])
    if list(five) != sorted(five):
        raise FigureError(f"quartiles do not rise: {five}")
    return five


def against(
    data: Table,
    *,
    x: str = "utilisation",
    y: str = "delay_ms",
    by: str | None = None,
    where: Where = None,
    xscale: Scale = "linear",
    yscale: Scale = "linear",
    xlabel: str | None = None,
    ylabel: str | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One quantity against another, a dot each row: delay against utilisation."""
    rows = columns.chosen(data, where, [x, y, by])
    across, up = columns.numbers(rows, x), columns.numbers(rows, y)
    with styled():
        ax = axes(ax)
        looks, groups = _looks(rows, by, names)
        for name, members in groups.items():
            ax.plot(
                across[members], up[members], linestyle="none", marker=looks.marker(name), markersize=5.5,
                color=looks.colour(name), markeredgecolor="white", markeredgewidth=0.4, label=name or None,
            )  # fmt: skip
        ax.set_xscale(xscale)
        ax.set_yscale(yscale)
        if yscale == "linear":
            ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        _finish(ax, xlabel or x, ylabel or y, by is not None)
    return ax


def stacked(
    data: Table,
    *,
    x: str = "time_s",
    y: str = "throughput_mbps",
    by: str = "path",
    where: Where = None,
    xlabel: str = "time (s)",
    ylabel: str = "throughput (Mbit/s)",
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What each path carries over time, one upon the other; a path without a row at a time carries none."""
    rows = columns.chosen(data, where, [x, y, by])
    times, values = columns.numbers(rows, x), columns.numbers(rows, y)
    if (values < 0).any():
        raise FigureError(f"column {y!r}: areas upon one another cannot be negative ({np.nanmin(values)})")
    instants = np.unique(times[np.isfinite(times)])
    with styled():
        ax = axes(ax)
        looks, groups = _looks(rows, by, names)
        below = np.zeros(instants.size)
        for name, members in groups.items():
            mine = np.zeros(instants.size)
            kept = members[np.isfinite(times[members]) & np.isfinite(values[members])]
            mine[np.searchsorted(instants, times[kept])] = values[kept]
            ax.fill_between(
                instants, below, below + mine, label=name, facecolor=looks.colour(name), alpha=0.85,
                hatch=looks.hatch(name), edgecolor="white", linewidth=0,
            )  # fmt: skip
            below = below + mine
            ax.plot(instants, below, color=INK, linewidth=0.7)
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
        _finish(ax, xlabel, ylabel, True)
    return ax


def contour(
    data: Table,
    *,
    x: str,
    y: str,
    value: str,
    least: float | None = None,
    most: float | None = None,
    where: Where = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    label: str | None = None,
    bar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A quantity over a plane: its value between scattered points, and the points themselves.

    Red is ``least``, blue ``most``. What is no number is a ring. Between points it is linear over the
    triangles of Delaunay; fewer than three, or all on a line, are only dots.
    """
    rows = columns.chosen(data, where, [x, y, value])
    across, up, values = (columns.numbers(rows, name) for name in (x, y, value))
    known = np.isfinite(across) & np.isfinite(up) & np.isfinite(values)
    low = least if least is not None else float(np.min(values[known], initial=np.inf))
    high = most if most is not None else float(np.max(values[known], initial=-np.inf))
    if not np.isfinite([low, high]).all():
        raise FigureError(f"column {value!r}: no number among {len(values)} rows")
    if low > high:
        raise FigureError(f"least {low} is more than most {high}")
    high = high if high > low else low + 1.0
    with styled():
        ax = axes(ax)
        colours = LinearSegmentedColormap.from_list("field", FIELD)
        norm = Normalize(low, high, clip=True)
        if (triangles := _triangles(across[known], up[known])) is not None:
            levels = np.linspace(low, high, 12)
            shown = np.clip(values[known], low, high)
            ax.tricontourf(triangles, shown, levels=levels, cmap=colours, norm=norm, alpha=0.75)
            ax.tricontour(triangles, shown, levels=levels[1:-1:2], colors=INK, linewidths=0.4)
        ax.scatter(
            across[known], up[known], c=values[known], cmap=colours, norm=norm, s=16, edgecolors=INK, linewidths=0.4
        )
        ax.scatter(across[~known], up[~known], s=20, facecolors="none", edgecolors=INK, linewidths=0.7)
        # areas would end the axes at their edge, through the marks
        ax.use_sticky_edges = False
        if bar:
            ax.figure.colorbar(ScalarMappable(norm, colours), ax=ax, label=label or value)
        _finish(ax, xlabel or x, ylabel or y, False)
    return ax


def _triangles(x: Numbers, y: Numbers) -> Triangulation | None:
    if np.unique(np.column_stack([x, y]), axis=0).shape[0] < 3:
        return None
    try:
        return Triangulation(x, y)
    except (RuntimeError, ValueError):
        # all on one line
        return None


def series(
    data: Table,
    *,
    x: str = "time_s",
    y: str = "value",
    by: str | None = None,
    where: Where = None,
    xscale: Scale = "linear",
    yscale: Scale = "linear",
    xlabel: str = "time (s)",
    ylabel: str | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Quantities over time, a line for each name in ``by``; where a value is no number it is interrupted."""
    rows = columns.chosen(data, where, [x, y, by])
    times, values = columns.numbers(rows, x), columns.numbers(rows, y)
    with styled():
        ax = axes(ax)
        looks, groups = _looks(rows, by, names)
        for place, (name, members) in enumerate(groups.items()):
            look = _line(looks, name)
            # the first lines are the widest, so that all are seen where they lie upon one another
            look["linewidth"] = min(1.2 + 0.6 * (len(groups) - 1 - place), 2.4)
            ax.plot(times[members], values[members], **look)
        ax.set_xscale(xscale)
        ax.set_yscale(yscale)
        ax.margins(x=0.01)
        _finish(ax, xlabel, ylabel or y, by is not None)
    return ax


def _looks(rows: Table, by: str | None, names: Sequence[str] | None) -> tuple[Looks, dict[str, Any]]:
    groups = columns.groups(rows, by)
    return Looks(list(names) if names is not None else list(groups)), groups


def _line(looks: Looks, name: str) -> dict[str, Any]:
    return {"color": looks.colour(name), "linestyle": looks.dash(name), "linewidth": 1.5, "label": name or None}


def _conditions(ax: Axes, conditions: Sequence[str]) -> None:
    ax.set_xticks(range(len(conditions)), conditions)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.5, len(conditions) - 0.5)
    ax.grid(visible=False, axis="x")


def _finish(ax: Axes, xlabel: str, ylabel: str, legend: bool) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if legend and ax.get_legend_handles_labels()[1]:
        ax.legend()

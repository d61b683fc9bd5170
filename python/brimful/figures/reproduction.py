"""The figures of a reproduction, from the JSON that ``brimful reproduce`` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from . import forms
from .data import FigureError
from .style import FIELD, PANEL, styled

#: Inches above the panels: the title, and each row of the legend.
_HEADER = 0.35
_ROW = 0.22
#: What a panel may show.
_KINDS = ("groups", "boxes", "field", "lines", "stack", "dots")


@dataclass(frozen=True)
class Drawn:
    """A figure and the name of its file, without the ending."""

    name: str
    figure: Figure


def read(path: str | Path) -> list[dict[str, Any]]:
    """The figures in the JSON of a reproduction, to be given to :func:`draw`."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FigureError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FigureError(f"{path}: is not JSON: {error}") from error
    if not isinstance(value, Mapping) or "system" not in value:
        raise FigureError(f"{path}: is not the JSON of a reproduction (brimful reproduce SYSTEM --out DIR)")
    figures = value.get("figures")
    if not isinstance(figures, list):
        raise FigureError(f"{path}: holds no figures: it is of an older version; run brimful reproduce again")
    return figures


def draw(figure: Mapping[str, Any]) -> Drawn:
    """One figure with all its panels, a legend and, of planes, a bar of colours above them."""
    try:
        return _draw(figure)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        name = figure.get("name", "?") if isinstance(figure, Mapping) else "?"
        raise FigureError(f"figure {name}: is not as brimful writes it: {error!r}") from error


def _draw(figure: Mapping[str, Any]) -> Drawn:
    panels = figure["panels"]
    if not panels:
        raise FigureError(f"figure {figure['name']}: has no panels")
    across = max(1, min(int(figure["columns"]), len(panels)))
    down = -(-len(panels) // across)
    names = _names(panels)
    rows = -(-len(names) // (3 * across)) if names else 1
    size = (PANEL[0] * across, PANEL[1] * down + _HEADER + _ROW * rows)
    with styled():
        drawn = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(down, across, squeeze=False)
        all_axes = list(grid.flat)
        for ax, panel in zip(all_axes, panels, strict=False):
            _panel(ax, panel, names)
        for ax in all_axes[len(panels) :]:
            ax.remove()
        _share(panels, all_axes)
        _head(drawn, str(figure["title"]), all_axes[: len(panels)], 3 * across)
        _bar(drawn, panels, all_axes[: len(panels)])
    return Drawn(str(figure["name"]), drawn)


def _panel(ax: Axes, panel: Mapping[str, Any], names: list[str]) -> None:
    kind, of = panel["shape"]["kind"], panel["shape"]["of"]
    if kind not in _KINDS:
        raise FigureError(f"a panel of kind {kind!r}: expected one of {', '.join(_KINDS)}")
    x, y = panel["x"], panel["y"]
    labels = {"xlabel": x["label"], "ylabel": y["label"], "names": names, "ax": ax}
    if kind == "groups":
        table = _table(("at", "mean", "ci95", "name"), _estimates(of))
        forms.bars(table, x="at", y="mean", error="ci95", by="name", scale=_scale(y), **labels)
    elif kind == "boxes":
        table = _table(("at", *forms.QUARTILES, "name"), _quartiles(of))
        forms.boxplot(table, x="at", quartiles=forms.QUARTILES, by="name", scale=_scale(y), **labels)
    elif kind == "field":
        del labels["names"]
        table = _table(("x", "y", "value"), of["points"])
        ends = of["colours"]
        forms.contour(table, x="x", y="y", value="value", least=ends["least"], most=ends["most"], bar=False, **labels)
    else:
        _traces(ax, panel, kind, _table(("x", "y", "name"), _points(of)), labels)
    ax.set_title(str(panel["title"]))
    if ax.get_legend() is not None:
        ax.get_legend().remove()  # type: ignore[union-attr]


def _traces(ax: Axes, panel: Mapping[str, Any], kind: str, table: dict[str, Any], labels: dict[str, Any]) -> None:
    x, y = panel["x"], panel["y"]
    if not table["x"]:
        # nothing was measured: empty axes show that
        ax.set(xlabel=x["label"], ylabel=y["label"])
    elif kind == "stack":
        forms.stacked(table, x="x", y="y", by="name", **labels)
    elif kind == "dots":
        forms.against(table, x="x", y="y", by="name", xscale=_scale(x), yscale=_scale(y), **labels)
    elif y["scale"] == "share":
        forms.cdf(table, value="x", share="y", by="name", scale=_scale(x), **labels)
    else:
        forms.series(table, x="x", y="y", by="name", xscale=_scale(x), yscale=_scale(y), **labels)


def _table(names: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> dict[str, Any]:
    held = [tuple(row) for row in rows]
    return {name: [row[place] for row in held] for place, name in enumerate(names)}


def _estimates(of: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    for name, values in of["series"]:
        for condition, value in zip(of["conditions"], values, strict=True):
            yield condition, value["mean"], value["ci95"], name


def _quartiles(of: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    for name, values in of["series"]:
        for condition, value in zip(of["conditions"], values, strict=True):
            five = (None,) * 5 if value is None else tuple(value[q] for q in forms.QUARTILES)
            yield condition, *five, name


def _points(of: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Any, ...]]:
    for trace in of:
        for x, y in trace["points"]:
            yield x, y, trace["name"]


def _scale(axis: Mapping[str, Any]) -> forms.Scale:
    known: dict[str, forms.Scale] = {"linear": "linear", "close": "linear", "share": "linear", "logarithmic": "log"}
    if axis["scale"] not in known:
        raise FigureError(f"an axis of scale {axis['scale']!r}: expected one of {', '.join(known)}")
    return known[axis["scale"]]


def _names(panels: Iterable[Mapping[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for panel in panels:
        kind, of = panel["shape"]["kind"], panel["shape"]["of"]
        if kind in ("groups", "boxes"):
            names |= dict.fromkeys(str(name) for name, _ in of["series"])
        elif kind != "field":
            names |= dict.fromkeys(str(trace["name"]) for trace in of)
    return list(names)


def _share(panels: list[Mapping[str, Any]], all_axes: list[Axes]) -> None:
    """Panels whose axes measure the same have the same range; even ones begin at zero."""
    for key, get, put in (("x", Axes.get_xlim, Axes.set_xlim), ("y", Axes.get_ylim, Axes.set_ylim)):
        same: dict[tuple[str, str], list[Axes]] = {}
        for ax, panel in zip(all_axes, panels, strict=False):
            if key == "y" or panel["shape"]["kind"] not in ("groups", "boxes"):
                same.setdefault((panel[key]["label"], panel[key]["scale"]), []).append(ax)
        for (_, scale), members in same.items():
            ends = np.array([get(ax) for ax in members])
            low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
            if scale == "linear" and low > -0.1 * high:
                low = 0.0
            if scale == "logarithmic":
                # else the marks of one panel's ends would be cut at the other's
                room = (high / low) ** 0.04
                low, high = low / room, high * room
            for ax in members:
                put(ax, low, high)


def _head(drawn: Figure, title: str, all_axes: list[Axes], across: int) -> None:
    """The title, and below it the names, each once."""
    handles: dict[str, Any] = {}
    for ax in all_axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        drawn.suptitle(title, fontsize=10.5, fontweight="bold", x=0.01, ha="left", wrap=True)
        return
    bold = {"weight": "bold", "size": 10.5}
    legend = drawn.legend(
        handles.values(), handles.keys(), loc="outside upper left", ncols=across, title=title, title_fontproperties=bold
    )
    legend.set_alignment("left")


def _bar(drawn: Figure, panels: list[Mapping[str, Any]], all_axes: list[Axes]) -> None:
    fields = [panel["shape"]["of"]["colours"] for panel in panels if panel["shape"]["kind"] == "field"]
    if not fields:
        return
    ends = fields[0]
    norm = Normalize(ends["least"], ends["most"])
    colours = LinearSegmentedColormap.from_list("field", FIELD)
    mappable = ScalarMappable(norm, colours)
    drawn.colorbar(mappable, ax=all_axes, location="right", shrink=0.6, aspect=30, label=ends["label"])

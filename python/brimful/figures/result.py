"""Figures for a paper from a folder of results: what `brimful figure` draws.

========================  =====================================================================
:func:`distribution`      how much of a flow's round trips took at most so long, a line a variant
:func:`timeline`          round-trip time and rate over time, the capacity drawn behind
:func:`frontier`          goodput against delay, a point a variant with its intervals
========================  =====================================================================

They have the width of a column (3.4 inches) or of a page (7 inches) of two columns, text of 8 points, and labels
that state only what differs between variants: of `pep=none, cc=bbr` and `pep=default, cc=bbr` these are `none` and
`default`, below the name `pep`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullFormatter

from .data import FigureError, Numbers, estimate
from .style import Looks, exit_code, save, styled

Kind = Literal["cdf", "timeline", "frontier"]
Width = Literal["column", "page"]

KINDS: tuple[Kind, ...] = ("cdf", "timeline", "frontier")
#: Inches.
WIDTHS: dict[Width, float] = {"column": 3.4, "page": 7.0}
#: Height of a panel by its width.
_HEIGHT = 0.62
#: Steps over which a rate is a mean, s.
RATE_STEP = 0.5
#: Steps over which a round-trip time is a mean, s.
_RTT_STEP = 0.1
#: Panels side by side at most; more flows are to be named.
MAX_FLOWS = 4
_SMALL = {"font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "legend.fontsize": 7.5,
          "xtick.labelsize": 7.5, "ytick.labelsize": 7.5}  # fmt: skip


@dataclass(frozen=True)
class Results:
    """What a folder of results holds for figures."""

    flows: Any
    samples: Any
    variants: list[str]
    #: By variant and repeat: when users left their cells, s.
    handovers: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """Reads the folder that `brimful run` or `brimful compare` wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for name in ("flows.parquet", "samples.parquet"):
            path = Path(folder) / name
            try:
                tables.append(pq.read_table(path))
            except FileNotFoundError:
                raise FigureError(f"{path}: not found; expected a folder of results, as brimful compare writes it") from None
            except (OSError, pa.ArrowInvalid) as error:
                raise FigureError(f"{path}: cannot be read: {error}") from None
        flows, samples = tables
        variants = list(dict.fromkeys(flows["variant"].to_pylist()))
        return cls(flows, samples, variants, _handovers(Path(folder) / "summary.json", flows))

    def names(self) -> list[str]:
        """The flows, in the order of the file."""
        return list(dict.fromkeys(self.flows["flow"].to_pylist()))

    def chosen(self, wanted: Sequence[str] | None) -> list[str]:
        """The flows to draw: those named, or all."""
        known = self.names()
        for name in wanted or []:
            if name not in known:
                raise FigureError(f"no flow {name!r}; there are {', '.join(known) or 'none'}")
        return list(wanted) if wanted else known

    def series(self, variant: str, entity: str, metric: str, repeat: int | None) -> tuple[Numbers, Numbers]:
        """Times (s) and values of a time series; of all repeats if `repeat` is None."""
        import pyarrow.compute as pc

        is_it = (pc.field("variant") == variant) & (pc.field("entity") == entity) & (pc.field("metric") == metric)
        if repeat is not None:
            is_it = is_it & (pc.field("repeat") == repeat)
        rows = self.samples.filter(is_it)
        times, values = (np.asarray(rows[name].to_numpy(), dtype=np.float64) for name in ("time_s", "value"))
        return times, values

    def of_flow(self, variant: str, flow: str, column: str) -> Numbers:
        """A column of a flow: a value for each repeat, without those that were not measured."""
        rows = zip(self.flows["variant"].to_pylist(), self.flows["flow"].to_pylist(), self.flows[column].to_pylist(),
                   strict=True)  # fmt: skip
        values = [value for of, name, value in rows if of == variant and name == flow and value is not None]
        return np.asarray(values, dtype=np.float64)


def _handovers(path: Path, flows: Any) -> dict[tuple[str, int], list[float]]:
    """When users left their cells, from the summary beside the tables; none where it is missing."""
    try:
        summary = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise FigureError(f"{path}: cannot be read: {error}") from None
    if isinstance(summary, dict):
        of = [variant["summary"] for variant in summary["variants"]] if "variants" in summary else [summary]
    else:
        of = summary
    columns = (flows[name].to_pylist() for name in ("variant", "seed", "repeat"))
    repeats = {(variant, seed): repeat for variant, seed, repeat in zip(*columns, strict=True)}
    found: dict[tuple[str, int], list[float]] = {}
    labels = list(dict.fromkeys(variant for variant, _ in repeats))
    for label, summary in zip(labels, of, strict=False):
        for event in (summary.get("handovers") or {}).get("events", []):
            repeat = repeats.get((label, event["seed"]))
            if repeat is not None:
                found.setdefault((label, repeat), []).append(event["at_s"])
    return found


def differing(labels: Sequence[str]) -> tuple[str, list[str]]:
    """What distinguishes labels such as `pep=none, cc=bbr`: the names of what varies, and its values."""
    parts = [[part.partition("=") for part in label.split(", ")] for label in labels]
    keys = [[key for key, _, _ in of] for of in parts]
    if not labels or any(of != keys[0] for of in keys) or not all(mark for of in parts for _, mark, _ in of):
        return "", list(labels)
    values = [[value for _, _, value in of] for of in parts]
    varying = [place for place in range(len(keys[0])) if len({of[place] for of in values}) > 1]
    if not varying:
        return "", list(labels)
    return ", ".join(keys[0][place] for place in varying), [", ".join(of[place] for place in varying) for of in values]


def _steps(times: Numbers, values: Numbers, step: float) -> tuple[Numbers, Numbers]:
    """Means over steps of time, at their middles; steps without a value are left out."""
    if times.size == 0:
        return times, values
    place = np.floor(times / step).astype(np.int64)
    held, where = np.unique(place, return_inverse=True)
    sums = np.bincount(where, weights=values)
    return np.asarray((held + 0.5) * step, dtype=np.float64), sums / np.bincount(where)


def _figure(width: Width, rows: int, columns: int, share_y: bool) -> tuple[Figure, list[list[Axes]]]:
    """A figure with so many panels."""
    inches = WIDTHS[width]
    height = rows * _HEIGHT * inches / min(columns, 2) + 0.3
    figure = Figure(figsize=(inches, min(height, 9.0)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False, sharey="row" if share_y else False)
    return figure, [[cast(Axes, panel) for panel in row] for row in panels]


def _legend(figure: Figure, title: str, ax: Axes) -> None:
    """The legend beside the data: above all panels."""
    handles, labels = ax.get_legend_handles_labels()
    if len(labels) > 1:
        columns = max(1, min(len(labels), int(figure.get_figwidth() / 1.1)))
        figure.legend(handles, labels, title=title or None, loc="outside upper center", ncols=columns)


def _look(looks: Looks, name: str, label: str) -> dict[str, Any]:
    return {"color": looks.colour(name), "linestyle": looks.dash(name), "linewidth": 1.2, "label": label}


def distribution(results: Results, flows: Sequence[str] | None = None, width: Width = "page") -> Figure:
    """Distribution functions of the round-trip time over all repeats: a panel for each flow, a line for each variant."""
    title, labels = differing(results.variants)
    drawn = {
        flow: {variant: results.series(variant, flow, "rtt_ms", None)[1] for variant in results.variants}
        for flow in results.chosen(flows)
    }
    drawn = {flow: of for flow, of in drawn.items() if any(values.size for values in of.values())}
    if not drawn:
        raise FigureError("no round trips of these flows were measured")
    _few(drawn, flows)
    with styled(), _small():
        figure, rows = _figure(width, 1, len(drawn), share_y=True)
        looks = Looks(results.variants)
        for (flow, of), ax in zip(drawn.items(), rows[0], strict=True):
            for variant, label in zip(results.variants, labels, strict=True):
                values = np.sort(of[variant])
                if values.size:
                    reached = np.arange(1, values.size + 1) / values.size
                    ax.plot(values, reached, drawstyle="steps-post", **_look(looks, variant, label))
            ax.set_xscale("log")
            _plain_ticks(ax.xaxis)
            ax.set_ylim(0, 1)
            ax.set_xlabel("RTT (ms)")
            ax.set_title(flow)
        rows[0][0].set_ylabel("share at most that")
        _legend(figure, title, rows[0][0])
    return figure


def timeline(results: Results, flows: Sequence[str] | None = None, width: Width = "page", repeat: int = 0) -> Figure:
    """Round-trip times (means of 0.1 s) and below them rates that arrive (means of 0.5 s), the bottleneck's capacity behind,
    over the time of one repeat: a column of panels for each variant, a line for each flow; dashed where users left their cells."""
    title, labels = differing(results.variants)
    chosen = results.chosen(flows)
    if len(results.variants) > MAX_FLOWS:
        raise FigureError(f"{len(results.variants)} variants do not fit side by side: compare at most {MAX_FLOWS}")
    with styled(), _small():
        figure, rows = _figure(width, 2, len(results.variants), share_y=True)
        looks = Looks(chosen)
        found = False
        for column, (variant, label) in enumerate(zip(results.variants, labels, strict=True)):
            above, below = rows[0][column], rows[1][column]
            times, capacity = results.series(variant, "link", "capacity_bps", repeat)
            if times.size:
                times, capacity = _steps(times, capacity / 1e6, RATE_STEP)
                below.fill_between(times, capacity, step="mid", color="#E4E4E4", linewidth=0, label="capacity")
            for flow in chosen:
                look = _look(looks, flow, flow)
                times, rtt = _steps(*results.series(variant, flow, "rtt_ms", repeat), _RTT_STEP)
                above.plot(times, rtt, **look)
                times, rate = _steps(*results.series(variant, flow, "received_bps", repeat), RATE_STEP)
                below.plot(times, rate / 1e6, **look)
                found = found or times.size > 0
            for at in results.handovers.get((variant, repeat), []):
                for ax in (above, below):
                    ax.axvline(at, color="#777777", linestyle=(0, (4, 3)), linewidth=0.6, zorder=0.5)
            above.set_title(f"{title} = {label}" if title and "," not in title else label)
            above.set_yscale("log")
            _plain_ticks(above.yaxis)
            below.set_xlabel("time (s)")
        # once all is drawn: a limit ends the scaling of all panels that share the axis
        rows[1][0].set_ylim(bottom=0)
        if not found:
            raise FigureError(f"no series of repeat {repeat}; there are {_repeats(results)} repeats")
        rows[0][0].set_ylabel("RTT (ms)")
        rows[1][0].set_ylabel("rate (Mbit/s)")
        _legend(figure, "", rows[1][0])
    return figure


def frontier(results: Results, flows: Sequence[str] | None = None, width: Width = "column") -> Figure:
    """Goodput against the 95th percentile of the delay (round trips; of datagrams one way), a panel for each flow, a point
    for each variant with its 95 % confidence intervals. The best place is at the top left. Names of variants stand beside
    the points, or in a legend where they have no room there."""
    title, labels = differing(results.variants)
    chosen = results.chosen(flows)
    _few({flow: None for flow in chosen}, flows)
    with styled(), _small():
        figure, rows = _figure(width, 1, len(chosen), share_y=False)
        looks = Looks(results.variants)
        marked: list[tuple[Axes, list[tuple[float, float, str]]]] = []
        for flow, ax in zip(chosen, rows[0], strict=True):
            points: list[tuple[float, float, str]] = []
            measure = "rtt_p95_ms" if any(results.of_flow(v, flow, "rtt_p95_ms").size for v in results.variants) else "owd_p95_ms"
            for variant, label in zip(results.variants, labels, strict=True):
                delay, rate = results.of_flow(variant, flow, measure), results.of_flow(variant, flow, "goodput_bps")
                if not delay.size or not rate.size:
                    continue
                (x, x_half), (y, y_half) = estimate(delay), estimate(rate / 1e6)
                ax.errorbar(x, y, xerr=_half(x_half), yerr=_half(y_half), fmt=looks.marker(variant),
                            color=looks.colour(variant), markersize=4.5, elinewidth=0.6, capsize=0, label=label)  # fmt: skip
                points.append((x, y, label))
            if not points:
                raise FigureError(f"flow {flow!r}: no delay was measured")
            ax.set_title(flow)
            ax.set_xlabel(f"{'RTT' if measure.startswith('rtt') else 'one-way delay'}, p95 (ms)")
            ax.margins(x=0.2)
            # whole marks, however close together the values are
            ax.set_ylim(0, 1.12 * max(ax.dataLim.y1, *(y for _, y, _ in points)))
            if max(x for x, _, _ in points) > 8 * min(x for x, _, _ in points):
                ax.set_xscale("log")
                _plain_ticks(ax.xaxis)
            marked.append((ax, points))
        rows[0][0].set_ylabel("goodput (Mbit/s)")
        heading = figure.suptitle(f"labels: {title}", fontsize=7.5) if title else None
        figure.draw_without_rendering()
        # a list, so that all are tried
        if not all([_label(ax, points) for ax, points in marked]):
            for ax, _ in marked:
                for text in list(ax.texts):
                    text.remove()
            if heading is not None:
                heading.remove()
            _legend(figure, title, max((ax for ax, _ in marked), key=lambda ax: len(ax.get_legend_handles_labels()[1])))
    return figure


def draw(
    kind: Kind, results: Results, flows: Sequence[str] | None = None, width: Width | None = None, repeat: int = 0
) -> Figure:
    """The figure of that kind."""
    if kind == "cdf":
        return distribution(results, flows, width or "page")
    if kind == "timeline":
        return timeline(results, flows, width or "page", repeat)
    return frontier(results, flows, width or ("column" if len(results.chosen(flows)) == 1 else "page"))


def _small() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(cast(Any, _SMALL))


def _plain_ticks(axis: Any) -> None:
    """Plain numbers along a logarithmic axis."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _half(half: float) -> float | None:
    return half if math.isfinite(half) and half > 0 else None


def _few(drawn: dict[str, Any], wanted: Sequence[str] | None) -> None:
    if len(drawn) > MAX_FLOWS:
        hint = "name fewer" if wanted else "name some by --flow"
        raise FigureError(f"{len(drawn)} flows do not fit side by side: {hint}, at most {MAX_FLOWS}; there are {', '.join(drawn)}")


def _repeats(results: Results) -> int:
    return 1 + max(results.flows["repeat"].to_pylist(), default=-1)


#: White around a label, so that lines pass behind it.
_HALO = withStroke(linewidth=2, foreground="white")
#: Where a label may stand: from its point, in points, and how it is aligned.
_PLACES: tuple[tuple[float, float, str, str], ...] = tuple(
    (dx * far, dy * far, "left" if dx > 0 else "right" if dx < 0 else "center",
     "bottom" if dy > 0 else "top" if dy < 0 else "center")
    for far in (5, 12, 20, 30, 42)
    for dx, dy in ((0.8, 0.8), (0.8, -0.8), (-0.8, 0.8), (-0.8, -0.8), (1, 0), (-1, 0), (0, 1), (0, -1))
)  # fmt: skip


def _label(ax: Axes, points: Sequence[tuple[float, float, str]]) -> bool:
    """Writes each label at the first place beside its point, within the panel, where it covers no other label and no point,
    and a thin line leads from one that is far away to its point. False where one has no such place."""
    renderer = cast(Any, ax.figure.canvas).get_renderer()
    marks = [ax.transData.transform((x, y)) for x, y, _ in points]
    taken: list[Any] = []
    for x, y, label in points:
        for dx, dy, horizontal, vertical in _PLACES:
            far = math.hypot(dx, dy) > 11
            text = ax.annotate(label, (x, y), xytext=(dx, dy), textcoords="offset points", ha=horizontal, va=vertical,
                               fontsize=7, annotation_clip=False, path_effects=[_HALO],
                               arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "#777777"} if far else None)  # fmt: skip
            # its place is by the panel as it is
            text.set_in_layout(False)
            box = text.get_window_extent(renderer).padded(1.0)
            free = not any(box.overlaps(other) for other in taken)
            free = free and not any(box.padded(2.0).contains(*mark) for mark in marks)
            free = free and ax.get_window_extent(renderer).padded(6.0).contains(box.x0, box.y0)
            free = free and ax.get_window_extent(renderer).padded(6.0).contains(box.x1, box.y1)
            if free:
                taken.append(box)
                break
            text.remove()
        else:
            return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """``python -m brimful.figures.result``: one figure of a folder of results; 2 for input that cannot be drawn."""
    parser = argparse.ArgumentParser(prog="brimful figure")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--flow", action="append")
    parser.add_argument("--width", choices=tuple(WIDTHS))
    parser.add_argument("--repeat", type=int, default=0)
    options = parser.parse_args(arguments)

    def work() -> None:
        results = Results.read(options.folder)
        figure = draw(options.kind, results, options.flow, options.width, options.repeat)
        save(figure, options.out, dpi=300)

    return exit_code(work, options.out)


if __name__ == "__main__":
    raise SystemExit(main())

"""The house style, and files that are the same for the same numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .data import FigureError

#: In a notebook: whose figures are shown below their cell. It is made ready outside of any style, whose
#: end would put its settings back.
plt: Any = None
if os.environ.get("MPLBACKEND", "").endswith("backend_inline"):
    import matplotlib.pyplot as plt

    plt.switch_backend(mpl.get_backend())

#: The colours of Okabe and Ito, distinguished with any colour vision, and two more.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#505050", "#F0E442", "#82501E",
)  # fmt: skip
#: Distinguished without colour.
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "oo", "**")
INK = "#222222"
#: Red the lowest, white the middle, blue the highest.
FIELD = ("#A50026", "#F7F7F7", "#053082")

#: Inches of one panel.
PANEL = (4.4, 2.9)

_RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 6),
    "grid.color": "#DEDEDE",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "brimful",
    # text stays text: smaller, searched and read by screen readers
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def styled() -> AbstractContextManager[None]:
    """The house style, for as long as the context lasts."""
    return mpl.rc_context(_RC)


def axes(ax: Axes | None) -> Axes:
    """These axes, or those of a new figure, which a notebook shows below its cell."""
    if ax is not None:
        return ax
    if plt is not None:
        shown: Axes = plt.figure(figsize=PANEL, layout="constrained").add_subplot()
        return shown
    figure = Figure(figsize=PANEL, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def save(drawn: Axes | Figure, path: str | Path, *, dpi: int = 150) -> Path:
    """Writes a figure, or that of some axes, as SVG, PDF or PNG by the ending of its name.

    The same numbers give the same bytes with the same matplotlib: no date, no random names.
    """
    path = Path(path)
    metadata: dict[str, Any] = {
        ".svg": {"Date": None, "Creator": None},
        ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        ".png": {"Software": None},
    }
    if path.suffix not in metadata:
        raise FigureError(f"{path}: expected a name that ends with .svg, .pdf or .png")
    figure = drawn.get_figure(root=True) if isinstance(drawn, Axes) else drawn
    if not isinstance(figure, Figure):
        raise FigureError(f"{path}: these axes belong to no figure")
    with styled():
        figure.savefig(path, dpi=dpi, metadata=metadata[path.suffix])
    return path


def exit_code(work: Callable[[], None], out: Path) -> int:
    """Does the work of a command that writes to ``out``: 2 for input that cannot be drawn, 1 for what cannot be written."""
    try:
        work()
    except FigureError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {out}: cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


class Looks:
    """How each name looks: colour, dash, marker and hatch by its place among all names."""

    def __init__(self, names: list[str]) -> None:
        self._place = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        return self._place.get(name, 0)

    def colour(self, name: str) -> str:
        return COLOURS[self[name] % len(COLOURS)]

    def dash(self, name: str) -> Any:
        return DASHES[self[name] % len(DASHES)]

    def marker(self, name: str) -> str:
        return MARKERS[self[name] % len(MARKERS)]

    def hatch(self, name: str) -> str:
        return HATCHES[self[name] % len(HATCHES)]

"""Figures in the forms that papers on transport over radio links use, drawn by matplotlib.

========================  =====================================================================
:func:`bars`              means side by side, with 95 % confidence intervals
:func:`cdf`               how much of all samples lies at or below a value
:func:`boxplot`           quartiles; whiskers over the range, as the papers draw them
:func:`against`           one quantity against another, a dot each: delay against utilisation
:func:`stacked`           what each path carries over time, one upon the other
:func:`contour`           a quantity over a plane of scattered points
:func:`series`            quantities over time
========================  =====================================================================

All take ``data``, a table with named columns: a ``pyarrow.Table``, a pandas or polars frame, or a
mapping of names to sequences, in the long form (one row a value), and the names of the columns to
draw. ``where={"metric": "rtt_ms"}`` takes only the rows that have these values. They draw on ``ax``,
or on axes of a new figure, and return the axes; :func:`save` writes the same bytes for the same
numbers. Wrong input raises :class:`FigureError`, which names the column.

:func:`draw` makes a figure of a reproduction from its JSON; ``python -m brimful.figures FILE --out
DIR`` draws all of them.

The house style: colours that are distinguished with any colour vision, and marks, hatches and dashes
that are distinguished without colour. It needs matplotlib and nothing else of the package.
"""

from .data import FigureError
from .forms import against, bars, boxplot, cdf, contour, series, stacked
from .reproduction import Drawn, draw, read
from .style import save

__all__ = [
    "Drawn",
    "FigureError",
    "against",
    "bars",
    "boxplot",
    "cdf",
    "contour",
    "draw",
    "read",
    "save",
    "series",
    "stacked",
]

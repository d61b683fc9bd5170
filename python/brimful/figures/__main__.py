"""``python -m brimful.figures FILE --out DIR``: every figure of a reproduction, from its JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import FigureError, draw, read, save
from .style import exit_code


def main(arguments: list[str] | None = None) -> int:
    """Draws the figures; 2 for input that cannot be drawn, of which nothing is written."""
    parser = argparse.ArgumentParser(prog="python -m brimful.figures", description=__doc__)
    parser.add_argument("file", type=Path, help="the JSON that brimful reproduce writes")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the figures")
    parser.add_argument("--only", action="append", metavar="NAME", help="this figure; may be given several times")
    parser.add_argument("--format", choices=("svg", "pdf", "png"), default="svg")
    options = parser.parse_args(arguments)

    def work() -> None:
        figures = read(options.file)
        known = [str(figure.get("name")) for figure in figures]
        for name in options.only or []:
            if name not in known:
                raise FigureError(f"{options.file}: no figure {name!r}; there are {', '.join(known) or 'none'}")
        chosen = [f for f in figures if not options.only or f.get("name") in options.only]
        drawn = [draw(figure) for figure in chosen]
        options.out.mkdir(parents=True, exist_ok=True)
        for each in drawn:
            print(save(each.figure, options.out / f"{each.name}.{options.format}"))

    return exit_code(work, options.out)


if __name__ == "__main__":
    sys.exit(main())

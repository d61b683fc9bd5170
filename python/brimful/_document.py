"""Scenarios as dicts: the same document as a file, with places given as dotted keys.

A dict is laid out as TOML, one value a line, so that it is read and refused by the very code that
reads files; a line and column in its messages are replaced by the key that stands there.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brimful._core import ScenarioError

#: What messages of the core call a scenario that is no file.
NAME = "<scenario>"

#: A key that TOML takes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(re.escape(NAME) + r":(\d+):(\d+)")
#: Dicts and lists inside one another, more than which no scenario has.
_DEEPEST = 32
#: Whole numbers of a scenario have 64 bits.
_MIN, _MAX = -(2**63), 2**63 - 1


@dataclass
class Document:
    """A scenario as text, and which key stands where."""

    #: The first line belongs to no key: there is what is wrong with the whole.
    lines: list[str] = field(default_factory=lambda: ["# a dict"])
    #: Places (line, column), rising, and the dotted keys that begin there.
    places: list[tuple[int, int]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The scenario in TOML."""
        return "\n".join(self.lines) + "\n"

    def key_at(self, line: int, column: int) -> str:
        """The dotted key that stands at a place; empty in front of all."""
        index = bisect_right(self.places, (line, column)) - 1
        return self.keys[index] if index >= 0 else ""

    def with_keys(self, message: str) -> str:
        """A message with dotted keys in place of lines and columns."""

        def named(match: re.Match[str]) -> str:
            key = self.key_at(int(match[1]), int(match[2]))
            return f"scenario[{key}]" if key else "scenario"

        return _PLACE.sub(named, message).replace(NAME, "scenario")


def document(scenario: Mapping[str, Any]) -> Document:
    """Lays a dict out.

    Raises `ScenarioError` if something in it has no counterpart in a scenario file.
    """
    made = Document()
    _Layout(made).table(scenario, ())
    return made


class _Layout:
    """Writes a document, one value a line."""

    def __init__(self, made: Document) -> None:
        self.made = made
        self.line = ""

    def table(self, table: Mapping[str, Any], path: tuple[str, ...]) -> None:
        """All values of a table, and of those inside it."""
        for key, value in _items(table, path):
            inner = (*path, key)
            value = _plain(value, inner)
            if isinstance(value, Mapping) and value:
                self.table(value, inner)
                continue
            self.line = ""
            for depth, part in enumerate(inner):
                self.line += "." if depth else ""
                self.mark(inner[: depth + 1])
                self.line += _quoted_key(part)
            self.line += " = "
            self.value(value, inner)
            self.made.lines.append(self.line)

    def mark(self, path: tuple[str, ...]) -> None:
        """The key of `path` stands at the end of what is written."""
        self.made.places.append((len(self.made.lines) + 1, len(self.line) + 1))
        self.made.keys.append(".".join(path))

    def value(self, value: Any, path: tuple[str, ...]) -> None:
        """One value behind what is written."""
        self.mark(path)
        if isinstance(value, Mapping):
            self.line += "{ "
            for index, (key, inner) in enumerate(_items(value, path)):
                self.line += ", " if index else ""
                self.mark((*path, key))
                self.line += _quoted_key(key) + " = "
                self.value(_plain(inner, (*path, key)), (*path, key))
            self.line += " }"
        elif isinstance(value, list):
            self.line += "["
            for index, inner in enumerate(value):
                self.line += ", " if index else ""
                below = (*path, str(index))
                self.value(_plain(inner, below), below)
            self.line += "]"
        else:
            self.line += _scalar(value)


def _items(table: Mapping[str, Any], path: tuple[str, ...]) -> list[tuple[str, Any]]:
    for key in table:
        if not isinstance(key, str):
            _refuse(path, f"the key {key!r} is {_kind(key)}; keys are str")
    return list(table.items())


def _plain(value: Any, path: tuple[str, ...]) -> Any:
    """A value as str, bool, int, float, list or Mapping."""
    if len(path) > _DEEPEST:
        _refuse(path[:3], f"more than {_DEEPEST} dicts and lists inside one another")
    if isinstance(value, (str, bool, Mapping)):
        return value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, int):
        if not _MIN <= value <= _MAX:
            _refuse(path, f"{value} does not fit into 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            _refuse(path, f"{value} is no number that a scenario can have")
        return float(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return list(value)
    # numbers and arrays of numpy and its like become Python's own
    convert = getattr(value, "tolist", None)
    if convert is not None and not isinstance(value, (bytes, bytearray)):
        plain = convert()
        if isinstance(plain, (str, bool, int, float, list)):
            return _plain(plain, path)
    _refuse(
        path,
        f"{value!r} is {_kind(value)}; expected str, int, float, bool, list or dict; "
        'a quantity with a unit is a str, as in "10 ms"',
    )


def _refuse(path: tuple[str, ...], problem: str) -> Any:
    place = f"scenario[{'.'.join(path)}]" if path else "scenario"
    raise ScenarioError(f"{place}: {problem}")


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"


def _quoted_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _scalar(value: str | bool | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    return repr(value)


def _string(text: str) -> str:
    made = []
    for c in text:
        if c in '"\\':
            made.append("\\" + c)
        elif c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff":
            if "\ud800" <= c <= "\udfff":
                raise ScenarioError(f"scenario: {text!r} is no text: half of a surrogate pair")
            made.append(f"\\u{ord(c):04x}")
        else:
            made.append(c)
    return '"' + "".join(made) + '"'

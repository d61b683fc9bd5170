"""Runs on this machine's kernel, made by the program `brimful`.

The program sets up the network namespaces, runs its own daemons in them and writes a result folder; what
is read from there has the form of results of the simulator.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brimful._core import RunError, ScenarioError, __version__

#: Names the `brimful` program, instead of the one found in PATH.
PROGRAM = "BRIMFUL"

#: Tables of a result folder.
_TABLES = ("flows", "samples", "loss-decisions", "applications")

#: Exit codes of the program.
_BAD_INPUT, _INTERRUPTED = 2, 130


class FolderOutcome:
    """A point that has run, with all its repeats, as a result folder holds it."""

    def __init__(self, folder: Path, point: Mapping[str, Any], summary: Mapping[str, Any], text: str) -> None:
        self.label: str = point["label"]
        self.seeds: list[int] = list(point["seeds"])
        self.axes: list[tuple[str, str]] = list(summary.get("axes", {}).items())
        self._point, self._summary, self._text = point, summary, text
        tables = {name: _table(folder / f"{name}.parquet", self.label) for name in _TABLES}
        self._tables = tables

    def summary(self) -> str:
        """What `brimful run --json` prints."""
        return json.dumps(self._summary)

    def resolved(self) -> str:
        """Every key of the scenario with its value, as JSON."""
        return json.dumps(self._point["resolved"])

    def flows(self) -> pa.Table:
        """One row for each flow and repeat."""
        return self._tables["flows"]

    def queues(self) -> pa.Table:
        """One row for each queue: the means over the repeats."""
        rows = [
            {
                "variant": self.label,
                "queue": queue["name"],
                **{f"bytes_{key}": value for key, value in queue["bytes"].items()},
                **{f"sojourn_ms_{key}": value for key, value in queue["sojourn_ms"].items()},
                "drops": queue["drops"],
            }
            for queue in self._summary["queues"]
        ]
        return pa.Table.from_pylist(rows)

    def samples(self) -> pa.Table:
        """The time series in long form."""
        return self._tables["samples"]

    def loss_decisions(self) -> pa.Table | None:
        """What MELD decided of each loss; None if it decided nothing."""
        return self._tables["loss-decisions"]

    def applications(self) -> pa.Table | None:
        """What applications measured, in long form; None if none measured anything."""
        return self._tables["applications"]

    def text(self) -> str:
        """The tables that the program printed."""
        return self._text


class FolderComparison:
    """Variants that have run, as a result folder holds them."""

    def __init__(self, summary: Mapping[str, Any], variants: list[FolderOutcome], text: str) -> None:
        self._summary, self._variants, self._text = summary, variants, text

    def json(self) -> str:
        """What `brimful compare --json` prints."""
        return json.dumps(self._summary)

    def text(self) -> str:
        """The tables that the program printed."""
        return self._text

    def variants(self) -> list[FolderOutcome]:
        """The variants, the last key varying fastest."""
        return self._variants


def _table(path: Path, label: str) -> pa.Table | None:
    """The rows of a variant; None without such a file."""
    if not path.exists():
        return None
    table = pq.read_table(path)
    return table.filter(pc.field("variant") == label)


def run(source: Mapping[str, Any], how: Mapping[str, Any], scale: int | None) -> list[FolderOutcome]:
    """Runs all points of a scenario in the lab."""
    with _made("run", source, how, scale, []) as (folder, text):
        summaries = json.loads((folder / "summary.json").read_text())
        if isinstance(summaries, dict):
            summaries = [summaries]
        return _outcomes(folder, summaries, text)


def compare(
    source: Mapping[str, Any], axes: Sequence[tuple[str, Sequence[str]]], how: Mapping[str, Any], scale: int | None
) -> FolderComparison:
    """Runs variants of a scenario with the same seeds in the lab."""
    vary = [argument for key, values in axes for argument in ("--vary", f"{key}={','.join(values)}")]
    with _made("compare", source, how, scale, vary) as (folder, text):
        summary = json.loads((folder / "summary.json").read_text())
        variants = [variant.get("summary", variant) for variant in summary["variants"]]
        return FolderComparison(summary, _outcomes(folder, variants, text), text)


def _outcomes(folder: Path, summaries: Sequence[Mapping[str, Any]], text: str) -> list[FolderOutcome]:
    points = json.loads((folder / "manifest.json").read_text())["points"]
    return [FolderOutcome(folder, point, summary, text) for point, summary in zip(points, summaries, strict=True)]


@contextlib.contextmanager
def _made(
    command: str, source: Mapping[str, Any], how: Mapping[str, Any], scale: int | None, more: Sequence[str]
) -> Iterator[tuple[Path, str]]:
    """The result folder and the tables of a command of the program."""
    program = _program()
    with contextlib.ExitStack() as stack:
        out = how["out"]
        if out is None:
            out = str(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="brimful-"))) / "results")
        arguments = [command, _file(source, stack), "--world", "lab", "--out", out, *more]
        for key, value in source["set"]:
            arguments += ["--set", f"{key}={value}"]
        options = {
            "--seed": source["seed"],
            "--repeats": source["repeats"],
            "--trace": source["trace"],
            "--uplink-trace": source["uplink_trace"],
            "--trace-offset": source["trace_offset"],
            "--threads": how["threads"],
            "--lab-scale": scale,
        }
        for option, value in options.items():
            if value is not None:
                arguments += [option, str(value)]
        # messages name the scenario as the caller does
        yield Path(out), _call([program, *arguments], how["note"], (arguments[1], str(source["file"])))


def _file(source: Mapping[str, Any], stack: contextlib.ExitStack) -> str:
    """The scenario's file. A dict is written beside the files that it may name: into the current folder."""
    if source["text"] is None:
        return str(source["file"])
    file = stack.enter_context(
        tempfile.NamedTemporaryFile("w", dir=os.getcwd(), prefix=".brimful-", suffix=".toml")
    )
    # named as the simulator names a dict without a name
    named = any(line.startswith("name =") for line in source["text"].splitlines())
    file.write(source["text"] if named else f'name = "scenario"\n{source["text"]}')
    file.flush()
    return file.name


def _call(command: Sequence[str], note: Callable[[str], object], alias: tuple[str, str]) -> str:
    """What the program prints on stdout; lines on stderr are notes if it succeeds."""
    # the program and its daemons end with an interruption, which reaches the whole group
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        for line in ended.stderr.splitlines():
            if not line.startswith("results are in "):
                note(line.removeprefix("note: "))
        return ended.stdout
    message = ended.stderr.strip().removeprefix("error: ").replace(*alias)
    if ended.returncode == _BAD_INPUT:
        raise ScenarioError(message)
    if ended.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    raise RunError(message or f"{command[0]} ended with {ended.returncode}")


def _program() -> str:
    """The program, of this package's version."""
    program = os.environ.get(PROGRAM) or shutil.which("brimful")
    if program is None:
        raise RunError(
            "world='lab' needs the program brimful, whose daemons run in the lab: "
            f"put it into PATH, or its path into {PROGRAM}"
        )
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise RunError(f"{program} --version: {error}") from None
    version = next(iter(answer.stdout.split()[-1:]), "(none)")
    if version != __version__:
        raise RunError(f"{program} is version {version}, this package {__version__}: install the same of both")
    return program


def is_lab(world: str, *custom: object) -> bool:
    """Whether a world is the lab. `custom` are the mechanisms written in Python, which run in "sim" only."""
    if world not in ("sim", "lab"):
        raise ScenarioError(f"world: {world!r}: expected 'sim' or 'lab'")
    if world == "lab" and any(custom):
        raise ScenarioError("world: 'lab' takes no controllers, queues or scheduler in Python: they run in 'sim'")
    return world == "lab"

"""Running, comparing and reproducing."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from brimful import _core, _lab, _queue, custom
from brimful._core import RunError, ScenarioError
from brimful._document import NAME, Document, document
from brimful._queue import QueueFactory
from brimful.custom import Factory, Scheduler, scheduler_factory
from brimful._results import Compared, Comparison, Outcome, Reproduction, Result

#: A file, or a dict with the same keys.
Scenario: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
#: A value of a key, as in a scenario file: quantities are texts with a unit.
Value: TypeAlias = "str | int | float | bool | Sequence[Any]"

#: The largest seed that a scenario file can have.
_MAX_SEED = 9_000_000_000_000_000
_MAX_REPEATS = 10_000


class ScenarioWarning(UserWarning):
    """Something will be done otherwise than the scenario states."""


def run(
    scenario: Scenario,
    *,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    trace: str | os.PathLike[str] | None = None,
    uplink_trace: str | os.PathLike[str] | None = None,
    trace_offset: str | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    controllers: Mapping[str, Factory] | None = None,
    queues: Mapping[str, QueueFactory] | None = None,
    scheduler: type[Scheduler] | None = None,
    world: str = "sim",
    lab_scale: int | None = None,
) -> Result | list[Result]:
    """Runs a scenario with all its repeats; a list of results if it has a sweep.

    `set` sets knobs or keys by their dotted path; `seed` is that of the first repeat; `trace`
    replaces the scenario's radio trace (a folder: each of its traces, one value of an interval being a
    trace), `uplink_trace` is what the cell's uplink carries, and `trace_offset` ("60 s" or "random") is
    where in them the run begins; `threads` run at the same time (one for each core) and
    change no result; `out` is a folder for the results, written whole or not at all; `progress`
    shows a bar: always, never, or (None) on a terminal; `controllers` are classes derived from
    `Controller` by name, for flows with `cc = "python:NAME"`; `queues` are classes derived from
    `Queue`, for links with `queue = "python:NAME"` and layers of a cell with such an `algorithm`;
    `scheduler` is a class derived from `Scheduler`, for the scenario's tunnel instead of its own;
    `world` is "sim" or "lab", this machine's kernel behind an emulated radio, in real time, which needs
    root and the program brimful (in PATH, or by the variable BRIMFUL) and takes no mechanism written in
    Python; `lab_scale` divides the lab's rates, sizes and buffers (None: by what this machine needs to
    keep up).

    Raises `ScenarioError` for what the command line refuses, `RunError` for a run that fails.
    """
    source = Source.of(scenario, set, seed, repeats, trace, uplink_trace, trace_offset)
    scale = _whole("lab_scale", lab_scale, 1, 2**32 - 1)
    made = how(threads, out, progress, controllers, queues, scheduler)
    outcomes: Sequence[Outcome]
    if _lab.is_lab(world, controllers, queues, scheduler):
        outcomes = source.with_keys(lambda: _lab.run(source.settings, made, scale))
    else:
        outcomes = source.with_keys(lambda: _core.run(source.settings, made))
    results = [Result(outcome) for outcome in outcomes]
    return results[0] if len(results) == 1 and not results[0].axes else results


def compare(
    scenario: Scenario,
    vary: Mapping[str, Iterable[Value]],
    *,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    trace: str | os.PathLike[str] | None = None,
    uplink_trace: str | os.PathLike[str] | None = None,
    trace_offset: str | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    controllers: Mapping[str, Factory] | None = None,
    queues: Mapping[str, QueueFactory] | None = None,
    scheduler: type[Scheduler] | None = None,
    world: str = "sim",
    lab_scale: int | None = None,
) -> Comparison:
    """Runs all combinations of the values of `vary`, with the same seeds.

    The first is the one that ratios refer to. All else as in `run`.
    """
    source = Source.of(scenario, set, seed, repeats, trace, uplink_trace, trace_offset)
    axes = [(key, [text(value, key) for value in _values(key, vary[key])]) for key in vary]
    if not axes:
        raise ScenarioError("nothing to compare: give vary={KEY: [A, B, ...]}")
    scale = _whole("lab_scale", lab_scale, 1, 2**32 - 1)
    made = how(threads, out, progress, controllers, queues, scheduler)
    compared: Compared
    if _lab.is_lab(world, controllers, queues, scheduler):
        compared = source.with_keys(lambda: _lab.compare(source.settings, axes, made, scale))
    else:
        compared = source.with_keys(lambda: _core.compare(source.settings, axes, made))
    return Comparison(compared)


def reproduce(
    system: str,
    *,
    quick: bool = False,
    only: Sequence[str] | str | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Runs a paper's experiments again: rapid, dynamic-buffer, cdbe, meld or nested-cc.

    `quick` takes fewer repeats and conditions; `only` one or several figures of the page; `out` is
    a folder for page, figures and numbers. All else as in `run`.
    """
    figures = [only] if isinstance(only, str) else list(only or [])
    selection = {
        "system": system,
        "quick": bool(quick),
        "only": figures,
        "seed": _whole("seed", seed, 0, _MAX_SEED),
        "repeats": _whole("repeats", repeats, 1, _MAX_REPEATS),
        "traces": os.environ.get("BRIMFUL_TRACES"),
    }
    return Reproduction(_core.reproduce(selection, how(threads, out, progress)))


@dataclass(frozen=True)
class Source:
    """A scenario and what is changed of it, as the core takes it."""

    settings: dict[str, Any]
    document: Document | None

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        set: Mapping[str, Value] | None,
        seed: int | None,
        repeats: int | None,
        trace: str | os.PathLike[str] | None,
        uplink_trace: str | os.PathLike[str] | None,
        trace_offset: str | None,
    ) -> Source:
        """Checks what only Python can get wrong."""
        made = None
        if isinstance(scenario, Mapping):
            made = document(scenario)
            file, toml = NAME, made.text
        elif isinstance(scenario, (str, os.PathLike)):
            file, toml = os.fspath(scenario), None
        else:
            raise ScenarioError(
                f"scenario: {scenario!r} is of type {type(scenario).__name__}; "
                "expected the path of a file, or a dict"
            )
        settings = {
            "file": file,
            "text": toml,
            "set": [(key, text(value, key)) for key, value in (set or {}).items()],
            "seed": _whole("seed", seed, 0, _MAX_SEED),
            "repeats": _whole("repeats", repeats, 1, _MAX_REPEATS),
            "trace": None if trace is None else os.fspath(trace),
            "uplink_trace": None if uplink_trace is None else os.fspath(uplink_trace),
            "trace_offset": trace_offset,
        }
        return cls(settings, made)

    def with_keys(self, work: Callable[[], Any]) -> Any:
        """Does something; errors name keys of a dict instead of lines."""
        if self.document is None:
            return work()
        try:
            return work()
        except ScenarioError as error:
            raise ScenarioError(self.document.with_keys(str(error))) from None
        except RunError as error:
            raise RunError(self.document.with_keys(str(error))) from error.__cause__


def text(value: Value, key: str) -> str:
    """A value as the command line has it behind `KEY=`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        raise ScenarioError(f"{key}: a dict cannot be set: set its keys, as {key}.KEY")
    try:
        line = document({"v": value}).lines[-1]
    except ScenarioError as error:
        raise ScenarioError(str(error).replace("scenario[v", f"set[{key}")) from None
    return line.removeprefix("v = ")


def _values(key: str, values: Iterable[Value]) -> list[Value]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ScenarioError(f"{key}: expected a list of values, not {values!r}")
    return list(values)


def _whole(name: str, value: int | None, least: int, most: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        _no_whole(name, value, least, most)
    number = value.__index__()
    if not least <= number <= most:
        _no_whole(name, value, least, most)
    return number


def _no_whole(name: str, value: object, least: int, most: int) -> NoReturn:
    raise ScenarioError(f"{name}: {value!r}: expected a whole number from {least} to {most}")


def how(
    threads: int | None,
    out: str | os.PathLike[str] | None,
    progress: bool | None,
    controllers: Mapping[str, Factory] | None = None,
    queues: Mapping[str, QueueFactory] | None = None,
    scheduler: type[Scheduler] | None = None,
) -> dict[str, Any]:
    """How runs are made, as the core takes it."""
    return {
        "threads": _whole("threads", threads, 1, 2**32),
        "out": None if out is None else os.fspath(out),
        "command": ["python", *sys.argv],
        "note": _note,
        "own": given(controllers, queues, scheduler),
        "progress": _bar(progress),
    }


def given(
    controllers: Mapping[str, Factory] | None,
    queues: Mapping[str, QueueFactory] | None,
    scheduler: type[Scheduler] | None,
) -> dict[str, Any]:
    """What is written in Python, as the core takes it."""
    return {
        "controllers": custom.registered.with_(controllers),
        "queues": _queue.registered.with_(queues),
        "scheduler": scheduler_factory(scheduler),
    }


def _note(note: str) -> None:
    warnings.warn(note, ScenarioWarning, stacklevel=5)


def _bar(progress: bool | None) -> Callable[[int], Callable[[int], object]] | None:
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise
        return None

    def begin(runs: int) -> Callable[[int], object]:
        bar = tqdm(total=runs, unit="run")

        def advance(n: int) -> None:
            bar.update(n)
            if bar.n >= runs:
                bar.close()

        return advance

    return begin

"""Sweeps at scale: many points of one scenario, into a partitioned Parquet dataset."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.dataset as pads

from brimful import _ray
from brimful._core import RunError, ScenarioError, SweepDataset, SweepPlan
from brimful._running import Scenario, Source, Value, _note, _whole, given, text
from brimful._queue import QueueFactory
from brimful._units import with_numbers
from brimful.custom import Factory, Scheduler

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Sweep", "sweep"]

class Sweep:
    """The dataset of a sweep, complete or not.

    `folder` is where it is; `points`, `done` and `failed` count what is finished; `failures` lists
    each failed point its number, seed, axes, error and the command that repeats it alone.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            text = (self.folder / "_sweep.json").read_text()
            self.description: dict[str, Any] = json.loads(text)
            points = self.description["points"]
            newest = self.description["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ScenarioError(f"{self.folder}: holds no sweep: {error}") from None
        if newest != 1:
            raise ScenarioError(
                f"{self.folder}: is of format {newest}, made by a newer version of Brimful; this one reads 1"
            )
        self.points: int = points
        self.failures: list[dict[str, Any]] = []
        path = self.folder / "failed.jsonl"
        if path.exists():
            self.failures = [json.loads(line) for line in path.read_text().splitlines() if line]
        self._flows: pa.Table | None = None

    def _table(self, name: str) -> pa.Table:
        folder = self.folder / name
        files = sorted(folder.glob("block=*/part-*.parquet"))
        if not files:
            return pa.table({"point": pa.array([], pa.uint64())})
        try:
            table = pads.dataset(files, format="parquet").to_table()
        except (pa.ArrowException, OSError) as error:
            raise RunError(f"{folder}: cannot be read: {error}") from None
        # the sort is stable: the flows of a point stay in the scenario's order
        return table.sort_by("point")

    @property
    def flows(self) -> pa.Table:
        """One row for each flow of a point, in the order of the points.

        An axis whose values are quantities of several units has a column with numbers too, in the plain one of
        them: `link.buffer [B]`.
        """
        if self._flows is None:
            self._flows = self._with_numbers(self._table("points"))
        return self._flows

    def _with_numbers(self, table: pa.Table) -> pa.Table:
        for axis in self.axes:
            name: str = axis["name"]
            # of a name that a result has
            own = f"axis_{name}" if f"axis_{name}" in table.column_names else name
            is_there = any(column.startswith(f"{own} [") for column in table.column_names)
            if not is_there and own in table.column_names:
                table, _ = with_numbers(table, own, table.column_names.index(own) + 1)
        return table

    @property
    def queues(self) -> pa.Table:
        """One row for each queue of a point, in the order of the points."""
        return self._table("queues")

    @property
    def done(self) -> int:
        """Points with results."""
        return len(self.flows.column("point").unique())

    @property
    def failed(self) -> int:
        """Points that failed."""
        return len(self.failures)

    @property
    def axes(self) -> list[dict[str, Any]]:
        """The axes: names, what they set, and their values or ranges."""
        axes: list[dict[str, Any]] = self.description["axes"]
        return axes

    def to_pandas(self) -> pandas.DataFrame:
        """The flows as a pandas frame."""
        frame: pandas.DataFrame = self.flows.to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The flows as a polars frame."""
        import polars

        frame = polars.from_arrow(self.flows)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        return f"Sweep({str(self.folder)!r}: {self.done} of {self.points} points, {self.failed} failed)"


def _axes(grid: Mapping[str, Sequence[Value]] | None) -> dict[str, Value]:
    """Axes as settings."""
    axes: dict[str, Value] = {}
    for key, values in (grid or {}).items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ScenarioError(f"grid[{key!r}]: expected a list of values, not {values!r}")
        axes[f"sweep.{key}"] = text(list(values), f"sweep.{key}")
    return axes


def sweep(
    scenario: Scenario,
    grid: Mapping[str, Sequence[Value]] | None = None,
    *,
    engine: Literal["local", "ray"] = "local",
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    workers: int | None = None,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    trace: str | os.PathLike[str] | None = None,
    uplink_trace: str | os.PathLike[str] | None = None,
    trace_offset: str | None = None,
    retry_failed: bool = False,
    progress: bool | None = None,
    controllers: Mapping[str, Factory] | None = None,
    queues: Mapping[str, QueueFactory] | None = None,
    scheduler: type[Scheduler] | None = None,
) -> Sweep:
    """Runs all points of a sweep into the folder `out`, or goes on with the sweep that is there.

    The axes are those of the scenario's `[sweep]` and of `grid`, a dict of lists. `engine` is
    `"local"` (the threads of this machine) or `"ray"`: the cluster at `address`, the one that this
    process is connected to, or one of its own on this machine. `workers` are the points run at the same
    time; they change no result. A point that fails is recorded, and the sweep goes on; it is run again
    with `retry_failed=True` only. `controllers`, `queues` and `scheduler` are those of `run`; their
    source is part of what the sweep is. Raises `ScenarioError` if the scenario or the folder is not what it
    should be, `RunError` if the sweep cannot go on.
    """
    if engine not in ("local", "ray"):
        raise ScenarioError(f"engine={engine!r}: expected 'local' or 'ray'")
    if engine == "local" and address is not None:
        raise ScenarioError("address is that of a Ray cluster: add engine='ray'")
    workers = _whole("workers", workers, 1, 2**20)
    source = Source.of(
        scenario, {**(set or {}), **_axes(grid)}, seed, repeats, trace, uplink_trace, trace_offset
    )
    own = given(controllers, queues, scheduler)
    plan: SweepPlan = source.with_keys(lambda: SweepPlan(source.settings, own))
    folder = Path(out) if out is not None else Path("results") / f"{plan.name}-sweep"
    with ExitStack() as stack:
        # nothing is written before there is a cluster to run it
        ray = stack.enter_context(_ray.connected(address, workers)) if engine == "ray" else None
        dataset = SweepDataset(plan, folder, retry_failed, _code(plan, own))
        stack.callback(dataset.close)
        for note in [*plan.notes(), *dataset.notes()]:
            _note(note)
        bar = stack.enter_context(_Bar(dataset, progress))
        if ray is not None:
            _ray.Driver(ray, plan, dataset, workers, bar.look, own).run()
        else:
            dataset.run_local(plan, workers, bar.look)
    return Sweep(folder)


def _code(plan: SweepPlan, own: Mapping[str, Any]) -> str:
    """The text of what is written in Python, as far as the scenario names it."""
    by_name, scheduler = [own["controllers"], own["queues"]], own["scheduler"]
    bundle = plan.bundle() if any(by_name) else ""
    parts = [
        (name, factories[name])
        for factories in by_name
        for name in sorted(factories)
        if f"python:{name}" in bundle
    ]
    if scheduler is not None:
        parts.append(("scheduler", scheduler))
    return "\n".join(f"{name}: {_source(written)}" for name, written in parts)


def _source(written: Any) -> str:
    try:
        return inspect.getsource(written)
    except (OSError, TypeError):
        # typed into an interpreter: there is nothing but its name
        return repr(getattr(written, "__qualname__", type(written).__qualname__))


class _Bar:
    """A progress bar on a terminal, or where it is requested."""

    def __init__(self, dataset: SweepDataset, requested: bool | None) -> None:
        points, done, failed = dataset.status()
        self._bar: Any = None
        self._shown = done + failed
        if requested or (requested is None and sys.stderr.isatty()):
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=points, initial=self._shown, unit="point")

    def look(self, done: int, failed: int) -> None:
        """So far it is."""
        if self._bar is not None and done + failed > self._shown:
            self._bar.update(done + failed - self._shown)
            self._shown = done + failed

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

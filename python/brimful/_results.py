"""Results: numbers as dicts, tables as Arrow, frames for pandas and polars."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from brimful import _core
from brimful._lab import FolderComparison, FolderOutcome
from brimful._units import with_settings

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


#: A point that has run: here, or in the lab by the program.
Outcome: TypeAlias = "_core.Outcome | FolderOutcome"
#: Variants that have run, likewise.
Compared: TypeAlias = "_core.Compared | FolderComparison"


def _frame_pandas(table: pa.Table) -> pd.DataFrame:
    return cast("pd.DataFrame", table.to_pandas())


def _frame_polars(table: pa.Table) -> pl.DataFrame:
    import polars

    return cast("pl.DataFrame", polars.from_arrow(table))


class Result:
    """A point of a scenario that has run, with all its repeats.

    Tables are made when they are first used, and share their memory with Arrow.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The means over the repeats: what `brimful run --json` prints."""
        return cast("dict[str, Any]", json.loads(self._outcome.summary()))

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """Every key of the scenario with its value as it was understood, defaults included."""
        return cast("dict[str, Any]", json.loads(self._outcome.resolved()))

    @property
    def label(self) -> str:
        """What distinguishes it from other points or variants; empty if it is the only one."""
        return self._outcome.label

    @property
    def axes(self) -> dict[str, str]:
        """Names and values of the sweep's axes; empty without a sweep."""
        return dict(self._outcome.axes)

    @property
    def seeds(self) -> list[int]:
        """The seeds of its repeats."""
        return self._outcome.seeds

    @cached_property
    def flows(self) -> pa.Table:
        """One row for each flow and repeat: rates in bit/s, delays in ms, sizes in bytes."""
        return pa.table(self._outcome.flows())

    @cached_property
    def queues(self) -> pa.Table:
        """One row for each queue and repeat: bytes, sojourn times in ms, drops."""
        return pa.table(self._outcome.queues())

    @cached_property
    def samples(self) -> pa.Table:
        """The time series in long form: repeat, entity, metric, time_s, value."""
        return pa.table(self._outcome.samples())

    @cached_property
    def loss_decisions(self) -> pa.Table | None:
        """What MELD decided of each loss; None if it decided nothing."""
        table = self._outcome.loss_decisions()
        return None if table is None else pa.table(table)

    @cached_property
    def applications(self) -> pa.Table | None:
        """What videos, pages and calls measured, in long form: repeat, flow, application, measure, value. None without any."""
        table = self._outcome.applications()
        return None if table is None else pa.table(table)

    def series(self, entity: str, metric: str, repeat: int = 0) -> pa.Table:
        """One time series: time_s, value. Empty if there is none of that name."""
        import pyarrow.compute as pc

        is_it = (pc.field("entity") == entity) & (pc.field("metric") == metric)
        return self.samples.filter(is_it & (pc.field("repeat") == repeat)).select(["time_s", "value"])

    def to_pandas(self) -> pd.DataFrame:
        """`flows` as a pandas frame."""
        return _frame_pandas(self.flows)

    def to_polars(self) -> pl.DataFrame:
        """`flows` as a polars frame."""
        return _frame_polars(self.flows)

    def __str__(self) -> str:
        return self._outcome.text()

    def __repr__(self) -> str:
        summary = self.summary
        flows = ", ".join(
            f"{flow['name']} {flow['goodput_bps']['mean'] / 1e6:.3g} Mbit/s"
            for flow in summary["flows"]
        )
        label = f" {self.label}" if self.label else ""
        return (
            f"<brimful.Result {summary['scenario']}{label}: {flows}; "
            f"{summary['repeats']} repeats from seed {summary['seed']}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                flow["name"],
                flow["cc"],
                f"{flow['goodput_bps']['mean'] / 1e6:.3g} ± {flow['goodput_bps']['ci95'] / 1e6:.2g}",
                _measured(flow["rtt_ms"], "mean"),
                _measured(flow["rtt_ms"], "p95"),
                _measured(flow["rtt_ms"], "p99"),
                f"{flow['retransmits']:.4g}",
            )
            for flow in self.summary["flows"]
        ]
        head = ("flow", "cc", "goodput, Mbit/s", "RTT mean, ms", "p95", "p99", "retransmits")
        title = self.summary["scenario"] + (f", {self.label}" if self.label else "")
        return _html_table(title, head, rows)


def _measured(spread: dict[str, float], which: str) -> str:
    return f"{spread[which]:.4g}" if spread["samples"] else "–"


def _html_table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f"<table><caption>{html.escape(title)}</caption>"
        f"<thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
    )


class Comparison:
    """Variants of a scenario with the same seeds; ratios refer to the first."""

    def __init__(self, compared: Compared) -> None:
        self._compared = compared

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `brimful compare --json` prints."""
        return cast("dict[str, Any]", json.loads(self._compared.json()))

    @cached_property
    def variants(self) -> list[Result]:
        """The variants, the last key varying fastest."""
        return [Result(outcome) for outcome in self._compared.variants()]

    @cached_property
    def table(self) -> pa.Table:
        """Each number of each flow against the first variant, with 95 % confidence intervals."""
        rows = [_flat(row) for row in self.summary["comparison"]]
        return pa.Table.from_pylist(rows)

    @cached_property
    def settings(self) -> list[dict[str, str]]:
        """What each variant sets: keys or knobs, and their values as text."""
        return [dict(variant["settings"]) for variant in self.summary["variants"]]

    @cached_property
    def flows(self) -> pa.Table:
        """The flows of all variants, distinguished by the column `variant`.

        Each key that varies is a column, and one with numbers follows it where its values are quantities:
        `link.buffer` is `"100 kB"` and `"1 MB"`, `link.buffer [B]` 100000 and 1000000.
        """
        tables = [variant.flows for variant in self.variants]
        rows = [len(table) for table in tables]
        keys = list(dict.fromkeys(key for own in self.settings for key in own))
        columns = [
            (key, [own.get(key) for own, count in zip(self.settings, rows, strict=True) for _ in range(count)])
            for key in keys
        ]
        return with_settings(pa.concat_tables(tables), columns, 1)

    @cached_property
    def samples(self) -> pa.Table:
        """The time series of all variants in long form: variant, repeat, entity, metric, time_s, value."""
        return pa.concat_tables([variant.samples for variant in self.variants])

    def series(self, entity: str, metric: str, repeat: int = 0) -> pa.Table:
        """One time series of each variant: variant, time_s, value."""
        import pyarrow.compute as pc

        is_it = (pc.field("entity") == entity) & (pc.field("metric") == metric)
        of_repeat = is_it & (pc.field("repeat") == repeat)
        return self.samples.filter(of_repeat).select(["variant", "time_s", "value"])

    def to_pandas(self) -> pd.DataFrame:
        """`table` as a pandas frame."""
        return _frame_pandas(self.table)

    def to_polars(self) -> pl.DataFrame:
        """`table` as a polars frame."""
        return _frame_polars(self.table)

    def __str__(self) -> str:
        return self._compared.text()

    def __repr__(self) -> str:
        labels = " | ".join(variant.label for variant in self.variants)
        return f"<brimful.Comparison {self.summary['scenario']}: {labels}>"

    def _repr_html_(self) -> str:
        return "".join(variant._repr_html_() for variant in self.variants)


class Reproduction:
    """A paper's claims beside ours."""

    def __init__(self, claims: _core.Claims) -> None:
        self._claims = claims

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `brimful reproduce --json` prints."""
        return cast("dict[str, Any]", json.loads(self._claims.json()))

    @cached_property
    def claims(self) -> pa.Table:
        """One row for each claim and column of ours: place, what, paper, ours, both verdicts, reason."""
        rows = [
            {
                "place": claim["place"],
                "what": claim["what"],
                "paper": claim["paper"],
                "column": index,
                **_flat({"ours": ours}),
                "verdict_published": claim["verdict_published"],
                "verdict_ours": claim["verdict_ours"],
                "reason": claim["reason"],
            }
            for claim in _claims(self.summary)
            for index, ours in enumerate(claim["ours"] or [None])
        ]
        return pa.Table.from_pylist(rows)

    def to_pandas(self) -> pd.DataFrame:
        """`claims` as a pandas frame."""
        return _frame_pandas(self.claims)

    def to_polars(self) -> pl.DataFrame:
        """`claims` as a polars frame."""
        return _frame_polars(self.claims)

    def __str__(self) -> str:
        return self._claims.text()


def _claims(value: Any) -> list[dict[str, Any]]:
    """All claims of a reproduction, in their order."""
    if isinstance(value, dict):
        if "verdict_ours" in value and "place" in value:
            return [value]
        return [claim for inner in value.values() for claim in _claims(inner)]
    if isinstance(value, list):
        return [claim for inner in value for claim in _claims(inner)]
    return []


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dicts inside a row become columns of their own, as `ratio_mean`."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            flat.update(_flat(value, f"{name}_"))
        else:
            flat[name] = value
    return flat

// The dataset of a sweep: what it is, a table of its first rows, and how all of them are read.

import { h } from "../base/dom";
import { columnNumber, number } from "../base/format";
import { type Column, DataTable, type Row } from "../table/table";
import type { SweepTable } from "./api";
import * as api from "./api";
import type { View } from "./page";
import { facts } from "./results";

/** Titles and units of columns of the dataset, and what a value is divided by. */
const COLUMNS: Record<string, { title: string; unit?: string; factor?: number }> = {
  cc: { title: "cc" },
  goodput_bps: { title: "goodput", unit: "Mbit/s", factor: 1e6 },
  rtt_mean_ms: { title: "RTT mean", unit: "ms" },
  rtt_p95_ms: { title: "RTT p95", unit: "ms" },
  completion_s: { title: "completion", unit: "s" },
  link_utilisation: { title: "utilisation", unit: "%", factor: 0.01 },
};

/** The table's columns: text where a row has text. */
export function columns(table: SweepTable): Column[] {
  return table.columns.map((key, i) => {
    const { title = key, unit } = COLUMNS[key] ?? {};
    const text = table.rows.some((row) => typeof row[i] === "string");
    const whole = key === "point" || key === "retransmits" || key === "lost";
    return {
      key,
      title,
      text,
      ...(unit ? { unit } : {}),
      ...(text ? {} : { format: whole ? String : key in COLUMNS ? columnNumber : number }),
    };
  });
}

/** The table's rows, in the units of their columns. */
export function rows(table: SweepTable): Row[] {
  return table.rows.map((row, i) => ({
    name: String(i),
    values: Object.fromEntries(
      table.columns.map((key, column) => {
        const value = row[column] ?? null;
        const factor = COLUMNS[key]?.factor ?? 1;
        return [key, typeof value === "number" ? value / factor : value];
      }),
    ),
  }));
}

/** How much of the sweep is in the table. */
export function shown(table: SweepTable): string {
  const { points, failed } = table.sweep;
  if (!table.is_whole) return `The first ${table.rows.length} rows that were found.`;
  const pending = points - table.points_shown - failed;
  const more = pending > 0 ? ` ${pending} have not run: the same command goes on.` : "";
  return `${table.points_shown} of ${points} points have results.${more}`;
}

export async function sweepView(id: string): Promise<View> {
  const found = await api.sweep(id);
  const table = new DataTable({ caption: "Flows of all points", columns: columns(found) });
  table.show(rows(found));
  const element = h(
    "div",
    {},
    h("h2", {}, id),
    facts(found),
    h("p", { class: "caption" }, shown(found)),
    table.element,
    h("h3", {}, "All of it"),
    h(
      "p",
      { class: "caption" },
      "points and queues, in the sweep's folder, are two tables in Parquet, for any reader of it. In Python: ",
      h("code", {}, `brimful.Sweep(${JSON.stringify(id)}).to_pandas()`),
    ),
  );
  return { element, end: () => {} };
}

// The dataset of a sweep: what it is, a map and lines of a measure over its axes, the points that failed, a table of
// its first rows, and how all of them are read.

import { fill, h } from "../base/dom";
import { columnNumber, number } from "../base/format";
import { Timeline } from "../chart/timeline";
import { type Column, DataTable, type Row } from "../table/table";
import type { SweepTable } from "./api";
import * as api from "./api";
import { Board } from "./board";
import { facts } from "./cards";
import { heatMap, lines } from "./map";
import { MEASURES } from "./measures";
import type { View } from "./page";
import { axisNames, firstChoice, type PlaneChoice, plane, reach, valuesOf } from "./plane";

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
    return {
      key,
      title,
      text,
      ...(unit ? { unit } : {}),
      ...(text
        ? {}
        : { format: key === "point" ? String : key in COLUMNS ? columnNumber : number }),
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

/** What of a sweep's page can be chosen, with what is chosen at first. */
class PlaneView {
  readonly element: HTMLElement;
  readonly #table: SweepTable;
  readonly #map = h("div", {});
  readonly #note = h("p", { class: "caption", role: "status" });
  readonly #board = new Board(new Timeline());
  readonly #choice: PlaneChoice;

  constructor(table: SweepTable, measure: string, axes: string[]) {
    this.#table = table;
    this.#choice = firstChoice(table, measure, axes);
    this.element = h(
      "section",
      { class: "block", "aria-label": "Map" },
      this.#tools(axes),
      this.#map,
      this.#note,
      this.#board.element,
    );
    this.#show();
  }

  #tools(axes: string[]): HTMLElement {
    const choice = this.#choice;
    const measures = measuresOf(this.#table);
    const flows = valuesOf(this.#table, "flow");
    const only = (name: string, value: string) => {
      if (value === "") choice.only.delete(name);
      else choice.only.set(name, value);
    };
    return h(
      "div",
      { class: "tools" },
      this.#select(
        "Measure",
        measures.map((m) => [m, MEASURES[m]?.title ?? m]),
        choice.measure,
        (value) => {
          choice.measure = value;
        },
      ),
      flows.length > 1
        ? this.#select("Flow", same(flows), flows[0] ?? "", (value) => only("flow", value))
        : null,
      axes.length > 1
        ? this.#select("Across", same(axes), choice.across, (value) => {
            choice.across = value;
          })
        : null,
      axes.length > 1
        ? this.#select("Down", [["", "nothing"], ...same(axes)], choice.down ?? "", (value) => {
            choice.down = value === "" ? null : value;
          })
        : null,
      ...(axes.length > 2 ? axes : []).map((name) =>
        this.#select(
          name,
          [["", "all, mean"], ...same(valuesOf(this.#table, name))],
          choice.only.get(name) ?? "",
          (value) => only(name, value),
        ),
      ),
    );
  }

  #select(
    name: string,
    options: [string, string][],
    selected: string,
    onChoice: (value: string) => void,
  ): HTMLElement {
    const select = h(
      "select",
      {
        onchange: () => {
          onChoice(select.value);
          this.#show();
        },
      },
      ...options.map(([value, text]) => h("option", { value, selected: value === selected }, text)),
    );
    return h("label", {}, name, select);
  }

  #show(): void {
    const choice = { ...this.#choice };
    if (choice.down === choice.across) choice.down = null;
    const found = plane(this.#table, choice);
    const measure = MEASURES[choice.measure] ?? { title: choice.measure, unit: "count" };
    fill(this.#map, heatMap(found, measure));
    const figure = lines(found, measure);
    this.#note.textContent =
      figure === null ? "No lines: the values across are no numbers of one unit." : "";
    this.#board.show(figure === null ? [] : [figure]);
  }

  end(): void {
    this.#board.end();
  }
}

const same = (values: string[]): [string, string][] => values.map((v) => [v, v]);

/** The measures of which the table has numbers. */
export function measuresOf(table: SweepTable): string[] {
  return Object.keys(MEASURES).filter((name) => {
    const at = table.columns.indexOf(name);
    return at >= 0 && table.rows.some((row) => typeof row[at] === "number");
  });
}

/** The points that failed, with the reason; null where none did. */
function failures(table: SweepTable): HTMLElement | null {
  const failed = table.failures ?? [];
  if (failed.length === 0) return null;
  const axes = [...new Set(failed.flatMap((f) => Object.keys(f.axes)))];
  const list = new DataTable({
    caption: "Points that failed",
    columns: [
      { key: "point", title: "point", format: String },
      ...axes.map((key) => ({ key, title: key, text: true })),
      { key: "error", title: "why", text: true },
    ],
  });
  list.show(
    failed.map((f, i) => ({
      name: String(i),
      values: { ...f.axes, point: f.point, error: f.error },
    })),
  );
  const more = table.sweep.failed - failed.length;
  return h(
    "section",
    { class: "block", "aria-label": "Failed" },
    h("h3", {}, "Points that failed"),
    more > 0 ? h("p", { class: "caption" }, `The first ${failed.length}; ${more} more.`) : null,
    list.element,
  );
}

export async function sweepView(id: string): Promise<View> {
  const found = await api.sweep(id);
  const table = new DataTable({ caption: "Flows of all points", columns: columns(found) });
  table.show(rows(found));
  const axes = axisNames(found);
  const [measure] = measuresOf(found);
  const map = measure !== undefined && axes.length > 0 ? new PlaneView(found, measure, axes) : null;
  const extremes = measure === undefined ? null : reach(found, measure, MEASURES[measure] ?? null);
  const element = h(
    "div",
    {},
    h("h2", {}, id),
    facts(found),
    extremes === null ? null : h("p", {}, extremes),
    h("p", { class: "caption" }, shown(found)),
    map?.element,
    failures(found),
    h("h3", {}, "Table"),
    table.element,
    h("h3", {}, "All of it"),
    h(
      "p",
      { class: "caption" },
      "points and queues, in the sweep's folder, are two tables in Parquet, for any reader of it. In Python: ",
      h("code", {}, `brimful.Sweep(${JSON.stringify(id)}).to_pandas()`),
    ),
  );
  return { element, end: () => map?.end() };
}

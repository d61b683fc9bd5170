// A sweep as a plane: one axis across, one down, the mean of a measure in each cell, and which points failed.

import { type Unit, withUnit } from "../base/format";
import type { SweepTable } from "./api";

/** Values of an axis from which on numbers are put into parts of equal width. */
const MAX_VALUES = 24;
const PARTS = 10;

/** A place along an axis. */
export interface Tick {
  label: string;
  /** Its number, or the middle of its part; null of text. */
  at: number | null;
}

/** An axis with its places in order. */
export interface PlaneAxis {
  name: string;
  unit: string;
  ticks: Tick[];
  /** Which place a value has; -1 for none. */
  place(value: unknown): number;
}

export interface Cell {
  /** Mean over rows; null where there are none. */
  mean: number | null;
  rows: number;
  failed: number;
}

export interface Plane {
  across: PlaneAxis;
  down: PlaneAxis | null;
  /** By place down, then across. */
  cells: Cell[][];
}

/** What a page has chosen. */
export interface PlaneChoice {
  measure: string;
  across: string;
  down: string | null;
  /** Values of the flow and of other axes that count; all where none is given. */
  only: Map<string, string>;
}

const text = (value: unknown) => (value === null || value === undefined ? "" : String(value));

/** A value as a number and its unit, as `20 ms`. */
export function quantity(value: unknown): [number, string] | null {
  const found = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:\s+([^\d\s].*))?$/i.exec(text(value).trim());
  return found ? [Number(found[1]), (found[2] ?? "").trim()] : null;
}

/** The columns of a table that are axes: those of numbers first, which lines can be drawn over. */
export function axisNames(table: SweepTable): string[] {
  const names = table.sweep.axes.map((a) => a.name).filter((name) => table.columns.includes(name));
  const isNumber = (name: string) => {
    const { ticks } = axisOf(name, allValues(table, name));
    return ticks.length > 1 && ticks.every((t) => t.at !== null);
  };
  return [...names.filter(isNumber), ...names.filter((name) => !isNumber(name))];
}

/**
 * What is shown at first: the first axis across; down the first of texts (a mechanism, as a rule), else the second; of
 * the first flow, and all other axes at their first value.
 */
export function firstChoice(
  table: SweepTable,
  measure: string,
  axes: readonly string[],
): PlaneChoice {
  const [across = "", ...others] = axes;
  const isText = (name: string) => axisOf(name, allValues(table, name)).ticks[0]?.at === null;
  const down = others.find(isText) ?? others[0] ?? null;
  const fixed = ["flow", ...others.filter((name) => name !== down)];
  const only = new Map<string, string>();
  for (const name of fixed) {
    const [first] = valuesOf(table, name);
    if (first !== undefined) only.set(name, first);
  }
  return { measure, across, down, only };
}

/** Between which values a measure of the first flow lies, and at which points; null where there are none. */
export function reach(
  table: SweepTable,
  measure: string,
  of: { title: string; unit: Unit } | null,
): string | null {
  const at = table.columns.indexOf(measure);
  const flowAt = table.columns.indexOf("flow");
  const [flow] = valuesOf(table, "flow");
  const rows = table.rows
    .filter((row) => typeof row[at] === "number")
    .filter((row) => flow === undefined || text(row[flowAt]) === flow)
    .sort((a, b) => Number(a[at]) - Number(b[at]));
  const [least, greatest] = [rows[0], rows.at(-1)];
  if (of === null || least === undefined || greatest === undefined) return null;
  const axes = table.sweep.axes.map((a) => a.name).filter((name) => table.columns.includes(name));
  const place = (row: SweepTable["rows"][number]) =>
    axes.map((name) => `${name} ${text(row[table.columns.indexOf(name)])}`).join(", ");
  const end = (row: SweepTable["rows"][number]) =>
    `${withUnit(of.unit, Number(row[at]))} (${place(row)})`;
  const whose = flow === undefined ? "" : `${flow}: `;
  return `${whose}${of.title} from ${end(least)} to ${end(greatest)}`;
}

/** A place along an axis with its unit. */
export function tickText(axis: PlaneAxis, tick: Tick | undefined): string {
  return `${tick?.label ?? ""} ${axis.unit}`.trim();
}

/** The distinct values of a column, in the order in which they come. */
export function valuesOf(table: SweepTable, column: string): string[] {
  const at = table.columns.indexOf(column);
  return at < 0 ? [] : [...new Set(table.rows.map((row) => text(row[at])))];
}

function number(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Numbers of one unit in order, in parts where they are many; else texts in the order in which they come. */
export function axisOf(name: string, values: readonly string[]): PlaneAxis {
  const read = values.map(quantity);
  const unit = read[0]?.[1] ?? "";
  if (!read.every((v) => v !== null && v[1] === unit)) {
    const shown = values.slice(0, MAX_VALUES);
    const ticks = shown.map((label) => ({ label, at: null }));
    return { name, unit: "", ticks, place: (value) => shown.indexOf(text(value)) };
  }
  const numbers = [...new Set(read.map((v) => v?.[0] ?? 0))].sort((a, b) => a - b);
  if (numbers.length <= MAX_VALUES) {
    const ticks = numbers.map((at) => ({ label: number(at), at }));
    return { name, unit, ticks, place: (value) => numbers.indexOf(quantity(value)?.[0] ?? NaN) };
  }
  const least = numbers[0] ?? 0;
  const width = ((numbers.at(-1) ?? 1) - least) / PARTS;
  const edge = (i: number) => least + i * width;
  const ticks = Array.from({ length: PARTS }, (_, i) => ({
    label: `${number(edge(i))} to ${number(edge(i + 1))}`,
    at: edge(i + 0.5),
  }));
  const place = (value: unknown) => {
    const at = quantity(value)?.[0];
    return at === undefined ? -1 : Math.min(PARTS - 1, Math.floor((at - least) / width));
  };
  return { name, unit, ticks, place };
}

/** All values of an axis, those of failed points among them. */
function allValues(table: SweepTable, name: string): string[] {
  const failed = (table.failures ?? []).flatMap((f) =>
    name in f.axes ? [text(f.axes[name])] : [],
  );
  return [...new Set([...valuesOf(table, name), ...failed])];
}

/** The plane of a choice. */
export function plane(table: SweepTable, choice: PlaneChoice): Plane {
  const across = axisOf(choice.across, allValues(table, choice.across));
  const down = choice.down === null ? null : axisOf(choice.down, allValues(table, choice.down));
  const sums = Array.from({ length: down?.ticks.length ?? 1 }, () =>
    across.ticks.map(() => ({ sum: 0, rows: 0, failed: 0 })),
  );
  const column = (name: string) => table.columns.indexOf(name);
  const only = [...choice.only].map(([name, value]) => ({ name, at: column(name), value }));
  const measure = column(choice.measure);
  const find = (of: (name: string) => unknown) =>
    sums[down ? down.place(of(down.name)) : 0]?.[across.place(of(across.name))];
  for (const row of table.rows) {
    if (only.some(({ at, value }) => text(row[at]) !== value)) continue;
    const cell = find((name) => row[column(name)]);
    const value = row[measure];
    if (!cell || typeof value !== "number") continue;
    cell.sum += value;
    cell.rows += 1;
  }
  for (const { axes } of table.failures ?? []) {
    if (only.some(({ name, value }) => name in axes && text(axes[name]) !== value)) continue;
    const cell = find((name) => axes[name]);
    if (cell) cell.failed += 1;
  }
  const cells = sums.map((line) =>
    line.map(({ sum, rows, failed }) => ({ mean: rows > 0 ? sum / rows : null, rows, failed })),
  );
  return { across, down, cells };
}

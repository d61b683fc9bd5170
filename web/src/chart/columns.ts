// From lines with their own points to columns over one x, which is what the chart draws.

import type { Points } from "./model";

/** A value, null where a line breaks, undefined where another line has a point and this one none. */
export type Cell = number | null | undefined;

export interface Columns {
  x: number[];
  y: Cell[][];
  low: (Cell[] | null)[];
  high: (Cell[] | null)[];
}

/** All lines over the union of their x. Lines that share one array of x cost nothing more. */
export function join(lines: readonly Points[]): Columns {
  const distinct = new Set<ArrayLike<number>>(lines.map((l) => l.x));
  const only = distinct.size === 1 ? lines[0]?.x : undefined;
  if (only) {
    return {
      x: Array.from(only),
      y: lines.map((l) => Array.from(l.y)),
      low: lines.map((l) => (l.low ? Array.from(l.low) : null)),
      high: lines.map((l) => (l.high ? Array.from(l.high) : null)),
    };
  }
  const all = new Set<number>();
  for (const xs of distinct) for (let i = 0; i < xs.length; i++) all.add(xs[i] as number);
  const x = Array.from(Float64Array.from(all).sort());
  const spread = (xs: ArrayLike<number>, values: ArrayLike<number | null> | undefined) => {
    if (!values) return null;
    const column: Cell[] = new Array(x.length);
    let row = 0;
    for (let i = 0; i < xs.length; i++) {
      while (row < x.length && (x[row] as number) < (xs[i] as number)) row++;
      column[row] = values[i] as number | null;
    }
    return column;
  };
  return {
    x,
    y: lines.map((l) => spread(l.x, l.y) ?? []),
    low: lines.map((l) => spread(l.x, l.low)),
    high: lines.map((l) => spread(l.x, l.high)),
  };
}

/** The last value at or before each x, so that values of different moments can be added up. */
export function held(column: readonly Cell[]): (number | null)[] {
  let last: number | null = null;
  return column.map((v) => {
    if (v !== undefined) last = v;
    return last;
  });
}

/** Each column plus all before it; a missing value adds nothing. */
export function stacked(
  columns: readonly (readonly Cell[])[],
  shown: readonly boolean[],
): Cell[][] {
  const rows = columns[0]?.length ?? 0;
  const sum = new Float64Array(rows);
  return columns.map((column, i) => {
    if (shown[i])
      held(column).forEach((v, row) => {
        sum[row] = (sum[row] ?? 0) + (v ?? 0);
      });
    return Array.from(sum);
  });
}

/** A bar at height `at` from each point that is at least one half to the next that is not. */
export function lane(points: Points, at: number): Points {
  const x: number[] = [];
  const y: (number | null)[] = [];
  let on = false;
  for (let i = 0; i < points.x.length; i++) {
    const t = points.x[i] as number;
    const now = (points.y[i] ?? 0) >= 0.5;
    if (now !== on) {
      x.push(t);
      y.push(at);
      if (!now) {
        // the bar ends here: the break follows at once
        x.push(t + Math.abs(t) * 1e-12 + 1e-9);
        y.push(null);
      }
    }
    on = now;
  }
  if (on) {
    x.push(points.x[points.x.length - 1] as number);
    y.push(at);
  }
  return { x, y };
}

/** The row whose x is nearest and in which the column has something; -1 if there is none near. */
export function nearest(
  x: readonly number[],
  column: readonly Cell[],
  at: number,
  far: number,
): number {
  let low = 0;
  let high = x.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((x[middle] as number) <= at) low = middle;
    else high = middle - 1;
  }
  const distance = (i: number) => Math.abs((x[i] ?? Number.POSITIVE_INFINITY) - at);
  let before = low;
  while (before >= 0 && column[before] === undefined) before--;
  let after = low + 1;
  while (after < x.length && column[after] === undefined) after++;
  const best = before < 0 ? after : distance(before) <= distance(after) ? before : after;
  if (best < 0 || best >= x.length || column[best] === null || distance(best) > far) return -1;
  return best;
}

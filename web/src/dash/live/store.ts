// The last minute of a live feed: one column of times for all series, each series a column of
// values beside it. Columns are typed arrays that are filled to their end, then moved back by half.

import type { EntityKind } from "../../base/metrics";

/** A series as the feed announces it. */
export interface LiveSeries {
  id: number;
  entity: string;
  kind: EntityKind;
  parent?: string | null;
  metric: string;
  unit: string;
}

/** Frames a second, at most. */
const RATE = 50;

/** Rows drawn, in reduced form; `x` is one array for all series. */
export interface Reduced {
  x: number[];
  /** First row of each group and the row after the last. */
  edges: number[];
}

interface Column {
  info: LiveSeries;
  values: Float32Array;
  last: number;
}

export class LiveStore {
  readonly #rows: number;
  #times: Float64Array;
  #count = 0;
  /** Rows that have been moved out, so that groups of rows keep their borders. */
  #gone = 0;
  readonly #columns = new Map<number, Column>();
  /** Number of the last frame taken; -1 before the first. */
  seq = -1;

  /** For so many seconds. */
  constructor(window: number) {
    this.#rows = Math.max(16, Math.ceil(window * RATE * 1.1));
    this.#times = new Float64Array(2 * this.#rows);
  }

  get series(): LiveSeries[] {
    return [...this.#columns.values()].map((c) => c.info);
  }

  /** First and last time held; null before the first frame. */
  get extent(): [number, number] | null {
    if (this.#count === 0) return null;
    const first = Math.max(0, this.#count - this.#rows);
    return [this.#times[first] ?? 0, this.#times[this.#count - 1] ?? 0];
  }

  add(series: readonly LiveSeries[]): void {
    for (const info of series) {
      if (this.#columns.has(info.id)) continue;
      const values = new Float32Array(2 * this.#rows).fill(Number.NaN, 0, this.#count);
      this.#columns.set(info.id, { info, values, last: Number.NaN });
    }
  }

  /** Takes a frame; one that is there already, or goes back in time, is left out. */
  frame(seq: number, t: number, changed: readonly (readonly [number, number | null])[]): boolean {
    const before = this.#count > 0 ? (this.#times[this.#count - 1] ?? 0) : Number.NEGATIVE_INFINITY;
    if (seq <= this.seq || !(t >= before)) return false;
    this.seq = seq;
    for (const [id, value] of changed) {
      const column = this.#columns.get(id);
      if (column) column.last = value ?? Number.NaN;
    }
    if (this.#count === this.#times.length) this.#move();
    const row = this.#count;
    this.#times[row] = t;
    for (const column of this.#columns.values()) column.values[row] = column.last;
    this.#count = row + 1;
    return true;
  }

  /** The newest half becomes the oldest. */
  #move(): void {
    const from = this.#count - this.#rows;
    this.#times.copyWithin(0, from, this.#count);
    for (const { values } of this.#columns.values()) values.copyWithin(0, from, this.#count);
    this.#count = this.#rows;
    this.#gone += from;
  }

  /** The newest value; NaN if there is none. */
  last(id: number): number {
    return this.#columns.get(id)?.last ?? Number.NaN;
  }

  /** Mean over the last seconds; NaN if there is none. */
  recent(id: number, seconds: number): number {
    const column = this.#columns.get(id);
    if (!column || this.#count === 0) return Number.NaN;
    const until = (this.#times[this.#count - 1] ?? 0) - seconds;
    let sum = 0;
    let count = 0;
    for (let row = this.#count - 1; row >= 0 && (this.#times[row] ?? 0) >= until; row--) {
      const v = column.values[row] ?? Number.NaN;
      if (!Number.isNaN(v)) {
        sum += v;
        count++;
      }
    }
    return count === 0 ? Number.NaN : sum / count;
  }

  /** Groups of rows for a span, at most about so many. */
  reduce(from: number, to: number, most: number): Reduced {
    const first = Math.max(0, this.#count - this.#rows, this.#rowAt(from) - 1);
    const end = Math.min(this.#count, this.#rowAt(to) + 1);
    // a power of two, counted from the first row ever: borders stay where they are while time runs
    let size = 1;
    while ((end - first) / size > most) size *= 2;
    const edges: number[] = [];
    for (let row = first; row < end; row += size - ((row + this.#gone) % size)) edges.push(row);
    if (end > first) edges.push(end);
    const x: number[] = [];
    for (let g = 0; g + 1 < edges.length; g++) {
      const [a, b] = [edges[g] ?? 0, edges[g + 1] ?? 0];
      x.push(this.#times[a] ?? 0);
      if (b - a > 1) x.push(this.#times[a + ((b - a) >> 1)] ?? 0);
    }
    return { x, edges };
  }

  /** The least and the greatest value of each group, in their order. */
  values(id: number, { edges }: Reduced): (number | null)[] {
    const column = this.#columns.get(id);
    const out: (number | null)[] = [];
    if (!column) return out;
    for (let g = 0; g + 1 < edges.length; g++) {
      const [a, b] = [edges[g] ?? 0, edges[g + 1] ?? 0];
      let least = a;
      let greatest = a;
      for (let row = a + 1; row < b; row++) {
        const v = column.values[row] ?? Number.NaN;
        if (Number.isNaN(v)) continue;
        const low = column.values[least] ?? Number.NaN;
        const high = column.values[greatest] ?? Number.NaN;
        if (Number.isNaN(low) || v < low) least = row;
        if (Number.isNaN(high) || v > high) greatest = row;
      }
      const value = (row: number) => {
        const v = column.values[row] ?? Number.NaN;
        return Number.isNaN(v) ? null : v;
      };
      out.push(value(Math.min(least, greatest)));
      if (b - a > 1) out.push(value(Math.max(least, greatest)));
    }
    return out;
  }

  /** Index of the first row at or after a time. */
  #rowAt(t: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#times[middle] ?? 0) < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

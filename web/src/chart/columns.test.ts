import { describe, expect, it } from "vitest";
import { held, join, lane, nearest, stacked } from "./columns";

describe("columns", () => {
  it("join lines over all their x, with nothing where a line has no point", () => {
    const joined = join([
      { x: [0, 2], y: [1, null] },
      { x: [1, 2], y: [5, 6], low: [4, 5], high: [6, 7] },
    ]);
    expect(joined.x).toEqual([0, 1, 2]);
    expect(joined.y[0]).toEqual([1, undefined, null]);
    expect(joined.y[1]).toEqual([undefined, 5, 6]);
    expect(joined.low[0]).toBeNull();
    expect(joined.high[1]).toEqual([undefined, 6, 7]);
  });

  it("stack what is shown, holding each value until the next", () => {
    expect(held([undefined, 1, undefined, null])).toEqual([null, 1, 1, null]);
    const columns = [
      [1, undefined, 3],
      [10, 20, 30],
    ];
    expect(stacked(columns, [true, true])).toEqual([
      [1, 1, 3],
      [11, 21, 33],
    ]);
    expect(stacked(columns, [false, true])[1]).toEqual([10, 20, 30]);
  });

  it("make bars of what is at least one half", () => {
    const bars = lane({ x: [0, 1, 2, 3], y: [0, 1, 1, 0] }, 0.5);
    expect(bars.y).toEqual([0.5, 0.5, null]);
    expect(bars.x[0]).toBe(1);
    expect(bars.x[1]).toBe(3);
    expect(lane({ x: [0, 4], y: [1, 1] }, 1).x).toEqual([0, 4]);
    expect(lane({ x: [], y: [] }, 1).x).toEqual([]);
  });

  it("find the nearest value, none beyond a gap", () => {
    const x = [0, 1, 2, 3];
    expect(nearest(x, [1, undefined, undefined, 4], 1.2, 5)).toBe(0);
    expect(nearest(x, [1, undefined, undefined, 4], 1.9, 5)).toBe(3);
    expect(nearest(x, [1, undefined, undefined, 4], 1.9, 1)).toBe(-1);
    expect(nearest(x, [1, null, undefined, undefined], 1.1, 5)).toBe(-1);
    expect(nearest([], [], 1, 5)).toBe(-1);
  });
});

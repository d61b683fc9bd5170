import { describe, expect, it } from "vitest";
import { parseRoute, pointPath } from "../dash/route";
import { columnNumber, number, withUnit } from "./format";
import { quantile, ratio, statistics } from "./stats";

describe("numbers", () => {
  it("have four digits and the prefix that suits", () => {
    expect(withUnit("bps", 12_345_678)).toBe("12.35 Mbit/s");
    expect(withUnit("bytes", 999)).toBe("999 B");
    expect(withUnit("share", 0.5)).toBe("50 %");
    expect(withUnit("ms", 0)).toBe("0 ms");
    expect(withUnit("ms", null)).toBe("–");
    expect(number(1000)).toBe("1000");
    expect(number(0.00004)).toBe("4.00e-5");
    expect(columnNumber(3.3333)).toBe("3.33");
    expect(columnNumber(Number.NaN)).toBe("–");
  });
});

describe("statistics", () => {
  it("leave out what is missing", () => {
    expect(statistics([1, null, 3, Number.NaN])).toEqual({
      mean: 2,
      min: 1,
      max: 3,
      last: 3,
      count: 2,
    });
    expect(statistics([null])).toBeNull();
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it("a ratio's interval is that of its logarithm", () => {
    // the relative errors 0.03 and 0.04 add up to 0.05
    const [a, b] = [
      { mean: 10, ci95: 0.3 },
      { mean: 5, ci95: 0.2 },
    ];
    expect(ratio(a, b)).toEqual({
      mean: 2,
      low: expect.closeTo(2 * Math.exp(-0.05), 9) as number,
      high: expect.closeTo(2 * Math.exp(0.05), 9) as number,
    });
    const inverse = ratio(b, a);
    expect(1 / (inverse?.low ?? 0)).toBeCloseTo(ratio(a, b)?.high ?? 0, 9);
    // an interval as wide as its mean does not reach below zero
    expect(ratio({ mean: 1, ci95: 1.5 }, b)?.low).toBeGreaterThan(0);
  });

  it("what is zero has no ratio", () => {
    const zero = { mean: 0, ci95: 0 };
    const one = { mean: 1, ci95: 0 };
    expect(ratio(one, zero)).toBeNull();
    expect(ratio(zero, one)).toBeNull();
    expect(ratio(one, one)).toEqual({ mean: 1, low: 1, high: 1 });
  });
});

describe("addresses", () => {
  it("come back as they were made, whatever the name", () => {
    const id = "a/b c?#%";
    const other = { id: "ü", point: 3 };
    expect(parseRoute(pointPath(id, 2, other))).toEqual({
      page: "point",
      ref: { id, point: 2 },
      other,
    });
  });

  it("that mean nothing are the list", () => {
    for (const bad of ["", "#/", "#/result/", "#/result/x", "#/result/x/-1", "#/result/%/1"]) {
      expect(parseRoute(bad)).toEqual({ page: "home" });
    }
  });
});

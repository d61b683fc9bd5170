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

  it("a ratio's relative errors add up as squares", () => {
    expect(ratio({ mean: 10, ci95: 0.3 }, { mean: 5, ci95: 0.2 })).toEqual({
      mean: 2,
      ci95: expect.closeTo(0.1, 9) as number,
    });
    expect(ratio({ mean: 1, ci95: 0 }, { mean: 0, ci95: 0 })).toBeNull();
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

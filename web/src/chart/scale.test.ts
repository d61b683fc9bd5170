import { describe, expect, it } from "vitest";
import { fromZero, heading, logarithmic, logTicks, suit, tickLabel } from "./scale";

describe("axes", () => {
  it("ends at round numbers", () => {
    expect(fromZero(847)).toEqual({ log: false, min: 0, max: 1000 });
    expect(fromZero(0)).toEqual({ log: false, min: 0, max: 1 });
    expect(fromZero(Number.NaN).max).toBe(1);
    expect(logarithmic(1.7, 42)).toEqual({ log: true, min: 1, max: 50 });
  });

  it("is logarithmic where values differ forty times", () => {
    const points = (y: (number | null)[]) => ({ x: y.map((_, i) => i), y });
    expect(suit([points([1, 39])], true).log).toBe(false);
    expect(suit([points([1, 41])], true)).toEqual({ log: true, min: 1, max: 50 });
    expect(suit([points([1, 41])], false).log).toBe(false);
    expect(suit([points([null, Number.NaN])], true)).toEqual({ log: false, min: 0, max: 1 });
  });

  it("shows bands whole", () => {
    const band = { x: [0], y: [10], low: [5], high: [90] };
    expect(suit([band], false).max).toBe(100);
  });

  it("marks 1, 2 and 5 of each decade, or decades alone", () => {
    expect(logTicks(1, 50)).toEqual([1, 2, 5, 10, 20, 50]);
    expect(logTicks(1e3, 1e7)).toEqual([1e3, 1e4, 1e5, 1e6, 1e7]);
  });

  it("shows its unit once", () => {
    const rate = { title: "Goodput", unit: "bps" as const };
    const linear = { log: false, min: 0, max: 2e7 };
    expect(heading(rate, linear)).toBe("Goodput (Mbit/s)");
    expect(tickLabel(rate, linear, 1.5e7)).toBe("15");
    const log = { log: true, min: 1e3, max: 1e7 };
    expect(heading(rate, log)).toBe("Goodput, log");
    expect(tickLabel(rate, log, 1e4)).toBe("10 kbit/s");
  });
});

// What the table of two points states.

import { describe, expect, it } from "vitest";
import type { FlowSummary, Summary } from "./api";
import { compareRows } from "./compare";

function summary(mean: number, ci95: number): Summary {
  const rtt = { min: 1, mean: 1, p50: 1, p90: 1, p95: 1, p99: 1, max: 1, samples: 1 };
  const flow: FlowSummary = {
    name: "bulk",
    cc: "cubic",
    goodput_bps: { mean, ci95 },
    rtt_ms: rtt,
  };
  return { flows: [flow], queues: [] };
}

function goodput(a: Summary, b: Summary): Record<string, unknown> {
  const row = compareRows(a, b).find((r) => r.values.measure === "goodput");
  return row?.values ?? {};
}

describe("a comparison", () => {
  it("has intervals that are never below zero", () => {
    const { ratio, verdict } = goodput(summary(1e6, 1.5e6), summary(2e6, 0));
    // exp(-1.5) / 2 and exp(1.5) / 2
    expect(ratio).toBe("0.5 [0.1116, 2.241]");
    expect(verdict).toBe("alike");
  });

  it("is the inverse when it is turned round", () => {
    const [few, many] = [summary(1e6, 1e5), summary(4e6, 0)];
    expect(goodput(many, few).ratio).toBe("4 [3.619, 4.421]");
    expect(goodput(few, many).ratio).toBe("0.25 [0.2262, 0.2763]");
    expect(goodput(many, few).verdict).toBe("better");
    expect(goodput(few, many).verdict).toBe("worse");
  });

  it("has no time of what was not measured in one of both", () => {
    const loads = (p95: number, samples: number) => {
      const of = summary(1e6, 0);
      const time = { min: p95, mean: p95, p50: p95, p90: p95, p95, p99: p95, max: p95, samples };
      return { ...of, flows: of.flows.map((flow) => ({ ...flow, load_time_ms: time })) };
    };
    const row = (a: Summary, b: Summary) =>
      compareRows(a, b).find((r) => r.values.measure === "load p95");
    expect(row(loads(1007, 1), loads(0, 0))).toBeUndefined();
    expect(row(loads(1007, 1), loads(2014, 1))?.values.verdict).toBe("better");
  });

  it("has no interval without repeats, and no ratio to zero", () => {
    expect(goodput(summary(4e6, 0), summary(1e6, 0)).ratio).toBe("4");
    const none = goodput(summary(4e6, 0), summary(0, 0));
    expect(none.ratio).toBeNull();
    // a difference there is all the same
    expect(none.verdict).toBe("better");
    expect(goodput(summary(0, 0), summary(4e6, 0)).verdict).toBe("worse");
    expect(goodput(summary(0, 0), summary(4e6, 5e6)).verdict).toBe("alike");
  });
});

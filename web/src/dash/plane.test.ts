// A sweep as a plane, and the order and the filter of a list.

import { describe, expect, it } from "vitest";
import type { ResultInfo, SweepTable } from "./api";
import { lines } from "./map";
import { MEASURES } from "./measures";
import { finds, sorted } from "./order";
import { axisNames, axisOf, firstChoice, plane, quantity } from "./plane";
import { smallSweep } from "./preview";

const TABLE: SweepTable = {
  id: "plane",
  sweep: {
    points: 4,
    failed: 1,
    axes: [
      { name: "rtt", values: "20 ms, 5 ms" },
      { name: "pep", values: "none, default" },
    ],
  },
  columns: ["point", "rtt", "pep", "flow", "goodput_bps", "rtt_p95_ms"],
  rows: [
    [0, "20 ms", "none", "bulk", 12e6, 80],
    [0, "20 ms", "none", "web", 1e6, 90],
    [1, "20 ms", "default", "bulk", 10e6, 30],
    [2, "5 ms", "none", "bulk", 14e6, 40],
    [2, "5 ms", "none", "bulk", 16e6, 60],
  ],
  points_shown: 3,
  is_whole: true,
  failures: [{ point: 3, axes: { rtt: "5 ms", pep: "default" }, error: "no rate" }],
};
const BULK = new Map([["flow", "bulk"]]);

describe("the plane of a sweep", () => {
  it("has numbers in order and the mean of each cell, and names what failed", () => {
    const found = plane(TABLE, {
      measure: "rtt_p95_ms",
      across: "rtt",
      down: "pep",
      only: BULK,
    });
    expect(found.across.ticks.map((t) => t.label)).toEqual(["5", "20"]);
    expect(found.across.unit).toBe("ms");
    expect(found.down?.ticks.map((t) => t.label)).toEqual(["none", "default"]);
    expect(found.cells).toEqual([
      [
        { mean: 50, rows: 2, failed: 0 },
        { mean: 80, rows: 1, failed: 0 },
      ],
      [
        { mean: null, rows: 0, failed: 1 },
        { mean: 30, rows: 1, failed: 0 },
      ],
    ]);
  });

  it("is one line without an axis down, and counts all flows where none is chosen", () => {
    const choice = { measure: "goodput_bps", across: "rtt", down: null, only: new Map() };
    const found = plane(TABLE, choice);
    expect(found.cells).toEqual([
      [
        { mean: 15e6, rows: 2, failed: 1 },
        { mean: 23e6 / 3, rows: 3, failed: 0 },
      ],
    ]);
  });

  it("is drawn as lines over numbers only", () => {
    const measure = MEASURES.rtt_p95_ms ?? { title: "", unit: "ms" };
    const of = (across: string, down: string) =>
      lines(plane(TABLE, { measure: "rtt_p95_ms", across, down, only: BULK }), measure);
    const figure = of("rtt", "pep");
    expect(figure?.panels[0]?.lines.map((l) => l.name)).toEqual(["pep none", "pep default"]);
    expect(figure?.panels[0]?.lines[1]?.points()).toEqual({ x: [5, 20], y: [null, 30] });
    expect(figure?.x).toMatchObject({ unit: "ms", scale: { min: 5, max: 20 } });
    expect(of("pep", "rtt")).toBeNull();
  });

  it("reads quantities, and takes other text as it is", () => {
    expect(quantity("20 ms")).toEqual([20, "ms"]);
    expect(quantity("-1.5e3 Mbit/s")).toEqual([-1500, "Mbit/s"]);
    expect(quantity(7)).toEqual([7, ""]);
    expect(quantity("none")).toBeNull();
    expect(quantity("5G nr")).toBeNull();
    const mixed = axisOf("rtt", ["1 s", "500 ms"]);
    expect(mixed.ticks.map((t) => t.at)).toEqual([null, null]);
    expect(mixed.place("500 ms")).toBe(1);
  });

  it("puts many numbers into parts, each value into one", () => {
    const values = Array.from({ length: 101 }, (_, i) => `${i} ms`);
    const axis = axisOf("rtt", values);
    expect(axis.ticks).toHaveLength(10);
    expect(axis.ticks[0]).toEqual({ label: "0 to 10", at: 5 });
    expect([0, 9.9, 10, 100].map((v) => axis.place(`${v} ms`))).toEqual([0, 0, 1, 9]);
  });

  it("has a small figure of its first axes", () => {
    expect(smallSweep(TABLE)).toEqual({
      reach: "bulk: RTT p95 from 30 ms (rtt 20 ms, pep default) to 80 ms (rtt 20 ms, pep none)",
      title: "RTT p95 of bulk over rtt",
      unit: "ms",
      ends: ["5 ms", "20 ms"],
      lines: [
        { name: "none", x: [5, 20], y: [50, 80] },
        { name: "default", x: [5, 20], y: [null, 30] },
      ],
    });
    expect(smallSweep({ ...TABLE, rows: [] })).toBeNull();
  });

  it("has mechanisms down, and no mean over an axis that is not shown", () => {
    const three: SweepTable = {
      ...TABLE,
      sweep: { ...TABLE.sweep, axes: [...TABLE.sweep.axes, { name: "buffer", values: "" }] },
      columns: [...TABLE.columns, "buffer"],
      rows: TABLE.rows.flatMap((row) => [
        [...row, "1 MB"],
        [...row, "4 MB"],
      ]),
    };
    const choice = firstChoice(three, "rtt_p95_ms", axisNames(three));
    expect(choice).toEqual({
      measure: "rtt_p95_ms",
      across: "rtt",
      down: "pep",
      only: new Map([
        ["flow", "bulk"],
        ["buffer", "1 MB"],
      ]),
    });
    expect(smallSweep(three)?.title).toBe("RTT p95 of bulk over rtt at buffer 1 MB");
    expect(firstChoice(TABLE, "goodput_bps", ["rtt"]).down).toBeNull();
  });
});

describe("a list of results", () => {
  const point = (goodput: number | null, rtt: number | null) => ({
    id: 0,
    label: "pep=none",
    goodput_bps: goodput,
    rtt_p95_ms: rtt,
  });
  const results: ResultInfo[] = [
    { id: "run10", written: 10, points: [point(5e6, 30)] },
    { id: "run2", written: 30, points: [point(1e6, 90), point(9e6, 20)] },
    { id: "plane", written: 20, sweep: { points: 4, failed: 0, axes: [] } },
    {
      id: "udp",
      written: null,
      points: [point(7e6, null)],
      findings: [{ variant: "", flow: "call", text: "98 % of the goodput" }],
    },
  ];
  const ids = (order: Parameters<typeof sorted>[1]) => sorted(results, order).map((r) => r.id);

  it("is sorted, with what has no value last", () => {
    expect(ids("name")).toEqual(["plane", "run2", "run10", "udp"]);
    expect(ids("newest")).toEqual(["run2", "plane", "run10", "udp"]);
    expect(ids("rtt")).toEqual(["run2", "run10", "plane", "udp"]);
    expect(ids("goodput")).toEqual(["run2", "udp", "run10", "plane"]);
  });

  it("is filtered by all that its cards have", () => {
    const found = (text: string) => results.filter((r) => finds(text, r)).map((r) => r.id);
    expect(found("")).toHaveLength(4);
    expect(found("GOODPUT call")).toEqual(["udp"]);
    expect(found("sweep")).toEqual(["plane"]);
    expect(found("pep=none run")).toEqual(["run10", "run2"]);
    expect(found("absent")).toEqual([]);
  });
});

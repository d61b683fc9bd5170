// What the table of a sweep states.

import { describe, expect, it } from "vitest";
import type { SweepTable } from "./api";
import { extent } from "./cards";
import { parseRoute, sweepPath } from "./route";
import { columns, rows, shown } from "./sweep";

const TABLE: SweepTable = {
  id: "plane",
  sweep: { points: 4, failed: 1, axes: [{ name: "rtt", values: "1 ms, 2 ms" }] },
  columns: ["point", "rtt", "flow", "goodput_bps", "completion_s", "link_utilisation"],
  rows: [
    [0, "1 ms", "bulk", 12e6, null, 0.5],
    [1, "2 ms", "bulk", 6e6, 2.5, 1],
  ],
  points_shown: 2,
  is_whole: true,
};

describe("a sweep", () => {
  it("has columns in the units of the other tables", () => {
    const found = columns(TABLE);
    expect(found.map((c) => c.title)).toEqual([
      "point",
      "rtt",
      "flow",
      "goodput",
      "completion",
      "utilisation",
    ]);
    expect(found.map((c) => c.text)).toEqual([false, true, true, false, false, false]);
    expect(rows(TABLE)[0]?.values).toEqual({
      point: 0,
      rtt: "1 ms",
      flow: "bulk",
      goodput_bps: 12,
      completion_s: null,
      link_utilisation: 50,
    });
  });

  it("has means of counts with as many digits as other columns", () => {
    const table = { ...TABLE, columns: ["point", "retransmits"], rows: [[0, 130 / 3]] };
    const [point, retransmits] = columns(table);
    expect(point?.format?.(0)).toBe("0");
    expect(retransmits?.format?.(130 / 3)).toBe("43.33");
  });

  it("states what has run, what failed and what is missing", () => {
    expect(extent(TABLE.sweep)).toBe("4 points, 1 failed");
    expect(shown(TABLE)).toBe(
      "2 of 4 points have results. 1 have not run: the same command goes on.",
    );
    expect(shown({ ...TABLE, is_whole: false })).toBe("The first 2 rows that were found.");
  });

  it("has an address of its own", () => {
    expect(sweepPath("a b/c")).toBe("#/sweep/a%20b%2Fc");
    expect(parseRoute("#/sweep/a%20b%2Fc")).toEqual({ page: "sweep", id: "a b/c" });
    expect(parseRoute("#/sweep/%")).toEqual({ page: "home" });
  });
});

import { describe, expect, it } from "vitest";
import type { EntityKind } from "../base/metrics";
import { broken, figures, type Series } from "./figures";

const series = (entity: string, metric: string, kind: EntityKind = "flow"): Series => ({
  entity,
  kind,
  metric,
  unit: "",
  points: () => ({ x: [0, 1], y: [1, 2] }),
});

describe("figures", () => {
  it("give a flow one colour, whatever else has a value of the metric", () => {
    const set = {
      label: "",
      series: [
        series("call", "goodput_bps"),
        series("bulk", "goodput_bps"),
        series("bulk", "rtt_ms"),
      ],
    };
    const drawn = figures([set], { entities: new Map() });
    const colours = drawn.flatMap((figure) =>
      figure.panels.flatMap((panel) =>
        panel.lines.filter((line) => line.name === "bulk").map((line) => line.colour),
      ),
    );
    expect(colours).toEqual([1, 1]);
  });

  it("break a line where nothing was measured", () => {
    const points = { x: [0, 1, 2, 30, 31], y: [5, 5, 5, 7, 7] };
    expect(broken(points).y).toEqual([5, 5, 5, null, 7, 7]);
    const whole = { x: [0, 1, 2, 3], y: [1, 2, null, 4] };
    expect(broken(whole)).toBe(whole);
  });
});

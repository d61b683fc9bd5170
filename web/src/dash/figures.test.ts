import { describe, expect, it } from "vitest";
import type { EntityKind } from "../base/metrics";
import { broken, figures, type Series, window } from "./figures";

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

  it("have flows in one order, whichever had a value first", () => {
    const set = {
      label: "",
      series: [
        series("bulk", "goodput_bps"),
        series("web", "goodput_bps"),
        series("web", "rtt_ms"),
        series("bulk", "rtt_ms"),
      ],
    };
    const drawn = figures([set], { entities: new Map() });
    for (const figure of drawn) {
      expect(figure.panels[0]?.lines.map((line) => line.name)).toEqual(["bulk", "web"]);
    }
  });

  it("are named after the kind of what they show where there are several, and captioned so", () => {
    const set = {
      label: "",
      series: [
        series("modem", "queue_bytes", "queue"),
        series("phone", "queue_bytes", "ue"),
        series("cell 1", "prb", "cell"),
      ],
    };
    const drawn = figures([set], { entities: new Map() });
    const titles = drawn.map((figure) => figure.title);
    expect(titles).toContain("Queues");
    expect(titles).toContain("Queues: UEs");
    const prb = drawn.find((figure) => figure.title === "Physical resource blocks");
    expect(prb?.caption).toBe("Allocated in each cell, mean per slot.");
  });

  it("draw one-way delays beside round trips, in figures of their own, and none of a result without", () => {
    const older = { label: "", series: [series("bulk", "rtt_ms")] };
    const now = { label: "", series: [...older.series, series("voip", "owd_ms")] };
    const titles = (set: typeof now) =>
      figures([set], { entities: new Map() }).map((figure) => [figure.title, figure.y.unit]);
    expect(titles(older)).toEqual([["Round-trip time", "ms"]]);
    expect(titles(now)).toEqual([
      ["Round-trip time", "ms"],
      ["One-way delay", "ms"],
    ]);
  });

  it("draw what was received instead of goodput, where all results have it", () => {
    const old = {
      label: "old",
      series: [series("bulk", "goodput_bps"), series("cell", "capacity_bps", "cell")],
    };
    const now = { label: "new", series: [...old.series, series("bulk", "received_bps")] };
    const first = (...sets: Parameters<typeof figures>[0]) => {
      const figure = figures(sets, { entities: new Map() })[0];
      return [figure?.id, figure?.panels[0]?.lines.length];
    };
    // with the capacity behind it
    expect(first(now)).toEqual(["received_bps", 2]);
    expect(first(old)).toEqual(["goodput_bps", 2]);
    expect(first(now, old)).toEqual(["goodput_bps", 4]);
    expect(figures([now], { entities: new Map() }).map((f) => f.id)).not.toContain("goodput_bps");
  });

  it("of means state over what they are", () => {
    const means = { x: [0, 0.05, 0.1], y: [1, 2, 3] };
    expect(window([{ x: [1], y: [1] }, means])).toBe(" Means over 50 ms each.");
    expect(window([{ x: [1], y: [1] }])).toBe("");
  });

  it("break a line where nothing was measured", () => {
    const points = { x: [0, 1, 2, 30, 31], y: [5, 5, 5, 7, 7] };
    expect(broken(points).y).toEqual([5, 5, 5, null, 7, 7]);
    const whole = { x: [0, 1, 2, 3], y: [1, 2, null, 4] };
    expect(broken(whole)).toBe(whole);
  });
});

import { describe, expect, it } from "vitest";
import { chartKey } from "./keys";
import { Timeline } from "./timeline";

describe("the span of time", () => {
  it("stays within what there is", () => {
    const t = new Timeline();
    t.setExtent(0, 10);
    t.zoom(-5, 4);
    expect(t.span).toEqual([0, 9]);
    t.zoom(8, 9);
    t.pan(5);
    expect(t.span).toEqual([9, 10]);
    t.zoom(3, 3);
    expect(t.span[1] - t.span[0]).toBeCloseTo(0.001);
    t.zoom(-1, 11);
    expect(t.zoomed).toBe(false);
  });

  it("zooms round the moment looked at", () => {
    const t = new Timeline();
    t.setExtent(0, 10);
    t.look(2, null);
    t.zoomBy(0.5);
    expect(t.span).toEqual([1, 6]);
    t.zoomBy(2);
    expect(t.zoomed).toBe(false);
  });

  it("stays where it is while data come in, and notifies all", () => {
    const t = new Timeline();
    const passed: number[] = [];
    const end = t.onRange(([from]) => passed.push(from));
    t.setExtent(0, 10);
    t.zoom(2, 3);
    t.setExtent(5, 15);
    expect(t.span).toEqual([2, 3]);
    t.reset();
    end();
    t.zoom(6, 7);
    expect(passed).toEqual([0, 2, 5]);
  });
});

describe("keys", () => {
  const key = (name: string, more = {}) => ({
    key: name,
    shiftKey: false,
    ctrlKey: false,
    altKey: false,
    metaKey: false,
    ...more,
  });
  const view = { from: 0, to: 10, at: null, log: false };

  it("move from the middle, and from where one was", () => {
    expect(chartKey(key("ArrowRight"), view)).toEqual({ look: 5.1 });
    expect(chartKey(key("PageDown"), { ...view, at: 9.5 })).toEqual({ look: 10 });
    expect(chartKey(key("ArrowRight"), { from: 1, to: 100, at: null, log: true })).toEqual({
      look: expect.closeTo(10.471, 3) as number,
    });
  });

  it("zoom, and leave the browser's keys alone", () => {
    expect(chartKey(key("+"), view)).toEqual({ zoom: 0.5 });
    expect(chartKey(key("Escape"), view)).toEqual({ zoom: "reset" });
    expect(chartKey(key("+", { ctrlKey: true }), view)).toBeNull();
    expect(chartKey(key("Tab"), view)).toBeNull();
  });
});

import { describe, expect, it } from "vitest";
import { parse } from "./socket";
import { LiveStore } from "./store";

const series = (id: number) => ({
  id,
  entity: `flow${id}`,
  kind: "flow" as const,
  metric: "rtt_ms",
  unit: "ms",
});

describe("the live store", () => {
  it("holds the values of unchanged series, and ends those that are null", () => {
    const store = new LiveStore(60);
    store.add([series(1), series(2)]);
    store.frame(0, 0, [
      [1, 10],
      [2, 20],
    ]);
    store.frame(1, 0.02, [[1, 11]]);
    store.frame(2, 0.04, [[2, null]]);
    const reduced = store.reduce(0, 1, 100);
    expect(store.values(1, reduced)).toEqual([10, 11, 11]);
    expect(store.values(2, reduced)).toEqual([20, 20, null]);
  });

  it("takes no frame twice and none of the past", () => {
    const store = new LiveStore(60);
    store.add([series(1)]);
    expect(store.frame(5, 1, [[1, 1]])).toBe(true);
    expect(store.frame(5, 1, [[1, 2]])).toBe(false);
    expect(store.frame(4, 2, [[1, 2]])).toBe(false);
    expect(store.frame(6, 0.5, [[1, 2]])).toBe(false);
    expect(store.last(1)).toBe(1);
    expect(store.extent).toEqual([1, 1]);
  });

  it("keeps a window of hours of frames, and every peak in it", () => {
    const store = new LiveStore(2);
    store.add([series(1)]);
    for (let i = 0; i < 100_000; i++) store.frame(i, i / 50, [[1, i === 99_950 ? 1000 : i % 7]]);
    const [from, to] = store.extent ?? [0, 0];
    expect(to).toBe(99_999 / 50);
    expect(to - from).toBeGreaterThanOrEqual(2);
    expect(to - from).toBeLessThan(3);
    const reduced = store.reduce(from, to, 10);
    const values = store.values(1, reduced);
    expect(values.length).toBe(reduced.x.length);
    expect(values.length).toBeLessThanOrEqual(24);
    expect(Math.max(...values.map((v) => v ?? 0))).toBe(1000);
    expect([...reduced.x].sort((a, b) => a - b)).toEqual(reduced.x);
  });

  it("shows nothing of a series before it was announced", () => {
    const store = new LiveStore(60);
    store.add([series(1)]);
    store.frame(0, 0, [[1, 1]]);
    store.add([series(2)]);
    store.frame(1, 1, [[2, 5]]);
    expect(store.values(2, store.reduce(0, 2, 10))).toEqual([null, 5]);
    expect(store.recent(2, 10)).toBe(5);
    expect(store.recent(3, 10)).toBeNaN();
  });
});

describe("messages", () => {
  it("of unknown types are passed over", () => {
    expect(parse('{"type":"table","flows":[]}')).toEqual({ type: "table", flows: [] });
    for (const bad of ['{"type":"news"}', "{", "null", "7", new ArrayBuffer(2)]) {
      expect(parse(bad)).toBeNull();
    }
  });
});

// Small figures: which lines they have, and where these go.

import { describe, expect, it } from "vitest";
import type { SeriesAnswer, SeriesData } from "./api";
import { small } from "./preview";
import { path, smallScale } from "./small";

function series(entity: string, metric: string, v: (number | null)[]): SeriesData {
  return { entity, kind: "flow", metric, unit: "ms", t: v.map((_, i) => i), v };
}
const answer = (...all: SeriesData[]): SeriesAnswer => ({ from: 0, to: 2, series: all });

describe("a small figure", () => {
  it("has the round trips of each flow of one point", () => {
    const one = answer(
      series("bulk", "received_bps", [1, 2]),
      series("bulk", "rtt_ms", [10, 20]),
      series("web", "rtt_ms", [5, 6]),
    );
    const found = small([one], [""]);
    expect(found).toMatchObject({ title: "RTT over time", unit: "ms", ends: ["0 s", "2 s"] });
    expect(found?.lines.map((l) => l.name)).toEqual(["bulk", "web"]);
  });

  it("has one flow of several points, each with its label", () => {
    const of = (level: number) =>
      answer(series("bulk", "rtt_ms", [level, level]), series("web", "rtt_ms", [1, 1]));
    const found = small([of(10), of(20)], ["pep=none", "pep=default"]);
    expect(found?.title).toBe("RTT of bulk over time");
    expect(found?.lines).toEqual([
      { name: "pep=none", x: [0, 1], y: [10, 10] },
      { name: "pep=default", x: [0, 1], y: [20, 20] },
    ]);
  });

  it("has one-way delays where no flow has round trips", () => {
    const of = (level: number) =>
      answer(series("call", "received_bps", [1, 2]), series("call", "owd_ms", [level, 2 * level]));
    const found = small([of(10), of(20)], ["pep=none", "pep=default"]);
    expect(found).toMatchObject({ title: "One-way delay of call over time", unit: "ms" });
    expect(found?.lines.map((l) => l.y)).toEqual([
      [10, 20],
      [20, 40],
    ]);
  });

  it("has what was received where there are no delays, and is none without either", () => {
    const found = small([answer(series("udp", "received_bps", [1e6, 2e6]))], [""]);
    expect(found).toMatchObject({ title: "Received over time", unit: "bps" });
    expect(small([answer(series("udp", "cwnd_bytes", [1, 2]))], [""])).toBeNull();
    expect(small([answer(series("udp", "rtt_ms", [1]))], [""])).toBeNull();
  });

  it("is logarithmic where values span much, and breaks where one is missing", () => {
    const line = { name: "a", x: [0, 1, 2, 3], y: [1, null, 10, 100] };
    const even = smallScale([line], false);
    expect([even.log, even.at(50)]).toEqual([false, 0.5]);
    const log = smallScale([line], true);
    expect([log.log, log.at(10), log.at(0)]).toEqual([true, 0.5, 0]);
    expect(path(line, 0, 3, log)).toBe("M0.0 96.0M213.3 48.0L320.0 0.0");
    expect(smallScale([], true).at(1)).toBe(1);
  });
});

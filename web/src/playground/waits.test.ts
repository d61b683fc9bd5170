// Which queues have a row.

import { describe, expect, it } from "vitest";
import { longest, type Queues } from "./waits";

function queues(...waits: [string, number][]): Queues {
  const of = ([name, mean]: [string, number]) => ({
    name,
    bytes: { mean: 1, max: 2 },
    sojourn_ms: { mean, p95: mean },
  });
  return { queues: waits.map(of) };
}

describe("waits in queues", () => {
  it("have the longest of any run first, and none where nothing waits", () => {
    const without = queues(["rlc", 400], ["wan", 0.01]);
    const withIt = queues(["rlc", 5], ["wan", 0.02], ["pep", 8]);
    expect(longest([without, withIt])).toEqual(["rlc", "pep"]);
    expect(longest([queues(["wan", 0])])).toEqual([]);
  });
});

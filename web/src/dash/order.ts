// In which order results are listed, and which of them a text finds.

import type { ResultInfo } from "./api";

export type Order = "name" | "newest" | "rtt" | "goodput";

/** The orders as they are offered. */
export const ORDERS: [Order, string][] = [
  ["name", "name"],
  ["newest", "newest first"],
  ["rtt", "lowest RTT p95"],
  ["goodput", "highest goodput"],
];

/** The best of a result's points; null where none has it. */
function best(
  result: ResultInfo,
  key: "goodput_bps" | "rtt_p95_ms",
  pick: (...all: number[]) => number,
): number | null {
  const values = (result.points ?? []).map((p) => p[key]).filter((v) => typeof v === "number");
  return values.length === 0 ? null : pick(...values);
}

/** What an order goes by, the smaller first; what has no value is last. */
function rank(result: ResultInfo, order: Order): number {
  const last = Number.POSITIVE_INFINITY;
  switch (order) {
    case "name":
      return 0;
    case "newest":
      return typeof result.written === "number" ? -result.written : last;
    case "rtt":
      return best(result, "rtt_p95_ms", Math.min) ?? last;
    case "goodput": {
      const most = best(result, "goodput_bps", Math.max);
      return most === null ? last : -most;
    }
  }
}

/** The results in an order; equal ones by their names. */
export function sorted(results: readonly ResultInfo[], order: Order): ResultInfo[] {
  const names = new Intl.Collator("en", { numeric: true });
  return [...results].sort((a, b) => {
    const [x, y] = [rank(a, order), rank(b, order)];
    return x === y ? names.compare(a.id, b.id) : x < y ? -1 : 1;
  });
}

/** All that is written on the card of a result. */
function words(result: ResultInfo): string {
  const points = (result.points ?? []).map((p) => p.label);
  const found = (result.findings ?? []).flatMap((f) => [f.variant, f.flow, f.text]);
  const axes = (result.sweep?.axes ?? []).flatMap((a) => [a.name, a.values]);
  const { id, scenario = "", world = "", version = "", error = "" } = result;
  const kind = result.sweep ? "sweep" : "";
  const all = [id, scenario, world, version, error, kind, ...points, ...found, ...axes];
  return all.join("\n").toLowerCase();
}

/** Whether a result's card has each word of a text. */
export function finds(text: string, result: ResultInfo): boolean {
  const on = words(result);
  const wanted = text.toLowerCase().split(/\s+/);
  return wanted.every((word) => on.includes(word));
}

// How long packets wait in each queue, and how much waits there, without and with: queues as delay beside bytes.

import { h } from "../base/dom";
import { columnNumber } from "../base/format";

/** What of a summary is shown. */
export interface Queues {
  queues: {
    name: string;
    bytes: { mean: number; max: number };
    sojourn_ms: { mean: number; p95: number };
  }[];
}

/** A queue with shorter waits in all runs has no row, ms. */
const LEAST_MS = 0.1;
const HEADS = ["mean wait (ms)", "p95 wait (ms)", "mean (kB)", "greatest (kB)"];

/** Names of queues in which packets wait, the longest wait of any run first. */
export function longest(summaries: readonly Queues[]): string[] {
  const waits = new Map<string, number>();
  for (const { name, sojourn_ms } of summaries.flatMap((s) => s.queues)) {
    waits.set(name, Math.max(waits.get(name) ?? 0, sojourn_ms.mean));
  }
  const found = [...waits].filter(([, wait]) => wait >= LEAST_MS);
  return found.sort(([, a], [, b]) => b - a).map(([name]) => name);
}

/** The table: a row for each queue, four columns for each run. */
export function waitsTable(
  summaries: readonly Queues[],
  labels: readonly string[],
): HTMLElement | null {
  const names = longest(summaries);
  if (names.length === 0) return null;
  const cells = (name: string) =>
    summaries.flatMap((summary) => {
      const queue = summary.queues.find((q) => q.name === name);
      if (!queue) return HEADS.map(() => h("td", {}, "–"));
      const { bytes, sojourn_ms } = queue;
      const values = [sojourn_ms.mean, sojourn_ms.p95, bytes.mean / 1e3, bytes.max / 1e3];
      return values.map((value) => h("td", {}, columnNumber(value)));
    });
  const title = "Waiting in the queues";
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-label": title },
    h(
      "table",
      { class: "waits" },
      h("caption", {}, title),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          ...labels.map((label) => h("th", { scope: "colgroup", colspan: HEADS.length }, label)),
        ),
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "queue"),
          ...labels.flatMap(() => HEADS.map((head) => h("th", { scope: "col" }, head))),
        ),
      ),
      h(
        "tbody",
        {},
        ...names.map((name) => h("tr", {}, h("th", { scope: "row" }, name), ...cells(name))),
      ),
    ),
  );
}

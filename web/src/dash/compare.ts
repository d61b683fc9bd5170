// Two summaries side by side: each number of each flow, and the ratio with its interval.

import { h } from "../base/dom";
import { number, scaled, type Unit } from "../base/format";
import { type Estimate, ratio } from "../base/stats";
import { DataTable, type Row } from "../table/table";
import type { Distribution, FlowSummary, Summary } from "./api";

interface Measure {
  title: string;
  unit: Unit;
  /** True if more is better. */
  more: boolean;
  of(flow: FlowSummary): Estimate | null;
}

const exact = (mean: number | undefined): Estimate | null =>
  mean === undefined || !Number.isFinite(mean) ? null : { mean, ci95: 0 };

/** Of a time that was measured: without a sample there is none. */
const time = (of: Distribution | undefined, which: "p50" | "p95" | "p99"): Estimate | null =>
  of && of.samples !== 0 ? exact(of[which]) : null;

const MEASURES: Measure[] = [
  { title: "goodput", unit: "bps", more: true, of: (f) => f.goodput_bps },
  { title: "RTT p50", unit: "ms", more: false, of: (f) => time(f.rtt_ms, "p50") },
  { title: "RTT p95", unit: "ms", more: false, of: (f) => time(f.rtt_ms, "p95") },
  { title: "RTT p99", unit: "ms", more: false, of: (f) => time(f.rtt_ms, "p99") },
  { title: "OWD p95", unit: "ms", more: false, of: (f) => time(f.owd_ms, "p95") },
  { title: "load p95", unit: "ms", more: false, of: (f) => time(f.load_time_ms, "p95") },
  { title: "retransmits", unit: "count", more: false, of: (f) => exact(f.retransmits) },
  {
    title: "completion",
    unit: "s",
    more: false,
    of: (f) =>
      typeof f.completion_s === "number" ? exact(f.completion_s) : (f.completion_s ?? null),
  },
];

function written({ mean, ci95 }: Estimate, unit: Unit): string {
  const [factor, name] = scaled(unit, mean);
  const span = ci95 > 0 ? ` ± ${number(ci95 / factor)}` : "";
  return `${number(mean / factor)}${span}${name === "" ? "" : ` ${name}`}`;
}

/** Whether x is better than y, or worse; "alike" where intervals leave a doubt. */
function verdict(x: Estimate, y: Estimate, more: boolean): string {
  const r = ratio(x, y);
  // without a ratio one of them is zero, and differences decide
  const isApart =
    r === null
      ? Math.abs(x.mean - y.mean) > x.ci95 + y.ci95
      : (r.low > 1 || r.high < 1) && Math.abs(r.mean - 1) > 0.005;
  return isApart ? (x.mean > y.mean === more ? "better" : "worse") : "alike";
}

/** A row for each flow and measure that both have. */
export function compareRows(a: Summary, b: Summary): Row[] {
  return a.flows.flatMap((flow) => {
    const other = b.flows.find((f) => f.name === flow.name);
    if (!other) return [];
    return MEASURES.flatMap((measure): Row[] => {
      const [x, y] = [measure.of(flow), measure.of(other)];
      if (!x || !y || (x.mean === 0 && y.mean === 0)) return [];
      const r = ratio(x, y);
      const span = r && r.high > r.low ? ` [${number(r.low)}, ${number(r.high)}]` : "";
      return [
        {
          name: `${flow.name} ${measure.title}`,
          values: {
            flow: flow.name,
            measure: measure.title,
            a: written(x, measure.unit),
            b: written(y, measure.unit),
            ratio: r === null ? null : `${number(r.mean)}${span}`,
            verdict: verdict(x, y, measure.more),
          },
        },
      ];
    });
  });
}

/** The table of two points; a sentence where they have no flow of one name. */
export function compareTable(a: Summary, b: Summary, labels: [string, string]): HTMLElement {
  const rows = compareRows(a, b);
  if (rows.length === 0) {
    return h("p", { class: "message" }, "No ratios: no flow has the same name in both.");
  }
  const table = new DataTable({
    caption: `${labels[0]} beside ${labels[1]}`,
    columns: [
      { key: "flow", title: "Flow", text: true },
      { key: "measure", title: "Measure", text: true },
      { key: "a", title: labels[0] },
      { key: "b", title: labels[1] },
      { key: "ratio", title: "Ratio" },
      {
        key: "verdict",
        title: labels[0],
        text: true,
        unit: "against the other",
        mark: (v) => (v === "better" || v === "worse" ? v : ""),
      },
    ],
  });
  table.show(rows);
  return table.element;
}

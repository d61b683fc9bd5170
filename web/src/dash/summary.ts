// The tables of one point: flows, queues, and the few numbers above them.

import { h } from "../base/dom";
import { columnNumber, number, withUnit } from "../base/format";
import { type Column, DataTable, type Row } from "../table/table";
import type { Distribution, FlowSummary, Mean, Summary } from "./api";

const ms = (key: string, title: string): Column => ({
  key,
  title,
  unit: "ms",
  format: columnNumber,
});

/** Distributions of a flow, as the command line's table has them; those that no flow has are left out. */
const SPREADS: {
  title: string;
  key: string;
  quantile: "p50" | "p95" | "p99";
  of(flow: FlowSummary): Distribution | undefined;
}[] = [
  { title: "RTT p50", key: "rtt", quantile: "p50", of: (f) => f.rtt_ms },
  { title: "RTT p95", key: "rtt", quantile: "p95", of: (f) => f.rtt_ms },
  { title: "RTT p99", key: "rtt", quantile: "p99", of: (f) => f.rtt_ms },
  { title: "OWD p95", key: "owd", quantile: "p95", of: (f) => f.owd_ms },
  { title: "OWD p99", key: "owd", quantile: "p99", of: (f) => f.owd_ms },
  { title: "load p50", key: "load", quantile: "p50", of: (f) => f.load_time_ms },
  { title: "load p95", key: "load", quantile: "p95", of: (f) => f.load_time_ms },
];

/** The table of flows; with boxes that choose which are drawn, where `onPick` is given. */
export function flowTable(
  summary: Summary,
  mostPicked: number,
  onPick?: (names: string[]) => void,
): DataTable {
  const has = (key: "completion_s" | "retransmits" | "lost") =>
    summary.flows.some((f) => {
      const v = f[key];
      return v !== null && v !== undefined && v !== 0;
    });
  const columns: Column[] = [
    { key: "name", title: "flow", text: true },
    { key: "cc", title: "cc", text: true },
    { key: "goodput", title: "goodput", unit: "Mbit/s", format: columnNumber },
    ...SPREADS.filter(({ of }) => summary.flows.some((f) => (of(f)?.samples ?? 0) > 0)).map(
      ({ title, key, quantile }) => ms(`${key} ${quantile}`, title),
    ),
  ];
  if (summary.flows.some((f) => f.goodput_bps.ci95 > 0)) {
    columns.splice(3, 0, { key: "ci", title: "± 95 %", unit: "Mbit/s", format: columnNumber });
  }
  if (has("completion_s"))
    columns.push({ key: "done", title: "completion", unit: "s", format: columnNumber });
  if (summary.flows.some((f) => f.cc === "udp")) columns.push(ms("jitter", "jitter"));
  if (has("retransmits"))
    columns.push({ key: "retransmits", title: "retransmits", format: number });
  if (has("lost")) columns.push({ key: "lost", title: "lost", format: number });
  const table = new DataTable({
    caption: "Flows",
    columns,
    mostPicked,
    ...(onPick ? { onPick } : {}),
  });
  table.show(summary.flows.map(flowRow));
  return table;
}

const mean = (v: Mean | number | null | undefined) =>
  typeof v === "number" ? v : (v?.mean ?? null);

function flowRow(flow: FlowSummary): Row {
  return {
    name: flow.name,
    values: {
      name: flow.name,
      cc: flow.cc,
      goodput: flow.goodput_bps.mean / 1e6,
      ci: flow.goodput_bps.ci95 / 1e6,
      ...Object.fromEntries(
        SPREADS.map(({ of, key, quantile }) => {
          const spread = of(flow);
          const value = spread && spread.samples > 0 ? spread[quantile] : null;
          return [`${key} ${quantile}`, value];
        }),
      ),
      jitter: flow.cc === "udp" ? (flow.jitter_ms ?? null) : null,
      done: mean(flow.completion_s),
      retransmits: flow.retransmits ?? null,
      lost: flow.lost ?? null,
    },
  };
}

export function queueTable(summary: Summary): DataTable {
  const table = new DataTable({
    caption: "Queues",
    columns: [
      { key: "name", title: "queue", text: true },
      { key: "mean", title: "mean", unit: "kB", format: columnNumber },
      { key: "most", title: "max", unit: "kB", format: columnNumber },
      ms("p50", "sojourn p50"),
      ms("p99", "sojourn p99"),
      { key: "drops", title: "drops", format: number },
    ],
  });
  const used = summary.queues.filter((q) => q.bytes.max > 0);
  table.show(
    used.map((q) => ({
      name: q.name,
      values: {
        name: q.name,
        mean: q.bytes.mean / 1e3,
        most: q.bytes.max / 1e3,
        p50: q.sojourn_ms.p50,
        p99: q.sojourn_ms.p99,
        drops: q.drops,
      },
    })),
  );
  return table;
}

/** A number with its name, and perhaps a second one below. */
export function tile(name: string, value: string, more = ""): HTMLElement {
  const [digits = "", ...unit] = value.split(" ");
  return h(
    "div",
    { class: "tile" },
    h("dt", {}, name),
    h("dd", {}, digits, unit.length > 0 ? h("small", {}, ` ${unit.join(" ")}`) : null),
    more === "" ? null : h("dd", { class: "more" }, more),
  );
}

/** What can be reported of a point in a few numbers. */
export function tiles(summary: Summary): HTMLElement {
  const goodput = summary.flows.reduce((sum, f) => sum + f.goodput_bps.mean, 0);
  const count = summary.flows.length;
  const worst = Math.max(0, ...summary.flows.map((f) => f.rtt_ms.p95));
  const deepest = Math.max(0, ...summary.queues.map((q) => q.bytes.max));
  const link = summary.link;
  return h(
    "dl",
    { class: "tiles" },
    tile(
      "Goodput, all flows",
      withUnit("bps", goodput),
      `${count} ${count === 1 ? "flow" : "flows"}`,
    ),
    link ? tile("Capacity", withUnit("bps", link.capacity_bps)) : null,
    link ? tile("Utilisation", withUnit("share", link.utilisation)) : null,
    worst > 0 ? tile("Largest RTT p95", withUnit("ms", worst)) : null,
    deepest > 0 ? tile("Longest queue", withUnit("bytes", deepest)) : null,
    summary.elapsed_s ? tile("Duration", withUnit("s", summary.elapsed_s)) : null,
  );
}

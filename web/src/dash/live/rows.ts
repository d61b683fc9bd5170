// The live tables: a row for each flow and UE, from the newest values of their series and the feed's
// own table.

import { columnNumber, number } from "../../base/format";
import type { MetricName } from "../../base/metrics";
import type { Column, Row, Value } from "../../table/table";
import type { TableFlow } from "./socket";
import type { LiveSeries, LiveStore } from "./store";

const MEASURES: [MetricName, string, string, number][] = [
  ["goodput_bps", "Goodput", "Mbit/s", 1e6],
  ["rtt_ms", "RTT", "ms", 1],
  ["bytes_in_flight", "In flight", "kB", 1e3],
  ["cwnd_bytes", "cwnd", "kB", 1e3],
  ["receive_window_bytes", "Recv window", "kB", 1e3],
  ["ran_window_bytes", "RAN window", "kB", 1e3],
  ["queue_bytes", "Queue", "kB", 1e3],
  ["marks_per_second", "Marks", "per s", 1],
  ["report_age_ms", "Report age", "ms", 1],
  ["prb", "PRBs", "per slot", 1],
  ["mcs", "MCS", "", 1],
  ["cqi", "CQI", "", 1],
  ["loss_congestion", "Congestion", "losses", 1],
  ["loss_radio", "Radio", "losses", 1],
];

/** Rates of single frames jump: a second's mean can be read. */
const MEANS: ReadonlySet<string> = new Set<MetricName>([
  "goodput_bps",
  "rtt_ms",
  "marks_per_second",
]);
const SLOW: MetricName = "is_slow";

/** Columns for what the series and the table of these entities have. */
export function columns(
  series: readonly LiveSeries[],
  table: readonly TableFlow[],
  title: string,
): Column[] {
  const has = (metric: MetricName) =>
    series.some((s) => s.metric === metric) || table.some((f) => typeof f[metric] === "number");
  const measured = MEASURES.filter(([metric]) => has(metric)).map(
    ([key, name, unit]): Column => ({
      key,
      title: name,
      ...(unit === "" ? {} : { unit }),
      format: unit === "" || unit === "losses" ? number : columnNumber,
    }),
  );
  const all: Column[] = [{ key: "name", title, text: true }];
  if (table.some((f) => f.ue) || series.some((s) => s.kind === "flow" && s.parent)) {
    all.push({ key: "ue", title: "UE", text: true });
  }
  if (table.some((f) => f.cc)) all.push({ key: "cc", title: "cc", text: true });
  all.push(...measured);
  if (has(SLOW)) all.push({ key: "class", title: "Held for", text: true });
  return all;
}

/** Rows by name; the feed's table states what the series do not. */
export function rows(
  store: LiveStore,
  series: readonly LiveSeries[],
  table: readonly TableFlow[],
): Row[] {
  const byName = new Map<string, Record<string, Value>>();
  const row = (name: string) => {
    let values = byName.get(name);
    if (!values) {
      values = { name };
      byName.set(name, values);
    }
    return values;
  };
  for (const flow of table) {
    const values = row(flow.name);
    values.ue = flow.ue ?? null;
    values.cc = flow.cc ?? null;
    for (const [metric, , , factor] of MEASURES) {
      const v = flow[metric];
      if (typeof v === "number") values[metric] = v / factor;
    }
    const slow = flow[SLOW];
    if (slow !== undefined && slow !== null) values.class = Number(slow) >= 0.5 ? "slow" : "fast";
  }
  for (const s of series) {
    const v = store.last(s.id);
    if (Number.isNaN(v)) continue;
    const values = row(s.entity);
    if (s.kind === "flow" && s.parent) values.ue ??= s.parent;
    if (s.metric === SLOW) values.class = v >= 0.5 ? "slow" : "fast";
    const measure = MEASURES.find(([metric]) => metric === s.metric);
    const shown = MEANS.has(s.metric) ? store.recent(s.id, 1) : v;
    if (measure) values[s.metric] = shown / measure[3];
  }
  return [...byName].map(([name, values]) => ({ name, values }));
}

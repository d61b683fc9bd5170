// Measures of a sweep's dataset: what they are called, and in which unit.

import type { Unit } from "../base/format";

export interface Measure {
  title: string;
  unit: Unit;
}

/** By the names of the dataset's columns, in the order in which they are offered. */
export const MEASURES: Record<string, Measure> = {
  rtt_p95_ms: { title: "RTT p95", unit: "ms" },
  rtt_mean_ms: { title: "RTT mean", unit: "ms" },
  goodput_bps: { title: "goodput", unit: "bps" },
  completion_s: { title: "completion", unit: "s" },
  link_utilisation: { title: "utilisation", unit: "share" },
  retransmits: { title: "retransmits", unit: "count" },
  lost: { title: "lost", unit: "count" },
};

// What is known of each metric, printed from crate `metric`, whose tests keep it in step:
// cargo run -p metric --example typescript > web/src/base/metrics.ts

import type { Kind } from "../chart/model";
import type { Unit } from "./format";

/** What a series belongs to. */
export type EntityKind = "cell" | "link" | "ue" | "flow" | "queue" | "path";

/** What a series shows: no other name is one of a metric. */
export type MetricName =
  | "goodput_bps"
  | "received_bps"
  | "rtt_ms"
  | "owd_ms"
  | "path_share"
  | "path_rate_bps"
  | "path_cwnd_bytes"
  | "bytes_in_flight"
  | "cwnd_bytes"
  | "receive_window_bytes"
  | "ran_window_bytes"
  | "queue_bytes"
  | "capacity_bps"
  | "is_slow"
  | "utilisation"
  | "prb"
  | "mcs"
  | "cqi"
  | "unsplit_delay_ms"
  | "unsplit_rate_bps"
  | "marks_per_second"
  | "report_age_ms"
  | "report_bps"
  | "pacing_gain"
  | "seen_delay_ms"
  | "least_delay_ms"
  | "loss_congestion"
  | "loss_radio"
  | "loss_unknown";

/** How the metric is drawn. */
export interface Metric {
  title: string;
  axis: string;
  unit: Unit;
  kind: Kind;
  caption: string;
  mayBeLog?: boolean;
  /** Drawn as a sum of all entities' shares. */
  stacked?: boolean;
}

/** In the order of the page. */
export const METRICS: Record<string, Metric> = {
  goodput_bps: {
    title: "Goodput and capacity",
    axis: "Goodput",
    unit: "bps",
    kind: "rate",
    caption:
      "Payload delivered to each flow's receiver; behind it, what the bottleneck could have carried.",
  },
  received_bps: {
    title: "Received and capacity",
    axis: "Received",
    unit: "bps",
    kind: "rate",
    caption:
      "Payload that came to each flow's receiver, in any order; behind it, what the bottleneck could have carried. Goodput, as the tables have it, counts what came behind a gap once that is closed.",
  },
  rtt_ms: {
    title: "Round-trip time",
    axis: "RTT",
    unit: "ms",
    kind: "line",
    caption: "Mean of each step, end to end.",
    mayBeLog: true,
  },
  owd_ms: {
    title: "One-way delay",
    axis: "One-way delay",
    unit: "ms",
    kind: "line",
    caption:
      "Mean of each step of flows of datagrams, as calls are: from the sending host to the receiving application.",
    mayBeLog: true,
  },
  path_share: {
    title: "Shares of the paths",
    axis: "Share",
    unit: "share",
    kind: "stack",
    caption: "What part of the packets each path carries.",
    stacked: true,
  },
  path_rate_bps: {
    title: "Rates of the paths",
    axis: "Rate",
    unit: "bps",
    kind: "stack",
    caption:
      "What each path of the tunnel delivers to its end at the user, packets inside with their headers.",
    stacked: true,
  },
  path_cwnd_bytes: {
    title: "Windows of the paths",
    axis: "cwnd",
    unit: "bytes",
    kind: "line",
    caption: "Congestion window of each path of the tunnel, at the edge.",
    mayBeLog: true,
  },
  bytes_in_flight: {
    title: "Bytes in flight",
    axis: "In flight",
    unit: "bytes",
    kind: "line",
    caption: "Payload that the data's sender has sent and that is not acknowledged yet.",
    mayBeLog: true,
  },
  queue_bytes: {
    title: "Queues",
    axis: "Waiting",
    unit: "bytes",
    kind: "line",
    caption: "Bytes waiting in each queue; queues that stayed empty are not drawn.",
    mayBeLog: true,
  },
  is_slow: {
    title: "Flows held for slow",
    axis: "Flow",
    unit: "share",
    kind: "lane",
    caption: "A bar stands where the allocator held the flow for slow.",
  },
  utilisation: {
    title: "Utilisation",
    axis: "Utilisation",
    unit: "share",
    kind: "rate",
    caption: "Share of the cell's resource blocks that carry data.",
  },
  prb: {
    title: "Physical resource blocks",
    axis: "PRBs per slot",
    unit: "count",
    kind: "rate",
    caption: "Allocated to each UE, mean per slot.",
  },
  mcs: {
    title: "Modulation and coding scheme",
    axis: "MCS",
    unit: "count",
    kind: "step",
    caption: "Index of the scheme in use.",
  },
  cqi: {
    title: "Channel quality indicator",
    axis: "CQI",
    unit: "count",
    kind: "step",
    caption: "As each UE reports it, 0 (out of range) to 15.",
  },
  unsplit_delay_ms: {
    title: "Delay of what is not split",
    axis: "Predicted delay",
    unit: "ms",
    kind: "line",
    caption:
      "What the next packet that the proxy does not split waits for in the base station, as the marker predicts it.",
    mayBeLog: true,
  },
  unsplit_rate_bps: {
    title: "Rate of what is not split",
    axis: "Rate",
    unit: "bps",
    kind: "rate",
    caption:
      "What the radio carries of each UE's packets that the proxy does not split: its share beside the proxy's flows.",
  },
  marks_per_second: {
    title: "Packets marked",
    axis: "Marks per second",
    unit: "count",
    kind: "rate",
    caption: "Packets that the queue above each modem has marked (ECN).",
  },
  report_age_ms: {
    title: "Age of the modem's report",
    axis: "Age",
    unit: "ms",
    kind: "line",
    caption: "How long ago the last report of each modem that counted was made.",
    mayBeLog: true,
  },
  report_bps: {
    title: "Bandwidth that clients report",
    axis: "Report",
    unit: "bps",
    kind: "rate",
    caption: "What each client measures and reports to its sender.",
  },
  pacing_gain: {
    title: "Pacing gain",
    axis: "Gain",
    unit: "count",
    kind: "step",
    caption: "Of a sender that its client helps.",
  },
  seen_delay_ms: {
    title: "Downstream delay as the sender sees it",
    axis: "Delay",
    unit: "ms",
    kind: "line",
    caption: "What the sender makes of its client's reports.",
    mayBeLog: true,
  },
  least_delay_ms: {
    title: "Least downstream delay",
    axis: "Delay",
    unit: "ms",
    kind: "step",
    caption: "The least delay that the sender uses.",
    mayBeLog: true,
  },
};

/** Windows of one flow, which share a panel. */
export const WINDOWS: [string, string][] = [
  ["cwnd_bytes", "congestion window"],
  ["receive_window_bytes", "receive window"],
  ["ran_window_bytes", "RAN window"],
];

/** MELD's decisions, which share a panel. */
export const LOSSES: [string, string][] = [
  ["loss_congestion", "congestion"],
  ["loss_radio", "radio"],
  ["loss_unknown", "unknown"],
];

/** A kind of entity in the plural, for titles. */
export const KIND_NAMES: Record<EntityKind, string> = {
  cell: "cells",
  link: "link",
  ue: "UEs",
  flow: "flows",
  queue: "queues",
  path: "paths",
};

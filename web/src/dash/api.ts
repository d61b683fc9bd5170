// The dashboard's HTTP interface, as docs/operations/dashboard.md describes it.

import type { EntityKind } from "../base/metrics";

/** Formats of the interface up to this one are understood. */
export const FORMAT = 1;

export interface Info {
  version: string;
  format: number;
  mode: "live" | "results";
  title: string;
  world: string | null;
  source: string | null;
  /** True until this browser has logged in, where that is needed. */
  needs_token: boolean;
}

export interface PointInfo {
  id: number;
  label: string;
  axes?: Record<string, unknown>;
  /** Of all flows together. */
  goodput_bps?: number | null;
  /** The greatest of its flows. */
  rtt_p95_ms?: number | null;
}

/** A sentence on a flow of a point, as reports have it. */
export interface Finding {
  /** Label of the point. */
  variant: string;
  flow: string;
  text: string;
}

export interface ResultInfo {
  id: string;
  scenario?: string;
  world?: string;
  seed?: number;
  repeats?: number;
  version?: string;
  points?: PointInfo[];
  /** What was found; nothing in results of older versions. */
  findings?: Finding[];
  /** When it was written, in seconds since 1970. */
  written?: number | null;
  /** Set of the dataset of a sweep, which has a table instead of points. */
  sweep?: SweepInfo;
  /** Set, alone, where the folder cannot be read. */
  error?: string;
}

export interface SweepInfo {
  points: number;
  failed: number;
  axes: { name: string; values: string }[];
}

/** The first rows of a sweep, by the numbers of their points. */
export interface SweepTable extends ResultInfo {
  sweep: SweepInfo;
  columns: string[];
  rows: (number | string | null)[][];
  /** How many points the rows are of. */
  points_shown: number;
  /** Whether these are all rows. */
  is_whole: boolean;
  /** The first points that failed. */
  failures?: Failure[];
}

/** A point of a sweep that failed. */
export interface Failure {
  point: number;
  axes: Record<string, string>;
  error: string;
}

/** A mean over the repeats with half of its confidence interval. */
export interface Mean {
  mean: number;
  ci95: number;
}

export interface Distribution {
  min: number;
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  max: number;
  samples: number;
}

export interface FlowSummary {
  name: string;
  cc: string;
  goodput_bps: Mean;
  rtt_ms: Distribution;
  owd_ms?: Distribution;
  completion_s?: Mean | number | null;
  retransmits?: number;
  lost?: number;
  jitter_ms?: number;
  load_time_ms?: Distribution;
}

export interface QueueSummary {
  name: string;
  bytes: { mean: number; p99: number; max: number };
  sojourn_ms: Distribution;
  drops: number;
}

export interface Summary {
  scenario?: string;
  world?: string;
  seed?: number;
  repeats?: number;
  version?: string;
  pep?: string;
  flows: FlowSummary[];
  queues: QueueSummary[];
  link?: { utilisation: number; capacity_bps: number };
  elapsed_s?: number;
}

export interface Point {
  label: string;
  summary: Summary;
  seeds: number[];
}

export interface SeriesData {
  entity: string;
  kind: EntityKind;
  metric: string;
  unit: string;
  t: number[];
  v: (number | null)[];
}

export interface SeriesAnswer {
  from: number;
  to: number;
  series: SeriesData[];
}

/** What went wrong, in the server's words where it had any. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function request<T>(path: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`api/${path}`, {
      credentials: "same-origin",
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer. Is it still running?");
  }
  if (!response.ok) throw new ApiError(response.status, await complaint(response));
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError(response.status, "The server's answer cannot be read.");
  }
}

async function complaint(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const message: unknown = (JSON.parse(text) as { error?: unknown }).error;
    if (typeof message === "string") return message;
  } catch {
    // no JSON: the text itself, if it is short
  }
  const short = text.length > 0 && text.length < 300 ? text : response.statusText;
  return short || `the server answers ${response.status}`;
}

export function info(): Promise<Info> {
  return request("info");
}

export async function login(token: string): Promise<void> {
  const response = await fetch("api/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    credentials: "same-origin",
    body: JSON.stringify({ token }),
  });
  if (!response.ok) throw new ApiError(response.status, await complaint(response));
}

export async function results(): Promise<ResultInfo[]> {
  return (await request<{ results: ResultInfo[] }>("results")).results;
}

export async function sweep(id: string): Promise<SweepTable> {
  const table = await request<SweepTable>(`results/${encodeURIComponent(id)}/sweep`);
  return { ...table, id };
}

export function point(id: string, n: number): Promise<Point> {
  return request(`results/${encodeURIComponent(id)}/points/${n}`);
}

/** The series of one repeat, decimated for a width in pixels. */
export function series(
  id: string,
  n: number,
  query: { seed?: number; from?: number; to?: number; width: number; metrics?: string[] },
  signal?: AbortSignal,
): Promise<SeriesAnswer> {
  const words = new URLSearchParams({ width: String(query.width) });
  if (query.seed !== undefined) words.set("seed", String(query.seed));
  for (const metric of query.metrics ?? []) words.append("metric", metric);
  if (query.from !== undefined) words.set("from", String(query.from));
  if (query.to !== undefined) words.set("to", String(query.to));
  return request(`results/${encodeURIComponent(id)}/points/${n}/series?${words}`, signal);
}

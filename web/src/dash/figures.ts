// Which figures a set of series makes: of a result, of two results laid over one another, or live.

import { unitOf, withUnit } from "../base/format";
import type { EntityKind, MetricName } from "../base/metrics";
import { KIND_NAMES, LOSSES, METRICS, type Metric, WINDOWS } from "../base/metrics";
import { statistics } from "../base/stats";
import type { Figure, Line, Panel, Points } from "../chart/model";

/** A series of a result or of the live feed. */
export interface Series {
  entity: string;
  kind: EntityKind;
  metric: string;
  unit: string;
  points(): Points;
}

/** Series of one result; two of them are laid over one another. */
export interface SeriesSet {
  label: string;
  series: Series[];
}

/** Metrics that figures treat in a way of their own. */
const GOODPUT: MetricName = "goodput_bps";
const RECEIVED: MetricName = "received_bps";
const CAPACITY: MetricName = "capacity_bps";
const QUEUE: MetricName = "queue_bytes";
const IN_FLIGHT: MetricName = "bytes_in_flight";

/** What a figure shows where its metric is of another kind than its caption is about. */
const CAPTIONS = new Map([
  ["rtt_ms-path", "Of each path of the tunnel, smoothed."],
  ["prb-cell", "Allocated in each cell, mean per slot."],
  [
    "goodput_bps-ue",
    "Payload delivered to each UE; behind it, what the bottleneck could have carried.",
  ],
]);

/** Most lines of one panel. */
export const MAX_LINES = 10;
/** Most flows whose windows have a panel. */
const MAX_PANELS = 6;

export interface Choice {
  /** Entities to draw of a kind, in their order; all where the kind is missing. */
  entities: Map<EntityKind, string[]>;
  /** Results side by side, a panel each, instead of over one another. */
  sideBySide?: boolean;
}

/** All figures of these sets, in the order of the page. */
export function figures(sets: SeriesSet[], choice: Choice): Figure[] {
  const known = new Set([...WINDOWS, ...LOSSES].map(([metric]) => metric));
  const metrics = Object.keys(METRICS).concat(
    unknownMetrics(sets).filter((m) => !(m in METRICS) && !known.has(m) && m !== CAPACITY),
  );
  const found: (Figure | null)[] = metrics.flatMap((name) => {
    const kinds = kindsOf(sets, name).filter((kind) => name !== unused(sets, kind));
    const spec = METRICS[name] ?? plain(name, sets);
    return kinds.map((kind) => overTime(sets, choice, name, spec, kind, kinds.length > 1));
  });
  const afterRtt = found.findIndex((f) => f?.id.startsWith(IN_FLIGHT));
  found.splice(afterRtt < 0 ? found.length : afterRtt + 1, 0, windows(sets, choice));
  found.push(losses(sets));
  const isRate = (s: Series) => s.metric === GOODPUT || s.metric === RECEIVED;
  if (!sets.some((set) => set.series.some(isRate))) found.unshift(capacity(sets));
  return found.filter((f) => f !== null);
}

/**
 * Which of goodput and of what was received is not drawn of a kind. What came in any order is, where all sets have
 * it: a gap that is closed hands over more at once than the radio carries.
 */
function unused(sets: SeriesSet[], kind: EntityKind): MetricName {
  const has = (set: SeriesSet) => set.series.some((s) => s.metric === RECEIVED && s.kind === kind);
  return sets.every(has) ? GOODPUT : RECEIVED;
}

function unknownMetrics(sets: SeriesSet[]): string[] {
  return [...new Set(sets.flatMap((s) => s.series.map((x) => x.metric)))].sort();
}

/** A metric without a description here is drawn all the same. */
function plain(name: string, sets: SeriesSet[]): Metric {
  const unit = sets.flatMap((s) => s.series).find((s) => s.metric === name)?.unit ?? "";
  return { title: name, axis: name, unit: unitOf(unit), kind: "line", caption: "" };
}

function kindsOf(sets: SeriesSet[], metric: string): EntityKind[] {
  const kinds = new Set<EntityKind>();
  for (const set of sets) {
    for (const s of set.series) if (s.metric === metric) kinds.add(s.kind);
  }
  return [...kinds];
}

/** The entities to draw, and how many there are. */
function chosen(sets: SeriesSet[], choice: Choice, metric: string, kind: EntityKind) {
  const of = sets.flatMap((s) => s.series.filter((x) => x.metric === metric && x.kind === kind));
  const isEmptyQueue = (name: string) =>
    metric === QUEUE &&
    !choice.entities.has(kind) &&
    of.every((s) => s.entity !== name || (statistics(s.points().y)?.max ?? 0) <= 0);
  const names = [...new Set(of.map((s) => s.entity))].filter((n) => !isEmptyQueue(n));
  const chosen = choice.entities.get(kind);
  const kept = chosen ? chosen.filter((n) => names.includes(n)) : names;
  return { names: kept.slice(0, MAX_LINES), count: names.length };
}

/** The colour of an entity: the same in every figure of the page. */
function colours(sets: SeriesSet[], choice: Choice, kind: EntityKind): (entity: string) => number {
  const of = sets.flatMap((set) => set.series.filter((s) => s.kind === kind));
  const order = choice.entities.get(kind) ?? [...new Set(of.map((s) => s.entity))];
  return (entity) => Math.max(0, order.indexOf(entity));
}

/** Intervals of a line without a value that are a gap, as in the report. */
const GAP = 4;

/** What lies between two points of a line, as a rule; null of fewer than two points. */
export function usualStep(points: Points): number | null {
  const count = points.x.length;
  if (count < 2) return null;
  const steps = Array.from({ length: count - 1 }, (_, i) => at(points.x, i + 1) - at(points.x, i));
  return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? null;
}

/** Over how much time lines of means have them, as a sentence; that of the first with two points. */
export function window(lines: readonly Points[]): string {
  const step = lines.map(usualStep).find((found) => found !== null && found > 0);
  return step ? ` Means over ${withUnit("ms", step * 1000)} each.` : "";
}

/** The points with a break wherever nothing was measured for long: no line joins what is apart. */
export function broken(points: Points): Points {
  const count = points.x.length;
  if (count < 3) return points;
  const usual = usualStep(points) ?? 0;
  const x: number[] = [];
  const y: (number | null)[] = [];
  for (let i = 0; i < count; i++) {
    const step = i > 0 ? at(points.x, i) - at(points.x, i - 1) : 0;
    if (usual > 0 && step > GAP * usual) {
      x.push(at(points.x, i) - step / 2);
      y.push(null);
    }
    x.push(at(points.x, i));
    y.push(points.y[i] ?? null);
  }
  return x.length === count ? points : { x, y };
}

const at = (values: ArrayLike<number>, i: number) => values[i] as number;

const TIME = { title: "Time", unit: "s" } as const;

function named(entity: string, set: SeriesSet, sets: SeriesSet[]): string {
  return sets.length > 1 ? `${entity} · ${set.label}` : entity;
}

function overTime(
  sets: SeriesSet[],
  choice: Choice,
  metric: string,
  spec: Metric,
  kind: EntityKind,
  several: boolean,
): Figure | null {
  const { names, count } = chosen(sets, choice, metric, kind);
  if (names.length === 0) return null;
  const isRate = metric === GOODPUT || metric === RECEIVED;
  // lanes and stacks cannot be laid over one another: a panel each
  const cannotOverlap = spec.kind === "lane" || spec.kind === "stack";
  const apart = sets.length > 1 && (cannotOverlap || choice.sideBySide === true);
  // queues are many, most of them empty and in this figure alone
  const colourOf = metric === QUEUE ? (e: string) => names.indexOf(e) : colours(sets, choice, kind);
  // in one order in all figures of the page
  const ordered = [...names].sort((a, b) => colourOf(a) - colourOf(b));
  const linesOf = (set: SeriesSet, dash: number): Line[] =>
    ordered.flatMap((entity) => {
      const found = set.series.find(
        (s) => s.metric === metric && s.kind === kind && s.entity === entity,
      );
      if (!found) return [];
      const name = spec.kind === "lane" || apart ? entity : named(entity, set, sets);
      const dashed = sets.length > 1 ? { dash } : {};
      const points = spec.kind === "line" ? () => broken(found.points()) : found.points;
      return [{ name, colour: colourOf(entity), kind: spec.kind, points, ...dashed }];
    });
  const bounds = (set: SeriesSet) => (isRate ? capacities(set, apart ? [set] : sets) : []);
  const panels: Panel[] = apart
    ? sets.map((set) => ({ title: set.label, lines: [...bounds(set), ...linesOf(set, 0)] }))
    : [{ title: "", lines: [...sets.flatMap(bounds), ...sets.flatMap((s, i) => linesOf(s, i))] }];
  const isNamed = !several || KIND_NAMES[kind] === spec.title.toLowerCase();
  const title = isNamed ? spec.title : `${spec.title}: ${KIND_NAMES[kind]}`;
  const cut = count > names.length ? ` ${names.length} of ${count} are drawn.` : "";
  return {
    id: several ? `${metric}-${kind}` : metric,
    title,
    caption: (CAPTIONS.get(`${metric}-${kind}`) ?? spec.caption) + cut,
    overTime: true,
    x: TIME,
    y: {
      title: spec.axis,
      unit: spec.unit,
      mayBeLog: spec.mayBeLog ?? false,
      ...(spec.kind === "lane" ? { lanes: names } : {}),
    },
    panels: panels.filter((p) => p.lines.length > 0),
    columns: panels.length,
  };
}

/** What the bottleneck could carry: the whole rather than each user's share of it. */
function capacities(set: SeriesSet, sets: SeriesSet[]): Line[] {
  const all = set.series.filter((s) => s.metric === CAPACITY);
  const link = all.filter((s) => s.entity === "link" || s.kind === "link");
  const cells = all.filter((s) => s.kind === "cell");
  const used = link.length > 0 ? link.slice(0, 1) : cells.length > 0 ? cells : all.slice(0, 1);
  return used.slice(0, 2).map((s, i) => ({
    name: named(used.length > 1 ? `capacity ${s.entity}` : "capacity", set, sets),
    colour: i,
    kind: "area",
    // one laid over the other is an outline
    dash: sets.indexOf(set),
    points: s.points,
  }));
}

function capacity(sets: SeriesSet[]): Figure | null {
  const lines = sets.flatMap((s) => capacities(s, sets));
  if (lines.length === 0) return null;
  return {
    id: CAPACITY,
    title: "Capacity",
    caption: "What the radio could carry.",
    overTime: true,
    x: TIME,
    y: { title: "Capacity", unit: "bps" },
    panels: [{ title: "", lines }],
    columns: 1,
  };
}

/** The windows that bound each flow: a panel for each flow and result. */
function windows(sets: SeriesSet[], choice: Choice): Figure | null {
  const names = WINDOWS.map(([metric]) => chosen(sets, choice, metric, "flow"));
  const flows = [...new Set(names.flatMap((n) => n.names))].slice(0, MAX_PANELS);
  const panels = flows.flatMap((flow) =>
    sets.flatMap((set) => {
      const lines = WINDOWS.flatMap(([metric, name], colour): Line[] => {
        const found = set.series.find((s) => s.metric === metric && s.entity === flow);
        return found ? [{ name, colour, kind: "line", points: found.points }] : [];
      });
      return lines.length === 0 ? [] : [{ title: named(flow, set, sets), lines }];
    }),
  );
  if (panels.length === 0) return null;
  const count = Math.max(...names.map((n) => n.count));
  const cut = count > flows.length ? ` ${flows.length} of ${count} flows are drawn.` : "";
  return {
    id: "windows",
    title: "Windows",
    caption: `Congestion window of the data's sender, the receive window that it sees, and towards the UE the window that the allocator set.${cut}`,
    overTime: true,
    x: TIME,
    y: { title: "Window", unit: "bytes", mayBeLog: true },
    panels,
    columns: sets.length > 1 ? sets.length : panels.length,
  };
}

/** MELD's decisions, of all flows together. */
function losses(sets: SeriesSet[]): Figure | null {
  const panels = sets.flatMap((set) => {
    const lines = LOSSES.flatMap(([metric, name], colour): Line[] => {
      const of = set.series.filter((s) => s.metric === metric);
      if (of.length === 0) return [];
      return [{ name, colour, kind: "step", points: () => sum(of.map((s) => s.points())) }];
    });
    return lines.length === 0 ? [] : [{ title: sets.length > 1 ? set.label : "", lines }];
  });
  if (panels.length === 0) return null;
  return {
    id: "losses",
    title: "Loss decisions",
    caption: "Losses so far that were put down to congestion, to the radio, or to neither.",
    overTime: true,
    x: TIME,
    y: { title: "Losses", unit: "count" },
    panels,
    columns: panels.length,
  };
}

/** The sum of counters, each held until its next point. */
export function sum(all: Points[]): Points {
  const first = all[0];
  if (!first || all.length === 1) return first ?? { x: [], y: [] };
  const times = new Set<number>();
  for (const p of all) for (let i = 0; i < p.x.length; i++) times.add(p.x[i] as number);
  const x = [...times].sort((a, b) => a - b);
  const y = new Array<number>(x.length).fill(0);
  for (const p of all) {
    let at = -1;
    x.forEach((t, row) => {
      while (at + 1 < p.x.length && (p.x[at + 1] as number) <= t) at++;
      y[row] = (y[row] ?? 0) + (at < 0 ? 0 : (p.y[at] ?? 0));
    });
  }
  return { x, y };
}

// What the small figure of a result shows, and when it is loaded: as its card comes into view.

import { fill, h } from "../base/dom";
import { withUnit } from "../base/format";
import * as api from "./api";
import { MEASURES } from "./measures";
import { axisNames, firstChoice, plane, reach, tickText } from "./plane";
import { type Small, type SmallLine, smallFigure } from "./small";

/** Columns of a small figure. */
const WIDTH = 120;
/** Lines of a small figure, and points of a result that are requested for it. */
const MAX_LINES = 4;
/** Requests at a time. */
const AT_ONCE = 2;

const METRICS = ["rtt_ms", "owd_ms", "received_bps", "goodput_bps"];
const DELAYS = new Map([
  ["rtt_ms", "RTT"],
  ["owd_ms", "One-way delay"],
]);

/** Delays over time of a point's flows, or of one flow in several points; else what was received. */
export function small(
  answers: readonly api.SeriesAnswer[],
  labels: readonly string[],
): Small | null {
  const all = answers.flatMap((a) => a.series.filter((s) => s.kind === "flow" && s.t.length > 1));
  const metric = METRICS.find((m) => all.some((s) => s.metric === m));
  const first = all.find((s) => s.metric === metric);
  if (!metric || !first) return null;
  const of = (answer: api.SeriesAnswer) =>
    answer.series.filter((s) => s.metric === metric && s.kind === "flow" && s.t.length > 1);
  const isOne = answers.length <= 1;
  // flows in the order that they have in all figures
  const order = [...new Set(all.map((s) => s.entity))];
  const inOrder = (a: api.SeriesData, b: api.SeriesData) =>
    order.indexOf(a.entity) - order.indexOf(b.entity);
  const lines = isOne
    ? answers
        .flatMap(of)
        .sort(inOrder)
        .map((s) => ({ name: s.entity, x: s.t, y: s.v }))
    : answers.flatMap((answer, i): SmallLine[] => {
        const found = of(answer).find((s) => s.entity === first.entity);
        return found ? [{ name: labels[i] ?? "", x: found.t, y: found.v }] : [];
      });
  const delay = DELAYS.get(metric);
  const [what, unit] = delay ? ([delay, "ms"] as const) : (["Received", "bps"] as const);
  const from = Math.min(...answers.map((a) => a.from));
  const to = Math.max(...answers.map((a) => a.to));
  return {
    title: isOne ? `${what} over time` : `${what} of ${first.entity} over time`,
    unit,
    ends: [withUnit("s", from), withUnit("s", to)],
    lines: lines.slice(0, MAX_LINES),
  };
}

/** The first measure of a sweep over its first axis, a line for each value of the second. */
export function smallSweep(table: api.SweepTable): Small | null {
  const axes = axisNames(table);
  const has = (name: string) => {
    const at = table.columns.indexOf(name);
    return at >= 0 && table.rows.some((row) => typeof row[at] === "number");
  };
  const measure = Object.entries(MEASURES).find(([name]) => has(name));
  if (axes.length === 0 || !measure) return null;
  const [name, { title, unit }] = measure;
  const choice = firstChoice(table, name, axes);
  const found = plane(table, choice);
  const { ticks } = found.across;
  const x = ticks.map((t, i) => t.at ?? i);
  const lines = found.cells.slice(0, MAX_LINES).map((line, i) => ({
    name: found.down ? tickText(found.down, found.down.ticks[i]) : title,
    x,
    y: line.map((cell) => cell.mean),
  }));
  const end = (at: number) => tickText(found.across, ticks.at(at));
  const shown = lines.filter((l) => l.y.some((v) => v !== null));
  if (shown.length === 0 || x.length < 2) return null;
  const flow = choice.only.get("flow");
  const of = flow === undefined ? "" : ` of ${flow}`;
  const fixed = [...choice.only].filter(([axis]) => axis !== "flow").map((pair) => pair.join(" "));
  const at = fixed.length === 0 ? "" : ` at ${fixed.join(", ")}`;
  const extremes = reach(table, name, { title, unit });
  return {
    ...(extremes === null ? {} : { reach: extremes }),
    title: `${title}${of} over ${choice.across}${at}`,
    unit,
    ends: [end(0), end(-1)],
    lines: shown,
  };
}

async function load(result: api.ResultInfo, signal: AbortSignal): Promise<Small | null> {
  if (result.sweep) return smallSweep(await api.sweep(result.id));
  const points = (result.points ?? []).slice(0, MAX_LINES);
  const query = { width: WIDTH, metrics: METRICS };
  const answers = points.map((p) => api.series(result.id, p.id, query, signal));
  return small(
    await Promise.all(answers),
    points.map((p) => p.label),
  );
}

/** Small figures that are loaded as they come into view, few at a time, each once. */
export class Previews {
  readonly #seen: IntersectionObserver;
  readonly #wanted = new Map<Element, api.ResultInfo>();
  readonly #waiting: [Element, api.ResultInfo][] = [];
  readonly #abort = new AbortController();
  #running = 0;

  constructor() {
    this.#seen = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const result = this.#wanted.get(target);
          if (!isIntersecting || !result) continue;
          this.#forget(target);
          this.#waiting.push([target, result]);
        }
        this.#next();
      },
      { rootMargin: "200px" },
    );
  }

  /** Has the figure of a result drawn into an element. */
  watch(element: Element, result: api.ResultInfo): void {
    this.#wanted.set(element, result);
    this.#seen.observe(element);
  }

  #forget(element: Element): void {
    this.#wanted.delete(element);
    this.#seen.unobserve(element);
  }

  #next(): void {
    while (this.#running < AT_ONCE) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#running += 1;
      void this.#draw(...next).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }

  async #draw(element: Element, result: api.ResultInfo): Promise<void> {
    try {
      const found = await load(result, this.#abort.signal);
      if (found && !this.#abort.signal.aborted) {
        const isTime = result.sweep === undefined;
        fill(element, smallFigure(found, isTime));
      }
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      const text = error instanceof Error ? error.message : String(error);
      fill(element, h("p", { class: "caption" }, `No figure: ${text}`));
    }
  }

  end(): void {
    this.#abort.abort();
    this.#waiting.length = 0;
    this.#seen.disconnect();
  }
}

// One point of a result: its numbers and figures, and another point laid over it.

import { fill, h } from "../base/dom";
import { Timeline } from "../chart/timeline";
import { zoomBar } from "../chart/toolbar";
import * as api from "./api";
import { Board } from "./board";
import { foundOf } from "./cards";
import { compareTable } from "./compare";
import { type Choice, figures, MAX_LINES, type SeriesSet } from "./figures";
import type { View } from "./page";
import { type PointRef, pointPath } from "./route";
import { flowTable, queueTable, tiles } from "./summary";

/** Columns of pixels that the server can distinguish. */
const WIDTH = 1200;
/** A zoom is refined once it has stood still for so long, ms. */
const SETTLE = 150;

/** How two points were shown last. */
let isSideBySide = false;

/** A point as loaded. */
interface Loaded {
  ref: PointRef;
  label: string;
  point: api.Point;
}

function name(ref: PointRef, results: api.ResultInfo[]): string {
  const result = results.find((r) => r.id === ref.id);
  const label = result?.points?.find((p) => p.id === ref.point)?.label ?? "";
  return label === "" ? ref.id : `${ref.id}: ${label}`;
}

/** The other of two points in a title: of the same result by its label alone. */
function nameBeside(mine: Loaded, beside: Loaded): string {
  return mine.ref.id === beside.ref.id ? beside.point.label || beside.label : beside.label;
}

/** What distinguishes two points, as short as it can be. */
function shortLabels(a: Loaded, b: Loaded): [string, string] {
  const label = (l: Loaded) => l.point.label || l.ref.id;
  if (label(a) !== label(b)) return [label(a), label(b)];
  return [`${a.ref.id} ${label(a)}`, `${b.ref.id} ${label(b)}`];
}

export async function pointView(
  ref: PointRef,
  other: PointRef | null,
  results: api.ResultInfo[],
): Promise<View> {
  const load = async (r: PointRef): Promise<Loaded> => ({
    ref: r,
    label: name(r, results),
    point: await api.point(r.id, r.point),
  });
  const [mine, beside] = await Promise.all([load(ref), other ? load(other) : null]);
  const view = new PointView(mine, beside, results);
  view.refresh();
  return view;
}

class PointView implements View {
  readonly element: HTMLElement;
  readonly #timeline = new Timeline();
  readonly #board: Board;
  readonly #loaded: Loaded[];
  readonly #seeds: HTMLSelectElement;
  readonly #note: HTMLElement;
  readonly #choice: Choice = { entities: new Map(), sideBySide: isSideBySide };
  #labels: string[];
  #sets: SeriesSet[] = [];
  #request: AbortController | null = null;
  #timer = 0;
  #extentKnown = false;

  constructor(mine: Loaded, beside: Loaded | null, results: api.ResultInfo[]) {
    this.#loaded = beside ? [mine, beside] : [mine];
    this.#labels = beside ? shortLabels(mine, beside) : [""];
    this.#board = new Board(this.#timeline);
    this.#note = h("div", { role: "status" });
    this.#seeds = h(
      "select",
      { onchange: () => this.#anew() },
      ...mine.point.seeds.map((s) => h("option", { value: s }, String(s))),
    );
    const summary = mine.point.summary;
    const many = summary.flows.length > MAX_LINES;
    const flows = flowTable(summary, MAX_LINES, many ? (names) => this.#draw(names) : undefined);
    if (many) {
      const first = summary.flows.slice(0, MAX_LINES).map((f) => f.name);
      flows.pick(first);
      this.#choice.entities.set("flow", first);
    }
    this.element = h(
      "div",
      {},
      h("h2", {}, mine.label, beside ? ` beside ${nameBeside(mine, beside)}` : null),
      foundOf(mine.ref, results),
      tiles(summary),
      this.#tools(results, mine, beside),
      this.#note,
      beside
        ? block("Ratios", compareTable(summary, beside.point.summary, shortLabels(mine, beside)))
        : null,
      block("Flows", flows.element),
      block("Figures", this.#board.element),
      summary.queues.some((q) => q.bytes.max > 0)
        ? block("Queues", queueTable(summary).element)
        : null,
    );
    this.#timeline.onRange(() => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.refresh(), SETTLE);
    });
  }

  #tools(results: api.ResultInfo[], mine: Loaded, beside: Loaded | null): HTMLElement {
    const key = (r: PointRef) => JSON.stringify([r.id, r.point]);
    const options = results.flatMap((r) =>
      (r.points ?? []).map((p) => {
        const ref = { id: r.id, point: p.id };
        const selected = beside !== null && key(beside.ref) === key(ref);
        return key(ref) === key(mine.ref)
          ? null
          : h("option", { value: key(ref), selected }, name(ref, results));
      }),
    );
    const select = h(
      "select",
      {
        onchange: () => {
          const chosen =
            select.value === "" ? null : (JSON.parse(select.value) as [string, number]);
          const other = chosen ? { id: chosen[0], point: chosen[1] } : null;
          location.hash = pointPath(mine.ref.id, mine.ref.point, other);
        },
      },
      h("option", { value: "" }, "nothing"),
      ...options,
    );
    return h(
      "div",
      { class: "tools" },
      h("label", {}, "Compare with", select),
      beside ? this.#layout() : null,
      mine.point.seeds.length > 1 ? h("label", {}, "Seed", this.#seeds) : null,
      zoomBar(this.#timeline, "Whole run"),
    );
  }

  /** Whether the figures of two points lie over one another or side by side. */
  #layout(): HTMLElement {
    const select = h(
      "select",
      {
        onchange: () => {
          isSideBySide = select.value === "apart";
          this.#choice.sideBySide = isSideBySide;
          this.#board.show(figures(this.#sets, this.#choice));
        },
      },
      h("option", { value: "over" }, "over one another"),
      h("option", { value: "apart", selected: isSideBySide }, "side by side"),
    );
    return h("label", {}, "Layout", select);
  }

  #draw(flows: string[]): void {
    this.#choice.entities.set("flow", flows);
    this.#board.show(figures(this.#sets, this.#choice));
  }

  #anew(): void {
    this.#extentKnown = false;
    this.#timeline.reset();
    this.refresh();
  }

  /** Requests the series of what is shown, as finely as the screen can show them. */
  async refresh(): Promise<void> {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    const span = this.#timeline.zoomed ? this.#timeline.span : null;
    try {
      const answers = await Promise.all(
        this.#loaded.map(({ ref, point }) => {
          const requested = Number(this.#seeds.value);
          const seed = point.seeds.includes(requested) ? requested : (point.seeds[0] ?? 0);
          const part = span ? { from: span[0], to: span[1] } : {};
          return api.series(ref.id, ref.point, { seed, width: WIDTH, ...part }, request.signal);
        }),
      );
      if (request.signal.aborted) return;
      this.#take(answers);
    } catch (error) {
      if (request.signal.aborted) return;
      const text = error instanceof Error ? error.message : String(error);
      const again = h("button", { type: "button", onclick: () => this.refresh() }, "Try again");
      fill(this.#note, h("p", { class: "message error" }, `${text} `, again));
    }
  }

  #take(answers: api.SeriesAnswer[]): void {
    this.#sets = answers.map((answer, i) => ({
      label: this.#labels[i] ?? "",
      series: answer.series.map((s) => ({ ...s, points: () => ({ x: s.t, y: s.v }) })),
    }));
    if (!this.#extentKnown) {
      this.#extentKnown = true;
      const from = Math.min(...answers.map((a) => a.from));
      this.#timeline.setExtent(from, Math.max(...answers.map((a) => a.to)));
    }
    const all = figures(this.#sets, this.#choice);
    fill(
      this.#note,
      all.length === 0 ? h("p", { class: "message" }, "The run recorded no time series.") : null,
    );
    this.#board.show(all);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#board.end();
  }
}

function block(title: string, ...content: HTMLElement[]): HTMLElement {
  return h("section", { class: "block", "aria-label": title }, h("h2", {}, title), ...content);
}

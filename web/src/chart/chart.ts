// One plot: uPlot with our axes, shared time, values under the cursor, and the keyboard.

import uPlot from "uplot";
import { h } from "../base/dom";
import { withUnit } from "../base/format";
import { colour, onTheme } from "../base/theme";
import { type Cell, type Columns, held, join, lane, nearest, stacked } from "./columns";
import { chartKey } from "./keys";
import { type Axis, COLOURS, dashOf, type Line, type Mark, type Points, type Scale } from "./model";
import { heading, logTicks, tickLabel } from "./scale";
import type { Timeline } from "./timeline";

/** What a chart draws: its lines with their points, and the scales that its figure chose. */
export interface Content {
  title: string;
  x: Axis;
  y: Axis;
  xScale: Scale;
  yScale: Scale;
  lines: Line[];
  points: Points[];
  marks: readonly Mark[];
  hidden: ReadonlySet<string>;
}

const DASHES = [[], [7, 4], [2, 3]];
/** Values are read this share of the shown span beside the cursor, at most. */
const FAR = 0.02;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** The colour of a line. */
export function lineColour(line: Line): string {
  return line.kind === "area" ? colour("--area") : colour(`--c${line.colour % COLOURS}`);
}

/** `#rrggbb` with an opacity. */
function faded(hex: string, opacity: number): string {
  const byte = Math.round(opacity * 255).toString(16);
  return `${hex}${byte.padStart(2, "0")}`;
}

export class Chart {
  readonly element: HTMLElement;
  readonly #timeline: Timeline;
  readonly #overTime: boolean;
  readonly #frame: HTMLElement;
  readonly #tip: HTMLElement;
  readonly #status: HTMLElement;
  readonly #yTitle: HTMLElement;
  readonly #xTitle: HTMLElement;
  readonly #ends: (() => void)[] = [];
  #plot: uPlot | null = null;
  #content: Content | null = null;
  #columns: Columns = { x: [], y: [], low: [], high: [] };
  /** Index of the first uPlot series of each line. */
  #signature = "";
  #isNotifying = false;

  constructor(timeline: Timeline, overTime: boolean) {
    this.#timeline = timeline;
    this.#overTime = overTime;
    this.#yTitle = h("div", { class: "y-title", "aria-hidden": "true" });
    this.#xTitle = h("div", { class: "x-title", "aria-hidden": "true" });
    this.#tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.#status = h("div", { class: "unseen", role: "status" });
    this.#frame = h("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-roledescription": "chart",
    });
    this.element = h(
      "div",
      { class: "chart" },
      this.#yTitle,
      this.#frame,
      this.#xTitle,
      this.#status,
    );
    this.#frame.append(this.#tip);
    this.#frame.addEventListener("keydown", (event) => this.#key(event));
    this.#frame.addEventListener("blur", () => this.#look(null));
    const size = new ResizeObserver(() => this.#resize());
    size.observe(this.#frame);
    this.#ends.push(
      () => size.disconnect(),
      onTheme(() => this.#plot?.redraw(false)),
    );
    if (overTime) {
      this.#ends.push(
        timeline.onRange(() => this.#showRange()),
        timeline.onCursor((at, source) => {
          if (source !== this) this.#mark(at, false);
        }),
      );
    }
  }

  destroy(): void {
    for (const end of this.#ends) end();
    this.#plot?.destroy();
    this.#plot = null;
  }

  /** Draws; builds the plot anew only where lines or axes have changed. */
  draw(content: Content): void {
    this.#content = content;
    const lanes = content.y.lanes;
    const points = content.points.map((p, i) => {
      const place = lanes?.indexOf(content.lines[i]?.name ?? "") ?? -1;
      return lanes && place >= 0 ? lane(p, lanes.length - place - 0.5) : p;
    });
    this.#columns = join(points);
    const label = content.title === "" ? content.y.title : content.title;
    this.#frame.setAttribute("aria-label", `${label}: arrow keys read values, plus and minus zoom`);
    this.#frame.classList.toggle("lanes", lanes !== undefined);
    if (lanes) this.#frame.style.setProperty("--lanes", String(lanes.length));
    this.#yTitle.textContent = heading(content.y, content.yScale);
    this.#xTitle.textContent = heading(content.x, content.xScale);
    const signature = JSON.stringify([
      content.lines.map((l, i) => [
        l.name,
        l.colour,
        l.kind,
        dashOf(l),
        content.hidden.has(l.name),
        this.#columns.low[i] !== null,
      ]),
      content.yScale,
      content.xScale,
      lanes,
    ]);
    if (signature !== this.#signature || !this.#plot) {
      this.#signature = signature;
      this.#build(content);
    } else {
      this.#plot.setData(this.#data(content), false);
      this.#showRange();
    }
  }

  /** Columns as uPlot needs them: x, then each line, with its band's ends after it. */
  #data(content: Content): uPlot.AlignedData {
    const { x, y, low, high } = this.#columns;
    const shown = content.lines.map((l) => !content.hidden.has(l.name));
    const isStack = content.lines.some((l) => l.kind === "stack");
    const values = isStack ? stacked(y, shown) : y;
    const floor = content.yScale.log ? content.yScale.min : Number.NEGATIVE_INFINITY;
    const clamped = (column: Cell[]) =>
      floor === Number.NEGATIVE_INFINITY
        ? column
        : column.map((v) => (v === null || v === undefined ? v : Math.max(v, floor)));
    const columns: Cell[][] = [];
    content.lines.forEach((_, i) => {
      columns.push(clamped(values[i] ?? []));
      const [lows, highs] = [low[i], high[i]];
      if (lows && highs) columns.push(clamped(lows), clamped(highs));
    });
    return [x, ...columns] as uPlot.AlignedData;
  }

  #build(content: Content): void {
    this.#plot?.destroy();
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    let below = -1;
    content.lines.forEach((line, i) => {
      const show = !content.hidden.has(line.name);
      const stroke = () => lineColour(line);
      const at = series.length;
      series.push({
        show,
        stroke,
        width: line.kind === "lane" ? 12 : line.kind === "area" ? 1 : 1.6,
        dash: line.kind === "lane" ? [] : (DASHES[dashOf(line)] ?? []),
        cap: line.kind === "lane" ? "butt" : "round",
        points: { show: line.kind === "lane" ? false : isolated },
        ...(line.kind === "step" ? { paths: steppedPaths() } : {}),
        ...(line.kind === "area" && dashOf(line) === 0
          ? { fill: () => faded(lineColour(line), 0.22) }
          : {}),
        ...(line.kind === "stack" && below < 0 ? { fill: () => faded(lineColour(line), 0.5) } : {}),
      });
      if (line.kind === "stack" && show) {
        const fill = () => faded(lineColour(line), 0.5);
        if (below >= 0) bands.push({ series: [at, below], fill: fill as unknown as string });
        below = at;
      }
      if (this.#columns.low[i]) {
        series.push({ show, width: 0, points: { show: false } });
        series.push({ show, width: 0, points: { show: false } });
        const fill = () => faded(lineColour(line), 0.18);
        bands.push({ series: [at + 2, at + 1], fill: fill as unknown as string });
      }
    });
    const { width, height } = this.#size();
    const options: uPlot.Options = {
      width,
      height,
      legend: { show: false },
      padding: [8, 14, 0, 0],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: this.#overTime, y: false, setScale: false, dist: 6 },
        bind: { dblclick: () => () => this.#doubleClick() },
      },
      scales: {
        x: {
          time: false,
          distr: content.xScale.log ? 3 : 1,
          range: () => this.#span(),
        },
        y: {
          distr: content.yScale.log ? 3 : 1,
          range: () => [content.yScale.min, content.yScale.max],
        },
      },
      axes: [axis(content.x, content.xScale, true), axis(content.y, content.yScale, false)],
      series,
      bands,
      hooks: {
        drawAxes: [(u) => this.#drawMarks(u)],
        setCursor: [(u) => this.#moved(u)],
        setSelect: [(u) => this.#selected(u)],
      },
    };
    this.#plot = new uPlot(options, this.#data(content), this.#frame);
  }

  /** A dashed vertical line at each mark, behind the lines. */
  #drawMarks(u: uPlot): void {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = colour("--dim");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { at } of this.#content?.marks ?? []) {
      const x = Math.round(u.valToPos(at, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** What happened near x. */
  #marked(at: number): string[] {
    const [from, to] = this.#span();
    const near = (FAR * ((to ?? 1) - (from ?? 0))) / 2;
    const marks = this.#content?.marks ?? [];
    return marks.filter((mark) => Math.abs(mark.at - at) <= near).map((mark) => mark.label);
  }

  #span(): uPlot.Range.MinMax {
    const content = this.#content;
    if (this.#overTime) return [...this.#timeline.span];
    return content ? [content.xScale.min, content.xScale.max] : [0, 1];
  }

  #size(): { width: number; height: number } {
    return {
      width: Math.max(120, this.#frame.clientWidth),
      height: Math.max(60, this.#frame.clientHeight),
    };
  }

  #resize(): void {
    const size = this.#size();
    if (this.#plot && (this.#plot.width !== size.width || this.#plot.height !== size.height)) {
      this.#plot.setSize(size);
    }
  }

  #showRange(): void {
    const [min, max] = this.#span();
    this.#plot?.setScale("x", { min: min ?? 0, max: max ?? 1 });
  }

  #doubleClick(): null {
    if (this.#overTime) this.#timeline.reset();
    return null;
  }

  #selected(u: uPlot): void {
    if (u.select.width < 3 || !this.#overTime) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.#timeline.zoom(from, to);
  }

  /** The pointer moved, over this chart or out of it. */
  #moved(u: uPlot): void {
    if (this.#isNotifying) return;
    const left = u.cursor.left ?? -1;
    this.#look(left < 0 ? null : u.posToVal(left, "x"));
  }

  #look(at: number | null): void {
    this.#showTip(at);
    if (this.#overTime) this.#timeline.look(at, this);
  }

  /** Puts the cursor line at x, as if the pointer were there. */
  #mark(at: number | null, showsTip: boolean): void {
    const u = this.#plot;
    if (!u) return;
    this.#isNotifying = true;
    u.setCursor(at === null ? { left: -10, top: -10 } : { left: u.valToPos(at, "x"), top: 0 });
    this.#isNotifying = false;
    this.#showTip(showsTip ? at : null);
  }

  /** The names and values at x of all lines that have one there. */
  #values(at: number): { line: Line; text: string }[] {
    const content = this.#content;
    if (!content) return [];
    const { x, y, low, high } = this.#columns;
    const [from, to] = this.#span();
    const far = content.xScale.log ? Number.POSITIVE_INFINITY : FAR * ((to ?? 1) - (from ?? 0));
    return content.lines.flatMap((line, i) => {
      if (content.hidden.has(line.name)) return [];
      if (line.kind === "lane") {
        const row = held(y[i] ?? [])[nearest(x, x, at, Number.POSITIVE_INFINITY)];
        return [{ line, text: row === null || row === undefined ? "fast" : "slow" }];
      }
      const column = y[i] ?? [];
      const row = nearest(x, column, at, line.kind === "step" ? Number.POSITIVE_INFINITY : far);
      if (row < 0) return [];
      const shown = (v: Cell) => withUnit(content.y.unit, v);
      const [least, greatest] = [low[i]?.[row], high[i]?.[row]];
      const span =
        typeof least === "number" && typeof greatest === "number" && greatest > least
          ? ` (${shown(least)} to ${shown(greatest)})`
          : "";
      return [{ line, text: shown(column[row]) + span }];
    });
  }

  #showTip(at: number | null): void {
    const u = this.#plot;
    const content = this.#content;
    if (at === null || !u || !content) {
      this.#tip.hidden = true;
      return;
    }
    const rows = this.#values(at).map(({ line, text }) => {
      const key = h("span", { class: `key ${line.kind}` });
      key.style.color = lineColour(line);
      return h(
        "div",
        {},
        key,
        h("span", { class: "name" }, line.name),
        h("span", { class: "value" }, text),
      );
    });
    const marked = this.#marked(at).map((label) => h("div", { class: "mark" }, label));
    this.#tip.replaceChildren(h("b", {}, withUnit(content.x.unit, at)), ...marked, ...rows);
    this.#tip.hidden = false;
    const plotLeft = u.bbox.left / devicePixelRatio;
    const left = plotLeft + u.valToPos(at, "x");
    const onLeft = left < this.#frame.clientWidth / 2;
    this.#tip.style.left = onLeft ? `${left + 12}px` : "auto";
    this.#tip.style.right = onLeft ? "auto" : `${this.#frame.clientWidth - left + 12}px`;
  }

  #key(event: KeyboardEvent): void {
    const span = this.#span();
    const [from, to] = [span[0] ?? 0, span[1] ?? 1];
    const log = this.#content?.xScale.log ?? false;
    const at = this.#overTime ? this.#timeline.cursor : this.#cursorValue();
    const action = chartKey(event, { from, to, at, log });
    if (action === null) return;
    event.preventDefault();
    if ("look" in action) {
      this.#mark(action.look, true);
      if (this.#overTime) this.#timeline.look(action.look, this);
      const shownValues = this.#values(action.look).map(({ line, text }) => `${line.name} ${text}`);
      const where = withUnit(this.#content?.x.unit ?? "s", action.look);
      const shown = this.#marked(action.look).concat(shownValues);
      this.#status.textContent = `${where}: ${shown.join(", ") || "no value"}`;
    } else if (this.#overTime) {
      if (action.zoom === "reset") this.#timeline.reset();
      else if (action.zoom === "left") this.#timeline.pan(-0.25);
      else if (action.zoom === "right") this.#timeline.pan(0.25);
      else this.#timeline.zoomBy(action.zoom);
      const [a, b] = this.#timeline.span;
      this.#status.textContent = `showing ${withUnit("s", a)} to ${withUnit("s", b)}`;
    }
  }

  #cursorValue(): number | null {
    const left = this.#plot?.cursor.left ?? -1;
    return left < 0 || !this.#plot ? null : this.#plot.posToVal(left, "x");
  }
}

/** Points are marked only where a line is so short that it would not show. */
function isolated(u: uPlot, index: number): boolean {
  const column = u.data[index] ?? [];
  if (column.length > 400) return false;
  let count = 0;
  for (const v of column) if (v !== null && v !== undefined) count++;
  return count < 2;
}

function steppedPaths(): uPlot.Series.PathBuilder {
  const make = uPlot.paths.stepped;
  if (!make) throw new Error("this uPlot has no stepped lines");
  return make({ align: 1 });
}

function axis(of: Axis, scale: Scale, horizontal: boolean): uPlot.Axis {
  const lanes = of.lanes;
  const common: uPlot.Axis = {
    stroke: () => colour("--dim"),
    font: FONT,
    grid: { stroke: () => colour("--grid"), width: 1, show: lanes === undefined },
    ticks: { stroke: () => colour("--rule"), width: 1, size: 4 },
    border: { show: true, stroke: () => colour("--dim"), width: 1 },
    gap: 4,
    size: horizontal ? 28 : (_, values) => widest(values),
    space: horizontal ? 60 : 34,
    values: (_, splits) => splits.map((v) => (v === null ? "" : tickLabel(of, scale, v))),
  };
  if (lanes) {
    return {
      ...common,
      splits: () => lanes.map((_, i) => lanes.length - i - 0.5),
      values: () => lanes.map((name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name)),
    };
  }
  if (scale.log) {
    const ticks = logTicks(scale.min, scale.max);
    return { ...common, splits: () => ticks, filter: (_, splits) => splits };
  }
  return common;
}

/** Room for the tick labels, so that the axis does not jump at each new number. */
function widest(values: readonly string[] | null): number {
  const longest = (values ?? []).reduce((most, v) => Math.max(most, String(v).length), 4);
  return 14 + Math.ceil(longest / 2) * 2 * 6.2;
}

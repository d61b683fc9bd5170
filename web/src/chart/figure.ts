// A figure: legend, panels, and its numbers as a table. Drawn only while it can be seen.

import { fill, h } from "../base/dom";
import { tick, withUnit } from "../base/format";
import { statistics } from "../base/stats";
import { onTheme } from "../base/theme";
import { Chart, lineColour } from "./chart";
import { dashOf, type Figure, type Line, type Points, type Scale } from "./model";
import { suit } from "./scale";
import type { Timeline } from "./timeline";

/** Parts of the shown span in the table of numbers. */
const PARTS = 5;

export class FigureView {
  readonly element: HTMLElement;
  readonly #timeline: Timeline;
  readonly #legend: HTMLElement;
  readonly #panels: HTMLElement;
  readonly #numbers: HTMLDetailsElement | null;
  readonly #hidden = new Set<string>();
  readonly #seen: IntersectionObserver;
  readonly #endTheme: () => void;
  #charts: { title: HTMLElement; chart: Chart; box: HTMLElement }[] = [];
  #model: Figure | null = null;
  #visible = false;
  #stale = true;
  #legendOf = "";

  /** In an element of its own; with a table of numbers, unless the page has one already. */
  constructor(timeline: Timeline, host: HTMLElement, numbers: boolean) {
    this.#timeline = timeline;
    this.element = host;
    this.#legend = h("div", { class: "legend", role: "group", "aria-label": "Lines" });
    this.#panels = h("div", { class: "panels" });
    this.#numbers = numbers
      ? h(
          "details",
          { class: "numbers" },
          h("summary", {}, "Numbers"),
          h("div", { class: "scroll", role: "region", tabindex: 0 }),
        )
      : null;
    this.#numbers?.addEventListener("toggle", () => this.#fillNumbers());
    host.append(this.#legend, this.#panels);
    if (this.#numbers) host.append(this.#numbers);
    this.#seen = new IntersectionObserver(
      (entries) => {
        this.#visible = entries.some((e) => e.isIntersecting);
        if (this.#visible && this.#stale) this.draw();
      },
      { rootMargin: "200px" },
    );
    this.#seen.observe(host);
    this.#endTheme = onTheme(() => this.#colourLegend());
  }

  destroy(): void {
    this.#seen.disconnect();
    this.#endTheme();
    for (const { chart } of this.#charts) chart.destroy();
  }

  /** What to draw; drawn at once if it can be seen, or when it comes into view. */
  show(model: Figure): void {
    this.#model = model;
    this.#stale = true;
    this.#buildLegend(model);
    if (this.#visible) this.draw();
  }

  /** Draws whether it can be seen or not: for printing. */
  draw(): void {
    const model = this.#model;
    if (!model) return;
    this.#stale = false;
    const loaded = model.panels.map((panel) => panel.lines.map((line) => line.points()));
    const yScale = this.#yScale(model, loaded);
    const xScale = model.x.scale ?? { log: false, min: 0, max: 1 };
    this.#arrange(model);
    model.panels.forEach((panel, i) => {
      const slot = this.#charts[i];
      if (!slot) return;
      slot.title.textContent = panel.title;
      slot.chart.draw({
        title: panel.title === "" ? model.title : `${model.title}, ${panel.title}`,
        x: model.x,
        y: model.y,
        xScale,
        yScale,
        lines: panel.lines,
        points: loaded[i] ?? [],
        marks: panel.marks ?? [],
        hidden: this.#hidden,
      });
    });
    if (this.#numbers?.open) this.#fillNumbers();
  }

  /** The points have changed: draws now, or when it comes into view. */
  refresh(): void {
    this.#stale = true;
    if (this.#visible) this.draw();
  }

  #yScale(model: Figure, loaded: Points[][]): Scale {
    if (model.y.lanes) return { log: false, min: 0, max: model.y.lanes.length };
    if (model.y.scale) return model.y.scale;
    const isStack = model.panels.some((p) => p.lines.some((l) => l.kind === "stack"));
    if (isStack && model.y.unit === "share") return { log: false, min: 0, max: 1 };
    const shown = loaded.flatMap((points, i) =>
      points.filter((_, k) => !this.#hidden.has(model.panels[i]?.lines[k]?.name ?? "")),
    );
    if (!isStack) return suit(shown, model.y.mayBeLog ?? false);
    // the greatest sum is at most the sum of the greatest
    const tops = loaded.map((points) =>
      points.reduce((sum, p) => sum + (statistics(p.y)?.max ?? 0), 0),
    );
    return suit([{ x: [0], y: [Math.max(0, ...tops)] }], false);
  }

  /** As many charts as panels. */
  #arrange(model: Figure): void {
    this.#panels.className = `panels columns-${Math.min(3, model.columns, model.panels.length)}`;
    while (this.#charts.length > model.panels.length) {
      const last = this.#charts.pop();
      last?.chart.destroy();
      last?.box.remove();
    }
    while (this.#charts.length < model.panels.length) {
      const chart = new Chart(this.#timeline, model.overTime);
      const title = h("h4");
      const box = h("div", { class: "panel" }, title, chart.element);
      this.#panels.append(box);
      this.#charts.push({ title, chart, box });
    }
  }

  /** One button for each name; pressing it hides the lines of that name. */
  #buildLegend(model: Figure): void {
    const names = new Map<string, Line>();
    for (const panel of model.panels) {
      for (const line of panel.lines) if (!names.has(line.name)) names.set(line.name, line);
    }
    const signature = JSON.stringify([...names.values()].map((l) => [l.name, l.colour, l.kind]));
    if (signature === this.#legendOf) return;
    this.#legendOf = signature;
    if (model.y.lanes) {
      this.#legend.hidden = true;
      return;
    }
    const buttons = [...names.values()].map((line) => {
      const key = h("span", {
        class: `key ${line.kind} dash-${dashOf(line)}`,
        "aria-hidden": "true",
      });
      key.style.color = lineColour(line);
      key.dataset.colour = String(line.colour);
      const pressed = !this.#hidden.has(line.name);
      const button = h(
        "button",
        { type: "button", "aria-pressed": String(pressed) },
        key,
        line.name,
      );
      button.addEventListener("click", () => {
        if (!this.#hidden.delete(line.name)) this.#hidden.add(line.name);
        button.setAttribute("aria-pressed", String(!this.#hidden.has(line.name)));
        this.draw();
      });
      return button;
    });
    fill(this.#legend, ...buttons);
  }

  #colourLegend(): void {
    this.#legendOf = "";
    if (this.#model) this.#buildLegend(this.#model);
  }

  /** What the charts show, as numbers: means over parts of the shown span. */
  #fillNumbers(): void {
    const model = this.#model;
    const box = this.#numbers?.querySelector(".scroll");
    if (!model || !box || !this.#numbers?.open) return;
    const [from, to] = model.overTime
      ? this.#timeline.span
      : [model.x.scale?.min ?? 0, model.x.scale?.max ?? 1];
    const edge = (k: number) => from + ((to - from) * k) / PARTS;
    const parts = Array.from({ length: PARTS }, (_, k) => k);
    const head = ["Line", "mean", "least", "greatest"].concat(
      parts.map((k) => `${tick(edge(k))}–${tick(edge(k + 1))} s`),
    );
    const rows = model.panels.flatMap((panel) =>
      panel.lines.map((line) => {
        const points = line.points();
        const within = (a: number, b: number) => {
          const values: (number | null)[] = [];
          for (let i = 0; i < points.x.length; i++) {
            const x = points.x[i] as number;
            if (x >= a && x < b) values.push(points.y[i] ?? null);
          }
          return statistics(values);
        };
        const all = within(from, to + (to - from) * 1e-9);
        const unit = model.y.lanes ? "share" : model.y.unit;
        const cells = [all?.mean, all?.min, all?.max]
          .concat(parts.map((k) => within(edge(k), edge(k + 1))?.mean))
          .map((v) => h("td", {}, withUnit(unit, v)));
        const name = panel.title === "" ? line.name : `${panel.title}, ${line.name}`;
        return h("tr", {}, h("th", { scope: "row" }, name), ...cells);
      }),
    );
    const table = h(
      "table",
      {},
      h("caption", {}, `${model.title}: numbers`),
      h("thead", {}, h("tr", {}, ...head.map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, ...rows),
    );
    box.setAttribute("aria-label", `${model.title}: numbers`);
    fill(box, table);
  }
}

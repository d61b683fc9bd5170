// A plane as a heat map, which is a table whose cells are shaded, and as lines.

import { h } from "../base/dom";
import { unitOf, withUnit } from "../base/format";
import type { Figure, Line, Scale } from "../chart/model";
import { COLOURS } from "../chart/model";
import type { Measure } from "./measures";
import { type Cell, type Plane, type PlaneAxis, tickText } from "./plane";

/** Share of colour of the greatest value: text on it keeps its contrast. */
const DEEPEST = 45;

function titled(axis: PlaneAxis): string {
  return axis.unit === "" ? axis.name : `${axis.name} (${axis.unit})`;
}

function cellOf(cell: Cell, measure: Measure, max: number): HTMLElement {
  const failed = cell.failed > 0 ? `${cell.failed} failed` : null;
  const isEmpty = cell.mean === null;
  const value = isEmpty ? (failed === null ? "–" : null) : withUnit(measure.unit, cell.mean);
  const element = h(
    "td",
    { class: isEmpty ? "none" : "heat" },
    value,
    failed ? h("span", { class: "failed" }, failed) : null,
  );
  const share = cell.mean !== null && max > 0 ? Math.max(0, cell.mean / max) : 0;
  element.style.setProperty("--share", `${(share * DEEPEST).toFixed(1)}%`);
  return element;
}

/** The plane as a table. */
export function heatMap(plane: Plane, measure: Measure): HTMLElement {
  const { across, down, cells } = plane;
  const max = Math.max(0, ...cells.flat().map((c) => c.mean ?? 0));
  const corner = down ? titled(down) : measure.title;
  const rows = cells.map((line, i) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, down ? (down.ticks[i]?.label ?? "") : "mean"),
      ...line.map((cell) => cellOf(cell, measure, max)),
    ),
  );
  const heads = across.ticks.map((t) => h("th", { scope: "col" }, t.label));
  const caption = `${measure.title} by ${titled(across)}${down ? ` and ${titled(down)}` : ""}`;
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-label": caption },
    h(
      "table",
      { class: "map" },
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          h("th", { scope: "colgroup", colspan: heads.length }, titled(across)),
        ),
        h("tr", {}, h("th", { scope: "col" }, corner), ...heads),
      ),
      h("tbody", {}, ...rows),
    ),
  );
}

/** The plane as lines over the axis across, one for each place down; null where that has no numbers. */
export function lines(plane: Plane, measure: Measure): Figure | null {
  const { across, down, cells } = plane;
  const x = across.ticks.map((t) => t.at);
  if (x.length < 2 || x.some((at) => at === null)) return null;
  const at = x as number[];
  const drawn = cells.flatMap((line, i): Line[] => {
    const y = line.map((cell) => cell.mean);
    if (y.every((v) => v === null)) return [];
    const name = down ? `${down.name} ${tickText(down, down.ticks[i])}` : measure.title;
    const colour = i % (3 * COLOURS);
    return [{ name, colour, kind: "line", points: () => ({ x: at, y }) }];
  });
  if (drawn.length === 0) return null;
  const scale: Scale = { log: false, min: at[0] ?? 0, max: at.at(-1) ?? 1 };
  const unit = unitOf(across.unit);
  const title = unit === "count" ? titled(across) : across.name;
  return {
    id: "sweep",
    title: `${measure.title} over ${across.name}`,
    caption: "Means over the repeats, and over axes that are not fixed.",
    overTime: false,
    x: { title, unit, scale },
    y: { title: measure.title, unit: measure.unit, mayBeLog: true },
    panels: [{ title: "", lines: drawn }],
    columns: 1,
  };
}

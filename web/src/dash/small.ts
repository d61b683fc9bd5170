// A small figure of a few lines: what a card shows. No axes but their ends; the numbers are in its description.

import { h } from "../base/dom";
import { type Unit, withUnit } from "../base/format";

/** A line, its points by rising x; null breaks it. */
export interface SmallLine {
  name: string;
  x: number[];
  y: (number | null)[];
}

/** What is drawn. */
export interface Small {
  /** What stands above it, if anything. */
  reach?: string;
  title: string;
  unit: Unit;
  /** The ends of the x axis as they are written. */
  ends: [string, string];
  lines: SmallLine[];
}

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 96;
/** Above this ratio of greatest to least value the axis is logarithmic. */
const LOG_ABOVE = 40;

/** Where values lie between bottom (0) and top (1). */
export interface SmallScale {
  min: number;
  max: number;
  log: boolean;
  at(value: number): number;
}

/** From zero, or, where the values span much, logarithmic over all but the smallest fiftieth. */
export function smallScale(lines: readonly SmallLine[], mayBeLog: boolean): SmallScale {
  const values = lines.flatMap((l) => l.y.filter((v): v is number => v !== null && v > 0));
  values.sort((a, b) => a - b);
  const max = values.at(-1) ?? 1;
  const low = values[Math.floor(values.length / 50)] ?? max;
  if (!mayBeLog || max <= LOG_ABOVE * low) {
    return { min: 0, max, log: false, at: (v) => v / max };
  }
  const span = Math.log(max / low);
  const at = (v: number) => Math.max(0, Math.log(Math.max(v, low) / low) / span);
  return { min: low, max, log: true, at };
}

/** The path of a line: pieces between what is missing. */
export function path(line: SmallLine, from: number, to: number, scale: SmallScale): string {
  const span = to > from ? to - from : 1;
  let isOpen = false;
  return line.x
    .map((x, i) => {
      const y = line.y[i] ?? null;
      if (y === null) {
        isOpen = false;
        return "";
      }
      const step = isOpen ? "L" : "M";
      isOpen = true;
      const place = [((x - from) / span) * WIDTH, HEIGHT - scale.at(y) * HEIGHT];
      return `${step}${place.map((p) => p.toFixed(1)).join(" ")}`;
    })
    .join("");
}

function described(small: Small): string {
  const of = small.lines.map((line) => {
    const values = line.y.filter((v): v is number => v !== null);
    const [least, greatest] = [Math.min(...values), Math.max(...values)];
    return `${line.name} ${withUnit(small.unit, least)} to ${withUnit(small.unit, greatest)}`;
  });
  return `${small.title}, from ${small.ends[0]} to ${small.ends[1]}: ${of.join("; ")}`;
}

/** What lies between the bottom and the top. */
function span(small: Small, scale: SmallScale): string {
  const ends = `${withUnit(small.unit, scale.min)} to ${withUnit(small.unit, scale.max)}`;
  return scale.log ? `${ends}, log` : ends;
}

/** The figure with its title, ends of axes and names of lines. */
export function smallFigure(small: Small, mayBeLog: boolean): HTMLElement {
  const scale = smallScale(small.lines, mayBeLog);
  const all = small.lines.flatMap((l) => l.x);
  const [from, to] = [Math.min(...all), Math.max(...all)];
  const svg = document.createElementNS(SVG, "svg");
  const attributes = {
    viewBox: `0 -3 ${WIDTH} ${HEIGHT + 6}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": described(small),
  };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  small.lines.forEach((line, i) => {
    const drawn = document.createElementNS(SVG, "path");
    drawn.setAttribute("class", `line c${i}`);
    drawn.setAttribute("d", path(line, from, to, scale));
    svg.append(drawn);
  });
  const names = small.lines.map((line, i) =>
    h("li", {}, h("span", { class: `swatch c${i}` }), line.name),
  );
  return h(
    "div",
    { class: "small" },
    small.reach === undefined ? null : h("p", { class: "reach" }, small.reach),
    h("p", {}, `${small.title}, ${span(small, scale)}`),
    h("div", { class: "small-plot" }, svg),
    h("p", { class: "small-ends" }, h("span", {}, small.ends[0]), h("span", {}, small.ends[1])),
    h("ul", { class: "small-names" }, ...names),
  );
}

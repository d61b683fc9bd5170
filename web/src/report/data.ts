// The data of report.html as crate report writes it: short names, since there is much of it.
// x is a list of steps on a grid of 10,000 over the axis; values are as they are.

import type { Unit } from "../base/format";
import type { Axis, Figure, Kind, Line, Points, Scale } from "../chart/model";

interface RawAxis {
  title: string;
  unit: Unit;
  log: boolean;
  min: number;
  max: number;
  lanes?: string[];
}

interface RawLine {
  name: string;
  colour: number;
  kind: Kind;
  /** Steps of x from point to point, on the grid. */
  x: number[];
  y: number[];
  low?: number[];
  high?: number[];
  /** Indices of the points before which the line has a gap. */
  gaps?: number[];
}

interface RawFigure {
  id: string;
  title: string;
  /** Where the page has no text of its own. */
  caption?: string;
  time: boolean;
  columns: number;
  x: RawAxis;
  y: RawAxis;
  /** A mark is a time, in the unit of the axis, and what happened then. */
  panels: { title: string; lines: RawLine[]; marks?: [number, string][] }[];
}

/** Steps of an axis from end to end. */
const GRID = 10_000;

function axis(raw: RawAxis): Axis {
  const scale: Scale = { log: raw.log, min: raw.min, max: raw.max };
  const common: Axis = { title: raw.title, unit: raw.unit, scale };
  return raw.lanes ? { ...common, lanes: raw.lanes } : common;
}

/** Points in the units of the axis; a gap is a null between two points. */
export function points(raw: RawLine, x: RawAxis): Points {
  const place = (grid: number) =>
    x.log ? x.min * (x.max / x.min) ** (grid / GRID) : x.min + ((x.max - x.min) * grid) / GRID;
  const gaps = new Set(raw.gaps ?? []);
  const xs: number[] = [];
  const out = {
    y: [] as (number | null)[],
    low: [] as (number | null)[],
    high: [] as (number | null)[],
  };
  let at = 0;
  raw.x.forEach((step, i) => {
    if (gaps.has(i)) {
      xs.push(place(at + step / 2));
      out.y.push(null);
      out.low.push(null);
      out.high.push(null);
    }
    at += step;
    xs.push(place(at));
    out.y.push(raw.y[i] ?? null);
    out.low.push(raw.low?.[i] ?? null);
    out.high.push(raw.high?.[i] ?? null);
  });
  return raw.low ? { x: xs, ...out } : { x: xs, y: out.y };
}

/** All figures as crate report writes them. */
export interface RawFigures {
  end: number;
  figures: RawFigure[];
}

/** All figures, and the end of the run in seconds. */
export function decode(raw: RawFigures): { figures: Figure[]; end: number } {
  const figures = raw.figures.map((f): Figure => {
    const line = (l: RawLine): Line => {
      let ready: Points | null = null;
      return {
        name: l.name,
        colour: l.colour,
        kind: l.kind,
        points: () => {
          ready ??= points(l, f.x);
          return ready;
        },
      };
    };
    return {
      id: f.id,
      title: f.title,
      caption: f.caption ?? "",
      overTime: f.time,
      x: axis(f.x),
      y: axis(f.y),
      panels: f.panels.map((p) => ({
        title: p.title,
        lines: p.lines.map(line),
        marks: (p.marks ?? []).map(([at, label]) => ({ at, label })),
      })),
      columns: f.columns,
    };
  });
  return { figures, end: raw.end };
}

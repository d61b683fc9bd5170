// What a figure is, whatever its source: the report (from its JSON), a result folder, a live feed.

import type { Unit } from "../base/format";

/**
 * How a line looks: a level with a band from least to greatest; a rate; a value that holds until the
 * next; an area behind the others; a bar where the value is at least one half; a share of a stack.
 */
export type Kind = "line" | "rate" | "step" | "area" | "lane" | "stack";

/** Points with rising x; null ends a piece of the line. */
export interface Points {
  x: ArrayLike<number>;
  y: ArrayLike<number | null>;
  low?: ArrayLike<number | null>;
  high?: ArrayLike<number | null>;
}

export interface Line {
  name: string;
  /** Index into the palette. */
  colour: number;
  kind: Kind;
  /** 0 solid, 1 dashed, 2 dotted; of itself by how often the palette has been used up. */
  dash?: number;
  /** Called whenever the line is drawn. */
  points(): Points;
}

/** Something that happened at an x: a vertical line. */
export interface Mark {
  at: number;
  label: string;
}

export interface Panel {
  title: string;
  lines: Line[];
  marks?: readonly Mark[];
}

/** Range of an axis; a logarithmic one is above zero. */
export interface Scale {
  log: boolean;
  min: number;
  max: number;
}

export interface Axis {
  title: string;
  unit: Unit;
  /** Names of lanes instead of ticks, the first on top. */
  lanes?: string[];
  /** Chosen from the values where missing. */
  scale?: Scale;
  mayBeLog?: boolean;
}

export interface Figure {
  id: string;
  title: string;
  caption: string;
  /** True if x is time, which all figures of a page share. */
  overTime: boolean;
  x: Axis;
  y: Axis;
  panels: Panel[];
  /** Panels side by side, where there is room. */
  columns: number;
}

/** Colours before the palette repeats. */
export const COLOURS = 6;

/** The dash of a line: its own, or by its place beyond the palette. */
export function dashOf(line: Line): number {
  return line.dash ?? Math.min(2, Math.floor(line.colour / COLOURS));
}

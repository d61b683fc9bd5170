// Axes: ranges that end at round numbers, and when one is logarithmic. The rules are those of crate
// report, so that both draw the same axes.

import { scaled, tick } from "../base/format";
import type { Axis, Points, Scale } from "./model";

/** Above this ratio of greatest to least value an axis is logarithmic. */
const LOG_ABOVE = 40;

/** The step of 1, 2 or 5 times a power of ten that cuts `range` into at most `most` parts. */
export function niceStep(range: number, most: number): number {
  const raw = range / most;
  const decade = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((f) => f * decade >= raw * (1 - 1e-9)) ?? 10;
  return factor * decade;
}

/** From zero to a round number not below `max`. */
export function fromZero(max: number): Scale {
  const top = Number.isFinite(max) && max > 0 ? max : 1;
  const step = niceStep(top, 5);
  return { log: false, min: 0, max: Math.ceil(top / step - 1e-9) * step };
}

function round125(value: number, up: boolean): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((f) => f * decade);
  const near = steps.find((s) => Math.abs(s / value - 1) < 1e-9);
  if (near !== undefined) return near;
  const found = up ? steps.find((s) => s >= value) : steps.reverse().find((s) => s <= value);
  return found ?? value;
}

/** Logarithmic over at least `[min, max]`, at most seven decades, the topmost. */
export function logarithmic(min: number, max: number): Scale {
  const low = round125(Math.max(min, max / 1e7), false);
  const high = round125(max, true);
  return { log: true, min: low, max: high > low * 1.5 ? high : low * 10 };
}

/** The scale that suits the values of these lines. */
export function suit(all: Iterable<Points>, mayBeLog: boolean): Scale {
  let max = 0;
  const positive: number[] = [];
  for (const points of all) {
    for (const values of [points.y, points.low, points.high]) {
      if (!values) continue;
      for (let i = 0; i < values.length; i++) {
        const v = values[i];
        if (v === null || v === undefined || !Number.isFinite(v)) continue;
        if (v > max) max = v;
        if (v > 0 && mayBeLog) positive.push(v);
      }
    }
  }
  if (mayBeLog && positive.length > 0) {
    // single very small values must not stretch the axis: one in fifty may fall off its end
    const sorted = Float64Array.from(positive).sort();
    const min = sorted[Math.floor(sorted.length / 50)] ?? max;
    // what is four decades below the top is next to nothing
    if (max > LOG_ABOVE * min) return logarithmic(Math.max(min, max / 1e4), max);
  }
  return fromZero(max);
}

/** The title of an axis, with the unit of its ticks. */
export function heading(axis: Axis, scale: Scale): string {
  if (axis.lanes) return axis.title;
  const [, unit] = scaled(axis.unit, scale.max);
  if (scale.log) {
    const prefixed = axis.unit === "bps" || axis.unit === "bytes";
    return prefixed || unit === "" ? `${axis.title}, log` : `${axis.title} (${unit}, log)`;
  }
  return unit === "" ? axis.title : `${axis.title} (${unit})`;
}

/** The text at a tick: on a logarithmic axis of rates or bytes with its own prefix. */
export function tickLabel(axis: Axis, scale: Scale, value: number): string {
  if (scale.log && (axis.unit === "bps" || axis.unit === "bytes")) {
    const [factor, name] = scaled(axis.unit, value);
    return `${tick(value / factor)} ${name}`;
  }
  return tick(value / scaled(axis.unit, scale.max)[0]);
}

/** Ticks of a logarithmic axis: decades, and 2 and 5 where there are few. */
export function logTicks(min: number, max: number): number[] {
  const factors = Math.log10(max / min) <= 3.01 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let d = Math.floor(Math.log10(min)); d <= Math.ceil(Math.log10(max)); d++) {
    for (const f of factors) {
      const t = f * 10 ** d;
      if (t >= min * (1 - 1e-9) && t <= max * (1 + 1e-9)) ticks.push(t);
    }
  }
  return ticks;
}

// Plain statistics of what is shown.

/** Mean, least, greatest and last of the finite values; null if there are none. */
export interface Statistics {
  mean: number;
  min: number;
  max: number;
  last: number;
  count: number;
}

export function statistics(values: ArrayLike<number | null | undefined>): Statistics | null {
  let count = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let last = Number.NaN;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v === null || v === undefined || !Number.isFinite(v)) continue;
    count++;
    sum += v;
    if (v < min) min = v;
    if (v > max) max = v;
    last = v;
  }
  return count === 0 ? null : { mean: sum / count, min, max, last, count };
}

/** A mean with half the width of its confidence interval. */
export interface Estimate {
  mean: number;
  ci95: number;
}

/** A ratio with the ends of its confidence interval, which is not centred on it. */
export interface Ratio {
  mean: number;
  low: number;
  high: number;
}

/**
 * The ratio of two independent means. Its interval is that of the logarithms, as the command line has
 * it: none of it is below zero, and that of the inverse is the inverse. The squares of the relative
 * half-widths, which are the logarithms' to first order, add up. Null where one of them is not above
 * zero: it has no logarithm.
 */
export function ratio(a: Estimate, b: Estimate): Ratio | null {
  if (!(a.mean > 0 && b.mean > 0) || !Number.isFinite(a.mean / b.mean)) return null;
  const mean = a.mean / b.mean;
  const factor = Math.exp(Math.hypot(a.ci95 / a.mean, b.ci95 / b.mean));
  return { mean, low: mean / factor, high: mean * factor };
}

/** The value below which a share of the sorted values lies. */
export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[place] ?? Number.NaN;
}

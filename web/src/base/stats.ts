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

/**
 * The ratio of two independent means. Its interval is of first order: the squares of the relative
 * half-widths add up. Null where the divisor is not above zero.
 */
export function ratio(a: Estimate, b: Estimate): Estimate | null {
  if (!(b.mean > 0) || !Number.isFinite(a.mean)) return null;
  const mean = a.mean / b.mean;
  const relative = Math.hypot(a.mean === 0 ? 0 : a.ci95 / a.mean, b.ci95 / b.mean);
  return { mean, ci95: Math.abs(mean) * relative };
}

/** The value below which a share of the sorted values lies. */
export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[place] ?? Number.NaN;
}

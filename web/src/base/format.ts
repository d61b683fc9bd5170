// Numbers with their units, as crate report writes them: four digits, decimal multiples.

/** What a number counts. */
export type Unit = "bps" | "bytes" | "ms" | "s" | "share" | "count";

const STEPS: Partial<Record<Unit, [number, string][]>> = {
  bps: [
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
    [1e3, "kbit/s"],
    [1, "bit/s"],
  ],
  bytes: [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
};
const SINGLE: Record<Unit, [number, string]> = {
  bps: [1, "bit/s"],
  bytes: [1, "B"],
  ms: [1, "ms"],
  s: [1, "s"],
  share: [0.01, "%"],
  count: [1, ""],
};

/** The divisor and the name of the unit that suit values up to `max`. */
export function scaled(unit: Unit, max: number): [number, string] {
  const steps = STEPS[unit];
  return steps?.find(([factor]) => Math.abs(max) >= factor * (1 - 1e-9)) ?? SINGLE[unit];
}

/** At most four digits that count, no exponent below 10^6. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  return value
    .toFixed(Math.min(digits, 4))
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}

/** Three digits and a fixed width of fraction, for columns of numbers. */
export function columnNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** A value with its unit, e.g. `12.5 Mbit/s`. */
export function withUnit(unit: Unit, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [factor, name] = scaled(unit, value);
  const text = number(value / factor);
  return name === "" ? text : `${text} ${name}`;
}

/** A tick of an axis: as short as it can be. */
export function tick(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The unit that a series states, e.g. `bit/s`. */
export function unitOf(name: string): Unit {
  switch (name) {
    case "bps":
    case "bit/s":
      return "bps";
    case "bytes":
    case "B":
      return "bytes";
    case "ms":
      return "ms";
    case "s":
      return "s";
    case "share":
    case "ratio":
      return "share";
    default:
      return "count";
  }
}

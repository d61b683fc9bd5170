// What a key does on a chart.

export type Action = { look: number } | { zoom: "reset" | "left" | "right" | number };

/** What is shown, and the moment looked at. */
export interface View {
  from: number;
  to: number;
  at: number | null;
  log: boolean;
}

/** The action of a key, or null if it is none of a chart's. */
export function chartKey(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "altKey" | "metaKey">,
  view: View,
): Action | null {
  if (event.ctrlKey || event.altKey || event.metaKey) return null;
  const steps: Record<string, number> = {
    ArrowLeft: -0.01,
    ArrowRight: 0.01,
    PageUp: -0.1,
    PageDown: 0.1,
  };
  const step = steps[event.key];
  if (step !== undefined) {
    if (event.shiftKey) return { zoom: step < 0 ? "left" : "right" };
    return { look: moved(view, step) };
  }
  switch (event.key) {
    case "Home":
      return { look: view.from };
    case "End":
      return { look: view.to };
    case "+":
    case "=":
      return { zoom: 0.5 };
    case "-":
    case "_":
      return { zoom: 2 };
    case "Escape":
    case "0":
      return { zoom: "reset" };
    default:
      return null;
  }
}

/** The moment a share of the span further on, from the middle if none was looked at. */
function moved({ from, to, at, log }: View, share: number): number {
  if (log) {
    const width = Math.log(to / from);
    const now = at === null ? 0.5 : Math.log(at / from) / width;
    return from * Math.exp(width * Math.min(1, Math.max(0, now + share)));
  }
  const inside = at !== null && at >= from && at <= to;
  const now = inside ? at : (from + to) / 2;
  return Math.min(to, Math.max(from, now + share * (to - from)));
}

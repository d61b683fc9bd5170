// A folder with one result: its card, and below it all that its page shows.

import { h } from "../base/dom";
import type { ResultInfo } from "./api";
import { resultCard } from "./cards";
import type { View } from "./page";
import { pointView } from "./point";
import { sweepView } from "./sweep";

/** The only result that can be read, if there is one alone. */
export function only(results: readonly ResultInfo[]): ResultInfo | null {
  const [first] = results;
  return results.length === 1 && first && first.error === undefined ? first : null;
}

export async function singleView(result: ResultInfo): Promise<View> {
  if (result.sweep) return sweepView(result.id);
  const last = (result.points ?? []).at(-1)?.id ?? 0;
  const ref = { id: result.id, point: last };
  const first = { id: result.id, point: 0 };
  const shown = await pointView(ref, last > 0 ? first : null, [result]);
  const card = resultCard(result, null);
  card.figure.remove();
  const element = h("div", {}, h("ul", { class: "list" }, card.element), shown.element);
  return { element, end: () => shown.end() };
}

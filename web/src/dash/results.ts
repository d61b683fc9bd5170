// The results in a folder: a link for each point; folders that cannot be read show why.

import { h } from "../base/dom";
import type { ResultInfo } from "./api";
import type { View } from "./page";
import { pointPath } from "./route";

export function resultsView(results: ResultInfo[]): View {
  const broken = results.filter((r) => r.error !== undefined);
  const good = results.filter((r) => r.error === undefined);
  const element = h(
    "div",
    {},
    h("h2", {}, `${good.length} ${good.length === 1 ? "result" : "results"}`),
    results.length === 0
      ? h(
          "p",
          { class: "message" },
          "There are no results in this folder. Make one: brimful run FILE --out DIR",
        )
      : null,
    h("ul", { class: "list" }, ...good.map(resultItem), ...broken.map(brokenItem)),
  );
  return { element, end: () => {} };
}

function fact(name: string, value: unknown): HTMLElement | null {
  return value === undefined || value === "" ? null : h("li", {}, h("b", {}, name), String(value));
}

function resultItem(result: ResultInfo): HTMLElement {
  const points = result.points ?? [];
  return h(
    "li",
    { class: "result" },
    h("h3", {}, result.id),
    h(
      "ul",
      { class: "facts" },
      fact("scenario", result.scenario),
      fact("world", result.world),
      fact("seed", result.seed),
      fact("repeats", result.repeats),
      fact("made by", result.version),
    ),
    h(
      "ul",
      { class: "points", "aria-label": `Points of ${result.id}` },
      ...points.map((p) =>
        h(
          "li",
          {},
          h("a", { href: pointPath(result.id, p.id) }, p.label === "" ? "open" : p.label),
        ),
      ),
    ),
  );
}

function brokenItem(result: ResultInfo): HTMLElement {
  return h(
    "li",
    { class: "result broken" },
    h("h3", {}, result.id),
    h("p", { class: "caption" }, `Cannot be read: ${result.error ?? ""}`),
  );
}

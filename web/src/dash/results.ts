// The results in a folder: a link for each point, or to a sweep's table; folders that cannot be read show why.

import { h } from "../base/dom";
import type { ResultInfo, SweepInfo } from "./api";
import type { View } from "./page";
import { pointPath, sweepPath } from "./route";

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

/** Points, and how many of them failed. */
export function extent(sweep: SweepInfo): string {
  const points = `${sweep.points} ${sweep.points === 1 ? "point" : "points"}`;
  return sweep.failed > 0 ? `${points}, ${sweep.failed} failed` : points;
}

/** A moment as `2026-11-27 15:40 UTC`. */
export function moment(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "";
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** What a result is, in a line. */
export function facts(result: ResultInfo): HTMLElement {
  const { sweep } = result;
  return h(
    "ul",
    { class: "facts" },
    fact("scenario", result.scenario),
    sweep ? fact("sweep of", extent(sweep)) : null,
    fact("world", result.world),
    fact("seed", result.seed),
    fact("repeats", result.repeats),
    fact("made by", result.version),
    fact(sweep ? "begun" : "written", moment(result.written)),
    ...(sweep?.axes ?? []).map((axis) => fact(axis.name, axis.values)),
  );
}

function resultItem(result: ResultInfo): HTMLElement {
  const points = result.points ?? [];
  if (result.sweep) {
    const link = h("a", { href: sweepPath(result.id) }, "table");
    return h(
      "li",
      { class: "result" },
      h("h3", {}, result.id),
      facts(result),
      h("ul", { class: "points", "aria-label": `Table of ${result.id}` }, h("li", {}, link)),
    );
  }
  return h(
    "li",
    { class: "result" },
    h("h3", {}, result.id),
    facts(result),
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

// A result as a card: what it is, what was found, a small figure, and links to its points.

import { h } from "../base/dom";
import { sentence } from "../base/sentence";
import type { Finding, PointInfo, ResultInfo, SweepInfo } from "./api";
import { type PointRef, pointPath, sweepPath } from "./route";

/** Sentences on a card; more are on its page. */
const MAX_FOUND = 4;
/** Points of which a card has links; more are one click behind. */
const MAX_POINTS = 24;

function fact(name: string, value: unknown): HTMLElement | null {
  return value === undefined || value === null || value === ""
    ? null
    : h("li", {}, h("b", {}, name), String(value));
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

/** Sentences in a list, without the variant where it is the same in all. */
function foundList(found: readonly Finding[]): HTMLElement {
  const isOne = new Set(found.map((f) => f.variant)).size <= 1;
  const item = ({ variant, flow, text }: Finding) => {
    const of = [isOne ? "" : variant, flow].filter((part) => part !== "").join(", ");
    return h("li", {}, of === "" ? null : h("b", {}, of), ...sentence(text));
  };
  return h("ul", { class: "found", "aria-label": "What was found" }, ...found.map(item));
}

/** What a sentence stands beside: the first point, where the sentences are of others only. */
function base(result: ResultInfo): string | null {
  const first = result.points?.[0]?.label ?? "";
  const isOther = (result.findings ?? []).every((f) => f.variant !== first);
  return (result.points?.length ?? 0) > 1 && isOther ? first : null;
}

/** The sentences on a point, with what it stands beside; null where there are none. */
export function foundOf(ref: PointRef, results: readonly ResultInfo[]): HTMLElement | null {
  const result = results.find((r) => r.id === ref.id);
  const label = result?.points?.find((p) => p.id === ref.point)?.label;
  const found = (result?.findings ?? []).filter((f) => f.variant === label);
  if (!result || found.length === 0) return null;
  const first = base(result);
  const title = first === null ? "Found" : `Found, beside ${first}`;
  return h(
    "section",
    { class: "block", "aria-label": "Found" },
    h("p", { class: "caption" }, title),
    foundList(found),
  );
}

/** The first sentences of a result. */
function foundOn(result: ResultInfo): HTMLElement | null {
  const found = result.findings ?? [];
  if (found.length === 0) return null;
  const first = base(result);
  const several = (result.points?.length ?? 0) > 2;
  const variant = several ? "" : (found[0]?.variant ?? "");
  const title = first === null ? null : `${variant === "" ? "Found" : variant} beside ${first}`;
  const more = found.length - MAX_FOUND;
  return h(
    "div",
    {},
    title === null ? null : h("p", { class: "caption" }, title),
    foundList(found.slice(0, MAX_FOUND)),
    more > 0 ? h("p", { class: "caption" }, `${more} more on its page`) : null,
  );
}

/** A card in the list. */
export interface Card {
  result: ResultInfo;
  element: HTMLElement;
  /** Where the small figure goes. */
  figure: HTMLElement;
  /** The boxes that pick points for a comparison. */
  boxes: { ref: PointRef; box: HTMLInputElement }[];
}

/** Where a result's page is: its last point, with the first beside it where there are several. */
export function resultPath(result: ResultInfo): string {
  if (result.sweep) return sweepPath(result.id);
  const last = (result.points ?? []).at(-1);
  if (!last || last.id === 0) return pointPath(result.id, 0);
  return pointPath(result.id, last.id, { id: result.id, point: 0 });
}

function pointItem(
  result: ResultInfo,
  point: PointInfo,
  box: HTMLInputElement | null,
): HTMLElement {
  const label = point.label === "" ? "open" : point.label;
  return h("li", {}, box, h("a", { href: pointPath(result.id, point.id) }, label));
}

/** The card of a result that can be read; `onPick` hears of boxes. */
export function resultCard(
  result: ResultInfo,
  onPick: ((ref: PointRef, on: boolean) => void) | null,
): Card {
  const figure = h("div", { class: "card-figure" });
  const boxes: Card["boxes"] = [];
  const points = (result.points ?? []).slice(0, MAX_POINTS);
  const items = points.map((point) => {
    const ref = { id: result.id, point: point.id };
    if (onPick === null) return pointItem(result, point, null);
    const label = point.label === "" ? result.id : `${result.id}: ${point.label}`;
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${label}` });
    box.addEventListener("change", () => onPick(ref, box.checked));
    boxes.push({ ref, box });
    return pointItem(result, point, box);
  });
  const hidden = (result.points?.length ?? 0) - points.length;
  if (hidden > 0) {
    items.push(h("li", {}, h("a", { href: resultPath(result) }, `${hidden} more`)));
  }
  if (result.sweep) items.push(h("li", {}, h("a", { href: sweepPath(result.id) }, "table")));
  const name = result.sweep ? `Table of ${result.id}` : `Points of ${result.id}`;
  const element = h(
    "li",
    { class: "result card" },
    h("h3", {}, h("a", { href: resultPath(result) }, result.id)),
    facts(result),
    foundOn(result),
    figure,
    h("ul", { class: "points", "aria-label": name }, ...items),
  );
  return { result, element, figure, boxes };
}

/** A folder that cannot be read, and why. */
export function brokenCard(result: ResultInfo): HTMLElement {
  return h(
    "li",
    { class: "result broken" },
    h("h3", {}, result.id),
    h("p", { class: "caption" }, `Cannot be read: ${result.error ?? ""}`),
  );
}

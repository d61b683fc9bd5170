// The results in a folder, a card each: sorted, filtered, any two of them compared.

import { h } from "../base/dom";
import type { ResultInfo } from "./api";
import { brokenCard, type Card, resultCard } from "./cards";
import { finds, ORDERS, type Order, sorted } from "./order";
import type { View } from "./page";
import { Previews } from "./preview";
import { type PointRef, pointPath } from "./route";

/** What was chosen last: a list that is left and opened again looks the same. */
const chosen: { order: Order; text: string } = { order: "name", text: "" };

export function resultsView(results: ResultInfo[]): View {
  return new ResultsView(results);
}

class ResultsView implements View {
  readonly element: HTMLElement;
  readonly #results: ResultInfo[];
  readonly #cards = new Map<string, Card>();
  readonly #broken = new Map<string, HTMLElement>();
  readonly #previews = new Previews();
  readonly #list = h("ul", { class: "list cards", "aria-label": "Results" });
  readonly #count = h("span", { role: "status" });
  readonly #compare = h("button", { type: "button", class: "primary", disabled: true }, "Compare");
  readonly #picked = h("span", { class: "caption", role: "status" });
  #refs: PointRef[] = [];

  constructor(results: ResultInfo[]) {
    this.#results = results;
    for (const result of results) {
      if (result.error !== undefined) this.#broken.set(result.id, brokenCard(result));
      else {
        const card = resultCard(result, (ref, on) => this.#pick(ref, on));
        this.#cards.set(result.id, card);
        this.#previews.watch(card.figure, result);
      }
    }
    this.#compare.addEventListener("click", () => {
      const [a, b] = this.#refs;
      if (a && b) location.hash = pointPath(b.id, b.point, a);
    });
    this.element = h("div", {}, h("h2", {}, this.#count), this.#tools(), this.#list);
    this.#arrange();
    this.#showPicked();
  }

  #tools(): HTMLElement {
    const order = h(
      "select",
      {
        onchange: () => {
          chosen.order = order.value as Order;
          this.#arrange();
        },
      },
      ...ORDERS.map(([value, text]) =>
        h("option", { value, selected: value === chosen.order }, text),
      ),
    );
    const filter = h("input", {
      type: "search",
      placeholder: "scenario, variant, what was found",
      value: chosen.text,
      oninput: () => {
        chosen.text = filter.value;
        this.#arrange();
      },
    });
    return h(
      "div",
      { class: "tools" },
      h("label", {}, "Filter", filter),
      h("label", {}, "Sort by", order),
      this.#compare,
      this.#picked,
    );
  }

  /** Puts the cards that the filter finds in their order; those that cannot be read are last. */
  #arrange(): void {
    const found = sorted(this.#results, chosen.order).filter((r) => finds(chosen.text, r));
    const good = found.flatMap((r) => this.#cards.get(r.id)?.element ?? []);
    const broken = found.flatMap((r) => this.#broken.get(r.id) ?? []);
    const all = this.#cards.size;
    const of = good.length === all ? "" : ` of ${all}`;
    this.#count.textContent = `${good.length}${of} ${all === 1 ? "result" : "results"}`;
    this.#list.replaceChildren(...good, ...broken);
    if (this.#results.length === 0) {
      const text = "There are no results in this folder. Make one: brimful run FILE --out DIR";
      this.#list.replaceChildren(h("li", { class: "message" }, text));
    }
  }

  /** Two are compared: a third takes the place of the first. */
  #pick(ref: PointRef, on: boolean): void {
    const isSame = (a: PointRef) => a.id === ref.id && a.point === ref.point;
    this.#refs = this.#refs.filter((a) => !isSame(a));
    if (on) this.#refs = [...this.#refs, ref].slice(-2);
    for (const { boxes } of this.#cards.values()) {
      for (const { ref: of, box } of boxes) {
        box.checked = this.#refs.some((a) => a.id === of.id && a.point === of.point);
      }
    }
    this.#showPicked();
  }

  #showPicked(): void {
    const label = (ref: PointRef) => {
      const points = this.#cards.get(ref.id)?.result.points ?? [];
      const of = points.find((p) => p.id === ref.point)?.label ?? "";
      return of === "" ? ref.id : `${ref.id}: ${of}`;
    };
    this.#compare.disabled = this.#refs.length < 2;
    const [a, b] = this.#refs.map(label);
    this.#picked.textContent =
      a === undefined ? "Tick two to compare them" : `${a} and ${b ?? "another: tick it"}`;
  }

  end(): void {
    this.#previews.end();
  }
}

// The figures of a view: one FigureView for each figure, kept while its figure stays.

import { h } from "../base/dom";
import { FigureView } from "../chart/figure";
import type { Figure } from "../chart/model";
import type { Timeline } from "../chart/timeline";

export class Board {
  readonly element: HTMLElement;
  readonly #timeline: Timeline;
  readonly #views = new Map<
    string,
    { view: FigureView; section: HTMLElement; heading: HTMLElement; caption: HTMLElement }
  >();
  readonly #print = () => {
    for (const { view } of this.#views.values()) view.draw();
  };

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
    this.element = h("div", { class: "figures" });
    addEventListener("beforeprint", this.#print);
  }

  show(figures: Figure[]): void {
    const ids = new Set(figures.map((f) => f.id));
    for (const [id, { view, section }] of this.#views) {
      if (ids.has(id)) continue;
      view.destroy();
      section.remove();
      this.#views.delete(id);
    }
    figures.forEach((figure, place) => {
      let known = this.#views.get(figure.id);
      if (!known) {
        const caption = h("p", { class: "caption" });
        const heading = h("h3", { id: `figure-${figure.id}` }, figure.title);
        const host = h("div", { class: "charts" });
        const section = h(
          "section",
          { class: "figure", "aria-labelledby": `figure-${figure.id}` },
          heading,
          caption,
          host,
        );
        known = { view: new FigureView(this.#timeline, host, true), section, heading, caption };
        this.#views.set(figure.id, known);
      }
      known.section.classList.toggle("wide", figure.panels.length > 1);
      if (known.heading.textContent !== figure.title) known.heading.textContent = figure.title;
      if (known.caption.textContent !== figure.caption) known.caption.textContent = figure.caption;
      if (this.element.children[place] !== known.section) {
        this.element.insertBefore(known.section, this.element.children[place] ?? null);
      }
      known.view.show(figure);
    });
  }

  /** Draws again what can be seen: its points have changed. */
  refresh(): void {
    for (const { view } of this.#views.values()) view.refresh();
  }

  end(): void {
    removeEventListener("beforeprint", this.#print);
    for (const { view } of this.#views.values()) view.destroy();
    this.#views.clear();
  }
}

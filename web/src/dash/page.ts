// The frame of every page: bar with title, state and theme; messages; what is shown.

import { themeChoice } from "../base/choice";
import { type Child, fill, h } from "../base/dom";

/** A page of the dashboard; `end` stops what it does in the background. */
export interface View {
  element: HTMLElement;
  end(): void;
}

export class Page {
  readonly main: HTMLElement;
  readonly #title: HTMLElement;
  readonly #state: HTMLElement;
  #view: View | null = null;

  constructor(root: HTMLElement) {
    this.#title = h("h1", {}, "Brimful");
    this.#state = h("span", { class: "state", role: "status", hidden: true });
    this.main = h("main", { id: "main", tabindex: -1 });
    // the part of the address after # is a view's: the link moves the focus alone
    document.querySelector(".skip")?.addEventListener("click", (event) => {
      event.preventDefault();
      this.main.focus();
    });
    const home = h("a", { class: "brand", href: "#/" }, "Brimful");
    fill(
      root,
      h(
        "header",
        { class: "bar" },
        home,
        this.#title,
        h("div", { class: "end" }, this.#state, themeChoice()),
      ),
      this.main,
    );
  }

  set title(text: string) {
    this.#title.textContent = text;
    document.title = text === "" ? "Brimful" : `${text} - Brimful`;
  }

  /** One word or two about the connection; announced. */
  state(text: string, mood: "good" | "bad" | ""): void {
    this.#state.hidden = text === "";
    if (this.#state.textContent !== text) this.#state.textContent = text;
    this.#state.className = `state ${mood}`;
  }

  /** Another view takes the page. */
  show(view: View): void {
    this.#view?.end();
    this.#view = view;
    fill(this.main, view.element);
  }

  /** In place of a view: what went wrong, and what can be done. */
  problem(message: string, ...more: Child[]): void {
    const element = h("div", { class: "message error", role: "alert" }, message, ...more);
    this.show({ element, end: () => {} });
  }
}

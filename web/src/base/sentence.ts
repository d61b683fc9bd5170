// A sentence of what was found, as the command words it, set for a page.

import { h } from "./dom";

/** The parts of `98 % of the goodput, RTT 514 -> 52.3 ms`: with an arrow, and none broken over two lines. */
export function sentence(text: string): (HTMLElement | string)[] {
  const parts = text.replaceAll(" -> ", " → ").split(", ");
  return parts.flatMap((part, i) => [
    i > 0 ? " " : "",
    h("span", { class: "part" }, i + 1 < parts.length ? `${part},` : part),
  ]);
}

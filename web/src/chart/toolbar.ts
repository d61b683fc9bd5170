// Buttons for what the pointer and the keys do on the charts: for phones, and to be found.

import { h } from "../base/dom";
import { tick } from "../base/format";
import type { Timeline } from "./timeline";

/** Zoom in, out, back, forth and to the whole; states what is shown. */
export function zoomBar(timeline: Timeline, whole: string): HTMLElement {
  const button = (text: string, name: string, act: () => void) =>
    h("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
  const back = button("‹", "Earlier", () => timeline.pan(-0.5));
  const forth = button("›", "Later", () => timeline.pan(0.5));
  const reset = h("button", { type: "button", onclick: () => timeline.reset() }, whole);
  const shown = h("output", { class: "span" });
  const update = () => {
    const [from, to] = timeline.span;
    shown.textContent = `${tick(Number(from.toFixed(2)))} – ${tick(Number(to.toFixed(2)))} s`;
    for (const b of [back, forth, reset]) b.disabled = !timeline.zoomed;
  };
  timeline.onRange(update);
  update();
  return h(
    "div",
    { class: "zoombar", role: "group", "aria-label": "Span of time" },
    button("+", "Zoom in", () => timeline.zoomBy(0.5)),
    button("−", "Zoom out", () => timeline.zoomBy(2)),
    back,
    forth,
    reset,
    shown,
  );
}

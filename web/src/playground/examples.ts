// Questions that are asked first, each a link that sets all controls.

import { h } from "../base/dom";
import { initial, type State, toFragment } from "./state";

/** A question and what of the controls answers it. */
export const EXAMPLES: readonly [string, Partial<State>][] = [
  [
    "A call on a train",
    {
      trace: "train.txt",
      flows: [
        { app: "download", cc: "cubic" },
        { app: "voip", cc: "cubic" },
      ],
    },
  ],
  ["Web pages in a car", {}],
  [
    "Video on a busy cell",
    {
      trace: "bursty.csv",
      duration: 30,
      flows: [
        { app: "download", cc: "cubic" },
        { app: "video", cc: "cubic" },
      ],
    },
  ],
  [
    "A game, with a queue instead of a proxy",
    {
      trace: "drive-nr.csv",
      duration: 10,
      pep: "none",
      queue: "default",
      flows: [
        { app: "download", cc: "cubic" },
        { app: "gaming", cc: "cubic" },
      ],
    },
  ],
];

/** The links. */
export function examples(): HTMLElement {
  const links = EXAMPLES.map(([name, part]) =>
    h("li", {}, h("a", { href: toFragment({ ...initial(), ...part }) }, name)),
  );
  return h("nav", { class: "examples", "aria-label": "Examples" }, h("ul", {}, ...links));
}

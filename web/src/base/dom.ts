// Elements in one expression. Text goes in as text nodes, so nothing that a result states is markup.

/** A child of an element: text, an element, or nothing. */
export type Child = Node | string | number | null | undefined | false;

/** Attributes; `on*` are listeners, `class` is the class, booleans set or leave out. */
export type Attributes = Record<
  string,
  string | number | boolean | null | undefined | ((event: never) => void)
>;

/** An element with attributes and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as (event: Event) => void);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

/** Replaces all children. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...nodes(children));
}

function nodes(children: Child[]): (Node | string)[] {
  const kept = children.filter((c) => c !== null && c !== undefined && c !== false);
  return kept.map((c) => (c instanceof Node ? c : String(c)));
}

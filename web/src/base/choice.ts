// The choice of colours, as all pages have it.

import { h } from "./dom";
import { setTheme, type Theme, theme } from "./theme";

export function themeChoice(): HTMLElement {
  const options: [Theme, string][] = [
    ["auto", "as the system"],
    ["light", "light"],
    ["dark", "dark"],
  ];
  const select = h(
    "select",
    { onchange: () => setTheme(select.value as Theme) },
    ...options.map(([value, text]) => h("option", { value, selected: value === theme() }, text)),
  );
  return h("label", {}, "Colours", select);
}

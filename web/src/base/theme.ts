// Dark or light: as the system is set, until the user chooses; the choice is stored.

export type Theme = "auto" | "light" | "dark";

const KEY = "brimful-theme";
const listeners = new Set<() => void>();
let chosen: Theme = "auto";
let style: CSSStyleDeclaration | null = null;
const colours = new Map<string, string>();

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    // a page from a file, or storage forbidden
    return "auto";
  }
}

function apply(): void {
  const root = document.documentElement;
  if (chosen === "auto") root.removeAttribute("data-theme");
  else root.dataset.theme = chosen;
  style = null;
  colours.clear();
  for (const listener of listeners) listener();
}

/** To be called once, before anything is drawn. */
export function startTheme(): void {
  chosen = stored();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}

export function theme(): Theme {
  return chosen;
}

export function setTheme(next: Theme): void {
  chosen = next;
  try {
    if (next === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // it holds for this page only
  }
  apply();
}

/** Calls back after the colours changed; returns what ends that. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The value of a CSS variable of the page, e.g. `--c0`. */
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    style ??= getComputedStyle(document.documentElement);
    value = style.getPropertyValue(name).trim();
    colours.set(name, value);
  }
  return value;
}

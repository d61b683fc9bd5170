// A table whose columns sort and whose rows can be filtered and picked. Rows are updated in place,
// so that it can follow a live feed without losing the focus.

import { h } from "../base/dom";

/** A cell's value: numbers sort by size, text by the alphabet. */
export type Value = number | string | null;

export interface Column {
  key: string;
  title: string;
  unit?: string;
  /** Text is aligned left. */
  text?: boolean;
  /** How a number is written. */
  format?: (value: number) => string;
  /** A class for a value, e.g. to colour it. */
  mark?: (value: Value) => string;
}

export interface Row {
  /** Unique in its table. */
  name: string;
  values: Record<string, Value>;
}

export interface TableOptions {
  caption: string;
  columns: Column[];
  /** Column that sorts at first, descending; none keeps the order of the rows. */
  sort?: string;
  /** Called with the names picked; without it there are no boxes. */
  onPick?: (picked: string[]) => void;
  /** Most rows that can be picked. */
  mostPicked?: number;
}

/** Rows from which on there is a filter. */
const FILTER_FROM = 8;

interface Shown {
  row: HTMLTableRowElement;
  box: HTMLInputElement | null;
  cells: HTMLTableCellElement[];
}

export class DataTable {
  readonly element: HTMLElement;
  readonly #options: TableOptions;
  readonly #filter: HTMLInputElement;
  readonly #head: HTMLElement;
  readonly #count: HTMLElement;
  readonly #body: HTMLTableSectionElement;
  readonly #headers: { key: string; cell: HTMLElement; arrow: HTMLElement }[] = [];
  readonly #shown = new Map<string, Shown>();
  readonly #picked = new Set<string>();
  #rows: Row[] = [];
  #sort: string | null;
  #descending = true;

  constructor(options: TableOptions) {
    this.#options = options;
    this.#sort = options.sort ?? null;
    this.#filter = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": `Filter: ${options.caption}`,
      oninput: () => this.#arrange(),
    });
    this.#count = h("span", { class: "count", role: "status" });
    this.#head = h("div", { class: "table-head", hidden: true }, this.#filter, this.#count);
    this.#body = h("tbody");
    const table = h(
      "table",
      {},
      h("caption", { class: "unseen" }, options.caption),
      h("thead", {}, h("tr", {}, ...this.#headings())),
      this.#body,
    );
    const box = h(
      "div",
      {
        class: "grid-table",
        role: "region",
        "aria-label": `${options.caption}: table`,
        tabindex: 0,
      },
      table,
    );
    this.element = h("div", {}, this.#head, box);
  }

  #headings(): HTMLElement[] {
    const cells = this.#options.columns.map((column) => {
      const arrow = h("span", { class: "arrow", "aria-hidden": "true" });
      const button = h(
        "button",
        { type: "button", onclick: () => this.#sortBy(column) },
        column.text ? null : arrow,
        column.title,
        column.text ? arrow : null,
        column.unit ? h("small", {}, column.unit) : null,
      );
      const cell = h("th", { scope: "col", class: column.text ? "t" : null }, button);
      this.#headers.push({ key: column.key, cell, arrow });
      return cell;
    });
    if (this.#options.onPick) {
      const pick = h(
        "th",
        { scope: "col", class: "pick" },
        h("span", { class: "unseen" }, "Drawn"),
      );
      cells.splice(1, 0, pick);
    }
    return cells;
  }

  #sortBy(column: Column): void {
    if (this.#sort === column.key) this.#descending = !this.#descending;
    else this.#descending = !column.text;
    this.#sort = column.key;
    this.#arrange();
  }

  /** Names in the order shown, whatever the filter states. */
  get order(): string[] {
    return this.#sorted(this.#rows).map((r) => r.name);
  }

  get picked(): string[] {
    return [...this.#picked];
  }

  /** Picks rows without notifying listeners. */
  pick(names: Iterable<string>): void {
    this.#picked.clear();
    for (const name of names) this.#picked.add(name);
    this.#checkBoxes();
  }

  /** New values; rows that are gone are removed. */
  show(rows: Row[]): void {
    this.#rows = rows;
    const names = new Set(rows.map((r) => r.name));
    for (const [name, shown] of this.#shown) {
      if (!names.has(name)) {
        shown.row.remove();
        this.#shown.delete(name);
      }
    }
    for (const row of rows) this.#fill(row);
    this.#head.hidden = rows.length < FILTER_FROM;
    this.#arrange();
  }

  #fill(row: Row): void {
    let shown = this.#shown.get(row.name);
    if (!shown) {
      shown = this.#make(row.name);
      this.#shown.set(row.name, shown);
    }
    this.#options.columns.forEach((column, i) => {
      const cell = shown.cells[i];
      const value = row.values[column.key] ?? null;
      const text = written(column, value);
      if (cell && cell.textContent !== text) {
        cell.textContent = text;
        if (column.text && text.length > 40) cell.title = text;
      }
      if (cell && column.mark) cell.className = `${column.text ? "t" : ""} ${column.mark(value)}`;
    });
  }

  #make(name: string): Shown {
    const cells = this.#options.columns.map((column, i) =>
      i === 0 ? h("th", { scope: "row" }) : h("td", { class: column.text ? "t" : null }),
    );
    const children: HTMLElement[] = [...cells];
    let box: HTMLInputElement | null = null;
    if (this.#options.onPick) {
      box = h("input", {
        type: "checkbox",
        "aria-label": `Draw ${name}`,
        onchange: () => this.#toggle(name),
      });
      box.checked = this.#picked.has(name);
      children.splice(1, 0, h("td", { class: "pick" }, box));
    }
    return { row: h("tr", {}, ...children), box, cells };
  }

  #toggle(name: string): void {
    if (!this.#picked.delete(name)) this.#picked.add(name);
    this.#checkBoxes();
    this.#options.onPick?.(this.picked);
  }

  #checkBoxes(): void {
    const full = this.#picked.size >= (this.#options.mostPicked ?? Number.POSITIVE_INFINITY);
    for (const [name, { box }] of this.#shown) {
      if (!box) continue;
      box.checked = this.#picked.has(name);
      box.disabled = full && !box.checked;
    }
  }

  #sorted(rows: Row[]): Row[] {
    const key = this.#sort;
    if (key === null) return rows;
    const sign = this.#descending ? -1 : 1;
    return [...rows].sort((a, b) => sign * compare(a.values[key], b.values[key], sign));
  }

  #arrange(): void {
    for (const { key, cell, arrow } of this.#headers) {
      const sorted = key === this.#sort;
      arrow.textContent = sorted ? (this.#descending ? "▾" : "▴") : "";
      if (sorted) cell.setAttribute("aria-sort", this.#descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const sorted = this.#sorted(this.#rows);
    const kept = sorted.filter((row) => matches(row, words));
    const elements = kept.flatMap((row) => this.#shown.get(row.name)?.row ?? []);
    const present = [...this.#body.children];
    // moving a row takes the focus from it: only done where the order has changed
    if (present.length !== elements.length || elements.some((e, i) => e !== present[i])) {
      const focused = document.activeElement;
      this.#body.replaceChildren(...elements);
      if (focused instanceof HTMLElement && this.#body.contains(focused)) {
        focused.focus({ preventScroll: true });
      }
    }
    const count =
      words.length === 0 ? `${kept.length} rows` : `${kept.length} of ${sorted.length} rows`;
    if (this.#count.textContent !== count) this.#count.textContent = count;
  }
}

function written(column: Column, value: Value): string {
  if (value === null) return "–";
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return "–";
  return column.format ? column.format(value) : String(value);
}

/** Missing values come last, whichever way the column is sorted. */
function compare(a: Value | undefined, b: Value | undefined, sign: number): number {
  const missing = (v: Value | undefined) =>
    v === null || v === undefined || (typeof v === "number" && Number.isNaN(v));
  if (missing(a) || missing(b)) return sign * (Number(missing(a)) - Number(missing(b)));
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function matches(row: Row, words: string[]): boolean {
  const text = [row.name, ...Object.values(row.values).filter((v) => typeof v === "string")]
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

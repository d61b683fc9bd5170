// What a daemon, a lab or a simulation does now.

import { fill, h } from "../../base/dom";
import type { EntityKind, MetricName } from "../../base/metrics";
import { Timeline } from "../../chart/timeline";
import { zoomBar } from "../../chart/toolbar";
import { DataTable } from "../../table/table";
import * as api from "../api";
import { Board } from "../board";
import { type Choice, figures, MAX_LINES, type Series } from "../figures";
import type { Page, View } from "../page";
import { columns, rows } from "./rows";
import { type Hello, LiveSocket, type Message, type State, type TableFlow } from "./socket";
import { LiveStore, type Reduced } from "./store";
import { liveTiles, tileList } from "./tiles";

/** Between drawings, ms: at most 30 a second. */
const DRAW_EVERY = 33;
/** Drawing may take one part in so many of the browser's time; a slow machine draws less often. */
const SHARE = 3;
/** Between updates of tables and tiles, ms. */
const TABLE_EVERY = 1000;
/** Points of a line, at most about twice this. */
const GROUPS = 240;
const WINDOWS = [10, 30, 60];
/** What empty queues are distinguished by, and what the tables are sorted by. */
const QUEUE: MetricName = "queue_bytes";
const SORTED: MetricName = "goodput_bps";
/** Between two frames of the screen, ms. */
const FRAME = 16;
/** In place of the number of the frame that is drawn: the drawing is out of date. */
const STALE = -2;

const STATES: Record<State, [string, "good" | "bad" | ""]> = {
  connecting: ["connecting", ""],
  open: ["live", "good"],
  lost: ["connection lost, trying again", "bad"],
  ended: ["ended", ""],
};

export function liveView(page: Page, info: api.Info, refused: () => void): View {
  return new LiveView(page, info, refused);
}

class LiveView implements View {
  readonly element: HTMLElement;
  readonly #page: Page;
  readonly #timeline = new Timeline();
  readonly #board: Board;
  readonly #tiles = tileList();
  readonly #note: HTMLElement;
  readonly #facts: HTMLElement;
  readonly #pause: HTMLButtonElement;
  readonly #tablesHost: HTMLElement;
  readonly #tables = new Map<EntityKind, { table: DataTable; shape: string }>();
  readonly #socket: LiveSocket;
  readonly #choice: Choice = { entities: new Map() };
  readonly #refused: () => void;
  #store = new LiveStore(60);
  #hello: Hello | null = null;
  #flows: TableFlow[] = [];
  #window = 30;
  #paused = false;
  #shown = STALE;
  #shape = "";
  #lastDraw = 0;
  #lastTable = 0;
  #frame = 0;
  /** When the last drawing began, until the browser has shown it, ms. */
  #drawn: number | null = null;
  #cost = 0;
  readonly #busyQueues = new Set<string>();
  #picked = false;
  #reduced: Reduced = { x: [], edges: [] };

  constructor(page: Page, info: api.Info, refused: () => void) {
    this.#page = page;
    this.#refused = refused;
    this.#board = new Board(this.#timeline);
    this.#note = h("div", { role: "status" });
    this.#facts = h("ul", { class: "facts" });
    this.#pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
    this.#pause.addEventListener("click", () => this.#setPaused(!this.#paused));
    const length = h(
      "select",
      {
        onchange: () => {
          this.#window = Number(length.value);
          this.#shown = STALE;
        },
      },
      ...WINDOWS.map((s) => h("option", { value: s, selected: s === this.#window }, `${s} s`)),
    );
    this.#tablesHost = h("div", {});
    this.element = h(
      "div",
      {},
      this.#note,
      this.#facts,
      this.#tiles,
      h(
        "div",
        { class: "tools" },
        this.#pause,
        h("label", {}, "Last", length),
        zoomBar(this.#timeline, "Follow"),
      ),
      h("h2", { class: "unseen" }, "Figures"),
      this.#board.element,
      this.#tablesHost,
    );
    this.#facts.replaceChildren(...this.#factsOf(info.world, info.source));
    this.#state("connecting");
    // a span that is looked at must not run away
    this.#timeline.onRange(() => {
      this.#shown = STALE;
    });
    const url = new URL("live", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = "";
    this.#socket = new LiveSocket(url.href, {
      message: (m) => this.#take(m),
      state: (s) => this.#state(s),
      position: () =>
        this.#hello && this.#store.seq >= 0
          ? { session: this.#hello.session, after: this.#store.seq }
          : null,
      refused: () => this.#isRefused(),
    });
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#socket.close();
    this.#board.end();
    this.#page.state("", "");
  }

  #factsOf(world: string | null, source: string | null): HTMLElement[] {
    const facts = [
      ["world", world],
      ["source", source],
    ];
    return facts.flatMap(([name, value]) =>
      value ? [h("li", {}, h("b", {}, name ?? null), value)] : [],
    );
  }

  #state(state: State): void {
    const [text, mood] = STATES[state];
    this.#page.state(text, mood);
    if (state === "lost") {
      const lost = "The connection is lost; it is tried again. What was received stays.";
      fill(this.#note, h("p", { class: "message wait" }, lost));
    } else if (state === "open") {
      fill(this.#note);
    }
  }

  /** After a lost connection: does the server require a token now? */
  async #isRefused(): Promise<boolean> {
    try {
      if (!(await api.info()).needs_token) return false;
    } catch (error) {
      if (!(error instanceof api.ApiError && error.status === 401)) return false;
    }
    this.#refused();
    return true;
  }

  #take(message: Message): void {
    switch (message.type) {
      case "hello":
        this.#greet(message);
        break;
      case "series":
        this.#store.add(message.series);
        break;
      case "frame":
        this.#store.frame(message.seq, message.t, message.v);
        break;
      case "table":
        this.#flows = message.flows;
        break;
      case "end":
        fill(this.#note, h("p", { class: "message" }, `Ended: ${message.reason}`));
        break;
    }
  }

  #greet(hello: Hello): void {
    if (hello.format > api.FORMAT) {
      this.#socket.close();
      this.#page.problem("This server is of a newer version than the page. Reload the page.");
      return;
    }
    if (this.#hello?.session !== hello.session) {
      // another session: everything anew
      this.#store = new LiveStore(hello.window_s);
      this.#flows = [];
      this.#busyQueues.clear();
      this.#shape = "";
      this.#shown = STALE;
      this.#timeline.reset();
    }
    this.#hello = hello;
    this.#page.title = hello.title;
    this.#facts.replaceChildren(...this.#factsOf(hello.world, hello.source));
  }

  #setPaused(paused: boolean): void {
    this.#paused = paused;
    this.#pause.setAttribute("aria-pressed", String(paused));
    this.#pause.textContent = paused ? "Go on" : "Pause";
    this.#shown = STALE;
  }

  #tick(now: number): void {
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
    if (this.#drawn !== null) {
      // from before the drawing to after the browser has shown it
      this.#cost = 0.7 * this.#cost + 0.3 * (performance.now() - this.#drawn);
      this.#drawn = null;
    }
    if (document.hidden || (this.#paused && this.#shown !== STALE)) return;
    if (!this.#paused && now - this.#lastTable >= TABLE_EVERY && this.#store.seq >= 0) {
      this.#lastTable = now;
      this.#arrange();
    }
    const wait = Math.max(DRAW_EVERY, SHARE * (this.#cost - FRAME));
    if (now - this.#lastDraw >= wait && this.#store.seq !== this.#shown) {
      this.#lastDraw = now;
      this.#drawn = performance.now();
      this.#shown = this.#store.seq;
      this.#draw();
    }
  }

  #draw(): void {
    const extent = this.#store.extent;
    if (!extent) return;
    if (!this.#timeline.zoomed && !this.#paused) {
      this.#timeline.setExtent(Math.max(extent[0], extent[1] - this.#window), extent[1]);
    }
    const [from, to] = this.#timeline.span;
    this.#reduced = this.#store.reduce(from, to, GROUPS);
    this.#board.refresh();
  }

  /** Tables, tiles, and which figures there are. */
  #arrange(): void {
    fill(this.#tiles, ...liveTiles(this.#store));
    this.#showTable("flow", "Flows", "Flow");
    this.#showTable("ue", "UEs", "UE");
    this.#choose();
    const series = this.#store.series;
    const shape = JSON.stringify([series.length, [...this.#choice.entities]]);
    if (shape === this.#shape) return;
    this.#shape = shape;
    const store = this.#store;
    const live: Series[] = series.map((s) => ({
      ...s,
      points: () => ({ x: this.#reduced.x, y: store.values(s.id, this.#reduced) }),
    }));
    this.#board.show(figures([{ label: "", series: live }], this.#choice));
  }

  /** Where there are too many flows or UEs to draw, those that are picked, or the busiest. */
  #choose(): void {
    // queues in the order in which something waited in them; those that stay empty are not drawn
    for (const s of this.#store.series) {
      if (s.metric === QUEUE && this.#store.last(s.id) > 0) this.#busyQueues.add(s.entity);
    }
    this.#choice.entities.set("queue", [...this.#busyQueues]);
    for (const kind of ["flow", "ue"] as const) {
      const table = this.#tables.get(kind)?.table;
      const names = new Set(this.#store.series.filter((s) => s.kind === kind).map((s) => s.entity));
      if (names.size <= MAX_LINES || !table) {
        this.#choice.entities.delete(kind);
      } else if (!this.#choice.entities.has(kind) && !this.#picked) {
        const first = table.order.slice(0, MAX_LINES);
        this.#choice.entities.set(kind, first);
        table.pick(first);
      }
    }
  }

  #showTable(kind: EntityKind, title: string, head: string): void {
    const series = this.#store.series.filter((s) => s.kind === kind);
    const flows = kind === "flow" ? this.#flows : [];
    if (series.length === 0 && flows.length === 0) return;
    const cols = columns(series, flows, head);
    const names = new Set(series.map((s) => s.entity));
    const many = names.size > MAX_LINES;
    const shape = JSON.stringify([cols.map((c) => c.key), many]);
    let known = this.#tables.get(kind);
    if (!known || known.shape !== shape) {
      const table = new DataTable({
        caption: title,
        columns: cols,
        sort: cols.some((c) => c.key === SORTED) ? SORTED : "name",
        mostPicked: MAX_LINES,
        ...(many ? { onPick: (picked: string[]) => this.#pick(kind, picked) } : {}),
      });
      table.pick(this.#choice.entities.get(kind) ?? []);
      const block = h(
        "section",
        { class: "block", "aria-label": title },
        h("h2", {}, title),
        table.element,
      );
      block.dataset.kind = kind;
      const old = [...this.#tablesHost.children].find(
        (c) => c instanceof HTMLElement && c.dataset.kind === kind,
      );
      if (old) old.replaceWith(block);
      else this.#tablesHost.append(block);
      known = { table, shape };
      this.#tables.set(kind, known);
    }
    known.table.show(rows(this.#store, series, flows));
  }

  #pick(kind: EntityKind, picked: string[]): void {
    this.#picked = true;
    this.#choice.entities.set(kind, picked);
    this.#arrange();
    this.#shown = STALE;
  }
}

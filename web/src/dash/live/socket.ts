// The connection to /dash/live: comes back by itself, and goes on where it was cut.

import type { LiveSeries } from "./store";

export interface Hello {
  type: "hello";
  format: number;
  session: string;
  title: string;
  world: string;
  source: string;
  window_s: number;
}

export interface TableFlow {
  name: string;
  cc?: string | null;
  ue?: string | null;
  [key: string]: unknown;
}

export type Message =
  | Hello
  | { type: "series"; series: LiveSeries[] }
  | { type: "frame"; seq: number; t: number; v: [number, number | null][] }
  | { type: "table"; flows: TableFlow[] }
  | { type: "end"; reason: string };

export type State = "connecting" | "open" | "lost" | "ended";

export interface Handlers {
  message(message: Message): void;
  state(state: State): void;
  /** Where to go on: the session and the last frame taken; null to start anew. */
  position(): { session: string; after: number } | null;
  /** Called when a connection fails: true if trying again is of no use, e.g. a token is needed. */
  refused(): Promise<boolean>;
}

/** Between attempts, ms: doubled each time. */
const FIRST_WAIT = 250;
const MAX_WAIT = 4000;
/** Nothing received for so long means that the connection is dead, ms; a feed sends once a second. */
const SILENCE = 15_000;

export class LiveSocket {
  readonly #url: string;
  readonly #handlers: Handlers;
  #socket: WebSocket | null = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  #silence = 0;
  #done = false;

  constructor(url: string, handlers: Handlers) {
    this.#url = url;
    this.#handlers = handlers;
    this.#connect();
  }

  close(): void {
    this.#done = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#socket?.close();
  }

  #connect(): void {
    if (this.#done) return;
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.onopen = () => {
      const at = this.#handlers.position();
      socket.send(JSON.stringify(at ? { type: "resume", ...at } : { type: "start" }));
      this.#listen(socket);
    };
    socket.onmessage = (event) => {
      this.#listen(socket);
      const message = parse(event.data);
      if (!message) return;
      if (message.type === "hello") {
        this.#wait = FIRST_WAIT;
        this.#handlers.state("open");
      }
      this.#handlers.message(message);
      if (message.type === "end") {
        this.#handlers.state("ended");
        this.close();
      }
    };
    socket.onclose = () => {
      clearTimeout(this.#silence);
      if (this.#socket === socket) void this.#lost();
    };
  }

  #listen(socket: WebSocket): void {
    clearTimeout(this.#silence);
    this.#silence = window.setTimeout(() => socket.close(), SILENCE);
  }

  async #lost(): Promise<void> {
    if (this.#done) return;
    this.#handlers.state("lost");
    if (await this.#handlers.refused()) {
      this.#done = true;
      return;
    }
    this.#timer = window.setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(MAX_WAIT, this.#wait * 2);
  }
}

/** A message, or null for what this page does not read. */
export function parse(data: unknown): Message | null {
  if (typeof data !== "string") return null;
  try {
    const message = JSON.parse(data) as { type?: unknown };
    const known = ["hello", "series", "frame", "table", "end"];
    return known.includes(String(message.type)) ? (message as Message) : null;
  } catch {
    return null;
  }
}

// Runs of which only the newest counts: a request ends the one before.

import type { Files, Request } from "./simulator";
import type { Answer, Order } from "./worker";

export class Runs {
  readonly #module: Promise<WebAssembly.Module>;
  #worker: Worker | null = null;
  #isBusy = false;
  #turn = 0;

  constructor(module: Promise<WebAssembly.Module>) {
    this.#module = module;
  }

  /** The JSON of a result; null if another run was requested, or all were stopped, before it was there. */
  async run(request: Request, files: Files): Promise<string | null> {
    this.stop();
    const turn = this.#turn;
    const module = await this.#module;
    if (turn !== this.#turn) return null;
    const worker = this.#worker ?? this.#start(module);
    this.#isBusy = true;
    const answer = await new Promise<Answer | null>((done) => {
      worker.onmessage = (event: MessageEvent<Answer>) => done(event.data);
      worker.onerror = (event) => done({ problem: event.message });
      this.#end = () => done(null);
      const order: Order = { request, files };
      worker.postMessage(order);
    });
    if (answer === null || turn !== this.#turn) return null;
    this.#isBusy = false;
    if ("problem" in answer) throw new Error(answer.problem);
    return answer.result;
  }

  /** Ends what runs. */
  stop(): void {
    this.#turn += 1;
    if (!this.#isBusy) return;
    // a worker that computes reads no message
    this.#worker?.terminate();
    this.#worker = null;
    this.#isBusy = false;
    this.#end();
  }

  #end: () => void = () => {};

  #start(module: WebAssembly.Module): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    const order: Order = { module };
    worker.postMessage(order);
    this.#worker = worker;
    return worker;
  }
}

// The worker: takes the module once, then one request at a time.

import { type Files, type Request, Simulator } from "./simulator";

/** To the worker: first the module, then requests. */
export type Order = { module: WebAssembly.Module } | { request: Request; files: Files };

/** From the worker. */
export type Answer = { result: string } | { problem: string };

let simulator: Simulator | null = null;

addEventListener("message", (event: MessageEvent<Order>) => {
  const order = event.data;
  const answer = (of: Answer) => postMessage(of);
  try {
    if ("module" in order) simulator = new Simulator(order.module);
    else if (simulator) answer({ result: simulator.run(order.request, order.files) });
  } catch (error) {
    answer({ problem: error instanceof Error ? error.message : String(error) });
  }
});

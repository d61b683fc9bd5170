// The real program: runs that make results, and dashboards that are started and ended.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import net from "node:net";
import { join, resolve } from "node:path";

/** The repository. */
export const ROOT = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
/** Made once for all tests, by setup.ts. */
export const WORK = join(ROOT, "web/test-results/work");
export const RESULTS = join(WORK, "results");
/** A comparison with a call, and a run with nothing but one. */
export const CALLS = join(WORK, "calls");
/** A whole result, and one whose time series are cut off. */
export const TORN = join(WORK, "torn-results");

export const BRIMFUL = process.env.BRIMFUL ?? join(ROOT, "target/ci/brimful");

/** 200 flows of 100 users. */
export const MANY = join(ROOT, "scenarios/rapid/many-ues.toml");
export const MANY_SET = ["--set", "users=50"];

/** Runs the program to its end. */
export function brimful(...args: string[]): void {
  if (!existsSync(BRIMFUL)) throw new Error(`${BRIMFUL} is missing: cargo build -p brimful`);
  const done = spawnSync(BRIMFUL, args, { cwd: ROOT, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`brimful ${args.join(" ")}: ${done.stderr}`);
}

/** What runs is ended with the tests, however they end. */
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** The program, at work until it is ended. */
export class Running {
  /** The output that was waited for. */
  readonly output: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, output: string) {
    this.#process = process;
    children.add(process);
    process.once("exit", () => children.delete(process));
    this.output = output;
  }

  /** Starts it and does not read its output. */
  static silent(...args: string[]): Running {
    return new Running(spawn(BRIMFUL, args, { cwd: ROOT, stdio: "ignore" }), "");
  }

  /** Starts it and waits until it prints this; `cwd` is the repository unless given. */
  static start(args: string[], until: RegExp, cwd = ROOT): Promise<Running> {
    return Running.program(BRIMFUL, args, until, cwd);
  }

  /** The same with another program, which becomes this one. */
  static program(program: string, args: string[], until: RegExp, cwd: string): Promise<Running> {
    const child = spawn(program, args, { cwd });
    return new Promise((done, failed) => {
      let output = "";
      let isFound = false;
      const read = (data: Buffer) => {
        // what is not read any more would stop the child
        if (isFound) return;
        output += data.toString();
        const found = until.exec(output)?.[0];
        if (found === undefined) return;
        isFound = true;
        done(new Running(child, found));
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("exit", (code) =>
        failed(new Error(`brimful ${args[0]} ended with ${code}: ${output}`)),
      );
    });
  }

  /** Its number. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Kills it, and waits for its end. */
  async stop(): Promise<void> {
    const gone = new Promise((done) => this.#process.once("exit", done));
    const { exitCode, signalCode } = this.#process;
    if (exitCode === null && signalCode === null && this.#process.kill("SIGKILL")) await gone;
  }
}

/** A dashboard that runs. */
export class Dashboard {
  readonly url: string;
  readonly port: number;
  readonly #running: Running;

  private constructor(running: Running) {
    this.#running = running;
    this.url = running.output;
    this.port = Number(new URL(this.url).port);
  }

  /** Starts one and waits until it prints its address. */
  static async start(path: string, ...args: string[]): Promise<Dashboard> {
    const listen = args.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
    const all = ["dash", path, "--open", "no", ...listen, ...args];
    return new Dashboard(await Running.start(all, /https?:\/\/\S+:\d+\/?\S*/));
  }

  /** Kills it, and waits for its end. */
  stop(): Promise<void> {
    return this.#running.stop();
  }
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  const server = net.createServer();
  return new Promise((done) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => done(port));
    });
  });
}

/** A line between browser and server that can be cut. */
export class Line {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #up = true;
  #refused = 0;

  private constructor(server: net.Server) {
    this.#server = server;
  }

  static start(target: number): Promise<Line> {
    const server = net.createServer();
    const line = new Line(server);
    server.on("connection", (near) => {
      if (!line.#up) {
        line.#refused += 1;
        near.destroy();
        return;
      }
      const far = net.connect(target, "127.0.0.1");
      for (const [a, b] of [
        [near, far],
        [far, near],
      ] as const) {
        line.#sockets.add(a);
        a.pipe(b);
        a.on("error", () => b.destroy());
        a.on("close", () => {
          line.#sockets.delete(a);
          b.destroy();
        });
      }
    });
    return new Promise((done) => server.listen(0, "127.0.0.1", () => done(line)));
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** Connections that were closed because the line is cut. */
  get refused(): number {
    return this.#refused;
  }

  cut(): void {
    this.#up = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#up = true;
  }

  stop(): void {
    this.cut();
    this.#server.close();
  }
}

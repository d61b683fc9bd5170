// The simulator as WebAssembly: bytes in, bytes out (crates/study/playground/src/exports.rs is its other side).

/** What the module exports. */
interface Exports {
  memory: WebAssembly.Memory;
  input(length: number): number;
  clear_files(): void;
  add_file(): void;
  run(): number;
  output(): number;
  output_length(): number;
  panic_message(): number;
  panic_length(): number;
}

/** A file by its path. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** What is to be run: as `Request` of crate playground reads it. */
export interface Request {
  scenario: string;
  variants: { label: string; set: [string, string][] }[];
  seed?: number;
  repeats?: number;
  trace?: string;
}

export class Simulator {
  readonly #exports: Exports;

  constructor(module: WebAssembly.Module) {
    const instance = new WebAssembly.Instance(module, {});
    this.#exports = instance.exports as unknown as Exports;
  }

  /** Runs a request; gives the JSON of its result. Throws what is wrong, as the command line words it. */
  run(request: Request, files: Files): string {
    const exports = this.#exports;
    const encoder = new TextEncoder();
    exports.clear_files();
    for (const [path, content] of files) {
      const name = encoder.encode(path);
      const bytes = new Uint8Array(name.length + 1 + content.length);
      bytes.set(name);
      bytes.set(content, name.length + 1);
      this.#put(bytes);
      exports.add_file();
    }
    this.#put(encoder.encode(JSON.stringify(request)));
    let isResult: number;
    try {
      isResult = exports.run();
    } catch (error) {
      const message = this.#text(exports.panic_message(), exports.panic_length());
      throw new Error(message === "" ? `the simulator ended: ${error}` : message);
    }
    const text = this.#text(exports.output(), exports.output_length());
    if (isResult === 0) throw new Error(text);
    return text;
  }

  #put(bytes: Uint8Array): void {
    const at = this.#exports.input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
  }

  #text(at: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, at, length));
  }
}

// The span of time that all charts of a page show, and the moment that is looked at.

export type Span = readonly [number, number];

export class Timeline {
  #extent: Span = [0, 1];
  #range: Span | null = null;
  #cursor: number | null = null;
  readonly #onRange = new Set<(span: Span) => void>();
  readonly #onCursor = new Set<(at: number | null, source: unknown) => void>();

  /** All that there is. */
  get extent(): Span {
    return this.#extent;
  }

  /** What is shown. */
  get span(): Span {
    return this.#range ?? this.#extent;
  }

  get zoomed(): boolean {
    return this.#range !== null;
  }

  get cursor(): number | null {
    return this.#cursor;
  }

  /** New data: a span that is being looked at stays. */
  setExtent(from: number, to: number): void {
    if (this.#extent[0] === from && this.#extent[1] === to) return;
    this.#extent = [from, to > from ? to : from + 1];
    if (this.#range === null) this.#notify();
  }

  /** Shows a span, at most all, at least a ten-thousandth of it. */
  zoom(from: number, to: number): void {
    const [first, last] = this.#extent;
    const width = Math.min(Math.max(to - from, (last - first) / 10_000), last - first);
    const start = Math.min(Math.max(from, first), last - width);
    const whole = width >= (last - first) * 0.9999;
    this.#range = whole ? null : [start, start + width];
    this.#notify();
  }

  /** Half (factor 0.5) or twice (2) the span, round the moment looked at or the middle. */
  zoomBy(factor: number): void {
    const [from, to] = this.span;
    const looked = this.#cursor;
    const at = looked !== null && looked >= from && looked <= to ? looked : (from + to) / 2;
    this.zoom(at - (at - from) * factor, at + (to - at) * factor);
  }

  /** Moves by a share of the span. */
  pan(share: number): void {
    if (this.#range === null) return;
    const [from, to] = this.#range;
    this.zoom(from + share * (to - from), to + share * (to - from));
  }

  reset(): void {
    if (this.#range === null) return;
    this.#range = null;
    this.#notify();
  }

  /** The moment that all charts mark; `source` is not notified. */
  look(at: number | null, source: unknown): void {
    this.#cursor = at;
    for (const listener of this.#onCursor) listener(at, source);
  }

  onRange(listener: (span: Span) => void): () => void {
    this.#onRange.add(listener);
    return () => this.#onRange.delete(listener);
  }

  onCursor(listener: (at: number | null, source: unknown) => void): () => void {
    this.#onCursor.add(listener);
    return () => this.#onCursor.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#onRange) listener(this.span);
  }
}

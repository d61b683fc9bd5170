// The controls: what they show is a state, what they change is a new one.

import { fill, h } from "../base/dom";
import { bufferText } from "./scenario";
import {
  APPS,
  type App,
  CCS,
  type Cc,
  type Flow,
  MAX_FLOWS,
  PEPS,
  type Pep,
  QUEUES,
  type Queue,
  RANGES,
  type State,
  TRACES,
} from "./state";

/** Steps of a slider whose values are spaced by a factor. */
const STEPS = 200;

interface Slider {
  element: HTMLElement;
  show(value: number): void;
}

/** A slider; with a factor between its values if `isLog`. */
function slider(
  name: string,
  key: "rtt" | "buffer" | "radio",
  isLog: boolean,
  text: (value: number) => string,
  change: (value: number) => void,
): Slider {
  const { min, max } = RANGES[key];
  const ratio = Math.log(max / min);
  const place = (value: number) =>
    isLog ? Math.round((STEPS * Math.log(value / min)) / ratio) : value;
  const value = (at: number) => {
    if (!isLog) return at;
    const exact = min * Math.exp((ratio * at) / STEPS);
    // two digits that count
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(exact)) - 1);
    return Math.min(max, Math.max(min, Math.round(exact / unit) * unit));
  };
  // no <output>: that would be what the label names
  const shown = h("span", { class: "value", "aria-hidden": "true" });
  const input = h("input", {
    type: "range",
    min: isLog ? 0 : min,
    max: isLog ? STEPS : max,
    step: 1,
    name: key,
  });
  const present = (of: number) => {
    shown.textContent = text(of);
    input.setAttribute("aria-valuetext", text(of));
  };
  input.addEventListener("input", () => {
    const now = value(Number(input.value));
    present(now);
    change(now);
  });
  return {
    element: h("label", {}, name, shown, input),
    show(of) {
      input.value = String(place(of));
      present(of);
    },
  };
}

function choice<K extends string>(
  name: string,
  options: Readonly<Record<K, string>>,
  change: (value: K) => void,
): { element: HTMLElement; select: HTMLSelectElement } {
  const select = h(
    "select",
    { onchange: () => change(select.value as K) },
    ...Object.entries<string>(options).map(([value, text]) => h("option", { value }, text)),
  );
  return { element: h("label", {}, name, select), select };
}

export class Form {
  readonly element: HTMLElement;
  readonly #change: (state: State) => void;
  readonly #flows = h("div");
  readonly #add: HTMLButtonElement;
  readonly #sliders: Record<"rtt" | "buffer" | "radio", Slider>;
  readonly #traces: HTMLSelectElement;
  readonly #pep: HTMLSelectElement;
  readonly #queue: HTMLSelectElement;
  readonly #duration: HTMLSelectElement;
  readonly #note = h("p", { class: "caption" });
  #state: State;

  /** `change` takes each new state, `own` a file of the user's. */
  constructor(state: State, change: (state: State) => void, own: (file: File) => void) {
    this.#state = state;
    this.#change = change;
    const set = (part: Partial<State>) => this.#set(part);
    const traces = choice("Trace", TRACES, (trace: string) => set({ trace, offset: 0 }));
    const pep = choice("Proxy", PEPS, (value: Pep) => set({ pep: value }));
    const queue = choice("Base station's queue", QUEUES, (value: Queue) => set({ queue: value }));
    const durations = { "10": "10 s", "20": "20 s", "30": "30 s", "60": "60 s", "120": "120 s" };
    const duration = choice("Length", durations, (value: string) =>
      set({ duration: Number(value) }),
    );
    this.#traces = traces.select;
    this.#pep = pep.select;
    this.#queue = queue.select;
    this.#duration = duration.select;
    this.#sliders = {
      rtt: slider(
        "Base round trip",
        "rtt",
        true,
        (ms) => `${ms} ms`,
        (rtt) => set({ rtt }),
      ),
      buffer: slider("Base station's buffer", "buffer", true, bufferText, (buffer) =>
        set({ buffer }),
      ),
      radio: slider(
        "Radio left by others",
        "radio",
        false,
        (share) => `${share} %`,
        (radio) => set({ radio }),
      ),
    };
    this.#add = h(
      "button",
      {
        type: "button",
        onclick: () => this.#setFlows([...this.#state.flows, { app: "short", cc: "cubic" }]),
      },
      "Add a flow",
    );
    this.element = h(
      "form",
      { class: "controls", onsubmit: (event: Event) => event.preventDefault() },
      h("fieldset", {}, h("legend", {}, "With"), pep.element, queue.element),
      h(
        "fieldset",
        {},
        h("legend", {}, "Radio"),
        traces.element,
        dropZone(own),
        this.#note,
        this.#sliders.radio.element,
        this.#sliders.buffer.element,
      ),
      h("fieldset", {}, h("legend", {}, "Flows"), this.#flows, h("p", {}, this.#add)),
      h("fieldset", {}, h("legend", {}, "Path"), this.#sliders.rtt.element, duration.element),
    );
    this.show(state);
  }

  /** Shows a state. */
  show(state: State): void {
    this.#state = state;
    for (const key of ["rtt", "buffer", "radio"] as const) this.#sliders[key].show(state[key]);
    if (![...this.#traces.options].some((option) => option.value === state.trace)) {
      this.#traces.append(h("option", { value: state.trace }, `yours: ${state.trace}`));
    }
    this.#traces.value = state.trace;
    this.#pep.value = state.pep;
    this.#queue.value = state.queue;
    const duration = String(state.duration);
    if (![...this.#duration.options].some((option) => option.value === duration)) {
      this.#duration.append(h("option", { value: duration }, `${duration} s`));
    }
    this.#duration.value = duration;
    this.#showFlows();
  }

  /** What there is to state of the trace. */
  note(text: string): void {
    this.#note.textContent = text;
  }

  #set(part: Partial<State>): void {
    this.#state = { ...this.#state, ...part };
    this.#change(this.#state);
  }

  #setFlows(flows: Flow[]): void {
    this.#set({ flows });
    this.#showFlows();
  }

  #showFlows(): void {
    const { flows } = this.#state;
    const replaced = (at: number, part: Partial<Flow>) =>
      this.#setFlows(flows.map((flow, i) => (i === at ? { ...flow, ...part } : flow)));
    const rows = flows.map((flow, i) => {
      const nth = `Flow ${i + 1}`;
      const app = h(
        "select",
        {
          "aria-label": `${nth}: application`,
          onchange: () => replaced(i, { app: app.value as App }),
        },
        ...Object.entries(APPS).map(([value, { name }]) =>
          h("option", { value, selected: value === flow.app }, name),
        ),
      );
      const cc = h(
        "select",
        {
          "aria-label": `${nth}: congestion control`,
          disabled: !APPS[flow.app].hasCc,
          onchange: () => replaced(i, { cc: cc.value as Cc }),
        },
        ...CCS.map((name) => h("option", { value: name, selected: name === flow.cc }, name)),
      );
      const remove = h(
        "button",
        {
          type: "button",
          "aria-label": `${nth}: remove`,
          title: "Remove",
          disabled: flows.length === 1,
          onclick: () => this.#setFlows(flows.filter((_, k) => k !== i)),
        },
        "×",
      );
      return h("div", { class: "flow", role: "group", "aria-label": nth }, app, cc, remove);
    });
    const place = this.#focused();
    fill(this.#flows, ...rows);
    place();
    this.#add.disabled = flows.length >= MAX_FLOWS;
  }

  /** Puts the focus back on the control of the same name, or where that is gone on "Add a flow". */
  #focused(): () => void {
    const focused = document.activeElement;
    if (!focused || !this.#flows.contains(focused)) return () => {};
    const name = focused.getAttribute("aria-label") ?? "";
    return () => {
      const same = this.#flows.querySelector<HTMLElement>(`[aria-label="${CSS.escape(name)}"]`);
      (same ?? this.#add).focus();
    };
  }
}

/** Where a file is dropped or chosen. */
function dropZone(own: (file: File) => void): HTMLElement {
  const take = (files: FileList | null | undefined) => {
    const file = files?.[0];
    if (file) own(file);
  };
  const input = h("input", { type: "file", onchange: () => take(input.files) });
  const zone = h("div", { class: "drop" }, h("label", {}, "Or yours: drop a file here", input));
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    take(event.dataTransfer?.files);
  });
  return zone;
}

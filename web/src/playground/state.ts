// What the page's controls hold, and its form in the page's address.

/** What an application does, by the names that the page has. */
export const APPS = {
  download: { name: "download", hasCc: true },
  file: { name: "file of 10 MB", hasCc: true },
  web: { name: "web pages", hasCc: true },
  short: { name: "short transfers", hasCc: true },
  video: { name: "video", hasCc: true },
  voip: { name: "voice (UDP)", hasCc: false },
  gaming: { name: "game (UDP)", hasCc: false },
} as const;
export type App = keyof typeof APPS;

export const CCS = [
  "cubic",
  "bbr",
  "bbr2",
  "bbr3",
  "newreno",
  "prague",
  "vegas",
  "westwood",
  "yeah",
] as const;
export type Cc = (typeof CCS)[number];

export const PEPS = {
  none: "none",
  split: "split TCP",
  paper: "RAPID, as published",
  default: "RAPID, as improved here",
} as const;
export type Pep = keyof typeof PEPS;

export const QUEUES = {
  "drop-tail": "drop-tail",
  codel: "CoDel",
  "fq-codel": "FQ-CoDel",
  dualpi2: "DualPI2",
  default: "late binding",
} as const;
export type Queue = keyof typeof QUEUES;

/** Traces that the project ships, in the folder `traces`. */
export const TRACES = {
  "drive-lte.csv": "car on LTE",
  "drive-nr.csv": "car on 5G",
  "static.csv": "phone at rest",
  "pedestrian.txt": "pedestrian on LTE",
  "train.txt": "train passenger",
  "mmwave-blockage.csv": "28 GHz with blockage",
  "bursty.csv": "busy LTE cell",
} as const;

/** A range that a slider covers; a step on a logarithmic one is a factor. */
export interface Range {
  min: number;
  max: number;
}
export const RANGES = {
  /** ms */
  rtt: { min: 5, max: 300 },
  /** kB */
  buffer: { min: 30, max: 10_000 },
  /** % */
  radio: { min: 10, max: 100 },
  /** s */
  duration: { min: 5, max: 120 },
  /** s */
  offset: { min: 0, max: 3600 },
  seed: { min: 0, max: 1_000_000_000 },
} as const satisfies Record<string, Range>;

export interface Flow {
  app: App;
  cc: Cc;
}

export const MAX_FLOWS = 6;

export interface State {
  /** The trace's file: a shipped one, or one of the user's own. */
  trace: string;
  rtt: number;
  buffer: number;
  radio: number;
  duration: number;
  offset: number;
  seed: number;
  pep: Pep;
  queue: Queue;
  flows: Flow[];
}

export function initial(): State {
  return {
    trace: "drive-lte.csv",
    rtt: 50,
    buffer: 3000,
    radio: 100,
    duration: 20,
    offset: 0,
    seed: 1,
    pep: "default",
    queue: "drop-tail",
    flows: [
      { app: "download", cc: "cubic" },
      { app: "web", cc: "bbr" },
    ],
  };
}

const NUMBERS = ["rtt", "buffer", "radio", "duration", "offset", "seed"] as const;

/** True of a name that a trace may have here: that of a file without folders, and nothing that TOML would read otherwise. */
export function isFileName(name: string): boolean {
  return /^[\p{L}\p{N}_ .+()-]{1,120}$/u.test(name) && !name.startsWith(".");
}

/** The fragment of an address that has this state. */
export function toFragment(state: State): string {
  const values = new URLSearchParams({ trace: state.trace, pep: state.pep, queue: state.queue });
  for (const key of NUMBERS) values.set(key, String(state[key]));
  for (const { app, cc } of state.flows) {
    values.append("flow", APPS[app].hasCc ? `${app}:${cc}` : app);
  }
  return `#${values}`;
}

/** The state of a fragment: what it does not have, or has wrong, is as in the beginning. */
export function fromFragment(fragment: string): State {
  const state = initial();
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const trace = values.get("trace");
  if (trace !== null && isFileName(trace)) state.trace = trace;
  for (const key of NUMBERS) {
    const text = values.get(key);
    const value = Number(text);
    const { min, max } = RANGES[key];
    if (text !== null && text !== "" && Number.isInteger(value) && value >= min && value <= max) {
      state[key] = value;
    }
  }
  state.pep = among(PEPS, values.get("pep")) ?? state.pep;
  state.queue = among(QUEUES, values.get("queue")) ?? state.queue;
  const flows = values.getAll("flow").flatMap((text): Flow[] => {
    const [name = "", cc = "cubic"] = text.split(":");
    const app = among(APPS, name);
    const found = CCS.find((known) => known === cc);
    return app && found ? [{ app, cc: found }] : [];
  });
  if (flows.length > 0) state.flows = flows.slice(0, MAX_FLOWS);
  return state;
}

function among<T extends object>(of: T, key: string | null): keyof T | null {
  return key !== null && Object.hasOwn(of, key) ? (key as keyof T) : null;
}

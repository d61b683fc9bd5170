// The playground: controls, what was found, figures. The simulator runs in a worker of this page.

import { themeChoice } from "../base/choice";
import { fill, h } from "../base/dom";
import { sentence } from "../base/sentence";
import { startTheme } from "../base/theme";
import { Timeline } from "../chart/timeline";
import { zoomBar } from "../chart/toolbar";
import { Board } from "../dash/board";
import { decode, type RawFigures } from "../report/data";
import { examples } from "./examples";
import { Form } from "./form";
import { Runs } from "./runs";
import { commands, FILE, labels, request, scenarioText } from "./scenario";
import { fromFragment, isFileName, type State, TRACES, toFragment } from "./state";
import { type Queues, waitsTable } from "./waits";

/** What a run gives. */
interface Result {
  summaries: Queues[];
  notes: string[];
  /** Variant, flow, what became of it. */
  found: [string, string, string][];
  figures: RawFigures;
}

/** The figures that are shown at once, in this order; the others are below. */
const FIRST = ["rtt", "received", "goodput", "queues"];
/** What to see in the queues, by the names that they have here. */
const QUEUES =
  "Bytes waiting: rlc is the base station's queue, wan the wire's, pep the proxy's; /up is the uplink. Queues that stayed empty are not drawn.";
/** Sentences that stay in view on a phone; more would leave no room for the controls. */
const MAX_BRIEF = 4;
/** After the last change of a slider. */
const PAUSE_MS = 150;
/** As the reader of traces has it. */
const MAX_TRACE_BYTES = 64_000_000;

startTheme();
const root = document.getElementById("app");
const lead = root?.querySelector(".lead");
if (!root || !lead) throw new Error("the page has no #app with a .lead");

/** A file of this folder. */
const beside = (name: string) => new URL(name, document.baseURI).href;
async function fetched(name: string): Promise<Response> {
  const response = await fetch(beside(name));
  if (!response.ok) throw new Error(`${name}: the server answers ${response.status}`);
  return response;
}
const runs = new Runs(
  fetched("playground.wasm")
    .then((response) => response.arrayBuffer())
    .then((bytes) => WebAssembly.compile(bytes)),
);

/** Contents of traces, by their names: the shipped ones as they are needed, the user's own. */
const traces = new Map<string, Uint8Array>();
async function trace(name: string): Promise<Uint8Array> {
  const known = traces.get(name);
  if (known) return known;
  if (!Object.hasOwn(TRACES, name)) {
    throw new Error(
      `The trace ${JSON.stringify(name)} is of whoever made this link, and no part of it: drop that file, or choose another trace.`,
    );
  }
  const bytes = new Uint8Array(await (await fetched(`traces/${name}`)).arrayBuffer());
  traces.set(name, bytes);
  return bytes;
}

let state = fromFragment(location.hash);
let last: { result: Result; of: State } | null = null;
let timer = 0;

const status = h("p", { class: "status", role: "status" });
const problem = h("div", { class: "message error", role: "alert", hidden: true });
const found = h("ul", { class: "found", "aria-label": "What was found" });
const notes = h("ul", { class: "caption" });
const timeline = new Timeline();
const first = new Board(timeline);
const others = new Board(timeline);
const more = h("details", { hidden: true }, h("summary", {}, "More figures"), others.element);
const text = h("pre", { tabindex: 0, "aria-label": "Scenario file" });
const lines = h("pre", { tabindex: 0, "aria-label": "Commands" });
const waits = h("div");
const results = h("div", { class: "results" });
const answer = h("section", { class: "answer", "aria-label": "Answer" }, status, problem, found);
const stop = h("button", { type: "button", disabled: true, onclick: stopped }, "Stop");
const form = new Form(state, changed, (file) => void own(file));

fill(
  root,
  h(
    "header",
    { class: "bar" },
    h("span", { class: "brand" }, "Brimful"),
    h("h1", {}, "Playground"),
    h("div", { class: "end" }, themeChoice()),
  ),
  h(
    "main",
    { id: "main", tabindex: -1 },
    lead,
    examples(),
    h("div", { class: "playground" }, answer, form.element, results),
  ),
);
fill(
  results,
  h(
    "div",
    { class: "actions" },
    h("button", { type: "button", onclick: () => void copyLink() }, "Copy link"),
    h("button", { type: "button", onclick: saveScenario }, "Save scenario file"),
    h("button", { type: "button", onclick: saveNumbers }, "Save numbers"),
    stop,
  ),
  h("div", { class: "tools" }, zoomBar(timeline, "Whole run")),
  first.element,
  waits,
  more,
  notes,
  h(
    "details",
    {},
    h("summary", {}, "The same on the command line"),
    h("p", { class: "caption" }, "The file, beside its trace, gives the same numbers to the bit."),
    lines,
    text,
  ),
  h(
    "p",
    { class: "caption" },
    "TCP and UDP are simulated here; QUIC, tunnels and many users by the command line alone.",
  ),
);
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
addEventListener("hashchange", () => {
  if (location.hash === toFragment(state)) return;
  state = fromFragment(location.hash);
  form.show(state);
  void run();
});
void run();

function changed(next: State): void {
  state = next;
  clearTimeout(timer);
  timer = setTimeout(() => void run(), PAUSE_MS) as unknown as number;
}

async function own(file: File): Promise<void> {
  const name = isFileName(file.name) ? file.name : "trace.txt";
  if (file.size > MAX_TRACE_BYTES) {
    failed(new Error(`${file.name}: larger than any trace that is read`));
    return;
  }
  traces.set(name, new Uint8Array(await file.arrayBuffer()));
  state = { ...state, trace: name, offset: 0 };
  form.show(state);
  await run();
}

async function run(): Promise<void> {
  const of = state;
  history.replaceState(null, "", toFragment(of));
  const scenario = scenarioText(of);
  text.textContent = scenario;
  lines.textContent = commands(of).join("\n");
  isStale(true);
  problem.hidden = true;
  status.textContent = "Simulating …";
  stop.disabled = false;
  const began = performance.now();
  try {
    const files = new Map([
      [FILE, new TextEncoder().encode(scenario)],
      [of.trace, await trace(of.trace)],
    ]);
    if (of !== state) return;
    const answer = await runs.run(request(of), files);
    if (answer === null || of !== state) return;
    show(JSON.parse(answer) as Result, of, performance.now() - began);
  } catch (error) {
    if (of === state) failed(error);
  }
}

function show(result: Result, of: State, took: number): void {
  last = { result, of };
  stop.disabled = true;
  isStale(false);
  status.textContent = `Two runs of ${of.duration} s simulated in ${(took / 1000).toFixed(1)} s.`;
  fill(
    found,
    ...result.found.map(([, flow, what]) =>
      h("li", {}, flow === "" ? null : h("b", {}, flow), ...sentence(what)),
    ),
  );
  answer.classList.toggle("brief", result.found.length <= MAX_BRIEF);
  fill(waits, waitsTable(result.summaries, labels(of)));
  fill(notes, ...result.notes.map((note) => h("li", {}, note)));
  const { figures: drawn, end } = decode(result.figures);
  const figures = drawn.map((of) => (of.id === "queues" ? { ...of, caption: QUEUES } : of));
  timeline.setExtent(0, end);
  const isFirst = (id: string) => FIRST.includes(id);
  const shown = figures.filter(({ id }) => isFirst(id));
  shown.sort((a, b) => FIRST.indexOf(a.id) - FIRST.indexOf(b.id));
  first.show(shown);
  const rest = figures.filter(({ id }) => !isFirst(id));
  others.show(rest);
  more.hidden = rest.length === 0;
}

function isStale(stale: boolean): void {
  for (const part of [answer, results]) part.classList.toggle("stale", stale);
}

function failed(error: unknown): void {
  stop.disabled = true;
  status.textContent = "";
  problem.textContent = error instanceof Error ? error.message : String(error);
  problem.hidden = false;
}

function stopped(): void {
  runs.stop();
  stop.disabled = true;
  status.textContent = "Stopped.";
}

async function copyLink(): Promise<void> {
  const isShipped = Object.hasOwn(TRACES, state.trace);
  try {
    await navigator.clipboard.writeText(location.href);
    status.textContent = isShipped ? "Link copied." : "Link copied; your trace is no part of it.";
  } catch {
    status.textContent = "The link is the page's address.";
  }
}

function save(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

function saveScenario(): void {
  save(FILE, scenarioText(state), "application/toml");
}

/** What `brimful run --json` prints of each, a line for each. */
function saveNumbers(): void {
  if (!last) return;
  const all = last.result.summaries.map((summary) => `${JSON.stringify(summary)}\n`);
  save("playground.json", all.join(""), "application/json");
}

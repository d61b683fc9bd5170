// The scenario file of a state: what the page runs is what it lets download.

import { withUnit } from "../base/format";
import type { Request } from "./simulator";
import { APPS, type App, type Flow, PEPS, QUEUES, type State } from "./state";

/** The file's name; the trace lies beside it. */
export const FILE = "playground.toml";

/** PRBs of the cells that the file has: LTE with 20 MHz, 5G with 100 MHz. */
const LTE_PRB = 100;
const NR_PRB = 273;

const APP_TEXTS: Record<App, (state: State) => string> = {
  download: () => `{ kind = "continuous" }`,
  file: () => `{ kind = "bulk", size = "10 MB" }`,
  web: () => `{ kind = "web", size = "500 kB", interval = "2 s" }`,
  short: ({ duration }) =>
    `{ kind = "short", size = "50 kB", interval = "1 s", count = ${duration} }`,
  video: () =>
    `{ kind = "video", ladder = ["1 Mbit/s", "3 Mbit/s", "6 Mbit/s", "12 Mbit/s"], rule = "bola" }`,
  voip: () => `{ kind = "voip" }`,
  gaming: () => `{ kind = "gaming" }`,
};

/** A text in quotes: JSON's escapes are TOML's. */
const quoted = (text: string) => JSON.stringify(text);

/** Names of flows: that of the application, with a number from the second on. */
export function flowNames(flows: readonly Flow[]): string[] {
  const seen = new Map<string, number>();
  return flows.map(({ app }) => {
    const count = (seen.get(app) ?? 0) + 1;
    seen.set(app, count);
    return count === 1 ? app : `${app}-${count}`;
  });
}

/** The keys of the radio that others leave. */
function background(state: State, prb: number): string {
  // a DCI log shows what others took; another trace has no such load
  if (state.radio === 100) return `background = { kind = "trace" }`;
  return `background = { kind = "constant", prb = ${Math.round((prb * (100 - state.radio)) / 100)} }`;
}

/** The file. */
export function scenarioText(state: State): string {
  const names = flowNames(state.flows);
  const flows = state.flows.map(({ app, cc }, i) => {
    const lines = [`[flow.${names[i]}]`, `app = ${APP_TEXTS[app](state)}`];
    if (APPS[app].hasCc) lines.push(`cc = ${quoted(cc)}`);
    if (i > 0) lines.push(`start = "1 s"`);
    return `${lines.join("\n")}\n`;
  });
  return `# Made by Brimful's playground. ${JSON.stringify(state.trace)} has to lie beside this file.
name = "playground"
duration = "${state.duration} s"
sample-interval = "50 ms"
seed = ${state.seed}

[knobs.pep]
default = "none"
one-of = ["none", "split", "paper", "default"]
sets = ["pep.mode"]

[path]
rtt = "${state.rtt} ms"
# LTE needs some 20 ms itself; a shorter round-trip time is taken as that.
rtt-too-short = "raise"
rate = "1 Gbit/s"
buffer = "12.5 MB"

[cell]
# What most of the trace was recorded on; LTE where it does not state that.
rat = "trace"

[cell.lte]
bandwidth = "20 MHz"
${background(state, LTE_PRB)}

[cell.nr]
bandwidth = "100 MHz"
mcs-table = "qam256"
${background(state, NR_PRB)}

[ue.phone.channel]
kind = "trace"
file = ${quoted(state.trace)}
offset = "${state.offset} s"

[[ue.phone.bearer]]
downlink-buffer = "${state.buffer} kB"

${flows.join("\n")}`;
}

/** What is set of the file, without and with. */
export function settings(state: State): [string, string][][] {
  const set: [string, string][] = [["pep", state.pep]];
  if (state.queue !== "drop-tail") set.push(["cell.queues.rlc.algorithm", state.queue]);
  return [[["pep", "none"]], set];
}

/** The panels' names. */
export function labels(state: State): [string, string] {
  const parts: string[] = [];
  if (state.pep !== "none") parts.push(`proxy: ${PEPS[state.pep]}`);
  if (state.queue !== "drop-tail") parts.push(`queue: ${QUEUES[state.queue]}`);
  return ["without", parts.length === 0 ? "with nothing else" : `with ${parts.join(", ")}`];
}

export function request(state: State): Request {
  const [without, withIt] = labels(state);
  const [first = [], second = []] = settings(state);
  return {
    scenario: FILE,
    variants: [
      { label: without, set: first },
      { label: withIt, set: second },
    ],
  };
}

/** The commands that run the same. */
export function commands(state: State): string[] {
  return settings(state).map((set) => {
    const options = set.map(([key, value]) => `--set ${key}=${value}`).join(" ");
    return `brimful run ${FILE} ${options}`;
  });
}

/** A size of the buffer as the page shows it. */
export function bufferText(kB: number): string {
  return withUnit("bytes", kB * 1000);
}

// The playground: what its simulator gives is what the command gives; the page by pointer, keyboard, link and axe.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Page } from "@playwright/test";
import { Simulator } from "../src/playground/simulator";
import { BRIMFUL, ROOT } from "./brimful";
import { accessible, drawn, skipUnless, test } from "./page";
import { served } from "./server";

const FOLDER = join(ROOT, "target/playground");
const IS_BUILT = existsSync(join(FOLDER, "playground.wasm"));

let url = "";
let stop = () => {};
test.beforeAll(async () => {
  ({ url, stop } = await served(FOLDER));
});
test.afterAll(() => stop());
test.beforeEach(() => {
  skipUnless(
    IS_BUILT,
    "target/playground is not built (make playground, which needs wasm32-unknown-unknown)",
    true,
  );
});

/** What the command prints of a run, or its message if it refuses. */
function command(
  cwd: string,
  ...args: string[]
): { json: Record<string, unknown> | null; message: string } {
  const done = spawnSync(BRIMFUL, ["run", ...args, "--json", "--threads", "1"], {
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return { json: done.status === 0 ? JSON.parse(done.stdout) : null, message: done.stderr };
}

/** A summary without the time that it took, which a page does not measure. */
function untimed(summary: unknown): unknown {
  const { wall_s: _, ...rest } = summary as Record<string, unknown>;
  return rest;
}

/** Scenario files and traces of the repository, by their paths. */
function repository(): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const add = (folder: string) => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) add(path);
      else files.set(path, readFileSync(join(ROOT, path)));
    }
  };
  add("scenarios");
  add("traces");
  return files;
}

/** Scenarios of each kind: constant and moving channels, traces, queues, wires, a tunnel, applications, UDP. */
const SAME: [string, string[], string][] = [
  ["rapid/oai-short", ["none", "default", "paper"], "30 s"],
  ["rapid/mixed-los", ["none", "default"], "2 s"],
  ["rapid/fast-embb-nlos", ["default"], "2 s"],
  ["rapid/trace-drive", ["none", "default"], "10 s"],
  ["rapid/trace-bursty", ["default"], "10 s"],
  ["dynamic-buffer/two-games", [""], "8 s"],
  ["meld/nr", [""], "3 s"],
  ["cdbe/validate-lte", [""], "8 s"],
  ["nested-cc/walkaway", [""], "3 s"],
  ["applications/video", [""], "10 s"],
  ["applications/call", [""], "5 s"],
  ["lte-epa", [""], "5 s"],
];

for (const [name, peps, duration] of SAME) {
  test(`the simulator of the page gives the numbers of the command: ${name}`, () => {
    const simulator = new Simulator(
      new WebAssembly.Module(readFileSync(join(FOLDER, "playground.wasm"))),
    );
    const files = repository();
    const scenario = `scenarios/${name}.toml`;
    for (const pep of peps) {
      const set: [string, string][] = [["duration", duration]];
      if (pep !== "") set.push(["pep", pep]);
      const sets = set.flatMap(([key, value]) => ["--set", `${key}=${value}`]);
      const { json, message } = command(ROOT, scenario, ...sets, "--repeats", "2");
      expect(json, message).not.toBeNull();
      const request = { scenario, variants: [{ label: "", set }], repeats: 2 };
      const { summaries } = JSON.parse(simulator.run(request, files));
      expect(untimed(summaries[0])).toEqual(untimed(json));
    }
  });
}

test("what is wrong with a scenario is worded as the command words it", () => {
  const folder = mkdtempSync(join(tmpdir(), "brimful-"));
  const simulator = new Simulator(
    new WebAssembly.Module(readFileSync(join(FOLDER, "playground.wasm"))),
  );
  const text = (channel: string) =>
    `[path]\nrtt = "40 ms"\n[cell]\nrat = "lte"\nbandwidth = "5 MHz"\n[ue.a.channel]\n${channel}\n[flow.b]\napp = { kind = "continuous" }\n`;
  const trace = `kind = "trace"\nfile = "a.csv"`;
  for (const [channel, content] of [
    [`kind = "trade"`, ""],
    [trace, "1,2\n3,x\n"],
    [trace, "\u{0}\u{ff}"],
    [`kind = "constant-cqi"\ncqi = 99`, ""],
  ] as const) {
    writeFileSync(join(folder, "a.toml"), text(channel));
    writeFileSync(join(folder, "a.csv"), content);
    const { json, message } = command(folder, "a.toml");
    expect(json).toBeNull();
    const bytes = new TextEncoder();
    const files = new Map([
      ["a.toml", bytes.encode(text(channel))],
      ["a.csv", bytes.encode(content)],
    ]);
    let found = "";
    try {
      simulator.run({ scenario: "a.toml", variants: [{ label: "", set: [] }] }, files);
    } catch (error) {
      found = (error as Error).message;
    }
    expect(message).toContain(found);
    expect(found).not.toBe("");
  }
  const quic = `${text(`kind = "constant-cqi"\ncqi = 9`)}transport = "quic"\n`;
  const files = new Map([["a.toml", new TextEncoder().encode(quic)]]);
  expect(() =>
    simulator.run({ scenario: "a.toml", variants: [{ label: "", set: [] }] }, files),
  ).toThrow('flow "b": QUIC is no part of this program');
});

/** Opens the page at a fragment, and waits for a result. */
async function open(page: Page, fragment = ""): Promise<void> {
  await page.goto(`${url}${fragment}`);
  await done(page);
}

async function done(page: Page): Promise<void> {
  await expect(page.getByText(/^Two runs of/)).toBeVisible();
  await expect(page.locator(".results")).not.toHaveClass(/stale/);
}

test("the page states what it found, draws it, and requests nothing from elsewhere", async ({
  page,
}) => {
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  await open(page, "#duration=10");
  await expect(page.getByRole("list", { name: "What was found" })).toContainText("of the goodput");
  for (const title of ["Received and capacity", "Round-trip time", "Queues"])
    await drawn(page, title);
  await expect(page.getByText(/Means over [\d.]+ ms each\./)).toBeVisible();
  const panels = page.locator("section.figure", { hasText: "Round-trip time" }).locator(".panel");
  await expect(panels).toHaveCount(2);
  const outside = requested.filter((of) => !of.startsWith(url) && !of.startsWith("data:"));
  expect(outside).toEqual([]);
  await accessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page);
});

test("an example is one click away, and its answer stands above the controls on a phone", async ({
  page,
}) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, "#duration=5");
  await page.getByRole("link", { name: "A call on a train" }).click();
  await expect(page).toHaveURL(/trace=train\.txt.*flow=voip/);
  await done(page);
  const found = page.getByRole("list", { name: "What was found" });
  await expect(found).toContainText(/voip.*one-way delay .* → .* ms/);
  // the figure below it has what the sentence has
  const delays = page.locator("section.figure", {
    has: page.getByRole("heading", { name: "Round-trip time and one-way delay", exact: true }),
  });
  await drawn(page, "Round-trip time and one-way delay");
  await expect(delays.getByRole("button", { name: "voip (one-way)", exact: true })).toBeVisible();
  await expect(delays.locator(".panel")).toHaveCount(2);
  await expect(delays.getByText("the delay one way")).toBeVisible();
  // delays of queues beside their bytes
  const waits = page.getByRole("region", { name: "Waiting in the queues" });
  await expect(waits.getByRole("rowheader", { name: "rlc/phone/drb1", exact: true })).toBeVisible();
  const slider = page.getByRole("slider", { name: "Base round trip" });
  await slider.scrollIntoViewIfNeeded();
  await expect(found).toBeInViewport();
  await accessible(page);
});

test("what is saved gives the same numbers by the command", async ({ page }) => {
  await open(
    page,
    "#duration=10&pep=paper&queue=fq-codel&flow=download:bbr&flow=short:cubic&flow=voip&radio=60",
  );
  const folder = mkdtempSync(join(tmpdir(), "brimful-"));
  for (const button of ["Save scenario file", "Save numbers"]) {
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: button }).click();
    const file = await saved;
    await file.saveAs(join(folder, file.suggestedFilename()));
  }
  writeFileSync(join(folder, "drive-lte.csv"), readFileSync(join(ROOT, "traces/drive-lte.csv")));
  await page.getByText("The same on the command line").click();
  const lines = await page.getByLabel("Commands").textContent();
  const numbers = readFileSync(join(folder, "playground.json"), "utf8").trim().split("\n");
  const commands = (lines ?? "").trim().split("\n");
  expect(commands).toHaveLength(2);
  expect(numbers).toHaveLength(2);
  commands.forEach((line, i) => {
    const { json, message } = command(folder, ...line.split(" ").slice(2));
    expect(json, message).not.toBeNull();
    expect(untimed(JSON.parse(numbers[i] ?? ""))).toEqual(untimed(json));
  });
});

test("a slider is moved by keys, and the link has what it shows", async ({ page }) => {
  await open(page, "#duration=5");
  const before = await page.getByRole("list", { name: "What was found" }).textContent();
  const slider = page.getByRole("slider", { name: "Base round trip" });
  await slider.focus();
  await page.keyboard.press("End");
  await expect(slider).toHaveAttribute("aria-valuetext", "300 ms");
  await expect(page).toHaveURL(/rtt=300/);
  await done(page);
  const list = page.getByRole("list", { name: "What was found" });
  await expect(list).not.toHaveText(before ?? "");
  const after = await list.textContent();
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await done(page);
  await expect(slider).toHaveAttribute("aria-valuetext", "300 ms");
  await expect(list).toHaveText(after ?? "");
});

test("flows are added and removed, and the focus stays", async ({ page }) => {
  await open(page, "#duration=5");
  await page.getByRole("button", { name: "Add a flow" }).click();
  await expect(page).toHaveURL(/flow=short/);
  const app = page.getByRole("combobox", { name: "Flow 3: application" });
  await app.focus();
  await app.selectOption("voip");
  await expect(app).toBeFocused();
  await expect(page.getByRole("combobox", { name: "Flow 3: congestion control" })).toBeDisabled();
  await done(page);
  await expect(page.getByRole("list", { name: "What was found" })).toContainText("voip");
  await page.getByRole("button", { name: "Flow 3: remove" }).click();
  await expect(page).not.toHaveURL(/voip/);
});

test("a trace of one's own is dropped, and a bad one is refused", async ({ page }) => {
  await open(page, "#duration=5");
  const trace = readFileSync(join(ROOT, "traces/train.txt"), "utf8");
  const drop = (name: string, content: string) =>
    page.locator(".drop").evaluate(
      (zone, [name, content]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content ?? ""], name ?? ""));
        zone.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
      },
      [name, content],
    );
  await drop("my train.txt", trace);
  await expect(page).toHaveURL(/trace=my\+train\.txt/);
  await done(page);
  await expect(page.getByRole("alert")).toBeHidden();
  await drop("bad.csv", "no trace at all\n");
  await expect(page.getByRole("alert")).toContainText("bad.csv");
  await page.getByLabel("Or yours: drop a file here").setInputFiles({
    name: "again.txt",
    mimeType: "text/plain",
    buffer: Buffer.from(trace),
  });
  await done(page);
  await expect(page.getByRole("alert")).toBeHidden();
});

test("a link to a trace that is not here asks for it", async ({ page }) => {
  await page.goto(`${url}#trace=theirs.csv&duration=5`);
  await expect(page.getByRole("alert")).toContainText(
    'The trace "theirs.csv" is of whoever made this link',
  );
  await page.getByRole("combobox", { name: "Trace" }).selectOption("static.csv");
  await done(page);
});

test("a run that takes long can be stopped", async ({ page }) => {
  await page.goto(`${url}#duration=120&trace=mmwave-blockage.csv`);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Stopped.")).toBeVisible();
  await page.getByRole("combobox", { name: "Length" }).selectOption("10");
  await page.getByRole("combobox", { name: "Trace" }).selectOption("static.csv");
  await done(page);
});

test("the page fits a phone", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, "#duration=5");
  await drawn(page, "Round-trip time");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await accessible(page);
});

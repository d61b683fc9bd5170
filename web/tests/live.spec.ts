// A run that is shown as it goes: frames, a line that is cut, a server that is started again, a token.

import { mkdirSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, type Page } from "@playwright/test";
import { Dashboard, Line, MANY, MANY_SET, RESULTS, ROOT, WORK } from "./brimful";
import { accessible, drawn, leave, skipUnless, test } from "./page";

const SCENARIO = join(ROOT, "scenarios/rapid/mixed-los.toml");
const LONG = ["--set", "pep=default", "--set", "duration=120 s"];

const state = (page: Page) => page.locator("header .state");

/** The span of time that the page shows. */
async function shown(page: Page): Promise<number[]> {
  const text = await page.locator(".zoombar output").textContent();
  return (text?.match(/[\d.]+/g) ?? []).map(Number);
}

/** The numbers of the frames that a page receives. */
function received(page: Page): number[] {
  const frames: number[] = [];
  page.on("websocket", (socket) => {
    socket.on("framereceived", ({ payload }) => {
      const message = JSON.parse(String(payload)) as { type: string; seq: number };
      if (message.type === "frame") frames.push(message.seq);
    });
  });
  return frames;
}

test("a run is shown as it goes, can be paused and looked into", async ({ page }) => {
  const dash = await Dashboard.start(SCENARIO, ...LONG);
  const frames = received(page);
  try {
    await page.goto(dash.url);
    await expect(state(page)).toHaveText("live");
    await expect(page.getByRole("rowheader", { name: "bulk", exact: true })).toBeVisible();
    await drawn(page, "Received and capacity: flows");
    await expect(page.locator(".tile", { hasText: "Goodput" })).toContainText(/[\d.]+ [MG]bit\/s/);
    const [, before = 0] = await shown(page);
    await expect.poll(async () => (await shown(page))[1]).toBeGreaterThan(before);
    await accessible(page);

    await page.getByRole("button", { name: "Pause" }).click();
    const paused = await shown(page);
    await page.locator(".plot").first().focus();
    await page.keyboard.press("+");
    await expect.poll(async () => (await shown(page))[1]).toBeLessThan(paused[1] ?? 0);
    const zoomed = await shown(page);
    // values that come now, and are drawn, do not move it
    const atZoom = frames.length;
    await expect.poll(() => frames.length).toBeGreaterThan(atZoom + 10);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    expect(await shown(page)).toEqual(zoomed);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(async () => (await shown(page))[1]).toBeGreaterThan(paused[1] ?? 0);
  } finally {
    await leave(page);
    await dash.stop();
  }
});

test("a line that is cut is shown as lost; then nothing is missing", { tag: "@failures" }, async ({
  page,
}) => {
  const dash = await Dashboard.start(SCENARIO, ...LONG);
  const line = await Line.start(dash.port);
  const frames = received(page);
  const sent: string[] = [];
  page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => sent.push(String(payload)));
  });
  try {
    await page.goto(`http://127.0.0.1:${line.port}/dash/`);
    await expect(state(page)).toHaveText("live");
    await expect.poll(() => frames.length).toBeGreaterThan(20);
    line.cut();
    const atCut = frames.length;
    await expect(state(page)).toHaveText("connection lost, trying again");
    await expect(page.locator(".message.wait")).toBeVisible();
    // an attempt that fails
    await expect.poll(() => line.refused).toBeGreaterThan(0);
    line.mend();
    await expect(state(page)).toHaveText("live");
    const atResume = frames.length;
    await expect.poll(() => frames.length).toBeGreaterThan(atResume + 20);
    const resumed = sent.map((s) => JSON.parse(s) as { type: string });
    expect(resumed[0]).toEqual({ type: "start" });
    expect(resumed.at(-1)?.type).toBe("resume");
    // what was missed came first, without a hole; none came twice
    expect(frames[atCut]).toBe((frames[atCut - 1] ?? 0) + 1);
    expect(frames).toEqual([...new Set(frames)].sort((a, b) => a - b));
  } finally {
    line.stop();
    await dash.stop();
  }
});

test("a server that is started again is another session", { tag: "@failures" }, async ({
  page,
}) => {
  let dash = await Dashboard.start(SCENARIO, ...LONG);
  const port = dash.port;
  try {
    await page.goto(dash.url);
    await expect(state(page)).toHaveText("live");
    await expect.poll(async () => (await shown(page))[1] ?? 0).toBeGreaterThan(3);
    await dash.stop();
    await expect(state(page)).toHaveText("connection lost, trying again");
    dash = await Dashboard.start(SCENARIO, ...LONG, "--listen", `127.0.0.1:${port}`);
    await expect(state(page)).toHaveText("live");
    // time has begun anew
    await expect.poll(async () => (await shown(page))[0]).toBeLessThan(1);
    await drawn(page, "Received and capacity: flows");
  } finally {
    await dash.stop();
  }
});

test("200 concurrent flows: the busiest are drawn, the page stays usable", async ({ page }) => {
  const dash = await Dashboard.start(MANY, ...MANY_SET, "--set", "duration=120 s");
  try {
    await page.goto(dash.url);
    await expect(page.getByText("200 rows")).toBeVisible();
    await drawn(page, "Received and capacity: flows");
    await expect(
      page.locator(".caption", { hasText: "10 of 200 are drawn." }).first(),
    ).toBeVisible();
    await page.getByRole("searchbox", { name: "Filter: Flows" }).fill("web-far");
    await expect(page.getByText("50 of 200 rows")).toBeVisible();
    await accessible(page);
  } finally {
    await leave(page);
    await dash.stop();
  }
});

test("another machine needs a token", { tag: "@failures" }, async ({ page }) => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((a) => a && !a.internal && a.family === "IPv4")?.address;
  skipUnless(outside, "needs a network interface beside loopback");
  mkdirSync(WORK, { recursive: true });
  const token = "a-token-for-the-test";
  const file = join(WORK, "token");
  writeFileSync(file, token, { mode: 0o600 });
  const dash = await Dashboard.start(RESULTS, "--listen", "0.0.0.0:0", "--token-file", file);
  try {
    await page.goto(`http://${outside}:${dash.port}/dash/`);
    await expect(page.getByLabel("Token")).toBeFocused();
    await accessible(page);
    await page.keyboard.type("wrong-token-for-it");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).not.toBeEmpty();
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
  } finally {
    await dash.stop();
  }
});

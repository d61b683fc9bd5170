// Pictures of the report, the dashboard and the playground, of results that scripts/screenshots has made.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, type Page, test } from "@playwright/test";
import { Dashboard, ROOT } from "../tests/brimful";
import { served } from "../tests/server";

const RESULTS = process.env.SHOTS_RESULTS ?? "";
const OUT = process.env.SHOTS_OUT ?? join(ROOT, "docs/figures");

/** What the window shows, once all that is in it has been drawn. */
async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  await page.screenshot({ path: join(OUT, `${name}.png`), animations: "disabled" });
}

/** A figure of this name has its canvas. */
async function figure(page: Page, name: string): Promise<void> {
  const section = page.locator("section.figure", {
    has: page.getByRole("heading", { name, exact: true }),
  });
  await expect(section.locator("canvas").first()).toBeVisible();
}

test("the report", async ({ page }) => {
  await page.goto(pathToFileURL(join(RESULTS, "drive/report.html")).href);
  await figure(page, "Round-trip time and one-way delay");
  await picture(page, "report");
});

test("the dashboard", async ({ page }) => {
  const dash = await Dashboard.start(RESULTS);
  try {
    await page.goto(dash.url);
    // five results: without a number none would be as many as all
    await expect(page.locator(".card")).toHaveCount(5);
    await expect(page.locator(".card .small svg path").first()).toBeVisible();
    await expect(page.locator(".card .small")).toHaveCount(5);
    await picture(page, "dash-results");
    const card = (name: string) => page.getByRole("link", { name, exact: true });
    await card("drive").click();
    await page.getByLabel("Layout").selectOption("apart");
    await page.setViewportSize({ width: 1280, height: 1500 });
    await figure(page, "Round-trip time");
    await picture(page, "dashboard");
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(dash.url);
    await card("plane").click();
    await expect(page.locator("section.figure canvas").first()).toBeVisible();
    await picture(page, "dash-sweep");
  } finally {
    await page.goto("about:blank");
    await dash.stop();
  }
});

test("the playground", async ({ page }) => {
  const { url, stop } = await served(join(ROOT, "target/playground"));
  try {
    await page.goto(url);
    await page.getByRole("link", { name: "A call on a train" }).click();
    const found = page.getByRole("list", { name: "What was found" });
    await expect(found).toContainText("one-way delay");
    await expect(page.locator(".results")).not.toHaveClass(/stale/);
    await figure(page, "Round-trip time and one-way delay");
    // a link that has just been clicked is drawn as focused
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await picture(page, "playground");
  } finally {
    stop();
  }
});

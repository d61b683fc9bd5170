// Small targets (WCAG 2.2, 2.5.8): on a phone, in both colour schemes, what can be pressed has 24 px.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, type Page } from "@playwright/test";
import { CALLS, Dashboard, RESULTS, ROOT } from "./brimful";
import { accessible, largeTargets, leave, skipUnless, test } from "./page";
import { served } from "./server";

/** The check of a page that is open, by axe and by measuring. */
async function checked(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await largeTargets(page);
    await accessible(page);
  }
}

test.beforeEach(({ page }) => page.setViewportSize({ width: 390, height: 844 }));

test("a report's targets are large, those of its contents among them", async ({ page }) => {
  for (const result of [join(CALLS, "drive"), join(RESULTS, "both")]) {
    await page.goto(pathToFileURL(join(result, "report.html")).href);
    await expect(page.locator("nav a").first()).toBeVisible();
    await expect(page.locator(".legend button").first()).toBeVisible();
    await checked(page);
  }
});

test("the dashboard's targets are large", async ({ page }) => {
  const dash = await Dashboard.start(RESULTS);
  try {
    for (const where of ["#/", "#/result/both/1?with=both%2F0", "#/sweep/partly"]) {
      await page.goto(`${dash.url}${where}`);
      await page.reload();
      await expect(page.locator("main h2").first()).toBeVisible();
      // what is further down is drawn once it can be seen
      const first = page.locator("main section.figure, main .card").first();
      await first.scrollIntoViewIfNeeded();
      await expect(first.locator("svg, canvas").first()).toBeVisible();
      await checked(page);
    }
    await leave(page);
  } finally {
    await dash.stop();
  }
});

test("a live dashboard's targets are large", async ({ page }) => {
  const scenario = join(ROOT, "scenarios/rapid/mixed-los.toml");
  const dash = await Dashboard.start(scenario, "--set", "duration=120 s");
  try {
    await page.goto(dash.url);
    await expect(page.locator("header .state")).toHaveText("live");
    await expect(page.locator("main canvas").first()).toBeVisible();
    await checked(page);
  } finally {
    await leave(page);
    await dash.stop();
  }
});

test("the playground's targets are large", async ({ page }) => {
  const folder = join(ROOT, "target/playground");
  skipUnless(
    existsSync(join(folder, "playground.wasm")),
    "target/playground is not built (make playground, which needs wasm32-unknown-unknown)",
    true,
  );
  const { url, stop } = await served(folder);
  try {
    await page.goto(`${url}#duration=5`);
    await expect(page.getByText(/^Two runs of/)).toBeVisible();
    await page.getByText("The same on the command line").click();
    await checked(page);
  } finally {
    stop();
  }
});

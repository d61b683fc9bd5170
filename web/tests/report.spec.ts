// A real report.html, from a file: charts, zoom, no request, no fault.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "@playwright/test";
import { RESULTS } from "./brimful";
import { accessible, drawn, test } from "./page";

const file = (result: string) => pathToFileURL(join(RESULTS, result, "report.html")).href;

test("a report draws its figures and requests nothing", async ({ page }) => {
  const requested: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) requested.push(request.url());
  });
  await page.goto(file("both"));
  for (const title of ["Received and capacity", "Distribution of the round-trip time", "Windows"]) {
    await drawn(page, title);
  }
  expect(requested).toEqual([file("both")]);
  await accessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page);
});

test("a report's charts over time zoom together", async ({ page }) => {
  await page.goto(file("one"));
  await drawn(page, "Received and capacity");
  const shown = page.locator(".zoombar output");
  const whole = await shown.textContent();
  const over = page.locator("#received .u-over");
  const box = await over.boundingBox();
  if (!box) throw new Error("no chart");
  await page.mouse.move(box.x + 0.2 * box.width, box.y + 20);
  await expect(page.locator("#received .tip")).toContainText("bulk");
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await expect(shown).not.toHaveText(whole ?? "");
  await page.mouse.dblclick(box.x + 0.6 * box.width, box.y + 20);
  await expect(shown).toHaveText(whole ?? "");
});

test("without scripts a report has all its numbers", async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(file("one"));
  // not by its text alone: Playwright does not look for that in there
  await expect(page.locator("noscript p")).toContainText("switched off here");
  await expect(page.getByRole("rowheader", { name: "bulk" }).first()).toBeVisible();
  await page.locator("#rtt summary").click();
  await expect(page.locator("#rtt").getByRole("rowheader", { name: "bulk" })).toBeVisible();
  await context.close();
});

test("a report of 200 flows stays small, and fits a phone", async ({ page }) => {
  expect(readFileSync(join(RESULTS, "many/report.html")).length).toBeLessThan(1_500_000);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(file("many"));
  await drawn(page, "Received and capacity");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

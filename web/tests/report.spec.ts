// A real report.html, from a file: charts, zoom, no request, no fault.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "@playwright/test";
import { CALLS, RESULTS } from "./brimful";
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

test("a call's one-way delay is a line beside the round trips, as its sentence has it", async ({
  page,
}) => {
  await page.goto(pathToFileURL(join(CALLS, "drive/report.html")).href);
  await expect(page.locator("table.found")).toContainText(/voip.*one-way delay .* → .* ms/);
  const title = "Round-trip time and one-way delay";
  await drawn(page, title);
  const figure = page.locator("section.figure", {
    has: page.getByRole("heading", { name: title, exact: true }),
  });
  await expect(figure.locator(".y-title").first()).toHaveText(
    "RTT; one-way delay of datagrams (ms)",
  );
  await expect(figure.locator(".panel h4")).toHaveText(["pep=none", "pep=default"]);
  const name = "voip (one-way)";
  await expect(figure.getByRole("button", { name, exact: true })).toBeVisible();
  // what the cursor reads of it
  await figure.locator(".plot").first().focus();
  await page.keyboard.press("End");
  await expect(figure.locator("[role=status]").first()).toContainText(/voip \(one-way\) [\d.]+ ms/);
  await figure.getByText("Numbers").click();
  for (const variant of ["pep=none", "pep=default"]) {
    const row = figure.getByRole("rowheader", { name: `${variant}, ${name}`, exact: true });
    await expect(row).toBeVisible();
  }
  await accessible(page);
});

test("a call alone has a figure of its one-way delay", async ({ page }) => {
  await page.goto(pathToFileURL(join(CALLS, "call/report.html")).href);
  await drawn(page, "One-way delay");
  await expect(page.getByRole("heading", { name: /^Round-trip time/ })).toHaveCount(0);
});

// Result folders: the list, a point, two points, what cannot be read.

import { join } from "node:path";
import { expect } from "@playwright/test";
import { CALLS, Dashboard, RESULTS, TORN } from "./brimful";
import { accessible, drawn, leave, test } from "./page";

let dash: Dashboard;
test.beforeAll(async () => {
  dash = await Dashboard.start(RESULTS);
});
test.afterAll(() => dash.stop());

test("the list has all results, and shows why others cannot be read", async ({ page }) => {
  await page.goto(dash.url);
  await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
  const broken = page.locator(".broken", { hasText: "unreadable" });
  await expect(broken).toContainText("Cannot be read: ");
  await accessible(page);
  await page
    .locator(".result", { hasText: "both" })
    .getByRole("link", { name: "pep=default" })
    .click();
  await expect(page.getByRole("heading", { name: "both: pep=default" })).toBeVisible();
  await drawn(page, "Received and capacity");
  await page.goBack();
  await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
});

test("a sweep is in the list, and has a table that sorts", async ({ page }) => {
  await page.goto(dash.url);
  const sweep = page.locator(".result", { hasText: "plane" });
  await expect(sweep).toContainText("sweep of4 points");
  await expect(sweep).toContainText("path.rtt20 ms, 40 ms");
  await sweep.getByRole("link", { name: "table" }).click();
  await expect(page.getByRole("heading", { name: "plane", level: 2 })).toBeVisible();
  await expect(page.getByText("4 of 4 points have results.")).toBeVisible();
  const table = page.getByRole("region", { name: "Flows of all points: table" });
  await expect(table.getByRole("rowheader")).not.toHaveCount(0);
  const rows = await table.getByRole("rowheader").count();
  expect(rows % 4).toBe(0);
  await table.getByRole("button", { name: /path\.rtt/ }).click();
  await expect(table.locator("tbody tr").first()).toContainText("20 ms");
  await accessible(page);
});

test("a card has what was found and a small figure; cards sort and are filtered", async ({
  page,
}) => {
  await page.goto(dash.url);
  const both = page.locator(".card", { hasText: "both" });
  await expect(both).toContainText("pep=default beside pep=none");
  await expect(both).toContainText(/bulk\d+ % of the goodput.*RTT .* → .* ms/);
  const figure = both.getByRole("img", { name: /^RTT of bulk over time.*pep=none .* pep=default/ });
  await figure.scrollIntoViewIfNeeded();
  await expect(figure).toBeVisible();
  await expect(page.locator(".card", { hasText: "paths" })).toContainText(/Mbit\/s.*% used/s);
  const names = () => page.locator(".card h3").allTextContents();
  await page.getByLabel("Sort by").selectOption({ label: "highest goodput" });
  const byGoodput = await names();
  await page.getByLabel("Sort by").selectOption({ label: "name" });
  expect(await names()).toEqual(["both", "many", "one", "partly", "paths", "plane"]);
  expect(byGoodput.slice(-2)).toEqual(["partly", "plane"]);
  await page.getByRole("searchbox", { name: "Filter" }).fill("pep=none");
  await expect(page.getByText("1 of 6 results")).toBeVisible();
  expect(await names()).toEqual(["both"]);
  await page.getByRole("link", { name: "both", exact: true }).click();
  await expect(page.getByRole("heading", { name: "both: pep=default beside" })).toBeVisible();
  await page.goBack();
  await expect(page.getByText("1 of 6 results")).toBeVisible();
});

test("two ticked points of any results are compared, over one another or side by side", async ({
  page,
}) => {
  await page.goto(dash.url);
  const compare = page.getByRole("button", { name: "Compare" });
  await expect(compare).toBeDisabled();
  await page.getByRole("checkbox", { name: "Compare one" }).press("Space");
  await expect(compare).toBeDisabled();
  await page.getByRole("checkbox", { name: "Compare both: pep=none" }).press("Space");
  await page.getByRole("checkbox", { name: "Compare both: pep=default" }).press("Space");
  await expect(page.getByRole("checkbox", { name: "Compare one" })).not.toBeChecked();
  await expect(page.getByText("both: pep=none and both: pep=default")).toBeVisible();
  await compare.press("Enter");
  await expect(page.getByRole("row", { name: /bulk RTT p50/ })).toContainText("better");
  await expect(page.getByRole("region", { name: "Found" })).toContainText("of the goodput");
  await drawn(page, "Round-trip time");
  await page.getByLabel("Layout").selectOption({ label: "side by side" });
  const figure = page.locator("section.figure", {
    has: page.getByRole("heading", { name: "Round-trip time" }),
  });
  await expect(figure.locator(".panel h4")).toHaveText(["pep=default", "pep=none"]);
  await drawn(page, "Round-trip time");
  await accessible(page);
});

test("a sweep is a map and lines over its axes, with what failed", async ({ page }) => {
  await page.goto(`${dash.url}#/sweep/partly`);
  const map = page.getByRole("region", { name: /^RTT p95 by path\.rtt .* and pep/ });
  await expect(map.getByRole("rowheader")).toHaveText(["none", "default"]);
  await expect(map.getByRole("row", { name: /^default/ })).toContainText("1 failed");
  const failed = page.getByRole("region", { name: "Points that failed: table" });
  await expect(failed.getByRole("row", { name: /80 ms/ })).toContainText("no");
  await drawn(page, "RTT p95 over path.rtt");
  await page.getByRole("combobox", { name: "Measure" }).selectOption("goodput");
  await drawn(page, "goodput over path.rtt");
  await accessible(page);
  await page.getByRole("combobox", { name: "Across" }).selectOption("pep");
  await page.getByRole("combobox", { name: "Down" }).selectOption("path.rtt");
  const turned = page.getByRole("region", { name: /^goodput by pep and path\.rtt/ });
  await expect(turned.getByRole("rowheader")).toHaveText(["20", "40", "80"]);
  await expect(page.getByText("No lines: the values across")).toBeVisible();
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

test("a folder with one result opens with what was found and its figures", async ({ page }) => {
  const single = await Dashboard.start(join(RESULTS, "both"));
  try {
    await page.goto(single.url);
    await expect(page.locator(".card")).toContainText("of the goodput");
    await expect(page.getByRole("row", { name: /bulk RTT p50/ })).toContainText("better");
    await drawn(page, "Round-trip time");
    await accessible(page);
    await leave(page);
  } finally {
    await single.stop();
  }
});

test("one-way delays of calls have a figure, and are a card's where nothing has round trips", async ({
  page,
}) => {
  const calls = await Dashboard.start(CALLS);
  try {
    await page.goto(calls.url);
    const card = page.locator(".card", { hasText: "call" }).first();
    await expect(card.getByRole("img", { name: /^One-way delay over time/ })).toBeVisible();
    await page.goto(`${calls.url}#/result/drive/0`);
    await drawn(page, "Round-trip time");
    await drawn(page, "One-way delay");
    await leave(page);
  } finally {
    await calls.stop();
  }
});

test("a torn file is an error, and the rest of the page stays", { tag: "@failures" }, async ({
  page,
}) => {
  const torn = await Dashboard.start(TORN);
  try {
    await page.goto(`${torn.url}#/`);
    await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
    await expect(page.locator(".card", { hasText: "torn" })).toContainText("No figure: samples");
    await page.goto(`${torn.url}#/result/torn/0`);
    await expect(page.locator(".message.error")).toContainText("samples.parquet");
    await expect(page.getByRole("rowheader", { name: "bulk", exact: true })).toBeVisible();
    await leave(page);
  } finally {
    await torn.stop();
  }
});

test("a point has its tables and figures, without a serious fault", async ({ page }) => {
  await page.goto(`${dash.url}#/result/one/0`);
  await expect(page.getByRole("rowheader", { name: "bulk", exact: true })).toBeVisible();
  for (const title of [
    "Received and capacity",
    "Round-trip time",
    "Windows",
    "Queues",
    "Flows held for slow",
  ]) {
    await drawn(page, title);
  }
  await accessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page);
});

test("dragging zooms all charts and requests finer data; Escape and a double click leave", async ({
  page,
}) => {
  await page.goto(`${dash.url}#/result/one/0`);
  await drawn(page, "Received and capacity");
  const shown = page.getByRole("group", { name: "Span of time" }).locator("output");
  await expect(shown).toHaveText(/^0(\.0\d)? – 2 s$/);
  const whole = await shown.textContent();
  const box = await page.locator(".plot .u-over").first().boundingBox();
  if (!box) throw new Error("no chart");
  const finer = page.waitForRequest(
    (r) => r.url().includes("/series?") && r.url().includes("from="),
  );
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + 0.25 * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.5 * box.width, y, { steps: 4 });
  await page.mouse.up();
  const requested = new URL((await finer).url()).searchParams;
  expect(Number(requested.get("from"))).toBeCloseTo(0.5, 1);
  expect(Number(requested.get("to"))).toBeCloseTo(1, 1);
  await expect(shown).toHaveText(/^0\.[45]\d* – (1|0\.9\d*|1\.0\d*) s$/);
  await page.mouse.dblclick(box.x + 0.5 * box.width, y);
  await expect(shown).toHaveText(whole ?? "");
  await page.locator(".plot").first().focus();
  await page.keyboard.press("+");
  await expect(shown).not.toHaveText(whole ?? "");
  await page.keyboard.press("Escape");
  await expect(shown).toHaveText(whole ?? "");
});

test("the cursor is one moment in all charts; keys read its values aloud", async ({ page }) => {
  await page.goto(`${dash.url}#/result/one/0`);
  await drawn(page, "Round-trip time");
  const plots = page.locator(".plot");
  await plots.first().focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 5; i++) await page.keyboard.press("PageDown");
  await expect(page.locator(".chart [role=status]").first()).toContainText(
    /^1(\.0\d*)? s: .*bulk [\d.]+ Mbit\/s/,
  );
  const left = (i: number) =>
    plots
      .nth(i)
      .locator(".u-cursor-x")
      .evaluate((e) => new DOMMatrix(getComputedStyle(e).transform).e);
  expect(await left(0)).toBeGreaterThan(10);
  // plots of equal width, but for the room of their axes' labels
  expect(Math.abs((await left(0)) - (await left(1)))).toBeLessThan(60);
});

test("a name in the legend hides its line", async ({ page }) => {
  await page.goto(`${dash.url}#/result/one/0`);
  await drawn(page, "Round-trip time");
  const figure = page.locator("section.figure", {
    has: page.getByRole("heading", { name: "Round-trip time" }),
  });
  const button = figure.getByRole("button", { name: "bulk" });
  await expect(button).toHaveAttribute("aria-pressed", "true");
  await button.click();
  await expect(button).toHaveAttribute("aria-pressed", "false");
  await figure.locator(".plot").focus();
  await page.keyboard.press("End");
  await expect(figure.locator("[role=status]")).not.toContainText("bulk");
  await figure.getByText("Numbers").click();
  await expect(figure.getByRole("rowheader", { name: "bulk" })).toBeVisible();
});

test("two points are laid over one another, with ratios", async ({ page }) => {
  await page.goto(`${dash.url}#/result/both/1`);
  await page.getByLabel("Compare with").selectOption({ label: "both: pep=none" });
  const row = page.getByRole("row", { name: /bulk RTT p50/ });
  await expect(row).toContainText("better");
  await expect(page.getByRole("row", { name: /web goodput/ })).toContainText("±");
  await drawn(page, "Round-trip time");
  await expect(page.getByRole("button", { name: "bulk · pep=none" }).first()).toBeVisible();
  await accessible(page);
});

test("paths of a tunnel are stacked", async ({ page }) => {
  await page.goto(`${dash.url}#/result/paths/0`);
  await drawn(page, "Rates of the paths");
});

test("200 flows: sorted, filtered, ten drawn, others picked", async ({ page }) => {
  await page.goto(`${dash.url}#/result/many/0`);
  const table = page.getByRole("region", { name: "Flows: table" });
  await expect(page.getByText("200 rows")).toBeVisible();
  await drawn(page, "Round-trip time");
  await table.getByRole("button", { name: /goodput/ }).click();
  const numbers = await table.locator("tbody tr td:nth-child(4)").allTextContents();
  expect(numbers.length).toBe(200);
  const values = numbers.map(Number);
  expect(values).toEqual([...values].sort((a, b) => b - a));
  await page.getByRole("searchbox", { name: "Filter: Flows" }).fill("web-near");
  await expect(page.getByText("50 of 200 rows")).toBeVisible();
  await page.getByRole("searchbox", { name: "Filter: Flows" }).fill("");
  await table.locator("input:checked").first().uncheck();
  const free = table.locator("input:not(:checked)").nth(150);
  const name = (await free.getAttribute("aria-label"))?.replace("Draw ", "") ?? "";
  await free.check();
  await expect(
    page.locator(".legend").getByRole("button", { name, exact: true }).first(),
  ).toBeVisible();
  await accessible(page);
});

test("colours: as the system has them, until chosen, and then kept", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(dash.url);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
  expect(await ground()).toBe("rgb(20, 23, 27)");
  await page.getByLabel("Colours").selectOption("light");
  expect(await ground()).toBe("rgb(255, 255, 255)");
  await page.reload();
  await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
  expect(await ground()).toBe("rgb(255, 255, 255)");
});

test("a phone shows everything within its width", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const where of ["", "#/result/both/1?with=both%2F0", "#/result/many/0"]) {
    await page.goto(`${dash.url}${where}`);
    await page.reload();
    await expect(page.locator("main h2").first()).toBeVisible();
    if (where !== "") await drawn(page, "Received and capacity");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  }
  await accessible(page);
});

test("everything can be reached by the keyboard", async ({ page }) => {
  await page.goto(`${dash.url}#/result/one/0`);
  await drawn(page, "Received and capacity");
  await page.evaluate(() => scrollTo(0, 0));
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
  expect(page.url()).toContain("#/result/one/0");
  const wanted = await page
    .locator("main :is(a[href], button:not(:disabled), select, input, summary, [tabindex='0'])")
    .evaluateAll((all) => all.filter((e) => (e as HTMLElement).checkVisibility()).length);
  const reached = new Set<string>();
  for (let i = 0; i < wanted + 20; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement as HTMLElement;
      if (!e.closest("main")) return null;
      e.dataset.reached ??= String(Math.random());
      const ring = getComputedStyle(e).outlineStyle;
      return { id: e.dataset.reached, ring, name: e.outerHTML.slice(0, 80) };
    });
    if (at === null) break;
    expect(at.ring, at.name).not.toBe("none");
    reached.add(at.id);
  }
  // charts that were out of sight may have been drawn on the way
  expect(reached.size).toBeGreaterThanOrEqual(wanted);
});

test("the time of the first paint is recorded", async ({ page }) => {
  await page.goto(dash.url);
  await expect(page.getByRole("heading", { name: "one" })).toBeVisible();
  const paint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
  );
  // how long it took is recorded, not judged: a busy machine proves nothing
  test.info().annotations.push({ type: "first paint", description: `${paint.toFixed(0)} ms` });
  expect(paint).toBeGreaterThan(0);
});

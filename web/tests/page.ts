// What all tests of pages share: faults of a page fail its test; the check by axe.

import { appendFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page, test as plain } from "@playwright/test";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * As Playwright's, but errors in the console fail the test; one tagged @failures may have those of
 * connections that it cuts.
 */
export const test = plain.extend({
  page: async ({ page }, use) => {
    const errors: string[] = [];
    page.on("console", (message) => {
      const text = message.text();
      // what `drawn` does is no fault of the page
      if (/^Canvas2D: Multiple readback/.test(text)) return;
      if (message.type() === "error" || message.type() === "warning") errors.push(text);
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    await use(page);
    // the policy for openers counts over TLS and from this machine only, which the browser prints
    const cut = /WebSocket|ERR_|Failed to load resource|Cross-Origin-Opener-Policy/;
    expect(errors.filter((e) => !(plain.info().tags.includes("@failures") && cut.test(e)))).toEqual(
      [],
    );
  },
});

/**
 * Skips the running test if a condition does not hold. The skip is recorded in the file that BRIMFUL_SKIPPED names,
 * and is a failure under CI=true, unless what is missing is nothing that `make setup` installs.
 */
export function skipUnless(condition: unknown, reason: string, isOptional = false): void {
  if (condition) return;
  const { title } = plain.info();
  const { BRIMFUL_SKIPPED: record, CI } = process.env;
  if (record) appendFileSync(record, `${title}\t${reason}\n`);
  if (CI === "true" && !isOptional)
    throw new Error(`${title}: ${reason}, and CI=true does not allow that skip`);
  plain.skip(true, reason);
}

/** Away from a server that is to end: a lost connection would be an error in the console. */
export async function leave(page: Page): Promise<void> {
  await page.goto("about:blank");
}

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Serious and critical faults of accessibility, of which there are to be none; small targets are among them (WCAG 2.2, 2.5.8). */
export async function accessible(page: Page): Promise<void> {
  // the page's own policy forbids scripts in it: this goes by the debugger
  await page.evaluate(AXE);
  // further down a bar that stays in view may lie over what can be pressed
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  const result = (await page.evaluate(
    "axe.run({ rules: { 'target-size': { enabled: true } } })",
  )) as AxeResult;
  const grave = result.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  const found = grave.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
  expect(found).toEqual([]);
}

/** All that can be pressed is at least 24 px wide and high, but for links within a sentence. Axe lets smaller ones pass that stand alone. */
export async function largeTargets(page: Page): Promise<void> {
  const small = await page
    .locator("a[href], button, select, input, summary, [role=button], [role=slider]")
    .evaluateAll((all) =>
      all
        .filter((e) => e.checkVisibility() && !(e.matches("p a") && e.textContent?.trim()))
        .map((e) => ({ e, box: e.getBoundingClientRect() }))
        .filter(({ box }) => box.width < 24 || box.height < 24)
        .map(({ e, box }) => `${e.outerHTML.slice(0, 120)}: ${box.width} by ${box.height}`),
    );
  expect(small).toEqual([]);
}

/** The figure of this name has drawn something: its canvases are not empty. */
export async function drawn(page: Page, title: string): Promise<void> {
  const figure = page.locator("section.figure", {
    has: page.getByRole("heading", { name: title, exact: true }),
  });
  await figure.scrollIntoViewIfNeeded();
  const canvas = figure.locator("canvas").first();
  await expect(canvas).toBeVisible();
  const colours = () =>
    canvas.evaluate((element) => {
      const { width, height } = element as HTMLCanvasElement;
      const context = (element as HTMLCanvasElement).getContext("2d");
      const data = context?.getImageData(0, 0, width, height).data ?? [];
      const strong = new Set<string>();
      for (let i = 0; i < data.length; i += 4) {
        const [r = 0, g = 0, b = 0, a = 0] = [data[i], data[i + 1], data[i + 2], data[i + 3]];
        // lines have colour; axes and grid are grey
        if (a > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60) strong.add(`${r},${g},${b}`);
      }
      return strong.size;
    });
  await expect.poll(colours, { message: `${title}: nothing is drawn` }).toBeGreaterThan(0);
}

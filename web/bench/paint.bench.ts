// First paint and first result of each page, by visits with an empty cache; a table of means with intervals.

import { existsSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, test } from "@playwright/test";
import { Dashboard, RESULTS, ROOT } from "../tests/brimful";
import { served } from "../tests/server";

const REPEATS = Number(process.env.BENCH_REPEATS ?? 10);
const OUT = process.env.BENCH_OUT ?? join(ROOT, "web/test-results/paint.md");
/** Goals, milliseconds. */
const FIRST_PAINT = 300;
const FIRST_RESULT = 3000;
/** Two-sided 97.5 % quantiles of Student's t by degrees of freedom, 1 to 30. */
const T975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
];

interface Visit {
  paint: number;
  result: number;
}

/** Runs in the page: true once its first result is drawn. */
type IsThere = () => boolean;

const cardIsThere: IsThere = () =>
  [...document.querySelectorAll(".card")].some((card) => /Mbit\/s|goodput/.test(card.textContent));
const figureIsThere: IsThere = () => {
  const canvas = document.querySelector("section.figure canvas");
  return canvas !== null && canvas.getBoundingClientRect().width > 0;
};
const runsAreThere: IsThere = () => {
  const results = document.querySelector(".results");
  const isFresh = results !== null && !results.classList.contains("stale");
  return isFresh && document.body.textContent.includes("Two runs of");
};

/** One visit with nothing cached. */
async function visit(browser: Browser, url: string, isThere: IsThere): Promise<Visit> {
  // the pages' policy forbids the script that waits in them
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    bypassCSP: true,
  });
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "commit" });
  const found = await page.waitForFunction(
    `(() => (${isThere.toString()})() && performance.now())()`,
    undefined,
    { polling: "raf", timeout: 120_000 },
  );
  const result = Number(await found.jsonValue());
  // the entry may come a frame after what it is of
  const painted = await page.waitForFunction(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  );
  const paint = Number(await painted.jsonValue());
  await context.close();
  return { paint, result };
}

/** Mean and half the width of its 95 % confidence interval. */
function estimate(values: number[]): { mean: number; ci95: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const t = T975[Math.min(values.length - 1, T975.length) - 1];
  const ci95 =
    t === undefined ? Number.NaN : t * Math.sqrt(square / (values.length - 1) / values.length);
  return { mean, ci95 };
}

function cell(values: number[], goal: number): string {
  const { mean, ci95 } = estimate(values);
  const verdict =
    mean + ci95 <= goal ? "holds" : mean - ci95 > goal ? "does not hold" : "undecided";
  return `${mean.toFixed(0)} ± ${ci95.toFixed(0)} ms | ${verdict}`;
}

const rows: string[] = [];
async function measure(browser: Browser, name: string, url: string, isThere: IsThere) {
  // the first one reads the program and the files from the disk
  await visit(browser, url, isThere);
  const visits: Visit[] = [];
  for (let i = 0; i < REPEATS; i += 1) visits.push(await visit(browser, url, isThere));
  const paint = cell(
    visits.map((v) => v.paint),
    FIRST_PAINT,
  );
  const result = cell(
    visits.map((v) => v.result),
    FIRST_RESULT,
  );
  rows.push(`| ${name} | ${paint} | ${result} |`);
}

test("first paint and first result", async ({ browser }) => {
  const dash = await Dashboard.start(RESULTS);
  await measure(browser, "dashboard: list of results", dash.url, cardIsThere);
  await measure(browser, "dashboard: one result", await pointUrl(browser, dash.url), figureIsThere);
  await dash.stop();
  const report = pathToFileURL(join(RESULTS, "both/report.html")).href;
  await measure(browser, "`report.html` of two variants", report, figureIsThere);
  const playground = join(ROOT, "target/playground");
  if (existsSync(join(playground, "playground.wasm"))) {
    const { url, stop } = await served(playground);
    await measure(browser, "playground", url, runsAreThere);
    stop();
  } else {
    rows.push("| playground | not built: `make playground` | | | |");
  }
  const head = `${REPEATS} visits of each page with an empty cache, means with 95 % intervals, ${cpus()[0]?.model ?? "unknown processor"}`;
  const table = [
    head,
    "",
    `| page | first contentful paint | goal: ${FIRST_PAINT} ms | first result | goal: ${FIRST_RESULT} ms |`,
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ];
  writeFileSync(OUT, table.join("\n"));
});

/** The address of the first result in the list. */
async function pointUrl(browser: Browser, list: string): Promise<string> {
  const page = await browser.newPage();
  await page.goto(list);
  await page.locator(".card").getByRole("link", { name: "one", exact: true }).click();
  await page.locator("section.figure canvas").first().waitFor();
  const url = page.url();
  await page.close();
  return url;
}

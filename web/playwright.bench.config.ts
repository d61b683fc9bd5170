// How soon the pages are there (scripts/bench-paint): as the tests, one page after the other, without a second try.
import base from "./playwright.config";

export default {
  ...base,
  testDir: "bench",
  testMatch: "*.bench.ts",
  timeout: 1_800_000,
  workers: 1,
  retries: 0,
};

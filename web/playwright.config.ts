// The pages in Debian's Chromium, served by a real `brimful dash`.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  testMatch: "*.spec.ts",
  globalSetup: "./tests/setup.ts",
  // for a machine that does much else at the same time
  timeout: 180_000,
  expect: { timeout: 45_000 },
  // files beside one another: each starts its own dashboards, and what they share is only read
  workers: 2,
  // a browser that is starved of time, once
  retries: 1,
  reporter: [["line"]],
  outputDir: "test-results",
  use: {
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});

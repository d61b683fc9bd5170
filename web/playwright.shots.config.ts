// The pictures of the guide (scripts/screenshots): as the tests, one page after the other, twice as fine.
import base from "./playwright.config";

export default {
  ...base,
  testDir: "shots",
  testMatch: "*.shots.ts",
  globalSetup: undefined,
  timeout: 600_000,
  workers: 1,
  retries: 0,
  use: { ...base.use, colorScheme: "light" as const },
};

// Results for all tests, made by the real program: a run, a comparison, sweeps, and two broken folders.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brimful, CALLS, MANY, MANY_SET, RESULTS, ROOT, TORN, WORK } from "./brimful";

export default function setup(): void {
  rmSync(WORK, { recursive: true, force: true });
  mkdirSync(RESULTS, { recursive: true });
  const scenario = join(ROOT, "scenarios/rapid/mixed-los.toml");
  const short = ["--set", "duration=2 s"];
  brimful(
    "run",
    scenario,
    "--set",
    "pep=default",
    ...short,
    "--out",
    join(RESULTS, "one"),
    "--json",
  );
  const both = ["compare", scenario, "--vary", "pep=none,default", "--repeats", "3", ...short];
  brimful(...both, "--out", join(RESULTS, "both"), "--json");
  const paths = join(ROOT, "scenarios/nested-cc/walkaway.toml");
  brimful("run", paths, "--set", "duration=3 s", "--out", join(RESULTS, "paths"), "--json");
  brimful(
    "run",
    MANY,
    ...MANY_SET,
    "--set",
    "duration=1 s",
    "--out",
    join(RESULTS, "many"),
    "--json",
  );
  const grid = ["--grid", "pep=none,default", "--grid", "path.rtt=20 ms,40 ms"];
  const plane = ["sweep", scenario, ...grid, "--set", "duration=300 ms", "--repeats", "1"];
  brimful(...plane, "--out", join(RESULTS, "plane"), "--json");

  const drive = join(ROOT, "scenarios/rapid/trace-drive.toml");
  const pep = ["--vary", "pep=none,default", "--set", "duration=5 s", "--repeats", "1"];
  brimful("compare", drive, ...pep, "--out", join(CALLS, "drive"), "--json");
  const call = join(ROOT, "scenarios/applications/call.toml");
  brimful("run", call, "--set", "duration=3 s", "--out", join(CALLS, "call"), "--json");

  // one of its points as if it had failed
  cpSync(join(RESULTS, "plane"), join(RESULTS, "partly"), { recursive: true });
  const failed = { point: 3, seed: 1, axes: { pep: "default", "path.rtt": "80 ms" }, error: "no" };
  writeFileSync(join(RESULTS, "partly/failed.jsonl"), `${JSON.stringify(failed)}\n`);

  cpSync(join(RESULTS, "one"), join(TORN, "one"), { recursive: true });
  cpSync(join(RESULTS, "one"), join(TORN, "torn"), { recursive: true });
  const samples = join(TORN, "torn/samples.parquet");
  writeFileSync(samples, readFileSync(samples).subarray(0, 200));
  cpSync(join(RESULTS, "one"), join(RESULTS, "unreadable"), { recursive: true });
  writeFileSync(join(RESULTS, "unreadable/manifest.json"), "{");
}

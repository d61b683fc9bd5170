// The pages of daemons at work: what they show, and that they come back when the daemon does.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type Page } from "@playwright/test";
import { freePort, Running, WORK } from "./brimful";
import { accessible, drawn, leave, test } from "./page";

const PLACE = join(WORK, "daemons");
const MS = 1_000_000;

const state = (page: Page) => page.locator("header .state");

/** Radio reports of two UEs every 20 ms for two seconds, a line each. */
function recording(): string {
  const lines: string[] = [];
  for (let k = 0; k < 100; k++) {
    const ue = (n: number) => ({
      rnti: 17_920 + n,
      ip: `10.45.0.${1 + n}`,
      prb_dl: 20 * n,
      quality: { kind: "mcs", mcs: 12 + n, table: "nr-qam256", layers: 1, data_re_per_prb: 132 },
      cqi: 9 + n,
      tbs_bytes: 21_000 * n,
      served_bytes: 20_000 * n,
      rlc_queue_bytes: 30_000 + 1_000 * (k % 20),
      harq_processes: 3,
      harq_retx: 0,
      seq: k,
      timestamp: (1_000 + 20 * k) * MS,
    });
    const cell = {
      id: 1,
      n_prb: 106,
      scs: 30_000,
      slot_duration: 500_000,
      downlink_share: 1,
      slot: 40 * (k + 50),
      slots: 40,
      prb_background: 2,
    };
    lines.push(JSON.stringify({ cell, ues: [ue(1), ue(2)] }));
  }
  return `${lines.join("\n")}\n`;
}

/** The radio information service over that recording, again and again. */
async function service(port: number): Promise<Running> {
  mkdirSync(PLACE, { recursive: true });
  writeFileSync(join(PLACE, "drive.ndjson"), recording());
  writeFileSync(
    join(PLACE, "rnis.toml"),
    `[[source]]
name = "drive"
kind = "replay"
url = "file:drive.ndjson"
repeat = true
[unix]
path = "radio.sock"
[metrics]
listen = "127.0.0.1:${port}"
`,
  );
  return Running.start(["rnis", "--config", "rnis.toml"], /ready/, PLACE);
}

test("the radio information service shows its cell and UEs", { tag: "@failures" }, async ({
  page,
}) => {
  const port = await freePort();
  let rnis = await service(port);
  try {
    await page.goto(`http://127.0.0.1:${port}/dash/`);
    await expect(state(page)).toHaveText("live");
    for (const ue of ["10.45.0.2", "10.45.0.3"]) {
      await expect(page.getByRole("rowheader", { name: ue, exact: true })).toBeVisible();
    }
    await drawn(page, "Goodput and capacity");
    await accessible(page);

    // the daemon ends, and comes back
    await rnis.stop();
    await expect(state(page)).toHaveText("connection lost, trying again");
    rnis = await service(port);
    await expect(state(page)).toHaveText("live");
    await drawn(page, "Goodput and capacity");
  } finally {
    await leave(page);
    await rnis.stop();
  }
});

test("the QUIC server shows the connections at work", async ({ page }) => {
  const port = await freePort();
  mkdirSync(PLACE, { recursive: true });
  const listen = ["--listen", "127.0.0.1:0", "--metrics", `127.0.0.1:${port}`];
  const server = await Running.start(
    ["quic", "serve", ...listen],
    /listening on 127\.0\.0\.1:\d+/,
    PLACE,
  );
  const at = server.output.split(":").at(-1);
  // more than any machine carries while this test looks
  const size = ["--size", "10 GB", "--insecure"];
  const client = Running.silent("quic", "get", `localhost:${at}`, ...size);
  try {
    await page.goto(`http://127.0.0.1:${port}/dash/`);
    await expect(state(page)).toHaveText("live");
    await expect(page.locator(".tile", { hasText: "Goodput" })).toContainText(/[\d.]+ [MG]bit\/s/);
    await drawn(page, "Goodput and capacity: flows");
    await accessible(page);
  } finally {
    await leave(page);
    await client.stop();
    await server.stop();
  }
});

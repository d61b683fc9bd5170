// The pages of daemons at work: what they show, and that they come back when the daemon does.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { expect, type Page } from "@playwright/test";
import { BRIMFUL, freePort, Running, WORK } from "./brimful";
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

/** A modem that sends 1 MB/s and in which something waits, for a daemon that reads its counters. */
function modem(path: string): net.Server {
  rmSync(path, { force: true });
  const server = net.createServer((socket) => {
    let sent = 0;
    const timer = setInterval(() => {
      sent += 20_000;
      socket.write(`{"queue_bytes": 7000, "sent_bytes": ${sent}}\n`);
    }, 20);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => clearInterval(timer));
  });
  server.listen(path);
  return server;
}

/** Connections to a port of this machine go to one in the network of a process. */
async function into(pid: number, port: number): Promise<ChildProcess> {
  // a port that is listened at before the network is another stays where it was
  const program = `
    import ctypes, socket, threading
    listener = socket.create_server(("127.0.0.1", ${port}))
    print("ready", flush=True)
    network = open("/proc/${pid}/ns/net")
    if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    def copy(near, far):
        try:
            while data := near.recv(65536):
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)
        except OSError:
            near.close()
            far.close()
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", 9468))
        for pair in ((near, far), (far, near)):
            threading.Thread(target=copy, args=pair, daemon=True).start()
  `.replace(/^ {4}/gm, "");
  const child = spawn("python3", ["-c", program], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((done, failed) => {
    child.stdout.once("data", done);
    child.once("exit", () => failed(new Error("no way into the network")));
  });
  return child;
}

test("the queue above a modem shows what waits, marks and the age of its report", async ({
  page,
}) => {
  test.skip(process.getuid?.() !== 0, "a network of its own needs root");
  mkdirSync(PLACE, { recursive: true });
  const source = modem(join(PLACE, "modem.sock"));
  writeFileSync(
    join(PLACE, "ue.toml"),
    `interface = "wwan0"
[queue]
max-age = "1000 s"
[modem]
source = "unix:${join(PLACE, "modem.sock")}"
[metrics]
listen = "127.0.0.1:9468"
`,
  );
  // the network goes with the program
  const network =
    "ip link set lo up; ip link add wwan0 type veth peer name beyond; " +
    "ip addr add 10.9.0.1/24 dev wwan0; ip link set wwan0 up; ip link set beyond up";
  const start = `${network}; exec "$0" ue --config ue.toml`;
  const ue = await Running.program(
    "unshare",
    ["--net", "sh", "-c", start, BRIMFUL],
    /ready/,
    PLACE,
  );
  const port = await freePort();
  const way = await into(ue.pid, port);
  try {
    await page.goto(`http://127.0.0.1:${port}/dash/`);
    await expect(state(page)).toHaveText("live");
    await expect(page.getByRole("rowheader", { name: "wwan0", exact: true })).toBeVisible();
    for (const name of ["Queue", "Marks", "Report age"]) {
      await expect(page.getByRole("columnheader", { name })).toBeVisible();
    }
    await expect(page.locator(".tile", { hasText: "Capacity" })).toContainText("Mbit/s");
    await expect(page.locator(".tile", { hasText: "Longest queue" })).toContainText(
      "modem of wwan0",
    );
    await drawn(page, "Age of the modem's report");
    await drawn(page, "Queues");
    await accessible(page);
  } finally {
    await leave(page);
    way.kill("SIGKILL");
    await ue.stop();
    source.close();
  }
});

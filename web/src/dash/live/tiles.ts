// The few numbers on top of a live view.

import { h } from "../../base/dom";
import { number, withUnit } from "../../base/format";
import type { MetricName } from "../../base/metrics";
import { quantile } from "../../base/stats";
import { tile } from "../summary";
import type { LiveStore } from "./store";

/** The tiles of now, from means over the last second. */
export function liveTiles(store: LiveStore): HTMLElement[] {
  const series = store.series;
  const of = (metric: MetricName, ...kinds: string[]) =>
    series
      .filter((s) => s.metric === metric && (kinds.length === 0 || kinds.includes(s.kind)))
      .map((s) => ({ name: s.entity, now: store.recent(s.id, 1) }))
      .filter((s) => !Number.isNaN(s.now));
  const total = (all: { now: number }[]) => all.reduce((sum, s) => sum + s.now, 0);
  const tiles: HTMLElement[] = [];
  // a cell's capacity may be reported of its link too: as in the figures, the link counts, or all cells
  const link = of("capacity_bps", "link").slice(0, 1);
  const cells = of("capacity_bps", "cell");
  const whole = link.length > 0 ? link : cells;
  const capacity = whole.length > 0 ? whole : of("capacity_bps").slice(0, 1);
  if (capacity.length > 0) tiles.push(tile("Capacity", withUnit("bps", total(capacity))));
  const flows = of("goodput_bps", "flow");
  const goodput = flows.length > 0 ? flows : of("goodput_bps");
  if (goodput.length > 0) {
    const active = goodput.filter((f) => f.now > 0).length;
    const more = `${active} of ${goodput.length} active`;
    tiles.push(tile("Goodput, sum", withUnit("bps", total(goodput)), more));
  }
  const used = of("utilisation", "cell", "link");
  if (used[0]) tiles.push(tile("Utilisation", withUnit("share", used[0].now)));
  const prb = of("prb", "cell");
  const prbs = prb.length > 0 ? prb : of("prb");
  if (prbs.length > 0) tiles.push(tile("PRBs", number(total(prbs)), "per slot"));
  const mcs = of("mcs");
  if (mcs.length > 0)
    tiles.push(tile("MCS", number(total(mcs) / mcs.length), mcs.length > 1 ? "mean" : ""));
  const rtts = of("rtt_ms")
    .map((s) => s.now)
    .sort((a, b) => a - b);
  if (rtts.length > 0) {
    const most = rtts.length > 1 ? `most ${withUnit("ms", rtts[rtts.length - 1])}` : "";
    const name = rtts.length > 1 ? "RTT, median" : "RTT";
    tiles.push(tile(name, withUnit("ms", quantile(rtts, 0.5)), most));
  }
  const queues = of("queue_bytes").sort((a, b) => b.now - a.now);
  if (queues[0])
    tiles.push(tile("Longest queue", withUnit("bytes", queues[0].now), queues[0].name));
  const classes = of("is_slow");
  if (classes.length > 0) {
    const slow = classes.filter((s) => s.now >= 0.5).length;
    tiles.push(tile("Slow flows", String(slow), `of ${classes.length}`));
  }
  // counters: their newest values
  const count = (metric: MetricName) =>
    series.filter((s) => s.metric === metric).reduce((sum, s) => sum + (store.last(s.id) || 0), 0);
  const decisions = (["congestion", "radio", "unknown"] as const).map(
    (n) => [n, count(`loss_${n}`)] as const,
  );
  if (decisions.some(([, n]) => n > 0)) {
    const [congestion, radio] = [decisions[0]?.[1] ?? 0, decisions[1]?.[1] ?? 0];
    tiles.push(tile("Losses by radio", number(radio), `${number(congestion)} by congestion`));
  }
  const shares = of("path_share").map((s) => `${s.name} ${withUnit("share", s.now)}`);
  if (shares.length > 0) tiles.push(tile("Paths", String(shares.length), shares.join(", ")));
  return tiles;
}

/** An empty list for them. */
export function tileList(): HTMLElement {
  return h("dl", { class: "tiles" });
}

"use strict";
// Reads values under the cursor, hides lines, and zooms all plots over time together. The page is
// complete without it: everything drawn is in the document.
(() => {
  // Size of the grid, and how far beside a line its end can be read.
  const GRID = 10000, EDGE = 30;
  const plots = [...document.querySelectorAll(".plot")].map((node) => {
    const axis = (text, unit) => {
      const [low, high, log, factor] = text.split(",").map(Number);
      return { low, high, log: log === 1, factor, unit };
    };
    const { time, x, xu, y, yu } = node.dataset;
    return {
      node, time: time === "1", x: axis(x, xu), y: axis(y, yu), from: 0, to: GRID,
      svg: node.querySelector("svg"), cursor: node.querySelector(".cursor"),
      band: node.querySelector(".band"), tip: node.querySelector(".tip"), lines: null, at: null,
    };
  });
  const timed = plots.filter((plot) => plot.time);
  const reset = document.querySelector(".zoom");

  const value = (axis, place) => axis.log
    ? axis.low * Math.pow(axis.high / axis.low, place)
    : axis.low + (axis.high - axis.low) * place;
  const text = (axis, v) => {
    const n = Number((v / axis.factor).toPrecision(4));
    return (Math.abs(n) < 1e6 ? String(n) : n.toExponential(2)) + (axis.unit ? " " + axis.unit : "");
  };

  const coordinates = (d) => (d.match(/\d+/g) || []).map(Number);
  // A path's coordinates are its data, on a grid whose y points down; a gap begins a new piece.
  const lines = (plot) => plot.lines ??= [...plot.svg.querySelectorAll(".line")].map((path) => {
    const pieces = path.getAttribute("d").split("M").slice(1).map(coordinates);
    // the feet of an area are none of its points
    if (path.classList.contains("area")) for (const n of pieces) n.length -= 4;
    const sameName = (range) => range.dataset.name === path.dataset.name;
    const range = [...plot.svg.querySelectorAll(".range")].find(sameName);
    const outlines = range ? range.getAttribute("d").split("Z").map(coordinates) : [];
    return { path, pieces, lane: path.classList.contains("lane"), outlines };
  });
  // The index of the point nearest to x, or the last before it, among so many.
  const indexAt = (n, count, x, nearest) => {
    let low = 0, high = count - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (n[2 * mid] <= x) low = mid; else high = mid - 1;
    }
    const next = Math.min(low + 1, count - 1);
    return nearest && Math.abs(n[2 * next] - x) < Math.abs(n[2 * low] - x) ? next : low;
  };
  const valueAt = (plot, line, x) => {
    const n = line.pieces.find((p) => x >= p[0] - EDGE && x <= p[p.length - 2] + EDGE);
    if (line.lane) return n ? "slow" : "fast";
    if (!n) return null;
    const shown = (y) => text(plot.y, value(plot.y, 1 - y / GRID));
    const mean = shown(n[2 * indexAt(n, n.length / 2, x, plot.time) + 1]);
    const r = line.outlines.find((o) => x >= o[0] - EDGE && x <= o[o.length / 2 - 2] + EDGE);
    if (!r) return mean;
    // there along the greatest values, back along the least
    const i = indexAt(r, r.length / 4, x, true);
    const [least, greatest] = [r[r.length - 1 - 2 * i], r[2 * i + 1]];
    return least === greatest ? mean : `${mean}  (${shown(least)} to ${shown(greatest)})`;
  };

  const hide = (plot) => { plot.cursor.hidden = plot.tip.hidden = true; plot.at = null; };
  const mark = (plot, x) => {
    plot.cursor.hidden = false;
    plot.cursor.style.left = 100 * (x - plot.from) / (plot.to - plot.from) + "%";
  };
  const show = (plot, x) => {
    plot.at = x;
    for (const other of plot.time ? timed : [plot]) {
      if (other !== plot) hide(other);
      mark(other, x);
    }
    const head = document.createElement("b");
    head.textContent = text(plot.x, value(plot.x, x / GRID));
    const rows = lines(plot).filter((l) => !l.path.classList.contains("off")).flatMap((line) => {
      const v = valueAt(plot, line, x);
      if (v === null) return [];
      const row = document.createElement("div"), key = document.createElement("span");
      key.className = "key " + line.path.getAttribute("class").replace(/\b(line|lane)\b/g, "");
      row.append(key, line.path.dataset.name + "  " + v);
      return [row];
    });
    plot.tip.replaceChildren(head, ...rows);
    plot.tip.hidden = false;
    const left = (x - plot.from) / (plot.to - plot.from);
    plot.tip.style.left = left < 0.5 ? `calc(${100 * left}% + 10px)` : "auto";
    plot.tip.style.right = left < 0.5 ? "auto" : `calc(${100 * (1 - left)}% + 10px)`;
  };
  const hideAll = () => plots.forEach(hide);

  const step = (range, most) => {
    const raw = range / most, decade = Math.pow(10, Math.floor(Math.log10(raw)));
    return [1, 2, 5, 10].find((f) => f * decade >= raw * (1 - 1e-9)) * decade;
  };
  const zoom = (from, to) => {
    if (to - from < 20) return;
    for (const plot of timed) {
      plot.from = from;
      plot.to = to;
      plot.svg.setAttribute("viewBox", `${from} 0 ${to - from} ${GRID}`);
      const low = value(plot.x, from / GRID), high = value(plot.x, to / GRID);
      const by = step(high - low, 6), labels = [], marks = [];
      for (let k = Math.ceil(low / by); k * by <= high + by * 1e-6; k++) {
        const place = (k * by - low) / (high - low), label = document.createElement("span");
        label.style.left = 100 * place + "%";
        label.textContent = String(Number((k * by).toPrecision(6)));
        labels.push(label);
        const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
        line.setAttribute("d", `M${from + place * (to - from)} 0V${GRID}`);
        marks.push(line);
      }
      plot.node.querySelector(".xl").replaceChildren(...labels);
      plot.svg.querySelector(".gx").replaceChildren(...marks);
    }
    hideAll();
    reset.hidden = from === 0 && to === GRID;
  };

  for (const plot of plots) {
    const { node, band } = plot;
    const place = (event) => {
      const box = node.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      return plot.from + share * (plot.to - plot.from);
    };
    let start = null;
    node.addEventListener("pointermove", (event) => {
      const x = place(event);
      show(plot, x);
      if (start === null) return;
      const width = plot.to - plot.from;
      band.hidden = false;
      band.style.left = 100 * (Math.min(start, x) - plot.from) / width + "%";
      band.style.width = 100 * Math.abs(x - start) / width + "%";
    });
    node.addEventListener("pointerdown", (event) => {
      show(plot, place(event));
      if (!plot.time || event.pointerType !== "mouse" || event.button !== 0) return;
      start = place(event);
      node.setPointerCapture(event.pointerId);
      event.preventDefault();
      node.focus({ preventScroll: true });
    });
    node.addEventListener("pointerup", (event) => {
      band.hidden = true;
      if (start === null) return;
      const x = place(event), from = Math.min(start, x), to = Math.max(start, x);
      start = null;
      if (to - from > 0.015 * (plot.to - plot.from)) zoom(from, to);
    });
    node.addEventListener("pointercancel", () => { start = null; band.hidden = true; });
    node.addEventListener("pointerleave", () => { if (start === null) hideAll(); });
    node.addEventListener("dblclick", () => zoom(0, GRID));
    node.addEventListener("blur", hideAll);
    node.addEventListener("keydown", (event) => {
      const width = plot.to - plot.from, at = plot.at ?? (plot.from + plot.to) / 2;
      const move = { ArrowLeft: -0.01, ArrowRight: 0.01, PageUp: -0.1, PageDown: 0.1 }[event.key];
      if (move) show(plot, Math.min(plot.to, Math.max(plot.from, at + move * width)));
      else if (plot.time && event.key === "+") {
        const from = Math.min(Math.max(0, at - width / 4), GRID - width / 2);
        zoom(from, from + width / 2);
      } else if (plot.time && (event.key === "-" || event.key === "Escape")) zoom(0, GRID);
      else return;
      event.preventDefault();
    });
  }
  reset.querySelector("button").addEventListener("click", () => zoom(0, GRID));

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const line of button.closest(".figure").querySelectorAll(".line, .range")) {
        if (line.dataset.name === button.dataset.name) line.classList.toggle("off", !on);
      }
    });
  }
})();
